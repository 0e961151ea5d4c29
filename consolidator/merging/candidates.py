"""
Candidates: pairs of memories that may say the same thing.

Two memories are alike by 0.4 * the share of their features + 0.6 * the cosine of their vectors, and candidates from 0.5
on; where either has no vector, by their features alone, from 0.6 on. The search rests on one sum: a pair with a cosine
below 0.6 has to share at least 0.35 of its features. So the pairs that share so much are found by their rarest
features, those that are as near as 0.6 among the vectors, and there is no third kind.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from consolidator.merging.crowd import Crowd
from consolidator.merging.features import features
from consolidator.merging.nearness import Matrix, Nearness, Progress
from consolidator.merging.overlap import Floats, Overlap, Positions, alike

OF_FEATURES, OF_COSINE = 0.4, 0.6
THRESHOLD = 0.5
THRESHOLD_WITHOUT_VECTORS = 0.6

NEAR = 0.6
ALIKE = (THRESHOLD - OF_COSINE * NEAR) / OF_FEATURES
SLACK = 1e-6


class Pairs(NamedTuple):
    """Pairs of positions a < b, in order: score, cosine (nan: one has no vector), share of the features."""

    a: Positions
    b: Positions
    score: Floats
    cosine: Floats
    jaccard: Floats

    def where(self, chosen: NDArray) -> "Pairs":
        """Some of them: by a mask, or by their places."""
        return Pairs(*(column[chosen] for column in self))

    def likely(self) -> "Pairs":
        """Those that are candidates."""
        return self.where(self.of_threshold() >= 1)

    def of_threshold(self) -> Floats:
        """Each score as a part of what makes a candidate, so that pairs with and without vectors compare."""
        return self.score / np.where(np.isnan(self.cosine), THRESHOLD_WITHOUT_VECTORS, THRESHOLD)


def find_pairs(
    contents: Sequence[str],
    vectors: Matrix | None,
    has_vector: NDArray[np.bool_],
    changed: NDArray[np.bool_],
    *,
    progress: Progress | None = None,
) -> Pairs:
    """
    The candidates with at least one changed member, whatever the order of the rows.

    vectors: float32[n, d] of one model; a row counts where has_vector, unless it is zero or not finite. Exact up to
    400 million comparisons, beyond with a recall of 0.999 or more (`nearness.py`). Where there are more than two
    million, each memory keeps its 20 best, and a pair stays if it is among the best of either (`crowd.py`).
    progress: called with the comparisons done and to do.
    """
    order = np.array(sorted(range(len(contents)), key=contents.__getitem__), np.int64)
    order = np.concatenate([order[changed[order]], order[~changed[order]]])
    rows = np.where(has_vector[order], order, -1)
    count = int(np.count_nonzero(changed))
    crowd = Crowd(len(contents))
    with _threads() as pool:
        nearness = pool.submit(Nearness, _some(vectors, len(contents)), rows)
        overlap = Overlap([contents[i] for i in order.tolist()])
        known = _Known(overlap, nearness.result())
        by_features = pool.submit(_find_by_features, known, count, crowd)
        _find_by_vectors(known, count, crowd, pool, progress)
        by_features.result()
    a, b, *values = crowd.best()
    low, high = np.minimum(order[a], order[b]), np.maximum(order[a], order[b])
    return Pairs(low, high, *values).where(np.lexsort((high, low)))


def score_among(
    contents: Sequence[str], vectors: Matrix | None, has_vector: NDArray[np.bool_], members: Sequence[int]
) -> Pairs:
    """Every pair among a few members with its exact score, candidate or not."""
    at = np.array(sorted(set(members)), np.int64)
    rows = np.where(has_vector[at], at, -1)
    known = _Known(Overlap([contents[i] for i in at.tolist()]), Nearness(_some(vectors, len(contents)), rows))
    pairs = known.pairs(*np.triu_indices(at.size, 1))
    return pairs._replace(a=at[pairs.a], b=at[pairs.b])


def likeness_of(
    contents: Sequence[str], vectors: Matrix | None, has_vector: NDArray[np.bool_]
) -> Callable[[int, int], float]:
    """A function that tells the score of any two positions as a part of what makes a candidate: 1 or more is one."""
    bag = cache(lambda position: features(contents[position]))

    @cache
    def unit(position: int) -> Matrix | None:
        if vectors is None or not has_vector[position]:
            return None
        length = float(np.linalg.norm(vectors[position]))
        return vectors[position] / length if 0 < length < inf else None

    def likeness(one: int, other: int) -> float:
        mine, theirs = bag(one), bag(other)
        common = len(mine & theirs)
        share = common / max(len(mine) + len(theirs) - common, 1)
        direction, towards = unit(one), unit(other)
        if direction is None or towards is None:
            return share / THRESHOLD_WITHOUT_VECTORS
        return (OF_FEATURES * share + OF_COSINE * float(direction @ towards)) / THRESHOLD

    return likeness


class _Known(NamedTuple):
    """What is known of texts, by position."""

    overlap: Overlap
    nearness: Nearness

    def pairs(self, a: Positions, b: Positions) -> Pairs:
        shares, cosines = self.overlap.shares(a, b), self.nearness.cosines(a, b)
        scores = np.where(np.isnan(cosines), shares, OF_FEATURES * shares + OF_COSINE * cosines)
        return Pairs(a, b, scores, cosines, shares)


def _find_by_features(known: _Known, changed: int, crowd: Crowd) -> None:
    """All candidates that share enough and are not near; the near ones are found among the vectors."""
    least = ALIKE if known.nearness.positions.size else THRESHOLD_WITHOUT_VECTORS
    for a, b in alike(known.overlap, least - SLACK, changed):
        pairs = known.pairs(a, b)
        crowd.add(*pairs.where(~(pairs.cosine >= NEAR)).likely())


def _find_by_vectors(
    known: _Known, changed: int, crowd: Crowd, pool: ThreadPoolExecutor, progress: Progress | None
) -> None:
    """All candidates that are near."""

    def found(a: Positions, b: Positions, cosine: Floats) -> None:
        at_most = OF_FEATURES * known.overlap.at_most(a, b) + OF_COSINE * cosine
        hopeful = crowd.welcomes(a, b, at_most) & (at_most >= THRESHOLD - SLACK)
        pairs = known.pairs(a[hopeful], b[hopeful])
        crowd.add(*pairs.where(pairs.cosine >= NEAR).likely())

    known.nearness.near(NEAR, changed, found, pool, progress)


@contextmanager
def _threads() -> Iterator[ThreadPoolExecutor]:
    """One thread for each processor, each multiplying matrices alone: threads inside a product wait for each other."""
    with threadpool_limits(1, user_api="blas"):
        pool = ThreadPoolExecutor(os.cpu_count())
        try:
            yield pool
        finally:
            pool.shutdown(cancel_futures=True)


def _some(vectors: Matrix | None, count: int) -> Matrix:
    return np.zeros((count, 1), np.float32) if vectors is None else vectors
