"""
Killed or told to end at any instant, a job is completed by the next attempt: one night for its date, in every scope.

CONSOLIDATOR_CRASH_KILLS (see test_kill.py): a tenth of it are the kills on each store, and the signals.
"""

import json
import signal
from collections.abc import Callable
from functools import partial

import pytest
import sqlalchemy as sa

from consolidator.errors import Terminated
from consolidator.schedule.jobs import do
from consolidator.schedule.owed import owed
from consolidator.schedule.stopping import Stopping
from consolidator.store.engine import open_store
from consolidator.store.tables import ledger
from tests.children import TOO_LONG_SECONDS, Instants, in_child
from tests.crash.test_kill import FEW, assert_whole, sample, wait_for_the_dead
from tests.lives import EVE, Exported, day, looked_at
from tests.schedule.works import duty, work_on

Copy = Callable[[], str]


def night_of_a_job(url: str) -> str:
    """Its exit code. SIGTERM is a request, as in the command."""
    with Stopping(60, lambda: 0.0).heeding() as stop, open_store(url, mode="write") as store:
        return str(do(work_on(store, EVE, stop=stop)).exit_code)


@pytest.fixture
def whole(copy_of_eve: Copy) -> tuple[Exported, list[int]]:
    """What a job leaves that nobody disturbs, and the instants of it at which the others are disturbed."""

    def watched() -> str:
        instants = Instants()
        assert night_of_a_job(url) == "0"
        return json.dumps([instants.boundaries, instants.passed])

    url = copy_of_eve()
    boundaries, passed = json.loads(in_child(watched).said)
    return looked_at(url, EVE), sorted({*sample(boundaries, 2 * FEW), *sample(range(passed), FEW)})


def attempts(url: str) -> list[tuple[int, bool]]:
    with open_store(url, mode="read") as store, store.read() as conn:
        rows = conn.execute(sa.select(ledger.c.attempts, ledger.c.done_at)).all()
    return [(count, done is not None) for count, done in rows]


def assert_completed(url: str, expected: Exported) -> None:
    """By the next attempt, which the ledger allows."""
    with open_store(url, mode="read") as store:
        left = owed(store, duty(), day(EVE))
    assert left is None or left.begin_at <= day(EVE) + 60_000_000
    assert (left is None) == (sorted(done for _, done in attempts(url)) == [True, True])
    assert in_child(partial(night_of_a_job, url)).said == "0"
    assert looked_at(url, EVE) == expected
    assert [done for _, done in attempts(url)] == [True, True]


def test_killed_at_any_instant(copy_of_eve: Copy, whole: tuple[Exported, list[int]]) -> None:
    """In whatever step: an attempt that has begun has counted."""
    expected, instants = whole
    for instant in instants:
        url = copy_of_eve()

        def killing_itself(url: str = url, instant: int = instant) -> str:
            Instants(kill_at=instant)
            return night_of_a_job(url)

        assert in_child(killing_itself, kill_after=TOO_LONG_SECONDS).killed
        wait_for_the_dead(url)
        assert_whole(url)
        assert_completed(url, expected)
        assert all(count <= 2 for count, _ in attempts(url))


def test_told_to_end_at_any_instant(copy_of_eve: Copy, whole: tuple[Exported, list[int]]) -> None:
    """The scope at work ends whole and no attempt counts; exit code 3, or 0 where all was done."""
    expected, instants = whole
    codes = set()
    for instant in instants:
        url = copy_of_eve()

        def telling_itself(url: str = url, instant: int = instant) -> str:
            Instants(kill_at=instant, by=signal.SIGTERM)
            return night_of_a_job(url)

        codes.add(in_child(telling_itself).said)
        assert all(done or not count for count, done in attempts(url))
        assert_completed(url, expected)
    assert codes <= {"0", "3"}
    assert "3" in codes


def test_told_twice_it_ends_at_once(copy_of_eve: Copy, whole: tuple[Exported, list[int]]) -> None:
    """As at Ctrl-C: what it held is free, and what is committed stays."""
    expected, instants = whole
    url = copy_of_eve()

    def telling_itself() -> str:
        Instants(kill_at=instants[len(instants) // 2], by=signal.SIGTERM)
        signal_once = Stopping.request

        def and_again(stop: Stopping) -> None:
            signal_once(stop)
            signal.raise_signal(signal.SIGTERM)

        Stopping.request = and_again  # type: ignore[method-assign] - in the child alone
        try:
            return night_of_a_job(url)
        except Terminated:
            return "at once"

    assert in_child(telling_itself).said == "at once"
    assert_completed(url, expected)
