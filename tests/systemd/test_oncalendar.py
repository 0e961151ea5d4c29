"""Timers start a job whenever the calendar has it due, whatever the clocks of its zone do."""

import re
import subprocess
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from consolidator.instants import NIGHT, from_datetime, parse_instant
from consolidator.schedule.calendar import due_between
from consolidator.schedule.oncalendar import on_calendar
from tests.systemd.machine import needs

NOW = parse_instant("2026-01-01T00:00:00Z")


def elapses(value: str, after: int, until: int, count: int) -> set[int]:
    """When systemd has a timer elapse, after one instant and not after another: the first so many times."""
    days, clock, zone = value.rsplit(" ", 2)
    base = f"--base-time={datetime.fromtimestamp(after / 1_000_000, UTC):%Y-%m-%d %H:%M:%S} UTC"
    ask = ["systemd-analyze", "calendar", f"--iterations={count}", base, f"{days} {clock}"]
    # A zone of the process is as one in the value, and takes systemd a twentieth of the time.
    told = subprocess.run(ask, capture_output=True, text=True, check=True, env={"TZ": zone, "PATH": "/usr/bin:/bin"})
    found = re.findall(r": \w{3} (\S+ \S+) UTC", told.stdout)
    times = {from_datetime(datetime.strptime(text, "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)) for text in found}
    assert max(times) > until or len(times) < count
    return {at for at in times if at <= until}


@pytest.mark.parametrize("zone", [
    "Europe/Helsinki", "America/New_York", "America/Sao_Paulo", "Australia/Lord_Howe", "Pacific/Apia",
    "Africa/Casablanca", "Antarctica/Troll", "UTC",
])  # fmt: skip
@pytest.mark.parametrize("cron", ["30 1 * * *", "10 2 * * *", "30 3 * * *", "0 9 * * MON", "45 1,2 1-7 * *"])
def test_a_timer_misses_no_day(zone: str, cron: str) -> None:
    """In a year it elapses at every time that is due; at others only where a gap has another time added."""
    needs("systemd-analyze")
    place = ZoneInfo(zone)
    due = {each.at for each in due_between(cron, place, NOW, NOW + 366 * NIGHT)}
    values = on_calendar(cron, place, now=NOW)
    found = [elapses(value, NOW, NOW + 366 * NIGHT, 400) for value in values]
    assert due <= set().union(*found)
    assert found[0] <= due


@pytest.mark.parametrize("zone", ["Europe/Helsinki", "America/New_York", "UTC"])
@pytest.mark.parametrize("cron", ["*/30 * * * *", "7 * * * *"])
def test_what_is_due_every_hour_is_so_through_the_hour_that_comes_twice(zone: str, cron: str) -> None:
    """And through the one that is skipped."""
    needs("systemd-analyze")
    place = ZoneInfo(zone)
    for start in ("2026-03-08T00:00:00Z", "2026-03-29T00:00:00Z", "2026-10-25T00:00:00Z", "2026-11-01T00:00:00Z"):
        after, until = parse_instant(start), parse_instant(start) + NIGHT
        (value,) = on_calendar(cron, place, now=NOW)
        assert elapses(value, after, until, 60) == {due.at for due in due_between(cron, place, after, until)}


@pytest.mark.parametrize(
    ("cron", "expected"),
    [
        ("30 3 * * *", ["*-*-* 03:30:00 UTC"]),
        ("0 9 * * MON", ["Mon *-*-* 09:00:00 UTC"]),
        ("0 9 * * MON-FRI", ["Mon,Tue,Wed,Thu,Fri *-*-* 09:00:00 UTC"]),
        ("0 9 * * 0,7", ["Sun *-*-* 09:00:00 UTC"]),
        ("*/30 * * * *", ["*-*-* *:00,30:00 UTC"]),
        ("0-5,9 1,2 * JAN-MAR *", ["*-01..03-* 01,02:00..05,09:00 UTC"]),
        ("0 3 1 * MON", ["*-*-01 03:00:00 UTC", "Mon *-*-* 03:00:00 UTC"]),
        ("0 3 */10 * MON", ["Mon *-*-01,11,21,31 03:00:00 UTC"]),
        ("0 3 L * *", ["*-*-28..31 03:00:00 UTC"]),
        ("0 3 LW * *", ["*-*-26..31 03:00:00 UTC"]),
        ("0 3 * * FRI#2", ["Fri *-*-* 03:00:00 UTC"]),
        ("0 3 * * 5L", ["Fri *-*-* 03:00:00 UTC"]),
    ],
)
def test_how_times_are_written(cron: str, expected: list[str]) -> None:
    """As ranges and lists, and systemd reads them; of what it cannot say, all that may be meant."""
    needs("systemd-analyze")
    assert on_calendar(cron, ZoneInfo("UTC"), now=NOW) == tuple(expected)
    found = set().union(*(elapses(value, NOW, NOW + 40 * NIGHT, 2000) for value in expected))
    assert {due.at for due in due_between(cron, ZoneInfo("UTC"), NOW, NOW + 40 * NIGHT)} <= found


@pytest.mark.parametrize(
    ("zone", "cron", "expected"),
    [
        ("America/New_York", "30 2 * * *", ["*-*-* 02:30:00 America/New_York", "*-*-* 03:00:00 America/New_York"]),
        ("America/New_York", "30 3 * * *", ["*-*-* 03:30:00 America/New_York"]),
        ("Europe/Helsinki", "30 3 * * *", ["*-*-* 03:30:00 Europe/Helsinki", "*-*-* 04:00:00 Europe/Helsinki"]),
        ("Europe/Helsinki", "30 3 * * MON-FRI", ["Mon,Tue,Wed,Thu,Fri *-*-* 03:30:00 Europe/Helsinki"]),
        (
            "Australia/Lord_Howe",
            "10 2 * * *",
            ["*-*-* 02:10:00 Australia/Lord_Howe", "*-*-* 02:30:00 Australia/Lord_Howe"],
        ),
        ("Asia/Kolkata", "*/20 * * * *", ["*-*-* *:00,20,40:00 Asia/Kolkata"]),
    ],
)
def test_the_end_of_a_gap_is_added(zone: str, cron: str, expected: list[str]) -> None:
    """Where a time can be skipped on a day that counts."""
    assert on_calendar(cron, ZoneInfo(zone), now=NOW) == tuple(expected)


def test_without_a_zone_the_machine_s_is_meant() -> None:
    """It is not written, so that a machine that moves takes its nights with it."""
    assert on_calendar("30 3 * * *", ZoneInfo("Europe/Helsinki"), now=NOW, named=False) == (
        "*-*-* 03:30:00", "*-*-* 04:00:00"
    )  # fmt: skip
