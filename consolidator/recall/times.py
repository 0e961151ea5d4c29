"""The times that a question names (days, months, years, "yesterday", "last week") and what was said near them."""

import re
from collections.abc import Iterator
from datetime import MAXYEAR, MINYEAR, date, datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from consolidator.instants import NIGHT, from_datetime, to_datetime

HALVED_AFTER = 3 * NIGHT  # what happened is told days later: nearness to a named time halves in so long
MOST_YEARS = 50  # a month without a year is that of each year in which something was said, of the latest so many

_ENGLISH = "january february march april may june july august september october november december"
_GERMAN = "januar februar märz april mai juni juli august september oktober november dezember"
_NUMBER = {name: number for names in (_ENGLISH, _GERMAN) for number, name in enumerate(names.split(), 1)}
_SHORT = {name[:3]: number for number, name in enumerate(_ENGLISH.split(), 1)} | {"sept": 9}
_YEAR = r"((?:19|20)\d\d)"
_LONG = "|".join(name.capitalize() for name in sorted(_NUMBER, key=len, reverse=True))
_ANY = _LONG + "|" + "|".join(name.capitalize() for name in sorted(_SHORT, key=len, reverse=True))
_ORDINAL = r"(\d{1,2})(?:st|nd|rd|th|\.)?(?!\d)"
# "may" and "march" are words too: alone, a month is written large and does not begin the question, or follows "in".
_DATES = (
    ("year month day", re.compile(rf"(?<!\d){_YEAR}-(\d\d)(?:-(\d\d))?(?!\d)")),
    ("day month year", re.compile(rf"(?<!\d)(\d{{1,2}})\.(\d{{1,2}})\.{_YEAR}(?!\d)")),
    ("year month day", re.compile(rf"(?:{_YEAR}\s?年\s?)?(?<!\d)(\d{{1,2}})\s?月(?:\s?(\d{{1,2}})\s?日)?")),
    ("day month year", re.compile(rf"\b{_ORDINAL}(?: of)? ({_ANY})\b\.?(?:,? ?{_YEAR}\b)?", re.I)),
    ("month day year", re.compile(rf"\b({_ANY})\b\.? {_ORDINAL}\b(?:,? ?{_YEAR}\b)?", re.I)),
    ("month year", re.compile(rf"\b({_ANY})\b\.?,? ?{_YEAR}\b", re.I)),
    ("month", re.compile(rf"(?<!^)\b({_LONG})\b")),
    ("month", re.compile(rf"\b(?:in|during|since|until|of|im|seit) ({_LONG})\b", re.I)),
    ("year", re.compile(rf"(?<!\d){_YEAR}(?!\d)")),
)
_AGO = re.compile(r"\b(\d{1,3}|an?|one|two|three|four|five|six) (day|week|month|year)s? ago\b", re.I)
_COUNT = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
_DAYS_IN = {"day": 1, "week": 7, "month": 30, "year": 365}
_SAID = {
    "today": "today|heute|今天|今日",
    "yesterday": "yesterday|last night|gestern|昨天|昨日",
    "this week": "this week|diese woche|这周|這週|今週",
    "last week": "last week|last weekend|letzte woche|上周|上週|先週",
    "this month": "this month|diesen monat|这个月|今月",
    "last month": "last month|letzten monat|上个月|先月",
    "this year": "this year|dieses jahr|今年",
    "last year": "last year|letztes jahr|去年|昨年",
}
_RELATIVE = {
    name: re.compile("|".join(rf"\b{word}\b" if word.isascii() else word for word in said.split("|")), re.I)
    for name, said in _SAID.items()
}


class Times(NamedTuple):
    """spans: (from, before) in microseconds. yearly: (month, day or None for all of it) of whichever year."""

    spans: tuple[tuple[int, int], ...] = ()
    yearly: tuple[tuple[int, int | None], ...] = ()


