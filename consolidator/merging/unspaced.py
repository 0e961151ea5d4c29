"""Numbers, dates and marks of texts that are written without spaces between words: Chinese, Japanese, Thai."""

import re
from typing import NamedTuple

from consolidator.merging.language import FIRST, Language, languages, number
from consolidator.merging.numbers import of_digits
from consolidator.merging.times import clock, date

_LARGE = 10_000
_LONGEST = 40  # numerals in a row that are still a number


class Found(NamedTuple):
    """What was found: kind, its value for comparison, as it is written, where it begins, whether it may say nothing."""

    kind: str
    value: str
    said: str
    start: int
    weak: bool = False


def read_unspaced(text: str, language: Language) -> tuple[list[Found], str]:
    """What a folded text of this language says, and the text with what was read of it blanked, of the same length."""
    found: list[Found] = []
    pieces: list[str] = []
    end = 0
    for match in language.scanned.finditer(text):
        facts = _facts(match, language)
        if facts and facts[0][0] == "negation" and text[match.end() : match.end() + 1] == ",":
            facts = [("risk", match[0], False)]  # 不，... answers; it denies nothing itself
        found.extend(Found(kind, value, match[0].strip(), match.start(), weak) for kind, value, weak in facts)
        hides = facts and facts[0][0] not in language.marks and facts[0][0] != "risk"
        if hides and any(letter.isdigit() for letter in match[0]):
            pieces += text[end : match.start()], " " * len(match[0])
            end = match.end()
    return found, "".join(pieces) + text[end:]


def _facts(match: re.Match[str], language: Language) -> list[tuple[str, str, bool]]:
    group = match.groupdict()

    def value(name: str) -> str:
        return amount(group[name], language)

    def whole(name: str) -> int | None:
        text = group[name] and value(name)
        return int(text) if text and text.isdigit() else None

    if group["month"] or group["named"]:
        return _day(
            whole("year") or whole("year_after"),
            whole("month") or language.months.get(group["named"] or "", 0),
            whole("day") or whole("day_before"),
        )
    if group["only_year"]:
        year = whole("only_year")
        if year is not None and 1000 <= year < 10_000:
            return [("date", date(year), False)]
        return [("number", value("only_year"), False), ("amount", f"{value('only_year')} year", False)]
    if group["money"]:
        unit = language.units.get(group["money"]) or languages()[FIRST].units[group["money"]]
        return [("number", value("sum"), False), ("amount", f"{value('sum')} {unit}", False)]
    if group["percent"]:
        return [("number", value("percent"), False), ("amount", f"{value('percent')} percent", False)]
    if group["amount"]:
        unit = language.units[group["unit"]]
        return [("number", value("amount"), False), ("amount", f"{value('amount')} {unit}", False)]
    if group["hour"]:
        return _time(whole("hour"), whole("minute"), group, language)
    if group["ordinal"]:
        return [("order", value("ordinal"), False)]
    if group["phrase"]:
        return _phrase(group["phrase"], language)
    if group["number"]:
        return [("number", value("number"), group["number"] in language.sets["weak"])]
    return []


def _day(year: int | None, month: int | None, day: int | None) -> list[tuple[str, str, bool]]:
    return [("date", date(year, month, day), False)]


def _time(
    hour: int | None, minute: int | None, group: dict[str, str], language: Language
) -> list[tuple[str, str, bool]]:
    if hour is None or hour > 24:
        return []
    half = group["half"]
    side = "" if not half else "am" if half in language.sets["am"] else "pm"
    return [
        ("time", clock(hour % 24 if hour == 24 else hour, 30 if group["half_hour"] else minute or 0, half=side), False)
    ]


def _phrase(phrase: str, language: Language) -> list[tuple[str, str, bool]]:
    if phrase in language.weekdays:
        return [("weekday", str(language.weekdays[phrase]), False)]
    if phrase in language.clock:
        return [("time", language.clock[phrase], False)]
    kind, value = language.meanings[phrase]
    return [] if kind == "plain" else [(kind, value, False)]


def amount(text: str, language: Language) -> str:
    """The value of digits or numerals: 二十一 is 21, 二〇二六 is 2026; 两三 stays 'two or three'."""
    if text[0].isascii():
        return of_digits(text, language) or text
    parts = language.parts.findall(text)
    if len(parts) > _LONGEST:
        return text
    values = [language.numbers.get(part) for part in parts]
    if None not in values:
        if len(parts) == 2 and values[1] == (values[0] or 0) + 1:
            return f"{values[0]}-{values[1]}"
        return str(int("".join(map(str, values)))) if values[0] else "".join(map(str, values))
    total = section = current = 0
    for part in parts:
        times = language.multipliers.get(part)
        if times is None:
            current = language.numbers[part]
        elif times < _LARGE:
            section, current = section + (current or 1) * times, 0
        else:
            total, section, current = total + (section + current or 1) * times, 0, 0
    return number(total + section + current)
