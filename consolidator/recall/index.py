"""
What is kept in memory of a scope to search it: vectors, the terms of its texts, and when each was said.

Rows are memories of every status in the order in which they were taken in; they are only ever added. What changes
(status, strength) is read from the store for the few that are looked at closely.
"""

from array import array
from collections.abc import Sequence
from math import log

import numpy as np
from numpy.typing import NDArray

from consolidator.instants import SECOND
from consolidator.recall.terms import terms

Floats = NDArray[np.float32]
Integers = NDArray[np.int64]

STRETCH_GAP = 3600 * SECOND  # what was said within an hour of what was said before belongs together
_SATURATION, _LENGTH_SHARE = 1.2, 0.75  # BM25's k1 and b
_PRIOR_ROWS = 10  # the mean of few vectors is little known: it counts as if so many more were zeros
_GROWN = 1.05  # the mean is taken anew when the rows have grown so far
_TAIL_ROWS = 256


class Index:
    """The rows of a scope. Adding and searching are for one thread at a time."""

    def __init__(self, dimension: int = 0) -> None:
        self.dimension = dimension
        self._keys, self._at, self._first, self._lengths = array("q"), array("q"), array("i"), array("f")
        self._postings: dict[str, tuple[array[int], array[int]]] = {}
        self._numbers: dict[str, int] = {}
        self._place_of: dict[int, int] = {}
        self._total_length = 0.0
        self._blocks: list[tuple[Integers, Floats]] = []  # the places of rows, and their vectors
        self._tail: list[tuple[int, Floats]] = []
        self._with_vector = np.zeros(0, bool)
        self._sum = np.zeros(dimension)
        self._count = 0
        self._mean: Floats = np.zeros(dimension, np.float32)
        self._mean_count = 0
        self._norms: list[Floats] = []
        self._views: tuple[Integers, Integers, Integers, Floats] | None = None
        self._stretches: Integers | None = None

    def __len__(self) -> int:
        return len(self._keys)

    def add(self, keys: Sequence[int], contents: Sequence[str], said_at: Sequence[int]) -> None:
        """Take in memories that it does not hold: their keys, texts and when they were said."""
        for key, content, at in zip(keys, contents, said_at, strict=True):
            place = len(self._keys)
            found = terms(content)
            self._place_of[key] = place
            self._keys.append(key)
            self._at.append(at)
            self._first.append(self._number(found[0]) if found else -1)
            self._lengths.append(len(found))
            self._total_length += len(found)
            counts: dict[str, int] = {}
            for term in found:
                counts[term] = counts.get(term, 0) + 1
            for term, count in counts.items():
                posting = self._postings.get(term)
                if posting is None:
                    posting = self._postings[term] = (array("i"), array("H"))
                posting[0].append(place)
                posting[1].append(min(count, 65_535))
        self._views = self._stretches = None

    def add_vectors(self, keys: Integers, vectors: Floats) -> None:
        """Vectors, each of length 1, of memories that it holds and that had none. Not copied."""
        if not len(keys):
            return
        places = np.array([self._place_of[int(key)] for key in keys], np.int64)
        self._sum += vectors.sum(axis=0, dtype=np.float64)
        self._count += len(places)
        has = np.zeros(len(self), bool)
        has[: len(self._with_vector)] = self._with_vector
        has[places] = True
        self._with_vector = has
        if self._blocks and len(self._blocks[-1][0]) + len(places) <= _TAIL_ROWS:
            before, rows = self._blocks.pop()
            places, vectors = np.concatenate([before, places]), np.concatenate([rows, vectors])
            self._norms.pop()
        self._blocks.append((places, vectors))
        if self._count > self._mean_count * _GROWN or len(self._blocks) > _TAIL_ROWS:
            self._center()
        else:
            self._norms.append(self._norm(vectors))

    def without_vector(self) -> Integers:
        """The keys of rows that have no vector, in order of rows."""
        has = np.zeros(len(self), bool)
        has[: len(self._with_vector)] = self._with_vector
        return self.keys[~has]

    @property
    def keys(self) -> Integers:
        """int64[n]"""
        return self._arrays()[0]

    @property
    def said_at(self) -> Integers:
        """int64[n] microseconds."""
        return self._arrays()[1]

    @property
    def first_terms(self) -> Integers:
        """int64[n]: the number of the first term of each text; -1 where it has none."""
        return self._arrays()[2]

    def holds(self, key: int) -> bool:
        """Whether a memory is a row."""
        return key in self._place_of

    def place(self, key: int) -> int:
        """The row of a memory that it holds."""
        return self._place_of[key]

    def numbers(self, names: Sequence[str]) -> list[int]:
        """The numbers of terms, where some text begins with them."""
        return [self._numbers[name] for name in names if name in self._numbers]

    def stretches(self) -> Integers:
        """int64[n]: the number of the stretch of each row: what was said without an hour's silence in between."""
        if self._stretches is None:
            order = np.argsort(self.said_at, kind="stable")
            begins = np.diff(self.said_at[order], prepend=self.said_at[order[:1]]) > STRETCH_GAP
            self._stretches = np.empty(len(order), np.int64)
            self._stretches[order] = np.cumsum(begins)
        return self._stretches

    def meaning(self, query: Floats) -> Floats:
        """
        float32[n]: the cosine of each row to a query, both seen from the mean of the rows; 0 without a vector.

        What all memories of a scope share (a name, a manner of speaking) says nothing of which of them is meant.
        """
        scores = np.zeros(len(self), np.float32)
        asked = self.centered(query)
        shift = np.float32(asked @ self._mean)
        for (places, vectors), norms in zip(self._blocks, self._norms, strict=True):
            scores[places] = (vectors @ asked - shift) / norms
        return scores

    def meaning_of(self, places: Integers, query: Floats) -> Floats:
        """float32[k]: the same of some rows; 0 without a vector."""
        vectors = self.vectors(places)
        asked = self.centered(query)
        there = np.einsum("ij,ij->i", vectors, vectors) > 0
        scores = (vectors @ asked - np.float32(asked @ self._mean)) / self._norm(vectors)
        return np.where(there, scores, np.float32(0)).astype(np.float32)

    def centered(self, query: Floats) -> Floats:
        """A vector as seen from the mean of the rows, of length 1."""
        seen = query - self._mean
        length = np.linalg.norm(seen)
        return (seen / length if length > 0 else seen).astype(np.float32)

    def vectors(self, places: Integers) -> Floats:
        """float32[k, dimension]: the vectors of some rows; zeros for one without."""
        found = np.zeros((len(places), self.dimension), np.float32)
        for block_places, vectors in self._blocks:
            order = np.argsort(block_places, kind="stable") if (np.diff(block_places) < 0).any() else None
            in_order = block_places if order is None else block_places[order]
            at = np.searchsorted(in_order, places)
            hit = (at < len(in_order)) & (in_order[np.minimum(at, len(in_order) - 1)] == places)
            found[hit] = vectors[at[hit] if order is None else order[at[hit]]]
        return found

    def words(self, asked: Sequence[str]) -> tuple[Floats, float]:
        """
        BM25 of each row for the terms of a query, float32[n], and what a short text that held them all would have.

        A long text does not win by its length.
        """
        scores, ideal, count = np.zeros(len(self), np.float32), 0.0, len(self)
        if not count:
            return scores, ideal
        lengths = self._arrays()[3]
        mean_length = max(self._total_length / count, 1.0)
        for term in dict.fromkeys(asked):
            posting = self._postings.get(term)
            held = len(posting[0]) if posting else 0
            rarity = log(1 + (count - held + 0.5) / (held + 0.5))
            ideal += rarity
            if posting is None:
                continue
            places = np.array(posting[0], np.int64)
            counts = np.array(posting[1], np.float32)
            norm = _SATURATION * (1 - _LENGTH_SHARE + _LENGTH_SHARE * lengths[places] / mean_length)
            scores[places] += (rarity * (_SATURATION + 1) * counts / (counts + norm)).astype(np.float32)
        return scores, ideal

    def _number(self, term: str) -> int:
        return self._numbers.setdefault(term, len(self._numbers))

    def _arrays(self) -> tuple[Integers, Integers, Integers, Floats]:
        if self._views is None:
            self._views = (
                np.array(self._keys, np.int64),
                np.array(self._at, np.int64),
                np.array(self._first, np.int64),
                np.array(self._lengths, np.float32),
            )
        return self._views

    def _center(self) -> None:
        """Take the mean anew, and how far each row lies from it."""
        if len(self._blocks) > 2:
            small = self._blocks[1:]
            joined = (np.concatenate([each[0] for each in small]), np.concatenate([each[1] for each in small]))
            self._blocks = [self._blocks[0], joined]
        self._mean = (self._sum / (self._count + _PRIOR_ROWS)).astype(np.float32)
        self._mean_count = self._count
        self._norms = [self._norm(vectors) for _, vectors in self._blocks]

    def _norm(self, vectors: Floats) -> Floats:
        squares = 1 - 2 * (vectors @ self._mean) + self._mean @ self._mean
        norms: Floats = np.sqrt(np.maximum(squares, 1e-6)).astype(np.float32)
        return norms
