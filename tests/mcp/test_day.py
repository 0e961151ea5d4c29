"""A whole life over real connections: five turns, recall and ratings by day, nights beside them, and recall again."""

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from tests.conftest import unavailable
from tests.mcp.clients import TOKEN, Agent, night, over_http, over_stdio, run, serving
from tests.schedule.services import LIBRARY, WallClock

FACTS = {
    "monday": [
        "Ada drinks green tea at breakfast.",
        "Ada drinks black coffee at breakfast.",
        "Ada's sister Linnea lives in Turku.",
        "The spare key is under the blue flowerpot.",
    ],
    "tuesday": [
        "The boiler was serviced by Nordic Heat in March.",
        "Ada is allergic to penicillin.",
        "Project Atlas ships its parser in autumn.",
        "Ada's bicycle has a broken front light.",
    ],
    "wednesday": [
        "Ada prefers window seats on trains.",
        "The wifi password hangs on the fridge door.",
        "Ada's favourite painter is Helene Schjerfbeck.",
        "The neighbour's dog is called Wasabi.",
    ],
    "thursday": [
        "Ada runs ten kilometres on Sundays.",
        "阿达的猫叫味噌。 🐈",
        "Ada reads crime novels in Swedish.",
        "The landlord comes on the first of each month.",
    ],
    "friday": [
        "Ada wants to learn the cello.",
        "Oskari owes Ada forty euros.",
        "The tomatoes on the balcony need water every day.",
        "Ada's passport lies in the desk's top drawer.",
    ],
}
NIGHTS = int(os.environ.get("CONSOLIDATOR_TEST_NIGHTS", "1"))  # beside two agents; 20 take a minute
BREAKFAST, KEY, BOILER = "What does Ada drink at breakfast?", "Where is the spare key?", "Who serviced the boiler?"
SEAT = "Which seats does Ada prefer on trains?"


@pytest.fixture
def clock(tmp_path: Path) -> WallClock:
    """The clock on the wall of all processes of a test."""
    if LIBRARY is None:
        unavailable("no libfaketime: apt-get install faketime")
    return WallClock(tmp_path)


@asynccontextmanager
async def connected(url: str, folder: Path, clock: WallClock) -> AsyncIterator[Agent]:
    """An agent of Ada's: over standard input and output where the store is a file, over HTTP where it is a server."""
    arguments = ("--store", url, "--scope", "user=ada")
    if url.startswith("sqlite"):
        async with over_stdio(folder, *arguments, **clock.variables) as agent:
            yield agent
    else:
        with serving(folder, *arguments, CONSOLIDATOR_MCP_TOKEN=TOKEN, **clock.variables) as (address, _):
            async with over_http(address, token=TOKEN) as agent:
                yield agent


