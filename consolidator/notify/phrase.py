"""
Whether the words that a model found for a night may be sent.

A reply is taken for what it is: text that may be empty, too long, a refusal, or made up. One that names a number the
night does not have, as digits or as a word, is not sent; nor is one with a link, which nobody asked for.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from consolidator.report.tame import one_line

LONGEST = 500  # characters

_SENTENCE_END = re.compile(r"[.!?…]+(?=[\s\"'”’)\]]|$)|[。！？]+")
_LINK = re.compile(r"://|\bwww\.|@", re.IGNORECASE)
_REFUSAL = re.compile(
    r"\bI(?:['’]m| am)? (?:can(?:no|['’])t|cannot|won['’]t|(?:not |un)able|sorry|afraid)\b"
    r"|\bas an? (?:AI|language model|assistant)\b|\bsorry\b|\bapologi[sz]e\b|抱歉|对不起|无法|申し訳",
    re.IGNORECASE,
)
_DIGITS = re.compile(r"\d+(?:[.,'’\u00a0\u202f]\d+)*")
_UNITS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_WORTH = (
    {word: number for number, word in enumerate(_UNITS)}
    | {word: 20 + 10 * place for place, word in enumerate(_TENS)}
    | {"hundred": 100, "hundreds": 100, "thousand": 1_000, "thousands": 1_000, "dozen": 12, "dozens": 12}
    | {"million": 1_000_000, "millions": 1_000_000, "couple": 2}
)
_IN_WORDS = re.compile(rf"\b(?:{'|'.join(_WORTH)})(?:(?:[ -]| and )(?:{'|'.join(_WORTH)}))*\b", re.IGNORECASE)
_HAN_UNITS = {
    "〇": 0,
    "零": 0,
    "一": 1,
    "二": 2,
    "两": 2,
    "三": 3,
    "四": 4,
    "五": 5,
    "六": 6,
    "七": 7,
    "八": 8,
    "九": 9,
}
_HAN_POWERS = {"十": 10, "百": 100, "千": 1_000, "万": 10_000}
_IN_HAN = re.compile(f"[{''.join(_HAN_UNITS)}{''.join(_HAN_POWERS)}]+")


def checked(reply: str | None, facts: Mapping[str, Any], *, sentences: int) -> str | None:
    """The reply as one harmless line; None where it may not be sent."""
    if not isinstance(reply, str) or len(reply) > 4 * LONGEST:
        return None
    text = one_line(reply, 4 * LONGEST).strip("\"“”' ")
    ends = len(_SENTENCE_END.findall(text))
    if not text or len(text) > LONGEST or ends > sentences or _REFUSAL.search(text) or _LINK.search(text):
        return None
    known = set(_known(facts))
    if any(not readings & known for readings in _numbers(text)):
        return None
    return text if text.endswith(tuple(".!?…。！？”)")) else f"{text}."


def _known(fact: Any) -> Iterator[float]:
    """Every number of the facts."""
    if isinstance(fact, Mapping):
        for name, value in fact.items():
            yield from _known(name)
            yield from _known(value)
    elif isinstance(fact, int | float):
        yield float(fact)
    else:
        for readings in _numbers(str(fact)):
            yield from readings


def _numbers(text: str) -> Iterator[set[float]]:
    """Each number that a text names, in every way it can be read: 2,400 is also 2.4."""
    for match in _DIGITS.finditer(text):
        plain = "".join(str(unicodedata.digit(char, -1)) if char.isdigit() else char for char in match[0])
        *before, last = re.split(r"\D", plain)
        readings = {float("".join([*before, last]))}
        if before:
            with suppress(ValueError):
                readings.add(float(f"{''.join(before)}.{last}"))
        yield readings
    for match in _IN_WORDS.finditer(text):
        if match[0].lower() != "one":  # "this one", "one by one"
            yield {float(_worth(re.split(r"[ -]", match[0].lower())))}
    for match in _IN_HAN.finditer(text):
        if match[0] != "一":  # in "一起", "一些" it counts nothing
            yield {float(_worth_in_han(match[0]))}


def _worth(words: list[str]) -> int:
    total = part = 0
    for word in words:
        worth = _WORTH.get(word, 0)
        if worth in (100, 12) and word not in _UNITS:
            part = max(part, 1) * worth
        elif worth >= 1_000:
            total, part = total + max(part, 1) * worth, 0
        else:
            part += worth
    return total + part


def _worth_in_han(text: str) -> int:
    total = part = 0
    for char in text:
        if char in _HAN_POWERS:
            total, part = total + max(part, 1) * _HAN_POWERS[char], 0
        else:
            part = part * 10 + _HAN_UNITS[char]
    return total + part
