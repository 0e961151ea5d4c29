"""Which dates a memory means by 'yesterday' or 'on Friday', counted from the day it was observed."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from consolidator.merging.facts import Facts
from consolidator.merging.times import date

_DAYS = frozenset({"day", "night", "morning", "afternoon", "evening"})
_WEEK = timedelta(days=7)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def dates_meant(facts: Facts, observed_at: int) -> frozenset[str]:
    """
    The dates, as `times.date` writes them, that a text observed at a time may mean by its relative days and weekdays.

    observed_at: microseconds. A weekday is the one before or after, in its week or the next to it.
    """
    try:
        observed = _EPOCH + timedelta(microseconds=observed_at)
        return frozenset(meant for fact in facts.found for meant in _meant(fact.kind, fact.value, observed))
    except OverflowError:
        return frozenset()


def _meant(kind: str, value: str, observed: datetime) -> Iterator[str]:
    if kind == "weekday":
        days = (observed + timedelta(days=n) for n in range(-7, 8))
        yield from (date(day.year, day.month, day.day) for day in days if day.isoweekday() == int(value))
    if kind != "relative day":
        return
    unit, _, count = value.partition(" ")
    if not count.lstrip("+-").isdigit():
        if unit.isdigit() and count.startswith("day "):
            day = observed + timedelta(days=int(unit) * (1 if count.endswith("later") else -1))
            yield date(day.year, day.month, day.day)
        return
    n = int(count)
    if unit in _DAYS:
        day = observed + timedelta(days=n)
        yield date(day.year, day.month, day.day)
    elif unit in ("week", "weekend"):
        monday = observed + n * _WEEK - timedelta(days=observed.weekday())
        days = (monday + timedelta(days=i) for i in range(7))
        yield from (date(day.year, day.month, day.day) for day in days)
    elif unit == "month":
        month = observed.year * 12 + observed.month - 1 + n
        yield date(month // 12, month % 12 + 1)
    else:
        yield date(observed.year + n)
