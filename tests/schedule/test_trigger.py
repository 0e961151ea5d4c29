"""When jobs begin by APScheduler's alarm: at our calendar's times, whatever the clocks of a place do."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from freezegun import freeze_time

from consolidator.instants import SECOND, from_datetime, parse_instant, to_datetime
from consolidator.schedule.calendar import due_between
from consolidator.schedule.trigger import Alarm, DutyTrigger, begins_at
from consolidator.settings import Settings
from consolidator.settings.duty import Duty, duties

YEARS = [
    ("Europe/Helsinki", 2026), ("America/New_York", 2026), ("America/Sao_Paulo", 2018), ("Australia/Lord_Howe", 2026),
    ("Pacific/Apia", 2011), ("Africa/Casablanca", 2026), ("UTC", 2026),
]  # fmt: skip


def duty_of(zone: str, at: str = "02:30", jitter_seconds: int = 0) -> Duty:
    """The night at a time of a place."""
    given = {"at": at, "jitter_seconds": jitter_seconds, "time_zone": zone}
    return duties(Settings.model_validate({"jobs": {"consolidate": given}}), ZoneInfo("UTC"))["consolidate"]


def fired(duty: Duty, after: datetime, until: datetime) -> list[datetime]:
    """When its trigger fires, asked as APScheduler asks: by the time before."""
    trigger, at, found = DutyTrigger(duty), None, []
    while (at := trigger.get_next_fire_time(at, after)) <= until:
        found.append(at)
    return found


@pytest.mark.parametrize(("zone", "year"), YEARS)
def test_a_year(zone: str, year: int) -> None:
    """Once on each date that the place has, at the calendar's times, also where 02:30 is skipped or repeated."""
    first, last = (datetime(each, 1, 1, tzinfo=ZoneInfo(zone)).astimezone(UTC) for each in (year, year + 1))
    due = due_between("30 2 * * *", ZoneInfo(zone), from_datetime(first), from_datetime(last))
    found = fired(duty_of(zone), first, last)
    assert found == [to_datetime(each.at) for each in due]
    missing = 1 if zone == "Pacific/Apia" else 0  # it had no 30 December 2011: the night of the 31st is asked for twice
    assert len({each.day for each in due}) == len(due) - missing == 365 - missing


@pytest.mark.parametrize(
    ("zone", "at", "evening", "expected"),
    [
        ("America/New_York", "02:30", "2026-03-07T22:00:00Z", ["2026-03-08T07:00:00Z", "2026-03-09T06:30:00Z"]),
        ("America/New_York", "01:30", "2026-10-31T22:00:00Z", ["2026-11-01T05:30:00Z", "2026-11-02T06:30:00Z"]),
        ("Europe/Helsinki", "03:30", "2026-03-28T22:00:00Z", ["2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"]),
        ("Europe/Helsinki", "03:30", "2026-10-24T20:00:00Z", ["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"]),
    ],
)
def test_the_alarm_on_the_nights_that_clocks_change(zone: str, at: str, evening: str, expected: list[str]) -> None:
    """It fires at the first moment after a gap, and the first of two times that are called the same, once."""
    with freeze_time(evening) as frozen:
        alarm, heard = started(duty_of(zone, at))
        found = []
        for _ in range(4 * 40):
            frozen.tick(timedelta(minutes=15))
            alarm.step()
            found += [frozen().replace(tzinfo=UTC)] * len(heard)
            heard.clear()
    assert found == [to_datetime(parse_instant(text)) for text in expected]


def started(duty: Duty) -> tuple[Alarm, list[str]]:
    """An alarm for a job, and the names with which it has fired."""
    heard: list[str] = []
    alarm = Alarm()
    alarm.set(duty, heard.append)
    alarm.start()
    return alarm, heard


def test_what_was_slept_through_fires_once() -> None:
    """However many times have passed, and it says when the next is."""
    with freeze_time("2026-06-01T00:00:00Z") as frozen:
        alarm, heard = started(duty_of("UTC"))
        assert alarm.step() == 2.5 * 3600
        frozen.tick(timedelta(days=5))
        assert alarm.step() == 2.5 * 3600
        assert alarm.step() is not None
    assert heard == ["consolidate"]


def test_a_clock_that_is_set_back_fires_nothing_twice() -> None:
    """The time that comes again has been."""
    with freeze_time("2026-06-01T02:29:59Z") as frozen:
        alarm, heard = started(duty_of("UTC"))
        frozen.tick(2)
        alarm.step()
        frozen.move_to("2026-06-01T01:30:00Z")
        alarm.step()
        frozen.tick(timedelta(hours=2))
        alarm.step()
    assert heard == ["consolidate"]


def test_jitter() -> None:
    """By chance from one date to the next and up to its bound, never before the time, and the same when asked again."""
    duty = duty_of("UTC", jitter_seconds=300)
    due = due_between(duty.cron, duty.zone, 0, 200 * 86_400 * SECOND)
    late = [(begins_at(duty, each) - each.at) / SECOND for each in due]
    assert late == [(begins_at(duty, each) - each.at) / SECOND for each in due]
    assert 0 <= min(late) < 30
    assert 270 < max(late) <= 300
    assert (
        fired(duty, to_datetime(due[0].at - 1), to_datetime(due[-1].at))
        == [to_datetime(begins_at(duty, each)) for each in due][: len(due) - (late[-1] > 0)]
    )


def test_a_time_whose_jitter_is_under_way_still_fires() -> None:
    """A service that starts between the time and its beginning does not leave it out."""
    duty = duty_of("UTC", jitter_seconds=300)
    due = next(
        each for each in due_between(duty.cron, duty.zone, 0, 10**15) if begins_at(duty, each) > each.at + SECOND
    )
    between = to_datetime(due.at + SECOND)
    assert DutyTrigger(duty).get_next_fire_time(None, between) == to_datetime(begins_at(duty, due))


@pytest.mark.parametrize("jitter", [0, 3600])
def test_times_only_go_forward(jitter: int) -> None:
    """Also where the jitter is longer than the period."""
    given = {"cron": "*/10 * * * *", "jitter_seconds": jitter}
    settings = Settings.model_validate({"merge": {"mode": "batch"}, "jobs": {"collect": given}})
    duty = duties(settings, ZoneInfo("UTC"))["collect"]
    found = fired(duty, datetime(2026, 6, 1, tzinfo=UTC), datetime(2026, 6, 2, tzinfo=UTC))
    assert len(found) > 20
    assert all(before < after for before, after in pairwise(found))
