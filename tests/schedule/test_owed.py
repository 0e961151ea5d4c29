"""What a job has still to do: its latest date alone, once, whatever the clocks do and however often it failed."""

from bisect import bisect_left
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from consolidator.instants import NIGHT, SECOND, from_datetime, parse_instant, to_datetime
from consolidator.schedule.calendar import Due, due_between, last_due
from consolidator.schedule.owed import WAITS, Owed, day_of, is_daily, owed, today
from consolidator.store import ledger
from consolidator.store.engine import Store, open_store
from tests.lives import memory, take
from tests.schedule.test_calendar import YEARS
from tests.schedule.works import duty

MINUTE, HOUR = 60 * SECOND, 3600 * SECOND
TIMES = ["0 0 * * *", "10 2 * * *", "30 3 * * *", "45 23 * * *"]


def looked_at(zone: ZoneInfo, year: int) -> list[int]:
    """Instants of a year: every six hours, and every twenty minutes beside a change of the clocks."""
    start = from_datetime(datetime(year, 1, 1, tzinfo=zone))
    hours = [start + hour * HOUR for hour in range(0, 366 * 24, 6)]
    offset = {hour: to_datetime(hour).astimezone(zone).utcoffset() for hour in hours}
    changes = [after for before, after in pairwise(hours) if offset[before] != offset[after]]
    beside = {change + step * 20 * MINUTE for change in changes for step in range(-3 * 12, 3 * 27)}
    return sorted({*hours, *beside})


@pytest.mark.parametrize("cron", TIMES)
@pytest.mark.parametrize(("zone", "year"), YEARS)
def test_every_date_is_done_once(zone: str, year: int, cron: str) -> None:
    """
    Whoever looks often enough does a daily job once for each date that there is, at the first look from its time of day
    on, the first of two; where the date before is missing, from the first moment on.
    """
    place = ZoneInfo(zone)
    job = duty()._replace(cron=cron, zone=place)
    minute, hour = map(int, cron.split()[:2])
    done: dict[str, int] = {}
    latest = ""
    expected: dict[str, int] = {}
    for now in looked_at(place, year):
        local = to_datetime(now).astimezone(place)
        before = from_datetime(datetime(local.year, local.month, local.day, tzinfo=place)) - HOUR
        skipped = to_datetime(before).astimezone(place).date() != local.date() - timedelta(days=1)
        again = local.fold and local.hour == hour
        begun = skipped or again or (local.hour, local.minute) >= (hour, minute)
        expected.setdefault(f"{local.date() - timedelta(days=not begun)}", now)
        due = last_due(job.cron, place, now)
        assert due is not None
        name, until = day_of(job, due, now)
        if not name <= latest <= until:
            done[name], latest = now, name
    assert done == expected


@pytest.mark.parametrize("cron", ["30 3 * * *", "30 2 * * *", "*/30 * * * *", "15 */6 * * *", "0 9 * * MON"])
@pytest.mark.parametrize(("zone", "year"), YEARS)
def test_the_last_due_time_is_that_of_the_list(zone: str, year: int, cron: str) -> None:
    """Looked for backwards from any instant, it is what the calendar lists forwards."""
    place = ZoneInfo(zone)
    instants = looked_at(place, year)[::61]
    listed = [due.at for due in due_between(cron, place, instants[0] - 9 * NIGHT, instants[-1])]
    for now in instants:
        found = last_due(cron, place, now)
        assert found is not None
        assert found.at == listed[bisect_left(listed, now + 1) - 1]


def test_rare_times() -> None:
    """A leap day is found years back; what never was due is None."""
    utc = ZoneInfo("UTC")
    now = parse_instant("2027-06-01T00:00:00Z")
    assert last_due("0 3 29 2 *", utc, now) == Due(date(2024, 2, 29), parse_instant("2024-02-29T03:00:00Z"))


@pytest.mark.parametrize(
    ("cron", "at", "name"),
    [
        ("30 3 * * *", "2026-11-01T08:00:00Z", "2026-10-31"),
        ("30 3 * * *", "2026-11-01T08:30:00Z", "2026-11-01"),
        ("*/30 * * * *", "2026-11-01T05:30:00Z", "2026-11-01 05:30Z"),
        ("*/30 * * * *", "2026-11-01T06:40:00Z", "2026-11-01 06:30Z"),
        ("30 3,15 * * *", "2026-11-01T21:00:00Z", "2026-11-01 20:30Z"),
    ],
)
def test_what_the_ledger_calls_it(cron: str, at: str, name: str) -> None:
    """The local date; a time of UTC where there are several a day, so that an hour that comes twice is two."""
    job = duty()._replace(cron=cron, zone=ZoneInfo("America/New_York"))
    now = parse_instant(at)
    due = last_due(job.cron, job.zone, now)
    assert due is not None
    assert day_of(job, due, now).name == name
    assert is_daily(cron) == (len(name) == 10)


