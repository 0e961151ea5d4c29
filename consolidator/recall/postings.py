"""Which texts hold a term, and how often: in few arrays, for a hundred thousand texts and more."""

from array import array
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from consolidator.recall.terms import ascii_words, term_of, terms

Places = NDArray[np.int32]
Counts = NDArray[np.int32]

_BREAK, _BREAKING = "\0", -2
_LOOSE_TERMS, _LOOSE_SHARE = 40_000, 20  # what came since the terms were last sorted is looked through at each question


class _NumbersOfWords(dict[str, int]):
    """The number of each word's term; -1 for a stop word."""

    def __init__(self, numbers: dict[str, int]) -> None:
        super().__init__({_BREAK: _BREAKING})
        self._numbers = numbers

    def __missing__(self, word: str) -> int:
        term = term_of(word)
        found = self[word] = self._numbers.setdefault(term, len(self._numbers)) if term else -1
        return found


class Postings:
    """Texts by their places, in order; they are only ever added."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._numbers_of_words = _NumbersOfWords(self._numbers)
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

    def add(self, texts: Sequence[str]) -> Places:
        """
        Take in texts. Returns the number of the first term of each, int32[n]; -1 where it has none.

        Those that are ASCII alone are cut all at once.
        """
        plain = [place for place, text in enumerate(texts) if text.isascii() and _BREAK not in text]
        cut = ascii_words(f" {_BREAK} ".join(texts[place] for place in plain))
        found = np.fromiter(map(self._numbers_of_words.__getitem__, cut), np.int32, len(cut))
        of_text = np.cumsum(found == _BREAKING)[found >= 0]
        found = found[found >= 0]
        others = {place: self._numbers_of(texts[place]) for place in set(range(len(texts))).difference(plain)}
        lengths = np.zeros(len(texts), np.int32)
        lengths[plain] = np.bincount(of_text, minlength=len(plain))[: len(plain)]
        lengths[list(others)] = [len(numbers) for numbers in others.values()]
        starts = np.cumsum(lengths) - lengths
        every = np.empty(int(lengths.sum()), np.int32)
        if len(found):
            own = np.concatenate([[0], np.cumsum(lengths[plain])[:-1]])
            every[np.arange(len(found)) + (starts[plain] - own)[of_text]] = found
        for place, numbers in others.items():
            every[starts[place] : starts[place] + len(numbers)] = numbers
        self._terms.frombytes(every.tobytes())
        self._lengths.frombytes(lengths.tobytes())
        first = np.full(len(texts), -1, np.int32)
        first[lengths > 0] = every[starts[lengths > 0]]
        return first

    def _numbers_of(self, text: str) -> list[int]:
        numbers = self._numbers
        return [numbers.setdefault(term, len(numbers)) for term in terms(text)]

    def number(self, term: str) -> int | None:
        """The number of a term that some text holds."""
        return self._numbers.get(term)

    def lengths(self) -> Counts:
        """int32[n]: how many terms each text has."""
        return np.array(self._lengths, np.int32)

    def holding(self, term: str) -> tuple[Places, Counts]:
        """The places of the texts that hold a term, in order, and how often each does."""
        self.settle()
        loose = len(self._terms) - self._sorted_terms
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

    def settle(self) -> None:
        """Sort the terms where many came since they were last sorted."""
        if len(self._terms) - self._sorted_terms > max(_LOOSE_TERMS, self._sorted_terms // _LOOSE_SHARE):
            self._sort()

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
