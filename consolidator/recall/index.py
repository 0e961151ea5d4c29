"""
What is kept in memory of a scope to search it: vectors, the terms of its texts, and when each was said.

Rows are memories of every status in the order in which they were taken in; they are only ever added. What changes
(status, strength) is read from the store for the few that are looked at closely.

Words are found here, and not by the databases' own search: both stores rank alike, endings do not count, and a question
costs a fraction of a millisecond where FTS5 and tsvector, asked for any of its words, rank half of a large store.
"""

from array import array
from collections.abc import Mapping, Sequence
from math import log

import numpy as np
from numpy.typing import NDArray

from consolidator.recall.block import Block, Floats, Integers
from consolidator.recall.postings import Postings
from consolidator.recall.stretches import stretches_of

__all__ = ["Floats", "Index", "Integers"]

_SATURATION, _LENGTH_SHARE = 1.2, 0.75  # BM25's k1 and b


class Index:
    """The rows of a scope. Adding and searching are for one thread at a time."""

    def __init__(self, dimension: int = 0) -> None:
        self.dimension = dimension
        self._keys, self._at, self._first = array("q"), array("q"), array("i")
        self._postings = Postings()
        self._block = Block(dimension)
        self._place_of: dict[int, int] = {}
        self._count: int | None = None
        self._held: dict[str, int] = {}
        self._views: tuple[Integers, Integers, NDArray[np.int32], Floats] | None = None
        self._stretches: Integers | None = None

    def __len__(self) -> int:
        return len(self._keys)

    def add(self, keys: Sequence[int], contents: Sequence[str], said_at: Sequence[int]) -> None:
        """Take in memories that it does not hold: their keys, texts and when they were said."""
        self._place_of.update(zip(keys, range(len(self._keys), len(self._keys) + len(keys)), strict=True))
        self._keys.extend(keys)
        self._at.extend(said_at)
        self._first.frombytes(self._postings.add(contents).tobytes())
        self._views = self._stretches = None

    def stand_for(self, keys: Integers, stretches: Integers, held: Mapping[str, int], sample: Floats | None) -> None:
        """
        Its rows are a few of these, of which each is of a stretch and so many hold each term.

        keys: in ascending order; sample: vectors, whose mean stands for that of all; None leaves it as it is.
        """
        self._count, self._held = len(keys), dict(held)
        self._stretches = stretches[np.searchsorted(keys, self.keys)]
        if sample is not None:
            self._block.center_on(sample)

    def settle(self) -> None:
        """Bring what was added into order, which needs room for a moment: before vectors are added."""
        self._postings.settle()

    def add_vectors(self, keys: Sequence[int] | Integers, vectors: Floats) -> None:
        """Copy in the vectors, each of length 1, of memories that it holds."""
        self._block.reserve(len(self))
        places = np.array([self._place_of[int(key)] for key in keys], np.int64)
        self._block.put(places, vectors)

    def without_vector(self) -> Integers:
        """The keys of rows that have no vector, in order of rows."""
        self._block.reserve(len(self))
        return self.keys[~self._block.has]

    @property
    def keys(self) -> Integers:
        """int64[n]"""
        return self._arrays()[0]

    @property
    def said_at(self) -> Integers:
        """int64[n] microseconds."""
        return self._arrays()[1]

    @property
    def first_terms(self) -> NDArray[np.int32]:
        """int32[n]: the number of the first term of each text; -1 where it has none."""
        return self._arrays()[2]

    def holds(self, key: int) -> bool:
        """Whether a memory is a row."""
        return key in self._place_of

    def place(self, key: int) -> int:
        """The row of a memory that it holds."""
        return self._place_of[key]

    def numbers(self, names: Sequence[str]) -> list[int]:
        """The numbers of terms, where some text holds them."""
        found = (self._postings.number(name) for name in names)
        return [number for number in found if number is not None]

    def stretches(self) -> Integers:
        """int64[n]: the number of the stretch of each row, of what was said together."""
        if self._stretches is None:
            self._stretches = stretches_of(self.said_at)
        return self._stretches

    def meaning(self, query: Floats) -> Floats:
        """
        float32[n]: the cosine of each row to a query, both seen from the mean of the rows; 0 without a vector.

        What all memories of a scope share (a name, a manner of speaking) says nothing of which of them is meant.
        """
        self._block.reserve(len(self))
        return self._block.cosines(query)

    def meaning_of(self, places: Integers, query: Floats) -> Floats:
        """float32[k]: the same of some rows."""
        self._block.reserve(len(self))
        return self._block.cosines(query, places)

    def centered(self, query: Floats) -> Floats:
        """A vector as seen from the mean of the rows, of length 1."""
        return self._block.centered(query)

    def vectors(self, places: Integers) -> Floats:
        """float32[k, dimension]: the vectors of some rows; zeros for one without."""
        self._block.reserve(len(self))
        return self._block.vectors(places)

    def words(self, asked: Sequence[str]) -> tuple[Floats, float]:
        """
        BM25 of each row for the terms of a query, float32[n], and what a short text that held them all would have.

        A long text does not win by its length.
        """
        scores, ideal, count = np.zeros(len(self), np.float32), 0.0, self._count or len(self)
        if not len(self):
            return scores, ideal
        norms = self._arrays()[3]
        for term in dict.fromkeys(asked):
            places, counts = self._postings.holding(term)
            held = max(len(places), self._held.get(term, 0))
            rarity = log(1 + (count - held + 0.5) / (held + 0.5))
            ideal += rarity
            if len(places):
                scores[places] += np.float32(rarity * (_SATURATION + 1)) * counts / (counts + norms[places])
        return scores, ideal

    def _arrays(self) -> tuple[Integers, Integers, NDArray[np.int32], Floats]:
        """Keys, when said, first terms, and what of BM25 depends on the length of each text."""
        if self._views is None:
            lengths = self._postings.lengths() / max(self._postings.total / max(len(self), 1), 1.0)
            norms = _SATURATION * (1 - _LENGTH_SHARE + _LENGTH_SHARE * lengths)
            self._views = (
                np.array(self._keys, np.int64),
                np.array(self._at, np.int64),
                np.array(self._first, np.int32),
                norms.astype(np.float32),
            )
        return self._views
