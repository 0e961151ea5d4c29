"""`consolidate recall`, as a person gives it."""

import json
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

from consolidator.embedding.fill import embed_missing
from consolidator.embedding.minilm import MiniLM
from consolidator.instants import format_instant
from consolidator.store.engine import open_store
from tests.cli.conftest import Consolidate
from tests.lives import day, name, take
from tests.recall.lives import ALLERGY, CAR, KEYS, LINES, MOVE, TEA, TRIP


@pytest.fixture
def recall(consolidate: Consolidate, made_store_url: str) -> Consolidate:
    with open_store(made_store_url, mode="write") as store:
        take(store, LINES, at=40)
        embed_missing(store, None, MiniLM(), which="all")
    return lambda *options: consolidate("--store", made_store_url, "recall", *options)


def test_as_text(recall: Consolidate) -> None:
    """The best memory is on the first line."""
    ended = recall("Where is the car parked?", "--explain")
    assert ended.code == 0
    heads, first, *_ = ended.out.splitlines()
    assert "meaning" in heads
    assert CAR in first
    assert ended.err == ""


def test_as_json(recall: Consolidate) -> None:
    """Full ids in order of rank, within the words asked for."""
    document = recall("Which medicine is Ada allergic to?", "--words", 12, "--json").document
    assert document["results"][0]["id"] == name(ALLERGY)
    assert sum(len(each["content"].split()) for each in document["results"]) <= 12


def test_parts(recall: Consolidate) -> None:
    """With --explain a score is the sum of what is told beside it, as text and as JSON; what is nought is not shown."""
    heads, first, *_ = recall("Where is the car parked?", "--explain").out.splitlines()
    assert "importance" not in heads
    names = heads.split()[2:-1]
    values = first.split()[1 : 2 + len(names)]
    assert float(values[0]) == pytest.approx(sum(map(float, values[1:])), abs=0.002 + 0.0005 * len(names))
    document = recall("Where is the car parked?", "--explain", "--importance", 1, "--json").document
    for each in document["results"]:
        assert each["parts"]["importance"] < 0
        assert each["score"] == pytest.approx(sum(each["parts"].values()), abs=1e-5)


def test_options(recall: Consolidate) -> None:
    """Types, times, what is to come, tokens and the least score are asked for as in Python."""
    found = recall("What does Bo like, and Ada?", "--type", "preference", "--least-score", 0, "--json").document
    assert [each["content"] for each in found["results"]] == [TEA]
    when = format_instant(day(20))[:10]
    ended = recall("What about Ada?", "--since", when, "--until", when, "--json").document
    assert [each["content"] for each in ended["results"]] == [MOVE]
    first, *_ = recall("Where did Ada move with her sister?", "--upcoming", "--json").document["results"]
    assert first["content"] == TRIP
    few = recall("What about Ada and the car?", "--tokens", 10, "--json").document["results"]
    assert sum(-(-len(each["content"].encode()) // 4) for each in few) <= 10
    assert recall("Where is the car?", "--least-score", 1, "--json").document["results"] == []
    recall("Where is the car?", "--since", "noon").refused("--since", "noon")


def test_many(recall: Consolidate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line in is a line out, in order; scopes of their own; what needs no memory says why."""
    file = tmp_path / "queries.jsonl"
    lines = [{"query": "Where is the car?"}, {"query": "hi"}, {"query": "Where is the car?", "scope": {"user": "zoe"}}]
    file.write_text("\n".join(map(json.dumps, lines)) + "\n")
    ended = recall("--queries", file, "--json")
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(file.read_bytes())))
    assert recall("--queries", "-", "--json").out == ended.out
    found = [json.loads(line) for line in ended.out.splitlines()]
    assert [each["query"] for each in found] == [each["query"] for each in lines]
    assert found[0]["results"][0]["content"] == CAR
    assert found[1]["results"] == found[2]["results"] == []
    assert found[1]["reason"]
    assert found[2]["reason"]


def test_deep(recall: Consolidate) -> None:
    """Archived memories are there with --deep, marked."""
    assert KEYS not in recall("Where are the spare keys?").out
    assert "archived" in recall("Where are the spare keys?", "--deep").out


def test_nothing(recall: Consolidate) -> None:
    """Nothing recalled is said with its reason, and is no failure."""
    ended = recall("good morning")
    assert ended.code == 0
    assert ended.out.startswith("Nothing: ")
    assert ended.err == ""
    nowhere = recall("Which instrument does Bob play?", "--least-score", 1)
    assert nowhere.code == 0
    assert "without --scope the empty scope {} is meant" in nowhere.err
    assert recall("Which instrument does Bob play?", "--scope", "user=zoe").err == ""


def test_refused(recall: Consolidate, tmp_path: Path) -> None:
    """Neither query nor file, both, no JSON, or a line that is no query: one clear line."""
    file = tmp_path / "queries.jsonl"
    file.write_text('{"query": "Where?"}\n{"question": 1}\n')
    recall().refused("QUERY")
    recall("Where?", "--queries", file).refused("QUERY")
    recall("--queries", file).refused("--json")
    recall("--queries", file, "--json").refused(":2:", "query")
    recall("--queries", tmp_path / "none", "--json").refused("none")
