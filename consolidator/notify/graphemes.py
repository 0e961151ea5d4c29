"""
Where a text may be cut without tearing a character that a reader sees as one.

A family emoji, a flag, a letter with its accents, a syllable of Korean or Hindi: many code points, one grapheme. The
rules are those of Unicode's text segmentation made a little coarser: a cut found here is never inside a grapheme.
"""

import unicodedata
from collections.abc import Iterator

_JOINER = "\u200d"
_VIRAMA = 9  # the combining class of signs that join two consonants


def graphemes(text: str) -> Iterator[str]:
    """The graphemes of a text, in order; joined they are the text."""
    start = 0
    for place in range(1, len(text)):
        if may_cut(text, place):
            yield text[start:place]
            start = place
    if text:
        yield text[start:]


def may_cut(text: str, place: int) -> bool:
    """Whether the text may be cut before `place`, 0 < place < len(text)."""
    before, after = text[place - 1], text[place]
    if before < "\x7f" and after < "\x7f":
        return not (before == "\r" and after == "\n")
    if _extends(after) or before == _JOINER or _begins(before):
        return False
    if _is_flag_letter(before) and _is_flag_letter(after):
        return _flag_letters_before(text, place) % 2 == 0
    if _is_jamo(before) and _is_jamo(after):
        return False
    return not _joins_consonants(text, place)


def _extends(char: str) -> bool:
    """Whether a character belongs to the one before it."""
    return (
        unicodedata.category(char).startswith("M")
        or char in "\u200c\u200d\u0e33\u0eb3\uff9e\uff9f"
        or "\U0001f3fb" <= char <= "\U0001f3ff"  # skin tones
        or "\U000e0020" <= char <= "\U000e007f"  # tags of a region's flag
    )


def _begins(char: str) -> bool:
    """Whether a character belongs to the one after it: number signs of Arabic and their like."""
    return (
        "\u0600" <= char <= "\u0605"
        or char in "\u06dd\u070f\u0890\u0891\u08e2\u0d4e\U000110bd\U000110cd"
        or char in "\U000111c2\U000111c3\U000113d1\U0001193f\U00011941\U00011a3a\U00011f02"
        or "\U00011a84" <= char <= "\U00011a89"
        or char == "\U00011d46"
    )


def _is_flag_letter(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _flag_letters_before(text: str, place: int) -> int:
    start = place
    while start and _is_flag_letter(text[start - 1]):
        start -= 1
    return place - start


def _is_jamo(char: str) -> bool:
    return "\u1100" <= char <= "\u11ff" or "\ua960" <= char <= "\ua97f" or "\uac00" <= char <= "\ud7ff"


def _joins_consonants(text: str, place: int) -> bool:
    """Whether a virama, and nothing but signs, stands between `place` and the letter before."""
    for char in reversed(text[max(place - 8, 0) : place]):
        if unicodedata.combining(char) == _VIRAMA or char in "\u1039\u17d2\u1a60":
            return True
        if not _extends(char):
            return False
    return False
