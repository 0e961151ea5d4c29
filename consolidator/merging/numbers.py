"""Numbers as they are written: digits of any script with their separators, words, fractions, ordinals."""

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from consolidator.merging.language import Language, number
from consolidator.merging.tokens import Token

_GROUPED = re.compile(r"[1-9][0-9]{0,2}(?:([.,'])[0-9]{3})(?:\1[0-9]{3})*")
_BOTH = re.compile(r"([1-9][0-9]{0,2}(?:([.,'])[0-9]{3})(?:\2[0-9]{3})*)(?!\2)([.,])([0-9]+)")
_DECIMAL = re.compile(r"[0-9]+[.,][0-9]+")
_PLAIN = re.compile(r"[0-9]+")
_THREE_AND_ZERO = re.compile(r"[1-9][0-9]{0,2}[.,][0-9]{2}0")
CURRENCY_SIGNS = tuple("$€£¥₹₩₽₿฿")
_JOINTS = ("-", "\u2013")


class Number(NamedTuple):
    """
    A number that was read: how it is written everywhere, the index after its last token, its exact value if it has one.

    ordinal: it orders; weak: the word may say no more than an article does ('one', 'first');
    scaled: the letters written right after it were a multiplier ('91K').
    """

    value: str
    after: int
    exact: Fraction | None = None
    ordinal: bool = False
    weak: bool = False
    scaled: bool = False


def of_digits(text: str, language: Language) -> str | None:
    """
    What digits with separators say; None where they are no number (a version, a list, an address).

    Separators are read as the language has them: 1,000 is a thousand in English and one in German. What ends in a zero
    after three places could be either in a text of mixed habits, and leading zeros make a code: both stay as written.
    """
    if _PLAIN.fullmatch(text):
        return text if text[0] == "0" and len(text) > 1 else str(int(text)) if len(text) < 400 else text
    if len(text) > 400:
        return None
    if match := _BOTH.fullmatch(text):
        whole = re.sub(r"\D", "", match[1])
        return number(Fraction(f"{whole}.{match[4]}"))
    point = "," if language.decimal_comma else "."
    if match := _GROUPED.fullmatch(text):
        separator, groups = match[1], text.count(match[1])
        if separator != point or groups > 1:
            return str(int(re.sub(r"\D", "", text)))
        if _THREE_AND_ZERO.fullmatch(text):
            return text
    if _DECIMAL.fullmatch(text):
        return number(Fraction(text.replace(",", ".")))
    return None


def read_number(tokens: Sequence[Token], i: int, language: Language) -> Number | None:
    """The number that begins at token i, with the multiplier and the fraction that belong to it."""
    token = tokens[i]
    if token.kind == "number":
        return _digits(tokens, i, language)
    if token.kind == "word":
        return _words(tokens, i, language)
    return None


def _digits(tokens: Sequence[Token], i: int, language: Language) -> Number | None:
    token = tokens[i]
    text, suffix = token.text, token.suffix
    if "/" in text:
        return _slashed(tokens, i)
    value = of_digits(text, language)
    if value is None:
        return None
    if suffix.lower() in language.sets["ordinal_endings"]:
        return Number(value, i + 1, ordinal=True)
    exact = _exact(value)
    if exact is None:
        return Number(value, i + 1)
    money = i > 0 and tokens[i - 1].text in CURRENCY_SIGNS  # $5m is a million, 5m a length
    spelled = suffix.upper() if money else suffix.lower() if suffix == "K" else suffix
    times = language.suffixes.get(spelled) or language.suffixes.get(suffix.lower() if money else suffix)
    if times:
        exact *= times
    after = i + 1
    if not suffix and after < len(tokens) and tokens[after].text.count("/") == 1 and "/" in tokens[after].text:
        part = _slashed(tokens, after)  # 5 1/2
        if part is not None and part.exact is not None and exact.denominator == 1 and part.exact < 1:
            return Number(number(exact + part.exact), after + 1, exact + part.exact)
    if not suffix or times:
        exact, after = _multiplied(tokens, after, exact, language)
    return Number(number(exact) if times or after > i + 1 else value, after, exact, scaled=bool(times))


def _slashed(tokens: Sequence[Token], i: int) -> Number | None:
    above, _, below = tokens[i].text.partition("/")
    if not (_PLAIN.fullmatch(above) and _PLAIN.fullmatch(below)) or len(above) + len(below) > 12:
        return None
    if int(below) and int(above) < int(below) <= 10 and Fraction(int(above), int(below)).denominator == int(below):
        exact = Fraction(int(above), int(below))
        return Number(number(exact), i + 1, exact)
    return Number(f"{above}/{below}", i + 1)


def _exact(value: str) -> Fraction | None:
    if value[0] == "0" and value[1:2] not in ("", "."):
        return None
    return None if _THREE_AND_ZERO.fullmatch(value) or len(value) > 40 else Fraction(value)


def _multiplied(tokens: Sequence[Token], i: int, exact: Fraction, language: Language) -> tuple[Fraction, int]:
    while i < len(tokens) and tokens[i].kind == "word" and (times := language.multipliers.get(tokens[i].low)):
        exact, i = exact * times, i + 1
    return exact, i


