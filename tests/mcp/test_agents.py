"""Agents of the settings: each in its own scopes, by its name or its token, and none hears of others."""

from pathlib import Path

import httpx2
import pytest

from consolidator.day.memory import Memory
from consolidator.errors import BadInput
from consolidator.settings import Settings, parse_settings
from tests.mcp.clients import TOKEN, TOO_LONG_SECONDS, over_http, run, serving

NURSE, COOK = "nurse-0123456789abcdef", "cook-0123456789abcdef"
AGENTS = f"""
embedding: {{model: none}}
agents:
  nurse: {{scopes: ["user=ada", "user=ada,ward=3"], token: {NURSE}}}
  cook: {{scopes: ["kitchen=1"], token: {COOK}}}
"""


def settings() -> Settings:
    return parse_settings(AGENTS, "s")


@pytest.fixture
def store(sqlite_url: str, made_sqlite: Path, tmp_path: Path) -> str:
    """A store as a file."""
    (tmp_path / "store.db").write_bytes(made_sqlite.read_bytes())
    return sqlite_url


def test_a_program_is_held_to_the_scopes_of_its_agent(store: str) -> None:
    """The first without a scope, one of its own where that is named, no other; and it must be known."""
    with Memory(store, agent="nurse", settings=settings()) as memory:
        assert memory.scope == '{"user":"ada"}'
    with Memory(store, {"user": "ada", "ward": "3"}, agent="nurse", settings=settings()) as memory:
        assert memory.scope == '{"user":"ada","ward":"3"}'
    with pytest.raises(
        BadInput, match=r"agent nurse: may not use the scope kitchen=1; it has user=ada; user=ada,ward=3"
    ):
        Memory(store, {"kitchen": "1"}, agent="nurse", settings=settings())
    with pytest.raises(BadInput, match="there is no agent 'nurs'"):
        Memory(store, agent="nurs", settings=settings())


def test_over_http_the_token_tells_which_agent_it_is(store: str, tmp_path: Path) -> None:
    """And so in which scope it works, whatever session it names; without a token nobody comes in."""
    home = tmp_path / ".config" / "consolidator"
    home.mkdir(parents=True)
    (home / "schedules.yaml").write_text(AGENTS)
    (home / "schedules.yaml").chmod(0o600)

    async def live(url: str) -> None:
        async with over_http(url, token=NURSE) as nurse, over_http(url, token=COOK, mode="legacy") as cook:
            await nurse.store("Ada takes her pills at eight.")
            stored = await cook.store("The stove is hot.")
            assert [each["content"] for each in await nurse.recall("What is there?", limit=9)] == []
            assert [each["content"] for each in await cook.recall("Is the stove hot?")] == ["The stove is hot."]
            assert (await nurse.use("memory_stats"))[0]["active"] == (await cook.use("memory_stats"))[0]["active"] == 1
            assert "no memory" in await nurse.fails("memory_get", id=stored)
        async with over_http(url, token=TOKEN) as own:
            assert (await own.use("memory_stats"))[0]["active"] == 0
        async with httpx2.AsyncClient(timeout=TOO_LONG_SECONDS, trust_env=False) as http:
            assert (await http.post(url, json={}, headers={"Authorization": "Bearer nurse"})).status_code == 401
            assert (await http.post(url, json={})).status_code == 401

    with serving(tmp_path, "--store", store, CONSOLIDATOR_MCP_TOKEN=TOKEN) as (url, _):
        run(lambda: live(url))
