"""When a job is due: once on every date that its zone has, whatever the clocks there do."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from consolidator.instants import NIGHT, from_datetime, parse_instant, to_datetime
from consolidator.schedule.calendar import due_after, due_between, validate_cron

YEARS = [
    ("Europe/Helsinki", 2026), ("America/New_York", 2026), ("America/Sao_Paulo", 2018), ("America/Sao_Paulo", 2026),
    ("Australia/Lord_Howe", 2026), ("Pacific/Apia", 2011), ("Africa/Casablanca", 2026), ("UTC", 2026),
]  # fmt: skip
TIMES = ["0 0 * * *", "30 0 * * *", "30 1 * * *", "45 1 * * *", "10 2 * * *", "30 2 * * *", "30 3 * * *", "0 15 * * *"]


def days_of(zone: str, year: int) -> list[date]:
    """The dates that a zone has in a year, by its own clock, hour by hour."""
    hours = (datetime(year, 1, 1, tzinfo=UTC) + timedelta(hours=hour) for hour in range(-24, 24 * 367))
    return sorted({local for hour in hours if (local := hour.astimezone(ZoneInfo(zone)).date()).year == year})


@pytest.mark.parametrize("cron", TIMES)
@pytest.mark.parametrize(("zone", "year"), YEARS)
def test_a_daily_job_is_due_on_every_date_once(zone: str, year: int, cron: str) -> None:
    """On each date that there is, at its time of day; where that is skipped, at the first moment after the gap."""
    minute, hour = map(int, cron.split()[:2])
    place = ZoneInfo(zone)
    start = from_datetime(datetime(year, 1, 1, tzinfo=place)) - 1
    end = from_datetime(datetime(year + 1, 1, 1, tzinfo=place)) - 1
    first = {due.day: due.at for due in reversed(due_between(cron, place, start, end))}
    assert sorted(first) == days_of(zone, year)
    for day, at in first.items():
        local = to_datetime(at).astimezone(place)
        wanted = datetime(day.year, day.month, day.day, hour, minute, tzinfo=place)
        exists = wanted.astimezone(UTC).astimezone(place) == wanted
        if exists and local != datetime(day.year, day.month, day.day, tzinfo=place):
            assert at == from_datetime(wanted)
        before = to_datetime(at - 60_000_000).astimezone(place)
        gap = (local.replace(tzinfo=None) - before.replace(tzinfo=None)) > timedelta(minutes=1)
        assert exists or gap


@pytest.mark.parametrize(
    ("zone", "cron", "after", "expected"),
    [
        # New York, 8 March 2026: 02:00 to 03:00 is skipped; 1 November: 01:00 to 02:00 comes twice.
        ("America/New_York", "30 2 * * *", "2026-03-07T12:00:00Z", ["2026-03-08T07:00:00Z", "2026-03-09T06:30:00Z"]),
        ("America/New_York", "30 1 * * *", "2026-10-31T12:00:00Z", ["2026-11-01T05:30:00Z", "2026-11-02T06:30:00Z"]),
        # Lord Howe moves by half an hour: 4 October 2026 skips 02:00 to 02:30.
        ("Australia/Lord_Howe", "10 2 * * *", "2026-10-02T20:00:00Z", ["2026-10-03T15:30:00Z", "2026-10-04T15:10:00Z"]),
        # Apia had no 30 December 2011: what was due then is due as the 31st begins, and is of the 31st.
        ("Pacific/Apia", "30 3 * * *", "2011-12-29T13:30:00Z", ["2011-12-30T10:00:00Z", "2011-12-30T13:30:00Z"]),
        # Casablanca leaves its time for Ramadan and comes back; 22 March 2026 skips 02:00 to 03:00.
        ("Africa/Casablanca", "30 2 * * *", "2026-03-21T12:00:00Z", ["2026-03-22T02:00:00Z", "2026-03-23T01:30:00Z"]),
        ("Europe/Helsinki", "30 3 * * *", "2026-03-28T12:00:00Z", ["2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"]),
        ("Europe/Helsinki", "30 3 * * *", "2026-10-24T12:00:00Z", ["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"]),
        ("UTC", "30 3 * * SUN", "2026-06-06T12:00:00Z", ["2026-06-07T03:30:00Z", "2026-06-14T03:30:00Z"]),
        ("UTC", "30 3 * * 0", "2026-06-06T12:00:00Z", ["2026-06-07T03:30:00Z", "2026-06-14T03:30:00Z"]),
    ],
)
def test_what_clocks_do(zone: str, cron: str, after: str, expected: list[str]) -> None:
    """Skipped, repeated and missing times, and the day of the week that cron means."""
    found = due_after(cron, ZoneInfo(zone), parse_instant(after))
    assert [next(found).at for _ in expected] == [parse_instant(text) for text in expected]


def test_nothing_is_due_at_the_instant_itself() -> None:
    """Due times lie after the one and up to the other, also within the hour that comes twice."""
    place, cron = ZoneInfo("America/New_York"), "30 1 * * *"
    first = parse_instant("2026-11-01T05:30:00Z")
    assert [due.at for due in due_between(cron, place, first - 1, first)] == [first]
    assert due_between(cron, place, first, first + NIGHT) == []
    assert [due.day for due in due_between(cron, place, first + 45 * 60_000_000, first + 2 * NIGHT)] == [
        date(2026, 11, 2), date(2026, 11, 3)
    ][:1]  # fmt: skip


@pytest.mark.parametrize("text", ["", "30 3", "61 3 * * *", "30 3 * * FUN", "0 0 31 2 *", "0 30 3 * * *", "@daily"])
def test_what_is_no_time_is_refused(text: str) -> None:
    """With what it has to be."""
    with pytest.raises(ValueError, match=r"cron expression|never comes true"):
        validate_cron(text)
