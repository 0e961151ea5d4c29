"""The vectors of rows, in order of the rows: one block for those taken in together, small ones for what came later."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Integers = NDArray[np.int64]

_PRIOR_ROWS = 10  # the mean of few vectors is little known: it counts as if so many more were zeros
_GROWN = 1.05  # the mean is taken anew when the vectors have grown so far
_LEAST_BLOCK, _SHARE = 1_024, 16


class Block:
    """
    Vectors of length 1, by place; a place may have none. They are kept once, and never moved.

    Cosines are taken as seen from the mean of all vectors: row by row, which reads as fast as memory gives and leaves
    the other processor alone. A product of matrix and vector takes twice as long, and far longer while others compute.
    """

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self.mean: Floats = np.zeros(dimension, np.float32)
        self.has: NDArray[np.bool_] = np.zeros(0, bool)
        self._parts: list[Floats] = []
        self._starts = [0]
        self._norms: Floats = np.zeros(0, np.float32)
        self._sum = np.zeros(dimension)
        self._count = self._mean_count = 0

    def reserve(self, rows: int) -> None:
        """Make room for so many rows, none of which has a vector yet."""
        if rows > self._starts[-1]:
            room = rows - self._starts[-1]
            if self._parts:  # a few at a time: so that parts stay few, each is a share of all that is held
                room = max(room, _LEAST_BLOCK, self._starts[-1] // _SHARE)
            self._parts.append(np.zeros((room, self.dimension), np.float32))
            self._starts.append(self._starts[-1] + room)
        more = rows - len(self.has)
        if more > 0:
            self.has = np.concatenate([self.has, np.zeros(more, bool)])
            self._norms = np.concatenate([self._norms, np.full(more, np.inf, np.float32)])

    def put(self, places: Integers, vectors: Floats) -> None:
        """Copy the vectors of rows in, over those that they have."""
        again = places[self.has[places]]
        if len(again):
            self._sum -= self.vectors(again).sum(axis=0, dtype=np.float64)
        for start, end, part in self._spans():
            inside = (places >= start) & (places < end)
            if inside.any():
                part[places[inside] - start] = vectors[inside]
        self._sum += vectors.sum(axis=0, dtype=np.float64)
        self._count += len(places) - len(again)
        self.has[places] = True
        self._norms[places] = self._norm(vectors)

    def settle(self) -> None:
        """Take the mean anew, and how far each row lies from it, where there are many more than it was taken of."""
        if self._count > self._mean_count * _GROWN:
            self._mean_count = self._count
            self._center((self._sum / (self._count + _PRIOR_ROWS)).astype(np.float32))

    def center_on(self, sample: Floats) -> None:
        """Take the mean of other vectors, of which these are a few, for good."""
        self._mean_count = len(self.has)
        self._center((sample.sum(axis=0, dtype=np.float64) / (len(sample) + _PRIOR_ROWS)).astype(np.float32))

    def _center(self, mean: Floats) -> None:
        self.mean = mean
        for start, end, part in self._spans():
            self._norms[start:end] = self._norm(part[: len(self._norms) - start])
        self._norms[~self.has] = np.inf

    def centered(self, query: Floats) -> Floats:
        """A vector as seen from the mean, of length 1."""
        self.settle()
        seen = query - self.mean
        length = np.linalg.norm(seen)
        return (seen / length if length > 0 else seen).astype(np.float32)

    def cosines(self, query: Floats, places: Integers | None = None) -> Floats:
        """float32[n] or [k]: the cosine of each row, or of some, to a query; 0 without a vector."""
        asked = self.centered(query)
        shift = np.float32(asked @ self.mean)
        if places is not None:
            found: Floats = np.vecdot(self.vectors(places), asked)
            norms = self._norms[places]
        else:
            found, norms = np.empty(len(self.has), np.float32), self._norms
            for start, _, part in self._spans():
                to = found[start : start + len(part)]
                np.vecdot(part[: len(to)], asked, out=to)
        found -= shift
        found /= norms
        return found

    def vectors(self, places: Integers) -> Floats:
        """float32[k, dimension]: the vectors of some rows; zeros for one without."""
        if len(self._parts) == 1:
            whole: Floats = self._parts[0][places]
            return whole
        found = np.zeros((len(places), self.dimension), np.float32)
        for start, end, part in self._spans():
            inside = (places >= start) & (places < end)
            if inside.any():
                found[inside] = part[places[inside] - start]
        return found

    def _spans(self) -> "zip[tuple[int, int, Floats]]":
        return zip(self._starts, self._starts[1:], self._parts, strict=False)

    def _norm(self, vectors: Floats) -> Floats:
        squares = 1 - 2 * np.vecdot(vectors, self.mean) + self.mean @ self.mean
        norms: Floats = np.sqrt(np.maximum(squares, 1e-6)).astype(np.float32)
        return norms
