"""Cadence-freedom: how often the night runs, and when things come to be known, changes nothing of what is left."""

import random
from pathlib import Path

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from consolidator.exchange.intake import take_in
from consolidator.instants import NIGHT
from consolidator.laws.association import DEAD
from consolidator.laws.clock import ASSOCIATION, Rates
from consolidator.laws.strength import strength_at
from consolidator.night import run_night
from consolidator.store.clocks import read_clock
from consolidator.store.engine import Store, open_store
from consolidator.store.tables import associations, identities, memories, scopes
from tests.lifetimes import START, Recorded, life, without_activity_in_closed_pauses
from tests.oracle import DAY_RATES, judge

END = START + 45 * NIGHT
SLOWER = (0.95, 0.99, 0.93)


def live(url: str, records: list[Recorded], nights: list[tuple[int, tuple[float, float, float]]]) -> Store:
    """A store to which each record is told before the first night that is not earlier, and whose nights have run."""
    store = open_store(url, mode="create")
    told = 0
    for now, rates in nights:
        news = [line for one in records[told:] if one.at <= now for line in one.lines]
        told += sum(one.at <= now for one in records[told:])
        with store.write() as conn:
            take_in(conn, news, now=now)
        result = run_night(store, now=now, rates=Rates(*rates), wall_clock=lambda at=now: at, describe=lambda _: {})
        assert result.exit_code == 0, result.error
    return store


def left(store: Store, now: int, rates: Rates) -> tuple[dict, dict]:
    """Strength, state and status of every memory, and the weight of every living direct link, at `now`."""
    with store.read() as conn:
        (scope,) = conn.scalars(sa.select(scopes.c.key)).all()
        clock = read_clock(conn, scope, now=now, rates=rates)
        names = dict(conn.execute(sa.select(identities.c.key, identities.c.hash)).all())
        found = {
            names[row.key]: (
                float(strength_at(clock, row.strength, row.strength_at, now, int(row.consolidated))),
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


def assert_as_judged(store: Store, records: list[Recorded], rates: list[tuple[float, tuple]], now: int) -> None:
    verdicts, weights = judge([line for one in records for line in one.lines], now, rates)
    found, links = left(store, now, Rates(*rates[-1][1]))
    assert found.keys() == verdicts.keys()
    for key, verdict in verdicts.items():
        strength, state, status = found[key]
        assert strength == pytest.approx(verdict.strength, abs=1e-9), key
        assert (state, status) == (verdict.temporal_state, verdict.status), (key, strength, verdict)
    assert links == pytest.approx(weights, abs=1e-9)


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
    rates: list[tuple[float, tuple[float, float, float]]] = [(0, DAY_RATES)]
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
