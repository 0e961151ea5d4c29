"""How much of what answers questions about a long conversation is recalled, as the command gives it."""

import json
from pathlib import Path

from tests.cli.conftest import Consolidate

FLOOR = 0.78


def test_found(consolidate: Consolidate, sqlite_url: str, shared_data: Path, tmp_path: Path) -> None:
    """Within 150 words at least 78 % of the evidence is found, in order, without a word too many."""
    folder = shared_data / "locomo"
    memories = [json.loads(line) for line in (folder / "conv-26.memories.jsonl").read_text().splitlines()[1:]]
    evidence = {memory["id"]: set(memory["metadata"]["evidence"]) for memory in memories}
    asked = [json.loads(line) for line in (folder / "conv-26.questions.jsonl").read_text().splitlines()]
    queries = tmp_path / "queries.jsonl"
    lines = [{"query": question["question"], "scope": memories[0]["scope"]} for question in asked]
    queries.write_text("".join(json.dumps(line) + "\n" for line in lines))
    consolidate("--store", sqlite_url, "import", "jsonl", folder / "conv-26.memories.jsonl")
    consolidate("--store", sqlite_url, "embed")
    ended = consolidate("--store", sqlite_url, "recall", "--queries", queries, "--words", 150, "--json")
    answers = [json.loads(line) for line in ended.out.splitlines()]
    assert [answer["query"] for answer in answers] == [question["question"] for question in asked]
    shares = []
    for question, answer in zip(asked, answers, strict=True):
        results = answer["results"]
        assert sum(len(each["content"].split()) for each in results) <= 150
        assert [each["score"] for each in results] == sorted((each["score"] for each in results), reverse=True)
        wanted = set(question["evidence"]) & set().union(*evidence.values())
        if wanted:
            held = set().union(*(evidence[each["id"]] for each in results))
            shares.append(len(wanted & held) / len(wanted))
    assert sum(shares) / len(shares) >= FLOOR
