"""The ledger: what was done for which date in which scope, on both stores."""

from collections.abc import Iterator

import pytest

from consolidator.instants import parse_instant
from consolidator.store import ledger
from consolidator.store.engine import Store, open_store
from consolidator.store.ledger import Entry
from tests.lives import day, memory, take

JOB, DAY = "consolidate", "2026-05-30"


@pytest.fixture
def store(made_store_url: str) -> Iterator[Store]:
    """With one scope, whose key is 1."""
    with open_store(made_store_url, mode="write") as store:
        take(store, [memory("one", 0.5)], at=1)
        yield store


def begin(store: Store, *, next_at: int | None = 10, day: str = DAY, scope: int = 1) -> None:
    with store.write() as conn:
        ledger.begin(conn, scope, JOB, day, next_at=next_at)


def done(store: Store, *, at: int = 20, day: str = DAY, scope: int = 1, job: str = JOB) -> None:
    with store.write() as conn:
        ledger.done(conn, scope, job, day, at=at)


def entry(store: Store, *, day: str = DAY, until: str = DAY, scope: int = 1) -> Entry:
    with store.read() as conn:
        return ledger.entries(conn, [scope], JOB, day, until)[scope]


def test_nothing_is_known_of_what_was_not_begun(store: Store) -> None:
    """It is neither done nor given up; another job, scope or date does not count."""
    done(store, job="shift")
    done(store, scope=2)
    done(store, day="2026-05-29")
    assert entry(store) == Entry(1, JOB, DAY)
    assert not entry(store).done
    assert not entry(store).given_up


def test_an_attempt_counts_when_it_begins(store: Store) -> None:
    """So a killed one has counted, with the time of the next."""
    begin(store, next_at=10)
    begin(store, next_at=70)
    found = entry(store)
    assert (found.attempts, found.next_at, found.done, found.given_up) == (2, 70, False, False)
    assert "killed" in str(found.reason)


def test_an_attempt_that_failed_says_why(store: Store) -> None:
    """It is counted once; without a time for another one the date is given up."""
    begin(store)
    with store.write() as conn:
        ledger.failed(conn, 1, JOB, DAY, reason="the disk is full", next_at=None)
    assert entry(store) == Entry(1, JOB, DAY, attempts=1, reason="the disk is full")
    assert entry(store).given_up


def test_what_was_stopped_on_request_was_not_attempted(store: Store) -> None:
    """It may be begun again at once."""
    begin(store)
    with store.write() as conn:
        ledger.not_begun(conn, 1, JOB, DAY, now=5)
    assert (entry(store).attempts, entry(store).next_at, entry(store).given_up) == (0, 5, False)


def test_done_is_for_good(store: Store) -> None:
    """No attempt, failure or stop after it takes it back, and the time of it stays."""
    begin(store)
    done(store, at=20)
    expected = entry(store)
    assert expected.done
    assert (expected.done_at, expected.reason, expected.next_at) == (20, None, None)
    begin(store)
    with store.write() as conn:
        ledger.failed(conn, 1, JOB, DAY, reason="no", next_at=1)
        ledger.not_begun(conn, 1, JOB, DAY, now=5)
    done(store, at=30)
    assert entry(store) == expected


def test_a_later_date_that_is_done_includes_an_earlier_one(store: Store) -> None:
    """Up to the date asked for: a date far ahead, of a clock that was wrong, counts for nothing."""
    done(store, day="2026-05-31")
    begin(store, day="2026-06-01")
    assert entry(store, until="2026-05-31").done
    assert entry(store, until="2026-06-02").done
    assert not entry(store, until=DAY).done


def test_what_failed_last_is_known(store: Store) -> None:
    """By the last date alone, and where an attempt was made."""
    begin(store, day="2026-05-28", scope=1)
    done(store, scope=1)
    done(store, day="2026-05-28", scope=2)
    begin(store, scope=2)
    with store.write() as conn:
        ledger.failed(conn, 3, JOB, DAY, reason="out of time", next_at=None)
    with store.read() as conn:
        assert ledger.unfinished(conn, JOB) == {2}
        assert ledger.unfinished(conn, "shift") == set()


def test_old_entries_are_dropped(store: Store) -> None:
    """Those of more than 400 nights ago, done or not, of the same job and scope."""
    for scope in (1, 2):
        begin(store, day="2025-04-24", scope=scope)
        begin(store, day="2025-04-25", scope=scope)
    done(store, at=parse_instant("2026-05-30T03:30:00Z"))
    left = [
        (scope, day)
        for scope in (1, 2)
        for day in ("2025-04-24", "2025-04-25")
        if entry(store, day=day, until=day, scope=scope).attempts
    ]
    assert left == [(1, "2025-04-25"), (2, "2025-04-24"), (2, "2025-04-25")]


def test_the_last_success_of_each_job_and_scope(store: Store) -> None:
    """The one that ended last, by the scope's text; the whole store's is empty."""
    for at in (1, 3, 2):
        done(store, at=day(at), day=f"2026-05-0{at}")
    done(store, at=day(5), scope=0, job="backup", day="2026-05-05")
    begin(store, day="2026-05-09")
    with store.read() as conn:
        found = [(one.scope, one.job, one.day, one.at) for one in ledger.last_successes(conn)]
    assert found == [("", "backup", "2026-05-05", day(5)), ("{}", JOB, "2026-05-03", day(3))]