def test_a_night_by_hand_is_of_the_date_on_which_it_is_done() -> None:
    """Also before the time of the job; where that comes several times a day, of the last."""
    job = duty()._replace(cron="30 3 * * *", zone=ZoneInfo("Pacific/Apia"))
    assert today(job, parse_instant("2026-05-30T10:30:00Z")) == "2026-05-30"
    assert today(job, parse_instant("2026-05-30T11:30:00Z")) == "2026-05-31"
    assert today(job._replace(cron="0 */8 * * *"), parse_instant("2026-05-30T10:30:00Z")) == "2026-05-30 03:00Z"


def instant(text: str) -> int:
    """Of a time in the first days of March 2026."""
    return parse_instant(f"2026-03-{text}:00Z")


@pytest.fixture
def store(made_store_url: str) -> Iterator[Store]:
    """With the scope {}, in which something is since 1 March, 9:00, and user=ada, since 5 March, 9:00."""
    with open_store(made_store_url, mode="write") as store:
        take(store, [memory("one", 0.0)], at=4)
        take(store, [memory("two", 4.0) | {"scope": {"user": "ada"}}], at=4)
        yield store


def test_what_is_due_is_owed(store: Store) -> None:
    """From the time on; until then the date before; older ones are not made up."""
    job = duty()
    for now, number in (("05T03:29", 4), ("05T03:30", 5), ("09T12:00", 9)):
        at = instant(f"0{number}T03:30")
        assert owed(store, job, instant(now)) == Owed(Due(date(2026, 3, number), at), at)


def test_what_was_due_before_there_was_anything_is_not_owed(store: Store) -> None:
    """Neither in a scope, nor in a store; nor where the settings name a scope that is not there."""
    job = duty()
    assert owed(store, job, instant("01T08:00")) is None
    assert owed(store, duty("backup", jobs={"backup": {"enabled": True, "folder": "/x"}}), instant("01T08:00")) is None
    with store.write() as conn:
        ledger.done(conn, 1, "consolidate", "2026-03-05", at=instant("05T04:00"))
    assert owed(store, job, instant("05T10:00")) is None
    assert owed(store, job, instant("06T10:00")) is not None
    assert owed(store, duty(scopes=["user=eve"]), instant("06T10:00")) is None


def test_it_is_owed_until_it_is_done_in_every_scope(store: Store) -> None:
    """Of the job: those that its settings name, else all; one of the whole store is done for all."""
    now = instant("06T10:00")
    with store.write() as conn:
        ledger.done(conn, 1, "consolidate", "2026-03-06", at=now)
        ledger.done(conn, 0, "purge", "2026-03-06", at=now)
    assert owed(store, duty(), now) is not None
    assert owed(store, duty(scopes=["user=ada"]), now) is not None
    assert owed(store, duty(scopes=[""]), now) is None
    assert owed(store, duty("purge"), now) is None
    assert owed(store, duty("shift"), now) is not None


def test_after_each_attempt_that_failed_the_next_waits_longer(store: Store) -> None:
    """A minute, ten, an hour, four; then the date is given up, and the next one is owed as ever."""
    job, now = duty(scopes=[""]), instant("05T03:30")
    for wait in (*WAITS, None):
        with store.write() as conn:
            ledger.begin(conn, 1, "consolidate", "2026-03-05", next_at=now + wait if wait else None)
        found = owed(store, job, now + HOUR)
        assert (found and found.begin_at) == (now + wait if wait else None)
    assert owed(store, job, instant("06T03:29")) is None
    found = owed(store, job, instant("06T03:30"))
    assert found is not None
    assert found.begin_at == instant("06T03:30")


def test_a_clock_set_back_owes_nothing_twice(store: Store) -> None:
    """Neither the date that was done, nor the one before; a date far ahead, of a wrong clock, is done by none of it."""
    job = duty(scopes=[""])
    with store.write() as conn:
        ledger.done(conn, 1, "consolidate", "2026-03-05", at=instant("05T03:40"))
    for now in ("05T03:45", "05T02:45", "05T03:30", "04T22:00"):
        assert owed(store, job, instant(now)) is None
    assert owed(store, job, instant("03T04:00")) is not None


def test_each_time_in_an_hour_that_comes_twice_is_owed_in_turn() -> None:
    """The later of two times that a clock shows alike comes later as a text too."""
    job = duty()._replace(cron="*/30 * * * *", zone=ZoneInfo("Europe/Helsinki"))
    first, second = parse_instant("2026-10-25T00:30:00Z"), parse_instant("2026-10-25T01:30:00Z")
    days = [day_of(job, due, due.at) for due in due_between(job.cron, job.zone, first - 1, second)]
    assert [day.name for day in days] == ["2026-10-25 00:30Z", "2026-10-25 01:00Z", "2026-10-25 01:30Z"]
    assert all(day.name < day.until for day in days)
