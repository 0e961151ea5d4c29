"""
The words of a text, in every script, cut by one rule.

Case, width and accents do not count, a script without spaces is cut letter by letter, and a symbol such as an emoji is
a word.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise

LONGEST_WORD = 200

# What a character of the basic plane is. Above it every character stands for itself, if it is `said`.
NOTHING, LETTER, WORD, MARK, SYMBOL = range(5)
BASIC_PLANE = 0x10000

# Scripts written without spaces between words, and Korean, whose words carry their grammar with them.
_UNSPACED = (
    (0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1100, 0x11FF), (0x1780, 0x17FF), (0x1950, 0x19FF), (0x1A20, 0x1AAF),
    (0x3005, 0x3007), (0x3040, 0x318F), (0x31A0, 0x31BF), (0x31F0, 0x31FF), (0x3400, 0x4DBF), (0x4E00, 0xA4CF),
    (0xA960, 0xA97F), (0xAA60, 0xAA7F), (0xAC00, 0xD7FF), (0xF900, 0xFAFF),
)  # fmt: skip
_ACCENTS = re.compile("[\u0300-\u036f]")
_JOINERS = re.compile("[\u20d0-\u20ff\ufe00-\ufe0f]")


def words(text: str) -> Iterator[list[str]]:
    """The words of a text, each a list of tokens: one, or the letters of a stretch without spaces."""
    stretch: list[str] = []
    end = 0
    for match in _tokens().finditer(fold(text)):
        token = match.group()
        if stretch and (match.lastgroup != "letter" or match.start() != end):
            yield stretch
            stretch = []
        end = match.end()
        if match.lastgroup == "letter":
            stretch.append(token)
        elif match.lastgroup == "word":
            yield [token[:LONGEST_WORD]]
        elif said(token):
            yield [f"u{ord(token):x}"]
    if stretch:
        yield stretch


def fold(text: str) -> str:
    """A text without what does not count: case, width, accents, and the invisible letters that shape an emoji."""
    text = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", text).casefold())
    return unicodedata.normalize("NFC", _JOINERS.sub("", _ACCENTS.sub("", text)))


def said(character: str) -> bool:
    """Whether a character above the basic plane, or a symbol, is a word of its own."""
    return unicodedata.category(character) in ("So", "Lo", "Lu", "Ll", "Lm", "Nd", "Nl", "No")


@cache
def kinds() -> bytes:
    """What each character of the basic plane is: a byte each."""
    unspaced = {code for first, last in _UNSPACED for code in range(first, last + 1)}
    found = bytearray(BASIC_PLANE)
    for code in range(BASIC_PLANE):
        category = unicodedata.category(chr(code))
        if category[0] in "LN":
            found[code] = LETTER if code in unspaced else WORD
        elif category[0] == "M":
            found[code] = MARK
        elif category == "So":
            found[code] = SYMBOL
    return bytes(found)


@cache
def _tokens() -> re.Pattern[str]:
    letter, word, mark, symbol = (
        _ranges([code for code, found in enumerate(kinds()) if found == kind]) for kind in (LETTER, WORD, MARK, SYMBOL)
    )
    return re.compile(
        f"(?P<letter>[{letter}][{mark}]*)|(?P<word>[{word}][{word}{mark}]*)|(?P<symbol>[{symbol}\U00010000-\U0010ffff])"
    )


def _ranges(codes: Sequence[int]) -> str:
    """The inside of a character class."""
    starts = [code for before, code in pairwise([-2, *codes]) if code != before + 1]
    ends = [code for code, after in pairwise([*codes, 0x10FFFF]) if after != code + 1]
    return "".join(f"\\u{start:04x}-\\u{end:04x}" for start, end in zip(starts, ends, strict=True))