def _words(tokens: Sequence[Token], i: int, language: Language) -> Number | None:
    word = tokens[i].low
    first = _value(word, language)
    starts_article = word in language.sets["articles"]
    if first is None and word not in language.multipliers and word not in language.fractions and not starts_article:
        ordinal = language.ordinals.get(word)
        if ordinal is None:
            return None
        return Number(str(ordinal), i + 1, Fraction(ordinal), ordinal=True, weak=word in language.sets["weak"])
    if starts_article and first is None:
        return _after_article(tokens, i, language)
    if first is None and word in language.fractions:
        return _half(tokens, i, language)
    return _cardinal(tokens, i, language)


def _after_article(tokens: Sequence[Token], i: int, language: Language) -> Number | None:
    """'a dozen', 'a third of'; an article alone is no number."""
    if i + 1 >= len(tokens):
        return None
    word = tokens[i + 1].low
    if word in language.multipliers:
        return _cardinal(tokens, i + 1, language)
    if (below := language.fractions_after_article.get(word)) and i + 2 < len(tokens):
        follows = tokens[i + 2].low
        if follows in language.sets["of"]:
            return Number(number(Fraction(1, below)), i + 2, Fraction(1, below))
    return None


def _half(tokens: Sequence[Token], i: int, language: Language) -> Number:
    """'half a million', 'half a dozen'; a plain half is weak."""
    part = Fraction(1, language.fractions[tokens[i].low])
    after = i + 1
    if after < len(tokens) and tokens[after].low in language.sets["articles"]:
        after += 1
    exact, end = _multiplied(tokens, after, part, language)
    if end > after:
        return Number(number(exact), end, exact)
    return Number(number(part), i + 1, part, weak=True)


def _cardinal(tokens: Sequence[Token], i: int, language: Language) -> Number | None:
    """A run of number words: 'two hundred and five', 'twenty-one', 'nineteen ninety-nine', 'two and a half million'."""
    total, current, begun = Fraction(0), Fraction(0), False
    start = i
    while i < len(tokens):
        token = tokens[i]
        value = _value(token.low, language)
        if value is not None:
            if begun and not _fits(current or total, value):
                if total == 0 and 10 < current < 30 and 10 <= value < 100:  # the year nineteen ninety-nine
                    current, i = current * 100 + value, i + 1
                    continue
                break
            current, begun, i = current + value, True, i + 1
        elif begun and token.low in language.fractions and token.low not in language.sets["weak"]:
            part = current / language.fractions[token.low]
            return Number(number(part), i + 1, part)
        elif begun and total + current == 1 and (below := language.fractions_after_article.get(token.low)):
            return Number(number(Fraction(1, below)), i + 1, Fraction(1, below))
        elif (times := language.multipliers.get(token.low)) is not None:
            current, begun, i = (current or Fraction(1)) * times, True, i + 1
            if times >= 1000:
                total, current = total + current, Fraction(0)
        elif begun and (ordinal := language.ordinals.get(token.low)) is not None and _fits(current or total, ordinal):
            return Number(number(total + current + ordinal), i + 1, ordinal=True)
        elif begun and (after := _joined(tokens, i, current or total, language)) is not None:
            if tokens[after - 1].low in language.fractions:
                exact, end = _multiplied(tokens, after, total + current + Fraction(1, 2), language)
                return Number(number(exact), end, exact)
            i = after
        else:
            break
    if not begun:
        return None
    exact = total + current
    weak = i == start + 1 and tokens[start].low in language.sets["weak"]
    return Number(number(exact), i, exact, weak=weak)


def _joined(tokens: Sequence[Token], i: int, current: Fraction, language: Language) -> int | None:
    """Where the run goes on after a hyphen, 'and' or 'and a half'; None where it ends."""
    token, following = tokens[i], tokens[i + 1] if i + 1 < len(tokens) else None
    if following is None:
        return None
    value = _value(following.low, language)
    value = language.ordinals.get(following.low) if value is None else value
    if token.text in _JOINTS and token.start == tokens[i - 1].end and following.start == token.end:
        ends = any(following.low in part for part in (language.fractions, language.multipliers))
        ends = ends or (current == 1 and following.low in language.fractions_after_article)
        return i + 1 if ends or (value is not None and _fits(current, value)) else None
    if token.low not in language.sets["joiners"]:
        return None
    third = tokens[i + 2].low if i + 2 < len(tokens) else ""
    if following.low in language.sets["articles"] and language.fractions.get(third) == 2:
        return i + 3
    return i + 1 if value is not None and current % language.joins_after == 0 and _fits(current, value) else None


def _fits(current: Fraction | int, value: int) -> bool:
    """Whether a value fills the empty last places of what was read: 20 and 1 do, 5 and 6 do not."""
    if value <= 0 or current <= 0:
        return False
    room = 100 if value >= 10 else 10
    return current % room == 0 and (value < 100 or current % 1000 == 0) and current != 10


def _value(word: str, language: Language) -> int | None:
    value = language.numbers.get(word)
    if value is None and language.compound is not None and len(word) > 7 and language.compound.fullmatch(word):
        value = _compound(word, language)
    return value


def _compound(word: str, language: Language) -> int:
    """A number written in one word: 'einundzwanzig', 'kaksikymmentäyksi'."""
    total = current = 0
    for part in language.parts.findall(word):
        if times := language.multipliers.get(part):
            current = (current or 1) * times
            if times >= 1000:
                total, current = total + current, 0
        else:
            current += language.numbers.get(part, 0)
    return total + current
