"""The times that a question names: months and years, and days from now ("yesterday", "last week")."""

import re
from datetime import date, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from consolidator.instants import NIGHT, from_datetime, to_datetime

_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_SHORT = {name[:3]: number for number, name in enumerate(_MONTHS, 1)} | {"sept": 9}
_NUMBER = {name: number for number, name in enumerate(_MONTHS, 1)}
# "may" and "march" are words too: a month is written large, and does not begin the question.
_MONTH = re.compile(
    r"(?<!^)\b(" + "|".join(name.capitalize() for name in [*_MONTHS, *_SHORT]) + r")\b\.?"
    r"(?:(?: \d{1,2}(?:st|nd|rd|th)?\b,?)? ((?:19|20)\d\d)\b)?"
)
_ISO = re.compile(r"\b((?:19|20)\d\d)-(\d\d)(?:-\d\d)?\b")
_YEAR = re.compile(r"\b((?:19|20)\d\d)\b")
_DAYS = re.compile(r"\b(today|yesterday|this week|last week|this month|last month|this year|last year)\b", re.I)


class Times(NamedTuple):
    """months: (year or None, month); years: whole ones; spans: (from, before) in microseconds."""

    months: tuple[tuple[int | None, int], ...] = ()
    years: tuple[int, ...] = ()
    spans: tuple[tuple[int, int], ...] = ()


def times_in(question: str, *, now: int, zone: str) -> Times:
    """The times named in a question asked at `now`, in a time zone."""
    months: list[tuple[int | None, int]] = []
    rest = question
    for pattern in (_MONTH, _ISO):
        for match in pattern.finditer(question):
            rest = rest.replace(match.group(), " ")
            if pattern is _ISO:
                if 1 <= int(match[2]) <= 12:
                    months.append((int(match[1]), int(match[2])))
            else:
                name = match[1].lower()
                months.append((int(match[2]) if match[2] else None, _NUMBER.get(name) or _SHORT[name]))
    years = tuple(int(year) for year in _YEAR.findall(rest))
    spans = tuple(_span(match.lower(), now, zone) for match in _DAYS.findall(question))
    return Times(tuple(dict.fromkeys(months)), years, spans)


def named(times: Times, said_at: NDArray[np.int64]) -> NDArray[np.bool_]:
    """bool[n]: what was said in one of these times."""
    found = np.zeros(len(said_at), bool)
    if times.months or times.years:
        month = said_at.astype("datetime64[us]").astype("datetime64[M]").astype(np.int64)
        year, of_year = 1970 + month // 12, 1 + month % 12
        for wanted_year, wanted in times.months:
            found |= (of_year == wanted) & (True if wanted_year is None else year == wanted_year)
        for wanted_year in times.years:
            found |= year == wanted_year
    for start, end in times.spans:
        found |= (said_at >= start) & (said_at < end)
    return found


def _span(words: str, now: int, zone: str) -> tuple[int, int]:
    today = to_datetime(now).astimezone(ZoneInfo(zone)).date()
    monday = today - timedelta(days=today.weekday())
    first = today.replace(day=1)
    if words == "today":
        return _instant(today, zone), _instant(today, zone) + NIGHT
    if words == "yesterday":
        return _instant(today - timedelta(days=1), zone), _instant(today, zone)
    if words == "this week":
        return _instant(monday, zone), now + 1
    if words == "last week":  # as people mean it: the week before this one, or the last seven days
        return _instant(monday - timedelta(days=7), zone), _instant(monday, zone)
    if words == "this month":
        return _instant(first, zone), now + 1
    if words == "last month":
        return _instant((first - timedelta(days=1)).replace(day=1), zone), _instant(first, zone)
    if words == "this year":
        return _instant(today.replace(month=1, day=1), zone), now + 1
    return _instant(date(today.year - 1, 1, 1), zone), _instant(date(today.year, 1, 1), zone)


def _instant(day: date, zone: str) -> int:
    from datetime import datetime

    return from_datetime(datetime(day.year, day.month, day.day, tzinfo=ZoneInfo(zone)))
