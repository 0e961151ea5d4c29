"""
Cutting a long message into parts that each fit, at the most sensible place there is.

A paragraph's end, else a line's, else a sentence's, a word's, a grapheme's. Never inside an escape (a part is written
after it is cut), and inside code only where the code alone is too long for a part.
"""

import re
from collections.abc import Callable, Sequence
from itertools import chain

from consolidator.notify.graphemes import graphemes
from consolidator.notify.markup import Line, Lines

Size = Callable[[Lines], int]

_SENTENCE_END = re.compile(r"(?:[.!?…]['\"”’)\]]*\s+|[。！？][”’」』）]*)$")
_LOOK_BACK = 16


def split(lines: Lines, limit: int, size: Size) -> list[tuple[Line, ...]]:
    """
    The lines in parts whose `size` is at most `limit` each; said one after the other, they say the same.

    Only a single grapheme that is larger than the limit makes a larger part.
    """
    parts: list[tuple[Line, ...]] = []
    rest = list(lines)
    while rest:
        count = _fitting(rest, limit, size)
        if count == len(rest):
            parts.append(tuple(rest))
            break
        if count == 0:
            head, tail = _cut(rest[0], limit, size)
            parts.append((head,))
            rest = [tail, *rest[1:]]
            continue
        count = _paragraph_end(rest, count)
        parts.append(tuple(rest[:count]))
        rest = rest[count:]
    return parts


def _fitting(lines: Sequence[Line], limit: int, size: Size) -> int:
    """How many of the first lines fit."""
    return _largest(len(lines), lambda count: size(lines[:count]) <= limit)


def _largest(most: int, fits: Callable[[int], bool]) -> int:
    """The largest number up to `most` that fits, where all smaller ones fit too; 0 is not asked."""
    low, high = 0, 1
    while high <= most and fits(high):
        low, high = high, high * 2
    high = min(high, most + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _paragraph_end(lines: Sequence[Line], count: int) -> int:
    """Up to `count` lines, but to the end of a paragraph where that keeps half of them, and with no heading last."""
    ends: list[int] = [
        end for end in range(count, count // 2, -1) if lines[end - 1].empty or lines[end].kind == "heading"
    ]
    for end in chain(ends, range(count, 0, -1)):
        if not _announces(lines, end):
            return end
    return count


def _announces(lines: Sequence[Line], end: int) -> bool:
    """Whether what comes before `end` announces what comes after: a heading, or an item with items of its own."""
    last = next((line for line in reversed(lines[:end]) if not line.empty), Line())
    after = lines[end] if end < len(lines) else Line()
    return last.kind == "heading" or (last.kind == after.kind == "item" and last.depth < after.depth)


def _cut(line: Line, limit: int, size: Size) -> tuple[Line, Line]:
    """A line that does not fit, as what fits and the rest."""
    pieces = list(graphemes(line.text))
    ends = [0]
    for piece in pieces:
        ends.append(ends[-1] + len(piece))
    most = max(1, _largest(len(pieces) - 1, lambda count: size([line.cut(ends[count])[0]]) <= limit))
    return line.cut(ends[_sensible(line, ends[: most + 1])])


def _sensible(line: Line, ends: Sequence[int]) -> int:
    """Which of the places to cut at: the last that ends a sentence, a word, or lies outside code."""
    text = line.text
    free = _outside_code(line)
    last = len(ends) - 1
    for first, good in (
        (last // 2, lambda end: free(end) and _ends_sentence(text, end)),
        (last // 4, lambda end: free(end) and text[end - 1].isspace()),
        (0, free),
        (0, lambda end: text[end - 1].isspace()),
    ):
        for place in range(last, first, -1):
            if good(ends[place]):
                return place
    return last


def _ends_sentence(text: str, end: int) -> bool:
    return _SENTENCE_END.search(text[max(end - _LOOK_BACK, 0) : end]) is not None


def _outside_code(line: Line) -> Callable[[int], bool]:
    inside: set[int] = set()
    start = 0
    for span in line.spans:
        if span.style == "code":
            inside.update(range(start + 1, start + len(span.text)))
        start += len(span.text)
    return lambda place: place not in inside
