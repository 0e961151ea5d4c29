"""What the service goes by, and what it remembers of each job."""

import signal
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from consolidator.cli.session import Session
from consolidator.errors import BadInput
from consolidator.instants import SECOND, from_datetime
from consolidator.schedule.orders import orders_of
from consolidator.schedule.record import Record
from consolidator.settings import parse_settings

MONDAY = from_datetime(datetime(2026, 6, 1, 12, tzinfo=UTC))
STORES = """
store: one.db
stores: {two: two.db}
time_zone: Europe/Helsinki
jobs: {shift: {store: two, time_zone: America/New_York}, purge: {enabled: false}}
"""


def session_of(text: str, store: str | None = None) -> Session:
    """The session of settings."""
    return Session(store, parse_settings(text, "schedules.yaml"), Path("schedules.yaml"))


def test_agenda() -> None:
    """The jobs that are on, the next first, each by the clock of its place; no batches to collect, no job for it."""
    orders = orders_of(session_of(STORES))
    expected = ["shift 2026-06-01 15:00 EDT", "consolidate 2026-06-02 03:30 EEST", "report 2026-06-08 09:00 EEST"]
    assert orders.agenda(MONDAY) == ", ".join(expected)
    assert "collect" in orders_of(session_of(f"{STORES}merge: {{mode: batch}}")).duties


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        (None, {"one.db": ["consolidate", "report"], "two.db": ["shift"]}),
        ("three.db", {"three.db": ["consolidate", "shift", "report"]}),
    ],
)
def test_stores(option: str | None, expected: dict[str, list[str]]) -> None:
    """Each job works on its own store, else on the one in use; --store comes before both, as everywhere."""
    found = orders_of(session_of(STORES, option)).by_store()
    assert {store: [duty.name for duty in duties] for store, duties in found.items()} == expected


def test_nothing_to_do() -> None:
    """Settings whose only job has nothing to do are refused."""
    off = ", ".join(f"{name}: {{enabled: false}}" for name in ("consolidate", "shift", "report", "purge"))
    with pytest.raises(BadInput, match="no job is on"):
        orders_of(session_of(f"time_zone: UTC\njobs: {{{off}}}"))


@dataclass
class Gone:
    """A child that has ended after 75 seconds."""

    code: int
    seconds: float = 75.0

    def exit_code(self) -> int:
        return self.code


def test_a_job_that_is_owed_all_the_same_waits_longer_each_time() -> None:
    """A minute, ten, an hour, four hours, and four again: also where the ledger could not be written."""
    record, now, waited = Record(), MONDAY, []
    for _ in range(5):
        assert record.may_begin(7, now)
        record.begin(Gone(1), due=7, now=now)
        record.end(Gone(1), now=now)
        assert record.failed
        waits = next(wait for wait in (60, 600, 3600, 14_400) if record.may_begin(7, now + wait * SECOND))
        assert not record.may_begin(7, now + waits * SECOND - 1)
        waited.append(waits)
        now += waits * SECOND
    assert waited == [60, 600, 3600, 14_400, 14_400]


def test_another_time_does_not_wait() -> None:
    """What failed for one date is begun at once for the next, which starts from the first wait."""
    record = Record()
    for due in (7, 7, 8):
        record.begin(Gone(1), due=due, now=MONDAY)
        record.end(Gone(1), now=MONDAY)
    assert record.may_begin(9, MONDAY)
    assert record.may_begin(8, MONDAY + 60 * SECOND)
    assert not record.may_begin(8, MONDAY)


@pytest.mark.parametrize(
    ("code", "failed", "how"),
    [
        (0, False, "exit code 0"),
        (3, False, "exit code 3"),
        (1, True, "exit code 1"),
        (2, True, "exit code 2"),
        (11, True, "exit code 11"),
        (-signal.SIGKILL, True, "killed by SIGKILL"),
    ],
)
def test_how_a_job_ended(code: int, failed: bool, how: str) -> None:
    """In words, and whether health is to fail for it."""
    record = Record()
    record.begin(Gone(code), due=7, now=MONDAY)
    assert record.end(Gone(code), now=MONDAY) == f"ended after 0:01:15, {how}"
    assert (record.failed, record.child) == (failed, None)
