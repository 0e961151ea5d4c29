"""Commands as an agent: in its own scopes, and it hears of no others."""

from pathlib import Path

from tests.cli.conftest import Consolidate, Ended

AGENTS = """
embedding: {model: none}
agents: {nurse: {scopes: ["user=ada", "user=ada,ward=3"]}, cook: {scopes: ["kitchen=1"]}}
"""


def test_commands_are_held_to_the_scopes_of_an_agent(
    made_store_url: str, consolidate: Consolidate, tmp_path: Path
) -> None:
    """What it may not use is refused in the same line, whether it is there or not."""
    file = tmp_path / "s.yaml"
    file.write_text(AGENTS)

    def give(*arguments: object) -> Ended:
        return consolidate("--store", made_store_url, "--settings", file, *arguments)

    assert give("remember", "The stove is hot.", "--agent", "cook").code == 0
    (found,) = give("recall", "stove", "--agent", "cook", "--json").document["results"]
    assert found["content"] == "The stove is hot."
    nothing = give("recall", "stove", "--agent", "nurse")
    assert "hot" not in nothing.out
    assert "--scope" not in nothing.err
    line = "agent nurse: may not use the scope {}; it has user=ada; user=ada,ward=3"
    for scope in ("kitchen=1", "kitchen=2"):
        give("recall", "stove", "--agent", "nurse", "--scope", scope).refused(line.format(scope))
        give("remember", "It is on.", "--agent", "nurse", "--scope", scope).refused(line.format(scope))
        give("mcp", "--agent", "nurse", "--scope", scope).refused(line.format(scope))
    give("rate", found["id"], "5", "--agent", "nurse").refused("no memory in scope user=ada has an id that begins so")
    give("remember", "It is on.", "--agent", "nurs").refused("there is no agent 'nurs'")
    queries = tmp_path / "queries.jsonl"
    queries.write_text('{"query": "stove", "scope": {"kitchen": "1"}}\n')
    give("recall", "--queries", queries, "--json", "--agent", "nurse").refused(line.format("kitchen=1"))
