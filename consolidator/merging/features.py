"""
What two texts have in common is counted in features: their words, and every three words in a row in any order.

Words are cut as for the search (`consolidator/words.py`), so no script comes out empty; a text of nothing but
punctuation is taken sign by sign. Many texts are cut at once: their characters are one array, a word is a slice of it,
and its hash is the difference of two prefix sums.
"""

from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from consolidator.words import BASIC_PLANE, LETTER, LONGEST_WORD, MARK, SYMBOL, WORD, fold, kinds, said

Unsigned = NDArray[np.uint64]

CHARACTERS_AT_ONCE = 100_000

_MASK = (1 << 64) - 1
_BASE = 0x9E3779B97F4A7C15
_BACK = pow(_BASE, -1, 1 << 64)
_OF_THREE = np.uint64(0xD1B54A32D192ED03)


class Bags(NamedTuple):
    """The features of many texts: those of text i are hashes[starts[i]:starts[i + 1]], ascending, each once."""

    starts: NDArray[np.int64]
    hashes: NDArray[np.uint32]

    @property
    def sizes(self) -> NDArray[np.int64]:
        return np.diff(self.starts)


def features(content: str) -> frozenset[int]:
    """The features of one text; none only where it is blank."""
    return frozenset(bags([content]).hashes.tolist())


def bags(contents: Sequence[str]) -> Bags:
    """The features of each text."""
    keys = [np.empty(0, np.uint64)]
    for first, part in _parts(contents):
        owner, words = _words(part)
        owners, hashes = _with_threes(owner, words)
        found = np.sort((owners + np.uint64(first)) << np.uint64(32) | hashes >> np.uint64(32))
        keys.append(found[np.diff(found, prepend=~found[:1]) != 0])
    found = np.concatenate(keys)
    starts = np.searchsorted(found, np.arange(len(contents) + 1, dtype=np.uint64) << np.uint64(32))
    return Bags(starts, found.astype(np.uint32))


def _parts(contents: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """The folded texts, some at a time, each lot with the position of its first. ASCII folds by a table, later."""
    first, length = 0, 0
    part: list[str] = []
    for position, content in enumerate(contents):
        text = content if content.isascii() or not (folded := fold(content)).strip() else folded
        if part and length + len(text) > CHARACTERS_AT_ONCE:
            yield first, part
            first, length, part = position, 0, []
        part.append(text)
        length += len(text) + 1
    if part:
        yield first, part


def _words(texts: list[str]) -> tuple[Unsigned, Unsigned]:
    """Every word of every text, in their order: whose it is, and its hash."""
    codes = np.frombuffer("\n".join(texts).encode("utf-32-le", "surrogatepass"), np.uint32)
    ends = np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)) + 1)
    kind = _kinds(codes)
    start, end = _cut(kind)
    counts = np.diff(np.searchsorted(start, ends), prepend=0)
    if not counts.all():
        empty = np.repeat(counts == 0, np.diff(ends, prepend=0))[: codes.size]
        kind[empty & ~_blank()[np.minimum(codes, BASIC_PLANE)]] = SYMBOL
        start, end = _cut(kind)
        counts = np.diff(np.searchsorted(start, ends), prepend=0)
    owner = np.repeat(np.arange(len(texts), dtype=np.uint64), counts)
    return owner, _hashes(np.where((codes >= 65) & (codes <= 90), codes + 32, codes), start, end)


def _kinds(codes: NDArray[np.uint32]) -> NDArray[np.uint8]:
    """What each character is: a mark is taken for a part of the word or the letter that it follows, else nothing."""
    basic = np.frombuffer(kinds() + b"\0", np.uint8)
    kind = basic[np.minimum(codes, BASIC_PLANE)]
    above = codes >= BASIC_PLANE
    if above.any():
        found, which = np.unique(codes[above], return_inverse=True)
        kind[above] = np.array([SYMBOL if said(chr(code)) else 0 for code in found.tolist()], np.uint8)[which]
    marks = kind == MARK
    if marks.any():
        at = np.maximum.accumulate(np.where(marks, -1, np.arange(codes.size)))
        led_by = np.where(at >= 0, kind[at], 0)[marks]
        kind[marks] = np.where(led_by == WORD, WORD, np.where(led_by == LETTER, MARK, 0))
    return kind


def _cut(kind: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where each word begins and ends."""
    in_word = np.concatenate([[False], kind == WORD, [False]])
    start = np.flatnonzero((in_word[1:-1] & ~in_word[:-2]) | (kind == LETTER) | (kind == SYMBOL))
    end = start + 1
    word_ends = np.flatnonzero(in_word[1:-1] & ~in_word[2:]) + 1
    of_word, of_letter = kind[start] == WORD, kind[start] == LETTER
    end[of_word] = np.minimum(word_ends, start[of_word] + LONGEST_WORD)
    if of_letter.any():
        no_mark = np.flatnonzero(np.append(kind != MARK, True))
        end[of_letter] = no_mark[np.searchsorted(no_mark, end[of_letter])]
    return start, end


def _hashes(codes: NDArray[np.uint32], start: NDArray[np.int64], end: NDArray[np.int64]) -> Unsigned:
    """A hash of each slice of the characters: sum (code + 1) * base ** place, moved to place 0 and mixed."""
    powers, back = _powers(codes.size)
    sums = np.zeros(codes.size + 1, np.uint64)
    np.cumsum((codes + np.uint64(1)) * powers, out=sums[1:])
    return mixed((sums[end] - sums[start]) * back[start])


def _powers(count: int) -> tuple[Unsigned, Unsigned]:
    """base ** place and base ** -place modulo 2 ** 64, for at least so many places."""
    size = 1 << max(count, 1).bit_length()
    return _power(_BASE, size)[:count], _power(_BACK, size)[:count]


@lru_cache(4)
def _power(base: int, size: int) -> Unsigned:
    powers = np.full(size, base, np.uint64)
    powers[0] = 1
    return np.multiply.accumulate(powers)


def _with_threes(owner: Unsigned, words: Unsigned) -> tuple[Unsigned, Unsigned]:
    """The words and, for every three in a row of one text, a hash that their order does not change."""
    inside = owner[:-2] == owner[2:]
    threes = mixed((words[:-2] + words[1:-1] + words[2:])[inside] ^ _OF_THREE)
    return np.concatenate([owner, owner[:-2][inside]]), np.concatenate([words, threes])


def mixed(values: Unsigned) -> Unsigned:
    """Every bit of the result depends on every bit of the value (the finaliser of splitmix64)."""
    values = (values ^ values >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ values >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return values ^ values >> np.uint64(31)


@cache
def _blank() -> NDArray[np.bool_]:
    """Which characters of the basic plane are no sign at all; the last place stands for all above it."""
    return np.array([chr(code).isspace() for code in range(BASIC_PLANE)] + [False])
