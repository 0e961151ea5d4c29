"""Cadence-freedom: how often the night runs, and when things come to be known, changes nothing of what is left."""

import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from consolidator.exchange.intake import take_in
from consolidator.exchange.records import MemoryLine
from consolidator.instants import NIGHT
from consolidator.laws.association import DEAD
from consolidator.laws.clock import ASSOCIATION
from consolidator.laws.clock import Rates as Given
from consolidator.laws.pace import Ageing
from consolidator.laws.strength import strength_at
from consolidator.night import run_night
from consolidator.steps.rows import Memory, fading_ages
from consolidator.store.clocks import load_clock, read_clock
from consolidator.store.engine import Store, open_store
from consolidator.store.tables import associations, identities, memories, scopes
from tests.aged import set_importance, set_type
from tests.lifetimes import START, Recorded, life, without_activity_in_closed_pauses
from tests.oracle import DAY_RATES, Line, Rates, judge

END = START + 45 * NIGHT
SLOWER = (0.95, 0.99, 0.93)


def live(
    url: str, records: list[Recorded], nights: list[tuple[int, Rates]], changes: Sequence[tuple[int, MemoryLine]] = ()
) -> Store:
    """
    A store to which each record is told before the first night that is not earlier, and whose nights have run.

    changes: when a memory's importance and type become those of a line.
    """
    store = open_store(url, mode="create")
    told, changed = 0, -1
    for now, rates in nights:
        news = [line for one in records[told:] if one.at <= now for line in one.lines]
        told += sum(one.at <= now for one in records[told:])
        with store.write() as conn:
            take_in(conn, news, now=now)
            for _, line in (one for one in changes if changed < one[0] <= now):
                key = conn.scalar(sa.select(identities.c.key).where(identities.c.hash == line.id))
                set_importance(conn, key or 0, line.importance)
                set_type(conn, key or 0, line.type)
        changed = now
        result = run_night(store, now=now, rates=Given(*rates), wall_clock=lambda at=now: at, describe=lambda _: {})
        assert result.exit_code == 0, result.error
    return store


def left(store: Store, now: int, rates: Given) -> tuple[dict, dict]:
    """Strength, state and status of every memory, and the weight of every living direct link, at `now`."""
    with store.read() as conn:
        (scope,) = conn.scalars(sa.select(scopes.c.key)).all()
        clock = read_clock(conn, scope, now=now, rates=rates)
        names = dict(conn.execute(sa.select(identities.c.key, identities.c.hash)).all())
        found = {
            names[row.key]: (
                float(strength_at(clock, row.strength, row.strength_at, now, Ageing.of([row]))[0]),
                row.temporal_state,
                row.status,
            )
            for row in conn.execute(sa.select(memories))
        }
        links = {}
        for row in conn.execute(sa.select(associations).where(~associations.c.inferred)):
            weight = float(strength_at(clock, row.weight, row.weight_at, now, ASSOCIATION))
            if weight >= DEAD:
                links[tuple(sorted((names[row.memory_a], names[row.memory_b])))] = weight
    return found, links


def assert_as_judged(store: Store, records: list[Recorded], rates: list[tuple[float, Rates]], now: int) -> None:
    verdicts, weights = judge([line for one in records for line in one.lines], now, rates)
    found, links = left(store, now, Given(*rates[-1][1]))
    assert found.keys() == verdicts.keys()
    for key, verdict in verdicts.items():
        strength, state, status = found[key]
        assert strength == pytest.approx(verdict.strength, abs=1e-9), key
        assert (state, status) == (verdict.temporal_state, verdict.status), (key, strength, verdict)
    assert links == pytest.approx(weights, abs=1e-9)


def assert_scheduled(store: Store) -> None:
    """When each memory fades, as it is stored, follows from its head and the clock."""
    with store.read() as conn:
        (scope,) = conn.scalars(sa.select(scopes.c.key)).all()
        rows = [Memory(*row) for row in conn.execute(sa.select(*(memories.c[name] for name in Memory._fields)))]
        assert not any(row.anew for row in rows)
        fades = np.array([row.fades_age for row in rows], np.float64)
        assert fades == pytest.approx(fading_ages(load_clock(conn, scope), rows), abs=1e-9)


