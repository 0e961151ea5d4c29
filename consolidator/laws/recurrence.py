"""Recurrence: when what comes again does so, by an RRULE (RFC 5545) that is daily or coarser."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from dateutil.rrule import rrule, rrulestr

LAST_YEAR = 9998  # of an occurrence: its zone and its end have to fit beside it
YEARS_SEARCHED = 100  # at least: what does not occur in a century does not occur
MOST_COUNTED = 40_000  # a century of days: a COUNT beyond is no end

CENTURY = timedelta(days=36_525)
LATELY = timedelta(days=62)  # most recurrences have occurred in it; others are sought further back
_CALENDAR = 400  # years after which days fall on the same weekdays again
_PERIOD_DAYS = {"DAILY": 1, "WEEKLY": 7}
_NUMBERS = {"BYMONTH": 12, "BYMONTHDAY": 31, "BYYEARDAY": 366, "BYWEEKNO": 53, "BYSETPOS": 366}
_WEEKDAY = "(?:MO|TU|WE|TH|FR|SA|SU)"
_FORMS = {
    "FREQ": "DAILY|WEEKLY|MONTHLY|YEARLY",
    "INTERVAL": r"\d{1,9}",
    "COUNT": r"\d{1,9}",
    "UNTIL": r"\d{8}(?:T\d{6}Z?)?",
    "WKST": _WEEKDAY,
    "BYMONTH": r"\d{1,2}(?:,\d{1,2})*",
    "BYDAY": rf"(?:[+-]?\d{{1,2}})?{_WEEKDAY}(?:,(?:[+-]?\d{{1,2}})?{_WEEKDAY})*",
    **dict.fromkeys(["BYMONTHDAY", "BYYEARDAY", "BYWEEKNO", "BYSETPOS"], r"[+-]?\d{1,3}(?:,[+-]?\d{1,3})*"),
}

Parts = dict[str, str]


def validate_recurrence(text: str) -> None:
    """ValueError where a recurrence is unreadable, out of bounds, or finer than daily."""
    parts = _parts(text)
    if parts.get("FREQ") in ("HOURLY", "MINUTELY", "SECONDLY") or {"BYHOUR", "BYMINUTE", "BYSECOND"} & parts.keys():
        raise ValueError("a recurrence is daily or coarser, without BYHOUR, BYMINUTE or BYSECOND")
    if "FREQ" not in parts or not all(name in _FORMS for name in parts) or len(parts) <= text.count(";"):
        raise ValueError(f"{text!r} is not an RRULE (write e.g. FREQ=WEEKLY;BYDAY=TU)")
    for name, value in parts.items():
        if not re.fullmatch(_FORMS[name], value, re.ASCII) or not _in_bounds(name, parts):
            raise ValueError(f"{text!r} is not an RRULE: {name}={value} is not possible")
    if {"COUNT", "UNTIL"} <= parts.keys():
        raise ValueError(f"{text!r} is not an RRULE: it ends by COUNT or by UNTIL, not by both")
    try:
        _until(parts, ZoneInfo("UTC"))
        _rule(parts, datetime(2000, 1, 1))  # noqa: DTZ001
    except (ValueError, TypeError, AttributeError, IndexError) as error:
        raise ValueError(f"{text!r} is not an RRULE: {error}") from None


def occurrences(
    text: str, begins: datetime, *, zone: ZoneInfo, now: datetime, back: timedelta = CENTURY
) -> Iterator[datetime]:
    """
    When it occurs from `begins` on, in order; all times are wall-clock times of `zone`, without their zone.

    Those from `back` before `now` (or its end, if earlier) to a century after, and perhaps more: no rule makes the
    search long. Of one that ends by COUNT those from the first on.
    """
    parts = _parts(text)
    until = _until(parts, zone)
    if _counts(parts):
        searched = begins
    else:
        begins = _nearer(parts, begins, min(now, until) if until else now, back)
        searched = max(now, begins)
    if until and until < begins:
        return
    # The search of the library ends with the year 9999, so it is made there, on the same days of the calendar.
    years = max(0, 9999 - searched.year - YEARS_SEARCHED) // _CALENDAR * _CALENDAR
    rule = _rule(parts, begins.replace(year=begins.year + years))
    for moved in rule if until is None else _up_to(rule, until, years):
        if moved.year - years > LAST_YEAR:
            return
        yield moved.replace(year=moved.year - years, microsecond=begins.microsecond)


def last(text: str, begins: datetime, *, zone: ZoneInfo) -> datetime | None:
    """The last occurrence of a rule that ends; None where it has none."""
    ends = _until(_parts(text), zone) or begins
    for back in (LATELY, CENTURY):
        found = max(occurrences(text, begins, zone=zone, now=ends, back=back), default=None)
        if found:
            return found
    return None


def is_endless(text: str, *, zone: ZoneInfo, now: datetime) -> bool:
    """Whether no end of it is in sight: none is given, or none that will be reached in a century."""
    parts = _parts(text)
    until = _until(parts, zone)
    return not _counts(parts) and (until is None or until.year > now.year + YEARS_SEARCHED)


def _parts(text: str) -> Parts:
    body = text.strip().upper().removeprefix("RRULE:")
    return {name: value for name, _, value in (part.partition("=") for part in body.split(";"))}


def _in_bounds(name: str, parts: Parts) -> bool:
    value = parts[name]
    if name in ("INTERVAL", "COUNT"):
        return int(value) > 0
    if name == "BYDAY":
        of_month = parts.get("FREQ") == "MONTHLY" or "BYMONTH" in parts
        ordinals = [abs(int(number)) for number in re.findall(r"[+-]?\d+", value)]
        return all(0 < number <= (5 if of_month else 53) for number in ordinals)
    return name not in _NUMBERS or all(0 < abs(int(number)) <= _NUMBERS[name] for number in value.split(","))


def _until(parts: Parts, zone: ZoneInfo) -> datetime | None:
    if "UNTIL" not in parts:
        return None
    day, _, clock = parts["UNTIL"].partition("T")
    moment = datetime.fromisoformat(f"{day}T{clock.rstrip('Z') or '235959'}")
    if not clock.endswith("Z") or not 1 < moment.year < 9999:
        return moment
    return moment.replace(tzinfo=UTC).astimezone(zone).replace(tzinfo=None)


def _counts(parts: Parts) -> bool:
    return "COUNT" in parts and int(parts["COUNT"]) <= MOST_COUNTED


def _nearer(parts: Parts, begins: datetime, now: datetime, back: timedelta) -> datetime:
    """A later beginning for a rule that began longer ago, whole periods on; coarse rules are quick."""
    behind = now - begins - back
    if parts["FREQ"] not in _PERIOD_DAYS or behind <= timedelta():
        return begins
    period = timedelta(days=_PERIOD_DAYS[parts["FREQ"]] * int(parts.get("INTERVAL", "1")))
    return begins + behind // period * period


def _rule(parts: Parts, begins: datetime) -> rrule:
    kept = {name: value for name, value in parts.items() if name != "UNTIL" and (name != "COUNT" or _counts(parts))}
    rule = rrulestr(";".join(f"{name}={value}" for name, value in kept.items()), dtstart=begins)
    assert isinstance(rule, rrule)
    return rule


def _up_to(rule: rrule, until: datetime, years: int) -> Iterator[datetime]:
    for moved in rule:
        if moved.replace(year=moved.year - years) > until:
            return
        yield moved
