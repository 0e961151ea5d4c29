"""Calendar: when a job is due, in the days of the place where it counts."""

from collections.abc import Iterator
from datetime import date, datetime
from itertools import takewhile
from typing import NamedTuple
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from consolidator.instants import NIGHT, from_datetime, to_datetime

_LOOKING_BACK = [NIGHT // 24, 2 * NIGHT, 8 * NIGHT, 40 * NIGHT, 400 * NIGHT, 9 * 366 * NIGHT]


class Due(NamedTuple):
    """A time at which a job is due: the local date that it counts for, and the instant."""

    day: date
    at: int


def validate_cron(text: str) -> None:
    """ValueError where a cron expression is unreadable, or never comes true."""
    try:
        if len(text.split()) != 5:
            raise CronSimError("it has five fields: minute, hour, day of the month, month, day of the week")
        next(CronSim(text, datetime(2000, 1, 1)))  # noqa: DTZ001
    except CronSimError as error:
        raise ValueError(f"{text!r} is no cron expression: {error}") from None
    except StopIteration:
        raise ValueError(f"{text!r} never comes true") from None


def due_after(cron: str, zone: ZoneInfo, instant: int) -> Iterator[Due]:
    """
    When a job is due after an instant, in order.

    A time of day that its zone skips is due at the first moment after the gap, one that it repeats the first time
    only. Expressions of which the minute or the hour begins with a star follow the elapsed time instead.
    """
    start = to_datetime(instant).astimezone(zone)
    for moment in CronSim(cron, start):
        at = from_datetime(moment)
        if at > instant:
            yield Due(moment.date(), at)


def due_between(cron: str, zone: ZoneInfo, after: int, until: int) -> list[Due]:
    """When a job is due after one instant and not after another, in order."""
    return list(takewhile(lambda due: due.at <= until, due_after(cron, zone, after)))


def last_due(cron: str, zone: ZoneInfo, now: int) -> Due | None:
    """The latest time not after `now` at which a job was due; None where it was never in nine years."""
    for back in _LOOKING_BACK:
        if found := due_between(cron, zone, now - back, now):
            return found[-1]
    return None
