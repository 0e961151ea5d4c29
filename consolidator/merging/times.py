"""When: dates, months, years, weekdays, clock times and relative days, as far as a text says them and no further."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from consolidator.merging.language import Language
from consolidator.merging.numbers import read_number
from consolidator.merging.tokens import Token

_ISO = re.compile(r"([0-9]{4})[-/.]([0-9]{1,2})[-/.]([0-9]{1,2})")
_PARTS = re.compile(r"([0-9]{1,2})([-/.])([0-9]{1,2})\2([0-9]{4}|[0-9]{2})")
_MONTH_YEAR = re.compile(r"([0-9]{1,2})/([12][0-9]{3})")
_YEAR = re.compile(r"1[0-9]{3}|20[0-9]{2}|21[0-9]{2}")
_CLOCK = re.compile(r"([0-9]{1,2})[:.]([0-9]{2})(:[0-9]{2})?")
_SPAN = re.compile(r"([0-9]{1,2})(?:[:.]([0-9]{2}))?-([0-9]{1,2})(?:[:.]([0-9]{2}))?")
_DAYS = re.compile(r"([0-9]{1,2})(?:-([0-9]{1,2}))?")


class When(NamedTuple):
    """What was read: (kind, value) of each, and the index after the last token."""

    facts: tuple[tuple[str, str], ...]
    after: int


def date(year: int | None = None, month: int | None = None, day: int | None = None) -> str:
    """A date as far as it is known: ????-06-08 is a day of any year."""
    return "-".join(
        ("????" if year is None else f"{year:04}", *("??" if n is None else f"{n:02}" for n in (month, day)))
    )


def clock(hour: int, minute: int, seconds: str = "", half: str = "") -> str:
    """A time of day; without `half` (am, pm) and up to 12 it may be either half of the day."""
    if hour > 12 or (hour == 0 and not half):
        half = "pm" if hour > 12 else "am"
    hour = 12 if hour % 12 == 0 else hour % 12
    return f"{hour}:{minute:02}{seconds}{' ' + half if half else ''}"


def read_when(tokens: Sequence[Token], i: int, language: Language, *, shouted: bool) -> When | None:
    """
    The date or time that begins at token i.

    shouted: all letters of the sentence are of one case, so that case tells nothing of a month that is a word.
    """
    token = tokens[i]
    if token.kind == "number":
        return _written(tokens, i, language) or _of_day(tokens, i, language) or _hour(tokens, i, language)
    if token.kind != "word":
        return None
    word = token.low
    if word in language.months:
        return _of_month(tokens, i, language, shouted)
    if word in language.weekdays:
        return _weekday(tokens, i, language.weekdays[word], language)
    if word in language.weekdays_if_capital and token.text[0].isupper() and not shouted:
        return When((("weekday", str(language.weekdays_if_capital[word])),), i + 1)
    if word in language.clock:
        return When((("time", language.clock[word]),), i + 1)
    if word in language.quarter_hour:
        return _quarter(tokens, i, language)
    if word in language.ordinals:
        return _of_day(tokens, i, language)
    if word in language.numbers:
        return _hour(tokens, i, language)
    if word in language.sets["before_clock"] and i + 1 < len(tokens) and tokens[i + 1].kind == "number":
        return _after_clock_word(tokens, i, language)
    return None


def _written(tokens: Sequence[Token], i: int, language: Language) -> When | None:
    """All digits: 2026-06-08, 8.6.2026, 12/06/2026 (either way round, kept so), 06/2026, 8:15 pm."""
    text = tokens[i].text
    if match := _ISO.fullmatch(text):
        year, month, day = map(int, match.groups())
        if _possible(month, day):
            return When((("date", date(year, month, day)),), i + 1)
    if match := _PARTS.fullmatch(text):
        first, mark, second, year_text = int(match[1]), match[2], int(match[3]), match[4]
        if _possible(second, first) or _possible(first, second):
            return When((("date", _either(first, second, year_text, mark, text)),), i + 1)
    if (match := _MONTH_YEAR.fullmatch(text)) and 1 <= int(match[1]) <= 12:
        return When((("date", date(int(match[2]), int(match[1]))),), i + 1)
    half, after = _half_of_day(tokens, i, language)
    if match := _CLOCK.fullmatch(text):
        hour, minute = int(match[1]), int(match[2])
        if hour < 24 and minute < 60 and (":" in text or half):
            return When((("time", clock(hour, minute, match[3] or "", half)),), after)
    if (match := _SPAN.fullmatch(text)) and (half or text.count(":") == 2):
        hours, minutes = (int(match[1]), int(match[3])), (int(match[2] or 0), int(match[4] or 0))
        if max(hours) < 24 and max(minutes) < 60:
            return When(tuple(("time", clock(*time, half=half)) for time in zip(hours, minutes, strict=True)), after)
    return None


def _either(first: int, second: int, year: str, mark: str, text: str) -> str:
    if len(year) == 2:
        return text
    if mark == "." or first > 12 or first == second:
        return date(int(year), second, first) if second <= 12 else date(int(year), first, second)
    if second > 12:
        return date(int(year), first, second)
    return f"{first:02}/{second:02}/{year}"


def _possible(month: int, day: int) -> bool:
    return 1 <= month <= 12 and 1 <= day <= 31


def _half_of_day(tokens: Sequence[Token], i: int, language: Language) -> tuple[str, int]:
    """('am' | 'pm' | '', index after it) of the number at i."""
    suffix = tokens[i].suffix.lower()
    following = tokens[i + 1].low if i + 1 < len(tokens) and not suffix else ""
    for half in ("am", "pm"):
        if suffix in language.sets[half]:
            return half, i + 1
        if following in language.sets[half]:
            return half, i + 2
    return "", i + 1


def _hour(tokens: Sequence[Token], i: int, language: Language) -> When | None:
    """8 pm, 8 o'clock, eight o'clock."""
    half, after = _half_of_day(tokens, i, language)
    if not half:
        follows = tokens[i + 1].low if i + 1 < len(tokens) else ""
        if follows not in language.sets["oclock"]:
            return None
        after = i + 2
        if after < len(tokens):
            half = next((each for each in ("am", "pm") if tokens[after].low in language.sets[each]), "")
            after += bool(half)
    hour = _small(tokens[i], language)
    if hour is None or not 0 <= hour < 24 or tokens[i].text == "0":
        return None
    return When((("time", clock(hour, 0, half=half)),), after)


def _after_clock_word(tokens: Sequence[Token], i: int, language: Language) -> When | None:
    match = _CLOCK.fullmatch(tokens[i + 1].text) or re.fullmatch("([0-9]{1,2})()()", tokens[i + 1].text)
    if match is None or tokens[i + 1].suffix or int(match[1]) > 23 or int(match[2] or 0) > 59:
        return None
    after = i + 2 + (i + 2 < len(tokens) and tokens[i + 2].low in language.sets["oclock"])
    return When((("time", clock(int(match[1]), int(match[2] or 0), match[3] or "")),), after)


def _quarter(tokens: Sequence[Token], i: int, language: Language) -> When | None:
    """'half past eight', 'quarter to nine'."""
    if i + 2 >= len(tokens):
        return None
    minutes, hour = language.quarter_hour[tokens[i].low], _small(tokens[i + 2], language)
    if hour is None or not 1 <= hour <= 12:
        return None
    if tokens[i + 1].low in language.sets["past"]:
        return When((("time", clock(hour, minutes)),), i + 3)
    if tokens[i + 1].low in language.sets["before_hour"] and minutes == 15:
        return When((("time", clock(hour - 1 or 12, 60 - minutes)),), i + 3)
    return None


def _small(token: Token, language: Language) -> int | None:
    if token.kind == "number":
        return int(token.text) if len(token.text) <= 2 and token.text.isdigit() else None
    return language.numbers.get(token.low)


def _weekday(tokens: Sequence[Token], i: int, day: int, language: Language) -> When:
    facts = [("weekday", str(day))]
    if i and tokens[i - 1].low in language.sets["before_weekday"]:
        facts.append(("relative day", f"{tokens[i - 1].low} weekday {day}"))
    return When(tuple(facts), i + 1)


def _of_day(tokens: Sequence[Token], i: int, language: Language) -> When | None:
    """8 June, 8th of June 2026, 8. Juni 2026, 8-10 June, the eighth of June."""
    token = tokens[i]
    if token.kind == "number":
        match = _DAYS.fullmatch(token.text)
        if match is None or token.suffix.lower() not in ("", *language.sets["ordinal_endings"]):
            return None
        days = [int(day) for day in match.groups() if day]
    else:
        days = [language.ordinals[token.low]]
    j = i + 1
    while j < len(tokens) and j < i + 3 and (tokens[j].text == "." or tokens[j].low in language.sets["of"]):
        j += 1
    if j >= len(tokens) or tokens[j].low not in language.months or not all(1 <= day <= 31 for day in days):
        return None
    month = language.months[tokens[j].low]
    year, after = _year_after(tokens, j + 1, language)
    return When(tuple(("date", date(year, month, day)) for day in days), after)


def _of_month(tokens: Sequence[Token], i: int, language: Language, shouted: bool) -> When | None:
    """June 8th, 2026; June 2026; June. A month that is also a word counts with a number or in a place for a month."""
    month = language.months[tokens[i].low]
    j = i + 1
    if j < len(tokens) and tokens[j].text == "." and tokens[j].start == tokens[i].end:
        j += 1
    if j < len(tokens) and tokens[j].kind == "number":
        token = tokens[j]
        match = _DAYS.fullmatch(token.text)
        plain = token.suffix.lower() in ("", *language.sets["ordinal_endings"])
        if match and plain and all(1 <= int(day) <= 31 for day in match.groups() if day):
            year, after = _year_after(tokens, j + 1, language)
            return When(tuple(("date", date(year, month, int(day))) for day in match.groups() if day), after)
    elif j < len(tokens) and tokens[j].low in language.number_starts:
        ordinal = read_number(tokens, j, language)
        if ordinal is not None and ordinal.ordinal and len(ordinal.value) < 3 and 1 <= int(ordinal.value) <= 31:
            year, after = _year_after(tokens, ordinal.after, language)
            return When((("date", date(year, month, int(ordinal.value))),), after)
    year, after = _year_after(tokens, i + 1, language)
    if year is None and tokens[i].low in language.sets["months_that_are_words"]:
        before = language.sets["before_year"] | language.sets["before_weekday"]
        placed = i > 0 and tokens[i - 1].low in before
        if not placed or not (shouted or tokens[i].text[0].isupper()):
            return None
    return When((("date", date(year, month)),), after if year else i + 1)


def _year_after(tokens: Sequence[Token], i: int, language: Language) -> tuple[int | None, int]:
    j = i
    while j < len(tokens) and j < i + 2 and (tokens[j].text in ",." or tokens[j].low in language.sets["of"]):
        j += 1
    if j < len(tokens) and tokens[j].kind == "number" and not tokens[j].suffix and _YEAR.fullmatch(tokens[j].text):
        return int(tokens[j].text), j + 1
    return None, i


def read_year(tokens: Sequence[Token], i: int, language: Language) -> When | None:
    """'in 2026', '2024-2026', 'the 1990s'; 2026 elsewhere is a number."""
    token = tokens[i]
    if token.kind != "number":
        return None
    if token.suffix == "s" and re.fullmatch(r"[0-9]{3}0|[0-9]0", token.text):
        return When((("number", f"{token.text}s"),), i + 1)
    years = token.text.split("-")
    if token.suffix or not all(_YEAR.fullmatch(year) for year in years) or len(years) > 2:
        return None
    if len(years) == 2 or (i and tokens[i - 1].low in language.sets["before_year"]):
        return When(tuple(("date", date(int(year))) for year in years), i + 1)
    return None