def split(chance: random.Random, kind: str) -> list[int]:
    nights = {
        "one": [],
        "every second day": [START + day * NIGHT for day in range(1, 45, 2)],
        "some": [START + chance.randrange(45 * 24) * NIGHT // 24 for _ in range(6)],
        "month missed": [START + day * NIGHT for day in (1, 2, 3, 34, 35)],
        "two in a minute": [START + 20 * NIGHT, START + 20 * NIGHT + 1, START + 20 * NIGHT + 60_000_000],
    }[kind]
    return sorted({*nights, END})


@settings(
    max_examples=5,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # a seed does not get simpler by getting smaller
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(seed=st.integers(0, 10**6), leaves=st.booleans(), changed=st.booleans())
@pytest.mark.parametrize("kind", ["one", "every second day", "some", "month missed", "two in a minute"])
def test_any_split_into_nights_leaves_what_one_reading_of_the_laws_does(
    tmp_path_factory: pytest.TempPathFactory, kind: str, seed: int, leaves: bool, changed: bool
) -> None:
    """Strengths, states, archived and revived, and direct weights are those of everything replayed at once, to 1e-9."""
    chance = random.Random(seed)
    rates: list[tuple[float, Rates]] = [(0, DAY_RATES)]
    nights = split(chance, kind)
    if changed:
        at = START + chance.randrange(5, 30) * NIGHT
        rates.append((at, SLOWER))
        nights = sorted({*nights, START + NIGHT // 2, at})  # a night has known the rates before they change
    records = without_activity_in_closed_pauses(life(seed, leaves=leaves), nights)
    run = [(now, SLOWER if changed and now >= rates[-1][0] else DAY_RATES) for now in nights]
    folder: Path = tmp_path_factory.mktemp("life")
    with live(f"sqlite:///{folder}/store.db", records, run) as store:
        assert_as_judged(store, records, rates, END)


LAWS = [("twofold",), ("off", "memory-new"), ("memory-lancedb-pro", "twofold"), ("memory-new", "off", "memory-new")]


def of_importance(chance: random.Random, line: Line) -> Line:
    """A memory as it matters more, less, or nobody knows how much."""
    if not isinstance(line, MemoryLine):
        return line
    kinds = ("fact", "observation", "pattern")
    return replace(line, importance=chance.choice([None, 0.0, 0.25, 0.7, 1.0]), type=chance.choice(kinds))


@settings(
    max_examples=2,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(seed=st.integers(0, 10**6), leaves=st.booleans(), changes=st.booleans())
@pytest.mark.parametrize(
    ("laws", "kind"), [*product(LAWS, ["some", "month missed"]), (LAWS[0], "one"), (LAWS[-1], "every second day")]
)
def test_so_it_does_under_a_law_by_importance(
    tmp_path_factory: pytest.TempPathFactory,
    kind: str,
    laws: tuple[str, ...],
    seed: int,
    leaves: bool,
    changes: bool,
) -> None:
    """Whichever law holds from when on, and though importance and type of some become others on the way."""
    chance = random.Random(seed)
    turns = [0, *sorted(START + chance.randrange(5 * 24, 50 * 24) * NIGHT // 24 for _ in laws[1:])]
    turns = [min(at, END) for at in turns]  # the last night itself, in one of five
    rates: list[tuple[float, Rates]] = [(at, (*DAY_RATES, law)) for at, law in zip(turns, laws, strict=True)]
    nights = split(chance, kind)
    nights = sorted({*nights, *turns[1:], *([START + NIGHT // 2] if turns[1:] else [])})
    records = [
        replace(one, lines=tuple(of_importance(chance, line) for line in one.lines))
        for one in without_activity_in_closed_pauses(life(seed, leaves=leaves), nights)
    ]
    known = [(one.at, line) for one in records for line in one.lines if isinstance(line, MemoryLine)]
    other = {
        line.id: (START + chance.randrange(at - START, 45 * NIGHT), of_importance(chance, line))
        for at, line in chance.sample(known, 3 if changes else 0)
    }
    run = [(now, next(each for at, each in reversed(rates) if at <= now)) for now in nights]
    folder: Path = tmp_path_factory.mktemp("life")
    with live(f"sqlite:///{folder}/store.db", records, run, [*other.values()]) as store:
        as_it_is = [
            replace(
                one, lines=tuple(other[line.id][1] if getattr(line, "id", "") in other else line for line in one.lines)
            )
            for one in records
        ]
        assert_as_judged(store, as_it_is, rates, END)
        assert_scheduled(store)
