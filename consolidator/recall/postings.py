"""Which texts hold a term, and how often: in few arrays, for a hundred thousand texts and more."""

from array import array
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Places = NDArray[np.int32]
Counts = NDArray[np.int32]

_LOOSE_TERMS, _LOOSE_SHARE = 40_000, 20  # what came since the terms were last sorted is looked through at each question


class Postings:
    """Texts by their places, in order; they are only ever added."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._terms = array("i")  # of all texts, one after the other
        self._lengths = array("i")
        self._sorted_terms = self._sorted_texts = 0
        self._starts = np.zeros(1, np.int32)
        self._places: Places = np.zeros(0, np.int32)
        self._counts: Counts = np.zeros(0, np.int32)

    def __len__(self) -> int:
        return len(self._lengths)

    @property
    def total(self) -> int:
        """How many terms all texts have, repeats counted."""
        return len(self._terms)

    def add(self, terms: Sequence[str]) -> int:
        """Take in the next text. Returns the number of its first term; -1 where it has none."""
        numbers = self._numbers
        found = [numbers.setdefault(term, len(numbers)) for term in terms]
        self._terms.extend(found)
        self._lengths.append(len(found))
        return found[0] if found else -1

    def number(self, term: str) -> int | None:
        """The number of a term that some text holds."""
        return self._numbers.get(term)

    def lengths(self) -> Counts:
        """int32[n]: how many terms each text has."""
        return np.array(self._lengths, np.int32)

    def holding(self, term: str) -> tuple[Places, Counts]:
        """The places of the texts that hold a term, in order, and how often each does."""
        loose = len(self._terms) - self._sorted_terms
        if loose > max(_LOOSE_TERMS, self._sorted_terms // _LOOSE_SHARE):
            self._sort()
            loose = 0
        number = self._numbers.get(term)
        if number is None:
            return np.zeros(0, np.int32), np.zeros(0, np.int32)
        places, counts = self._places[:0], self._counts[:0]
        if number + 1 < len(self._starts):
            part = slice(self._starts[number], self._starts[number + 1])
            places, counts = self._places[part], self._counts[part]
        if loose:
            at = np.flatnonzero(np.array(self._terms[self._sorted_terms :], np.int32) == number)
            if len(at):
                ends = np.cumsum(self._lengths[self._sorted_texts :])
                some, often = np.unique(np.searchsorted(ends, at, side="right"), return_counts=True)
                places = np.concatenate([places, (some + self._sorted_texts).astype(np.int32)])
                counts = np.concatenate([counts, often.astype(np.int32)])
        return places, counts

    def _sort(self) -> None:
        """Bring all terms into order: by term, then by place."""
        texts = len(self._lengths)
        pairs = np.array(self._terms, np.int64)
        pairs *= texts
        pairs += np.repeat(np.arange(texts), self._lengths)
        pairs.sort()
        first = np.flatnonzero(np.diff(pairs, prepend=-1))
        self._counts = np.diff(first, append=len(pairs)).astype(np.int32)
        pairs = pairs[first]
        self._places = (pairs % texts).astype(np.int32)
        pairs //= texts
        self._starts = np.searchsorted(pairs, np.arange(len(self._numbers) + 1)).astype(np.int32)
        self._sorted_terms, self._sorted_texts = len(self._terms), texts
