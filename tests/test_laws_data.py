"""Example lives with the values that other readings of the laws give them, through whole nights."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from consolidator.exchange.export import export_values
from consolidator.exchange.intake import import_lines
from consolidator.instants import parse_instant
from consolidator.laws.clock import Rates
from consolidator.night import run_night
from consolidator.plan import Decision
from consolidator.store.engine import Store, open_store

TOLERANCE = 1e-6
LIVES = {"parity/conv-26": 5, "laws/daily": 13, "laws/holiday": 24}
SUBSETS = settings(
    max_examples=4, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None
)

Links = dict[tuple[str, str], float]
Seen = Callable[[int, Store, list[str]], None]


@dataclass(frozen=True)
class Life:
    """A folder of days and what is expected after the night of each."""

    folder: Path

    @cached_property
    def expected(self) -> dict[str, Any]:
        return json.loads((self.folder / "expected.json").read_bytes())

    @cached_property
    def nights(self) -> list[int]:
        return [parse_instant(night["as_of"]) for night in self.expected["nights"]]

    def begin(self, store: Store) -> None:
        """Take in what there was before the first day."""
        if (self.folder / "seed.jsonl").exists():
            take(store, self.folder / "seed.jsonl", parse_instant(self.expected["t0"]))

    def day(self, store: Store, number: int) -> None:
        """Take in a day, counted from 0."""
        take(store, self.folder / f"day-{number + 1:02}.jsonl", self.nights[number])


def take(store: Store, path: Path, now: int) -> None:
    with path.open("rb") as lines:
        assert import_lines(store, lines, path.name, now=now).bad_lines == 0


def live(life: Life, url: str, nights: Iterable[int], seen: Seen) -> None:
    """All days of a life in a new store, with these of its nights; `seen` hears of each and what it decided."""
    run = set(nights)
    with open_store(url, mode="create") as store:
        life.begin(store)
        for number, now in enumerate(life.nights):
            life.day(store, number)
            if number in run:
                seen(number, store, [decision.verb for decision in decided_by_night(store, now)])


def decided_by_night(store: Store, now: int) -> list[Decision]:
    result = run_night(store, now=now, rates=Rates(), wall_clock=lambda: now, describe=lambda _: {})
    assert result.exit_code == 0, result.error
    return [one for part in result.plan.scopes for one in part.decisions]


def values(store: Store, at: int) -> tuple[dict[str, dict[str, Any]], Links]:
    """Memories by id, and the direct links, as `export --format json` has them."""
    with store.read() as conn:
        (scope,) = export_values(conn, scopes=None, as_of=at, rates=Rates())["scopes"]
    links = {
        (link["memory_a"], link["memory_b"]): link["weight"] for link in scope["associations"] if not link["inferred"]
    }
    return {memory["id"]: memory for memory in scope["memories"]}, links


def assert_as_expected(life: Life, number: int, store: Store, decided: list[str]) -> None:
    expected = life.expected["nights"][number]
    memories, links = values(store, life.nights[number])
    if "archived" in expected:  # then only the active are told of
        assert expected["memories"].keys() == {key for key, one in memories.items() if one["status"] == "active"}
    else:
        assert expected["memories"].keys() == memories.keys()
    for key, told in expected["memories"].items():
        found = memories[key]
        assert found["strength"] == pytest.approx(told[0], abs=TOLERANCE), key
        assert [found["temporal_state"], found["status"]] == [told[1], *(told[2:] or ["active"])], key
    told_links = {(min(a, b), max(a, b)): weight for a, b, weight in expected["associations"]}
    assert links == pytest.approx(told_links, abs=TOLERANCE)
    for verb, name in (("archived", "archived"), ("shifted", "transitioned")):
        if name in expected:
            assert decided.count(verb) == expected[name]


@pytest.fixture(params=LIVES, scope="session")
def life(request: pytest.FixtureRequest, shared_data: Path) -> Life:
    """Each of the example lives."""
    return Life(shared_data / request.param)


def check_every_night(life: Life, url: str) -> None:
    def seen(number: int, store: Store, decided: list[str]) -> None:
        assert_as_expected(life, number, store, decided)

    live(life, url, range(len(life.nights)), seen)


def test_every_night_leaves_what_is_expected(life: Life, sqlite_url: str) -> None:
    """After every night strengths, states, statuses and direct links are the expected ones, to 1e-6."""
    assert len(life.nights) == LIVES[f"{life.folder.parent.name}/{life.folder.name}"]
    check_every_night(life, sqlite_url)


@pytest.mark.parametrize("name", ["parity/conv-26", "laws/daily"])
def test_every_night_leaves_what_is_expected_on_postgres(shared_data: Path, postgres_url: str, name: str) -> None:
    """The same on Postgres."""
    check_every_night(Life(shared_data / name), postgres_url)


@pytest.mark.parametrize("name", ["laws/daily", "laws/holiday"])
@SUBSETS
@given(chosen=st.sets(st.integers(0, 23), min_size=1))
def test_any_subset_of_the_nights_leaves_the_same(
    tmp_path_factory: pytest.TempPathFactory, shared_data: Path, name: str, chosen: set[int]
) -> None:
    """Whichever nights are run, and whichever are missed, those that are run leave the expected values."""
    life = Life(shared_data / name)
    nights = {number % len(life.nights) for number in chosen}

    def seen(number: int, store: Store, _: list[str]) -> None:
        assert_as_expected(life, number, store, [])

    live(life, f"sqlite:///{tmp_path_factory.mktemp('life')}/store.db", nights, seen)


def test_one_night_for_all_days_leaves_the_same_strengths(life: Life, sqlite_url: str, tmp_path: Path) -> None:
    """Importing all days and running once at the end gives the same strengths for what is active in both."""
    last = len(life.nights) - 1
    found: list[tuple[dict[str, dict[str, Any]], Links]] = []

    def seen(number: int, store: Store, _: list[str]) -> None:
        if number == last:
            found.append(values(store, life.nights[last]))

    live(life, sqlite_url, [last], seen)
    live(life, f"sqlite:///{tmp_path}/nightly.db", range(last + 1), seen)
    (once, links_once), (nightly, links_nightly) = found
    active = [{key for key, one in memories.items() if one["status"] == "active"} for memories in (once, nightly)]
    both = active[0] & active[1]
    assert len(both) >= 0.9 * len(active[1])
    for key in both:
        assert once[key]["strength"] == pytest.approx(nightly[key]["strength"], abs=1e-9)
    between = [{pair: one[pair] for pair in one if set(pair) <= both} for one in (links_once, links_nightly)]
    assert between[0] == pytest.approx(between[1], abs=1e-9)


def test_two_nights_of_one_moment_decide_nothing_more(life: Life, sqlite_url: str) -> None:
    """A second night with the same `now` decides nothing, after any of the nights."""

    def seen(number: int, store: Store, _: list[str]) -> None:
        if number % 3 == 0 or number == len(life.nights) - 1:
            assert decided_by_night(store, life.nights[number]) == []

    live(life, sqlite_url, range(len(life.nights)), seen)
