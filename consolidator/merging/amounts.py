"""Numbers with what they count: units, money, ranges."""

from collections.abc import Sequence
from itertools import pairwise

from consolidator.merging.language import FIRST, Language, languages
from consolidator.merging.numbers import CURRENCY_SIGNS, Number, of_digits, read_number
from consolidator.merging.reading import Fact, Reading
from consolidator.merging.tokens import Token

_FEW = 12  # a number word up to a dozen is often left out: 'two men', 'the men'


def read_amount(reading: Reading, tokens: Sequence[Token], i: int, language: Language) -> int | None:
    token = tokens[i]
    if token.kind == "mixed":
        reading.facts.append(Fact("identifier", token.low, token.text))
        return i + 1
    if token.kind == "word" and token.low not in language.number_starts and language.compound is None:
        return None
    read = read_number(tokens, i, language)
    if read is None:
        return _several(reading, tokens, i, language) if token.kind == "number" else None
    suffix = token.suffix if token.kind == "number" and read.after == i + 1 and not read.ordinal else ""
    if suffix and read.scaled:
        suffix = ""
    unit, after = _unit_after(tokens, read.after, suffix, language)
    if suffix and unit is None:
        reading.facts.append(Fact("identifier", f"{token.text}{suffix}".lower(), token.text + suffix))
        return i + 1
    value = read.value
    if token.kind == "number" and _negative(tokens, i):
        value = f"-{value}"
    said = reading.text[token.start : tokens[after - 1].end]
    if read.ordinal:
        reading.facts.append(Fact("order", value, said, read.weak))
        return read.after
    money = _money_before(tokens, i, language)
    weak = not (unit or money) and (read.weak or (token.kind == "word" and (read.exact or 99) <= _FEW))
    reading.facts.append(Fact("number", value, reading.text[token.start : tokens[read.after - 1].end], weak))
    if money or unit:
        reading.facts.append(
            Fact("amount", f"{value} {money or unit}", f"{_money_sign(tokens, i) if money else ''}{said}")
        )
        if after < len(tokens) and (side := language.ago.get(tokens[after].low)):
            reading.facts.append(Fact("relative day", f"{value} {unit} {side}", said))
    elif not read.weak:
        _shared_unit(reading, tokens, read, after, language)
    return after


def _shared_unit(reading: Reading, tokens: Sequence[Token], read: Number, after: int, language: Language) -> None:
    """'5 to 10 km': the unit of the second number is that of the first."""
    if after + 1 < len(tokens) and (tokens[after].low in language.sets["ranges"]):
        second = read_number(tokens, after + 1, language)
        if second is None or second.ordinal:
            return
        suffix = tokens[after + 1].suffix
        unit, _ = _unit_after(tokens, second.after, "" if suffix in language.suffixes else suffix, language)
        if unit:
            reading.facts.append(Fact("amount", f"{read.value} {unit}", f"{read.value} {unit}"))


def _several(reading: Reading, tokens: Sequence[Token], i: int, language: Language) -> int:
    """'5-10', '3:2', '1,2,3': each number; what falls is also a pair, so that 3-2 is not 2-3."""
    token = tokens[i]
    parts = [part for part in _cut(token.text) if part]
    unit, after = _unit_after(tokens, i + 1, token.suffix, language)
    money = _money_before(tokens, i, language)
    values = [of_digits(part, language) or part for part in parts]
    for part, value in zip(parts, values, strict=True):
        reading.facts.append(Fact("number", value, part))
        if unit or money:
            reading.facts.append(Fact("amount", f"{value} {money or unit}", f"{part} {money or unit}"))
    if any(mark in token.text for mark in "-:/") and not _rises(values):
        reading.facts.append(Fact("number", "-".join(values), token.text))
    return after


def _cut(text: str) -> list[str]:
    for marks in ("-", "/", ":"):
        if marks in text:
            return [piece for part in text.split(marks) for piece in _cut(part)]
    return text.split(",") if text.count(",") > 1 else text.split("'") if "'" in text else [text]


def _rises(values: Sequence[str]) -> bool:
    try:
        exact = [float(value) for value in values]
    except ValueError:
        return False
    return all(low < high for low, high in pairwise(exact))


def _unit_after(tokens: Sequence[Token], j: int, suffix: str, language: Language) -> tuple[str | None, int]:
    """The unit that follows a number (written right after it, after a space or a hyphen) and the index after it."""
    first = languages()[FIRST]
    words: list[str] = [suffix.lower()] if suffix else []
    if not suffix:
        if (
            j + 1 < len(tokens)
            and tokens[j].text == "-"
            and tokens[j].start == tokens[j - 1].end == tokens[j + 1].start - 1
        ):
            j += 1
        if j >= len(tokens):
            return None, j
        words, j = [tokens[j].low], j + 1
        for meaning in language.phrases.get(words[0], ()):
            rest = tuple(token.low for token in tokens[j : j + len(meaning.rest)])
            if meaning.kind == "unit" and rest == meaning.rest:
                return meaning.value, j + len(rest)
    if j < len(tokens) and tokens[j].start == tokens[j - 1].end:
        glued = tokens[j].low if words[0] == "\u00b0" else ""
        if tokens[j].text == "/" and j + 1 < len(tokens) and tokens[j + 1].start == tokens[j].end:
            glued = f"/{tokens[j + 1].low}"
        joined = f"{words[0]}{glued}"
        unit = glued and (language.units.get(joined) or first.units.get(joined))
        if unit:
            return unit, j + 1 + glued.startswith("/")
    unit = language.units.get(words[0]) or first.units.get(words[0])
    if unit is None:
        return None, j if suffix else j - 1
    return unit, j


def _money_before(tokens: Sequence[Token], i: int, language: Language) -> str | None:
    if i == 0:
        return None
    sign = _money_sign(tokens, i).lower()
    return (
        language.units.get(sign) or languages()[FIRST].units.get(sign) or languages()[FIRST].units.get(sign[-1:])
        if sign
        else None
    )


def _money_sign(tokens: Sequence[Token], i: int) -> str:
    """The currency written before the number at i: '$', 'A$', 'USD'; '' if none is."""
    before = tokens[i - 1] if i else None
    if before is None:
        return ""
    if before.text in CURRENCY_SIGNS:
        front = tokens[i - 2] if i > 1 else None
        joined = front is not None and front.kind == "word" and front.end == before.start and len(front.text) < 4
        return f"{front.text}{before.text}" if joined and front is not None else before.text
    return before.text if before.kind == "word" and len(before.text) == 3 and before.text.isupper() else ""


def _negative(tokens: Sequence[Token], i: int) -> bool:
    if not i or tokens[i - 1].text != "-" or tokens[i - 1].end != tokens[i].start:
        return False
    return i == 1 or tokens[i - 2].end < tokens[i - 1].start or tokens[i - 2].text in "($€£"