def times_in(question: str, *, now: int, zone: str) -> Times:
    """The times named in a question asked at `now`, in a time zone. What is no date, such as 31 June, names none."""
    spans: list[tuple[int, int]] = []
    yearly: list[tuple[int, int | None]] = []
    rest = question
    for order, pattern in _DATES:
        for match in pattern.finditer(rest):
            said = dict(zip(order.split(), match.groups(), strict=True))
            year, month, day = (said.get(unit) for unit in ("year", "month", "day"))
            if year is None and month is not None:
                yearly.append((_month(month), int(day) if day else None))
            elif year is not None:
                spans += _spans([int(year)], _month(month) if month else None, int(day) if day else None, zone)
        rest = pattern.sub(" ; ", rest)
    today = to_datetime(now).astimezone(ZoneInfo(zone)).date()
    spans += [_relative(name, today, now, zone) for name, pattern in _RELATIVE.items() if pattern.search(question)]
    for count, unit in _AGO.findall(question):
        days = (_COUNT.get(count.lower()) or int(count)) * _DAYS_IN[unit.lower()]
        spans.append(_days(today, -days, 1 - days, zone))
    return Times(tuple(dict.fromkeys(spans)), tuple(dict.fromkeys(yearly)))


def nearness(times: Times, said_at: NDArray[np.int64], *, zone: str) -> NDArray[np.float32]:
    """float32[n]: 1 for what was said in one of the times, halved every three days before and after."""
    spans = list(times.spans)
    if times.yearly and len(said_at):
        latest = _year_of(int(said_at.max()))
        years = range(max(_year_of(int(said_at.min())), latest - MOST_YEARS), latest + 1)
        for month, day in times.yearly:
            spans += _spans(years, month, day, zone)
    if not spans or not len(said_at):
        return np.zeros(len(said_at), np.float32)
    begins, ends = np.array(sorted(spans), np.int64).T
    ends = np.maximum.accumulate(ends)
    after = np.searchsorted(begins, said_at, side="right")  # the first span that begins later
    late = np.where(after > 0, said_at - ends[after - 1] + 1, np.iinfo(np.int64).max)
    early = np.where(after < len(begins), begins[np.minimum(after, len(begins) - 1)] - said_at, np.iinfo(np.int64).max)
    away = np.maximum(np.minimum(late, early), 0)
    near: NDArray[np.float32] = np.exp2(-away.astype(np.float32) / np.float32(HALVED_AFTER))
    return near


def _month(name: str) -> int:
    """The number of a month."""
    if name.isdigit():
        return int(name)
    return _NUMBER.get(name.lower()) or _SHORT[name.lower()]


def _spans(years: "range | list[int]", month: int | None, day: int | None, zone: str) -> Iterator[tuple[int, int]]:
    """A year, a month or a day of each year that has it."""
    for year in years:
        if not MINYEAR < year < MAXYEAR:
            continue
        try:
            first = date(year, 1 if month is None else month, 1 if day is None else day)
        except ValueError:
            continue
        if day is not None:
            last = first
        elif month is not None:
            last = (first + timedelta(days=31)).replace(day=1) - timedelta(days=1)
        else:
            last = date(year, 12, 31)
        yield _instant(first, zone), _instant(last + timedelta(days=1), zone)


def _relative(name: str, today: date, now: int, zone: str) -> tuple[int, int]:
    """What a word means on a day; a week is from Monday, and "last week" is the one before this."""
    monday, first = today - timedelta(days=today.weekday()), today.replace(day=1)
    if name in ("today", "yesterday"):
        return _days(today, *((0, 1) if name == "today" else (-1, 0)), zone)
    if name == "last week":
        return _days(monday, -7, 0, zone)
    if name == "last month":
        return _instant((first - timedelta(days=1)).replace(day=1), zone), _instant(first, zone)
    if name == "last year":
        return _instant(date(today.year - 1, 1, 1), zone), _instant(date(today.year, 1, 1), zone)
    begins = {"this week": monday, "this month": first, "this year": today.replace(month=1, day=1)}[name]
    return _instant(begins, zone), now + 1


def _days(day: date, start: int, end: int, zone: str) -> tuple[int, int]:
    return _instant(day + timedelta(days=start), zone), _instant(day + timedelta(days=end), zone)


def _instant(day: date, zone: str) -> int:
    return from_datetime(datetime(day.year, day.month, day.day, tzinfo=ZoneInfo(zone)))


def _year_of(instant: int) -> int:
    return int(np.datetime64(instant, "us").astype("datetime64[Y]").astype(int)) + 1970