def test_a_day_and_its_nights(made_store_url: str, tmp_path: Path, clock: WallClock) -> None:
    """
    What helped ranks higher after the night, what was linked comes along, and what faded is gone from recall, and
    still there with `deep`.
    """

    async def boilers(ada: Agent) -> dict[str, Any]:
        """What the boiler has to do with the key: nothing that recall finds, unless they are linked."""
        found = await ada.recall(KEY, explain=True, limit=20)
        nothing = {"score": 0.0, "parts": {"linked": 0.0}}
        return next((each for each in found if each["content"] == FACTS["tuesday"][0]), nothing)

    async def live() -> None:
        clock.stop_at("2026-06-01T08:00:00Z")
        async with connected(made_store_url, tmp_path, clock) as ada:
            ids = {text: await ada.store(text, turn=turn) for turn, texts in FACTS.items() for text in texts}
            assert (await ada.use("memory_stats"))[0]["active"] == 20
            assert (await ada.recall("味噌是谁的猫？"))[0]["content"] == FACTS["thursday"][1]

            # A week later neither is fresh: one of two like answers helps, the other does not.
            clock.stop_at("2026-06-07T08:00:00Z")
            found, _ = await ada.use("memory_search", query=BREAKFAST, limit=2)
            before, after = (each["id"] for each in found["results"])
            assert {before, after} == {ids[text] for text in FACTS["monday"][:2]}
            await ada.use("memory_feedback", id=after[:8], rating=5)
            await ada.use("memory_feedback", id=before[:8], rating=1)
            # The key and the boiler are needed together, twice.
            key, boiler = ids[FACTS["monday"][3]], ids[FACTS["tuesday"][0]]
            for turn in ("locked out", "cold again"):
                assert (await ada.recall(KEY, limit=1, turn=turn))[0]["id"] == key
                assert (await ada.recall(BOILER, limit=1, turn=turn))[0]["id"] == boiler
                await ada.use("memory_get", id=key, turn=turn)
            alone = await boilers(ada)
            assert alone["parts"]["linked"] == 0

            clock.stop_at("2026-06-08T01:30:00Z")
            night(tmp_path, made_store_url, "--report", "off", **clock.variables)
            clock.stop_at("2026-06-08T08:00:00Z")
            assert [each["id"] for each in await ada.recall(BREAKFAST, limit=2)] == [after, before]
            linked = await boilers(ada)
            assert linked["parts"]["linked"] > 0
            assert linked["score"] > alone["score"]
            report = json.loads(await ada.read("consolidator://report/last.json"))
            assert report["totals"]["reinforced"] >= 4
            assert [each["scope"] for each in report["scopes"]] == [{"user": "ada"}]
            assert "reinforce" in await ada.read("consolidator://report/last")

            # Weeks in which only the seats are asked for: what nobody needed fades.
            for day in ("06-14", "06-20", "06-26", "07-02", "07-08"):
                clock.stop_at(f"2026-{day}T08:00:00Z")
                assert (await ada.recall(SEAT, limit=1))[0]["content"] == FACTS["wednesday"][0]
            clock.stop_at("2026-07-09T01:30:00Z")
            night(tmp_path, made_store_url, "--report", "off", **clock.variables)
            clock.stop_at("2026-07-09T08:00:00Z")
            painter = "Who is Ada's favourite painter?"
            faded = ids[FACTS["wednesday"][2]]
            assert faded not in [each["id"] for each in await ada.recall(painter)]
            (deep,) = [each for each in await ada.recall(painter, deep=True) if each["id"] == faded]
            assert deep["status"] == "archived"
            assert (await ada.recall(SEAT))[0]["content"] == FACTS["wednesday"][0]

    run(live)


def test_two_agents_and_a_night(made_store_url: str, tmp_path: Path) -> None:
    """Two agents that write and read while nights run meet no error, and nothing that they stored is lost."""

    async def busy(agent: Agent, name: str, ended: anyio.Event) -> set[str]:
        stored: set[str] = set()
        number = 0
        while not ended.is_set() or number < 15:
            number += 1
            stored.add(await agent.store(f"{name} has seen bird number {number} in the garden."))
            for each in await agent.recall(f"Which bird has {name} seen in the garden?", limit=3):
                await agent.use("memory_feedback", id=each["id"], rating=4)
        return stored

    async def live() -> None:
        ended = anyio.Event()
        kept: list[set[str]] = []

        async def work(agent: Agent, name: str) -> None:
            kept.append(await busy(agent, name, ended))

        arguments = ("--store", made_store_url)
        with serving(tmp_path, *arguments) as (address, _):
            async with over_http(address) as first, over_stdio(tmp_path, *arguments) as second:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(work, first, "Miso")
                    tasks.start_soon(work, second, "Wasabi")
                    for _ in range(NIGHTS):
                        await anyio.to_thread.run_sync(night, tmp_path, made_store_url, "--report", "off")
                    ended.set()
                counted, _ = await first.use("memory_stats")
                assert counted["active"] + counted["superseded"] == len(kept[0] | kept[1]) >= 30
                for each in kept[0] | kept[1]:
                    await second.use("memory_get", id=each)

    run(live)
