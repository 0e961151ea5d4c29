"""The times of a job as systemd's timers write them."""

from collections.abc import Collection, Iterator
from datetime import datetime, timedelta
from itertools import groupby
from zoneinfo import ZoneInfo

from cronsim import CronSim

from consolidator.instants import NIGHT, to_datetime
from consolidator.schedule.calendar import due_between

_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_DAYS_LOOKED_AHEAD = 3 * 366


def on_calendar(cron: str, zone: ZoneInfo, *, now: int, named: bool = True) -> tuple[str, ...]:
    """
    The values of OnCalendar= by which a timer starts a job whenever the calendar has it due.

    Sometimes it starts it more often: what is done for a date is not done again. systemd leaves out a day whose time
    the clocks skip; there the calendar has it due as the gap ends, so that this time is added. A day of the month or
    week that is the last, or the second, is one that may be it. named: whether the zone is written; without, the
    machine's own is meant.
    """
    times = CronSim(cron, datetime(2000, 1, 1))  # noqa: DTZ001
    days = list(_days(times))
    if len(times.hours) == 24 and days == ["*-*-*"] and _in_whole_hours(zone, now):
        return (f"*-*-* *:{_listed(times.minutes, 60)}:00 UTC",)  # also through the hour that comes twice
    clocks = [f"{_listed(times.hours, 24)}:{_listed(times.minutes, 60)}:00", *_after_gaps(cron, times, zone, now)]
    return tuple(f"{day} {clock}{f' {zone.key}' if named else ''}" for clock in clocks for day in days)


def _after_gaps(cron: str, times: CronSim, zone: ZoneInfo, now: int) -> list[str]:
    """The times of day at which it is due where its own are skipped, in the years to come."""
    moments = range(now, now + _DAYS_LOOKED_AHEAD * NIGHT, NIGHT)
    turns = (at for at in moments if _offset(zone, at) != _offset(zone, at + NIGHT))
    due = (each.at for at in turns for each in due_between(cron, zone, at, at + NIGHT))
    local = sorted({to_datetime(at).astimezone(zone).time() for at in due})
    return [f"{time:%H:%M:%S}" for time in local if time.hour not in times.hours or time.minute not in times.minutes]


def _in_whole_hours(zone: ZoneInfo, now: int) -> bool:
    """Whether its minutes are those of UTC, in the years to come."""
    moments = range(now, now + _DAYS_LOOKED_AHEAD * NIGHT, NIGHT)
    return not any(_offset(zone, at) % timedelta(hours=1) for at in moments)


def _offset(zone: ZoneInfo, at: int) -> timedelta:
    return to_datetime(at).astimezone(zone).utcoffset() or timedelta()


def _days(times: CronSim) -> Iterator[str]:
    """The days on which it may be due: those of the month that are also those of the week, or else both."""
    last = set(range(28, 32)) if CronSim.LAST in times.days else set()
    last_working = set(range(26, 32)) if CronSim.LAST_WEEKDAY in times.days else set()
    days = {day for day in times.days if day > 0} | last | last_working
    weekdays = {((each[0] if isinstance(each, tuple) else each) - 1) % 7 for each in times.weekdays}
    of_month = f"*-{_listed(times.months, 12)}-{_listed(days, 31)}"
    if len(weekdays) == 7:
        yield of_month
        return
    of_week = ",".join(_WEEKDAYS[day] for day in sorted(weekdays))
    if times.day_and:
        yield f"{of_week} {of_month}"
        return
    yield of_month
    yield f"{of_week} *-{_listed(times.months, 12)}-*"


def _listed(numbers: Collection[int], count: int) -> str:
    """`*` for all of them, else as ranges, `00..05,30`."""
    if len(numbers) == count:
        return "*"
    runs = groupby(enumerate(sorted(numbers)), lambda each: each[1] - each[0])
    ends = ([number for _, number in run] for _, run in runs)
    return ",".join(f"{run[0]:02}..{run[-1]:02}" if len(run) > 2 else ",".join(f"{n:02}" for n in run) for run in ends)
