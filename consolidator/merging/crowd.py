"""The pairs found so far; where they are too many, each member's best partners."""

from threading import Lock

import numpy as np
from numpy.typing import NDArray

from consolidator.merging.overlap import Floats, Positions

MOST_PAIRS = 2_000_000
BEST_PARTNERS = 20

Columns = tuple[Positions, Positions, Floats, Floats, Floats]


class Crowd:
    """
    Pairs a < b of positions, with their scores, each once however often it is added.

    As long as there are at most two million, all of them. Else those that are among the 20 best of either member
    (highest score; of equals those whose positions are nearest, so that equals find each other and not all the same
    few). What is kept does not depend on when it came; threads may add at the same time.
    """

    def __init__(self, members: int) -> None:
        self._lock = Lock()
        self._lots: list[Columns] = []
        self._waiting = 0
        self._crowded = False
        self._worst_score = np.full(members, -np.inf)
        self._worst_distance = np.full(members, np.iinfo(np.int64).max)

    def welcomes(self, a: Positions, b: Positions, score: Floats) -> NDArray[np.bool_]:
        """Whether a pair of at most this score may be kept."""
        with self._lock:
            return self._welcomed(a, b, score)

    def add(self, a: Positions, b: Positions, score: Floats, cosine: Floats, jaccard: Floats) -> None:
        with self._lock:
            chosen = self._welcomed(a, b, score)
            lot = (a[chosen], b[chosen], score[chosen], cosine[chosen], jaccard[chosen])
            self._lots.append(lot)
            self._waiting += lot[0].size
            if self._waiting > MOST_PAIRS // 2:
                self._settle()

    def best(self) -> Columns:
        """What is kept, ordered by a and b."""
        self._settle()
        return self._lots[0]

    def _welcomed(self, a: Positions, b: Positions, score: Floats) -> NDArray[np.bool_]:
        if not self._crowded:
            return np.ones(a.size, bool)
        distance = np.abs(b - a)
        return self._beats(a, score, distance) | self._beats(b, score, distance)

    def _beats(self, member: Positions, score: Floats, distance: Positions) -> NDArray[np.bool_]:
        worst = self._worst_score[member]
        beats: NDArray[np.bool_] = (score > worst) | ((score == worst) & (distance <= self._worst_distance[member]))
        return beats

    def _settle(self) -> None:
        """Each pair once; no more than are kept."""
        a, b = (np.concatenate([np.empty(0, np.int64), *(lot[column] for lot in self._lots)]) for column in (0, 1))
        score, cosine, jaccard = (
            np.concatenate([np.empty(0), *(lot[column] for lot in self._lots)]) for column in (2, 3, 4)
        )
        _, once = np.unique(a << 32 | b, return_index=True)
        self._crowded = self._crowded or once.size > MOST_PAIRS
        if self._crowded:
            once = once[self._among_best(a[once], b[once], score[once])]
        self._lots = [(a[once], b[once], score[once], cosine[once], jaccard[once])]
        self._waiting = 0

    def _among_best(self, a: Positions, b: Positions, score: Floats) -> NDArray[np.bool_]:
        member, pair = np.concatenate([a, b]), np.tile(np.arange(a.size), 2)
        distance = np.abs(b - a)
        order = np.lexsort((distance[pair], -score[pair], member))
        member, pair = member[order], pair[order]
        first = np.searchsorted(member, member)
        rank = np.arange(member.size) - first
        last = np.flatnonzero(rank == BEST_PARTNERS - 1)
        self._worst_score[member[last]] = score[pair[last]]
        self._worst_distance[member[last]] = distance[pair[last]]
        among = np.zeros(a.size, bool)
        among[pair[rank < BEST_PARTNERS]] = True
        return among
