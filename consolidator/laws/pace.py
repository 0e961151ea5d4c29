"""
Pace: how fast a memory ages on the clock of its class, by its importance. Off by default.

Under a law by importance a memory lives `pace` half-lives while its clock goes on by one:

    pace = half-life of a working memory at the usual rate (0.906 a night: 7.02 nights) / the law's half-life

so that a working memory at the usual rate has just the half-life that the law tells. Another rate, a consolidated
memory (whose clock is 4.2 times slower) and a pause change it as they change every half-life; so a merge never lets
what it merges fade faster. The pace is 1 where no law is in force or the importance is not known.

Only half-lives are taken from others. A memory-lancedb-pro memory fades by a Weibull curve, 2 ** -((t / h) ** beta),
which is exponential, as here, for beta 1, a working memory's. Any other beta forgets by when the memory was last
touched, not by what it is worth: what is left after a night could not be told from its strength alone, and a head
extended in two halves would not be the head extended at once.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

OFF = "off"
USUAL_HALF_LIFE = -1 / float(np.log2(0.906))

# Of memory-new, by its kinds of memory, which are types here.
_LASTING = {"observation": 0.6, "hypothesis": 0.7, "procedure": 0.8, "fact": 1.0, "pattern": 1.5}


def _memory_new(importance: Floats, types: Sequence[str]) -> Floats:
    lasting = np.array([_LASTING.get(one, 1.0) for one in types], np.float64)
    return np.asarray(50 * (importance + 0.1) ** 1.5 * lasting)


def _memory_lancedb_pro(importance: Floats, types: Sequence[str]) -> Floats:
    return np.asarray(30 * np.exp(1.5 * importance))


def _twofold(importance: Floats, types: Sequence[str]) -> Floats:
    return np.asarray(USUAL_HALF_LIFE * np.exp2(2 * importance - 1))


# The half-life in nights of a working memory at the usual rate, by importance in [0, 1] and type.
LAWS: Mapping[str, Callable[[Floats, Sequence[str]], Floats]] = {
    "memory-new": _memory_new,
    "memory-lancedb-pro": _memory_lancedb_pro,
    "twofold": _twofold,
}


AGED_BY = ("consolidated", "importance", "type")  # the columns of a memory that say how it ages, as `Ageing` takes them


class Ageing:
    """
    How each of some memories ages: on the clock of which class, and by which importance and type.

    kind: int64[n], a clock of laws.clock. importance: float64[n] from 0 to 1, nan where it is not known. types:
    object[n].
    """

    __slots__ = ("importance", "kind", "types")

    def __init__(self, kind: ArrayLike, importance: Any, types: Any) -> None:
        """importance: None too where it is not known."""
        self.kind: NDArray[np.int64] = np.asarray(kind, np.int64)
        self.importance: Floats = np.asarray(importance, np.float64)
        self.types: NDArray[np.object_] = np.asarray(types, object)

    @classmethod
    def of(cls, rows: Sequence[Any]) -> "Ageing":
        """That of memories as rows, which have at least the columns AGED_BY."""
        return cls(*([getattr(row, name) for row in rows] for name in AGED_BY))

    def __getitem__(self, chosen: Any) -> "Ageing":
        return Ageing(self.kind[chosen], self.importance[chosen], self.types[chosen])

    def __len__(self) -> int:
        return len(self.kind)


def paces(law: str, ageing: Ageing) -> Floats:
    """
    Half-lives that each memory lives while its clock goes on by one; 1 where the importance is not known.

    Never rising with the importance. float64[n], above 0; an importance outside of [0, 1] is taken as the nearer end.
    """
    pace = np.ones(len(ageing))
    known = ~np.isnan(ageing.importance)
    if law != OFF and known.any():
        half_lives = LAWS[law](np.clip(ageing.importance[known], 0.0, 1.0), ageing.types[known].tolist())
        pace[known] = USUAL_HALF_LIFE / half_lives
    return pace


def lived(age: ArrayLike, pace: Floats, turns: Floats) -> Floats:
    """
    Half-lives that memories have lived when their clocks read `age`; 0 at 0.

    age: float64[n] or one. pace: float64[n, m + 1], from each turn of the law to the next. turns: float64[n, m], the
    readings of each memory's clock at those, in order.
    """
    ages = np.asarray(age, np.float64)[..., None]
    since = np.maximum(ages - turns, 0.0) - np.maximum(-turns, 0.0)
    result: Floats = pace[:, 0] * ages[..., 0] + (np.diff(pace, axis=1) * since).sum(axis=1)
    return result


def age_at(lives: Floats, pace: Floats, turns: Floats) -> Floats:
    """The reading of each memory's clock at which it has lived so many half-lives: the inverse of `lived`."""
    if not turns.shape[1]:
        return np.asarray(lives / pace[:, 0])
    begun = np.stack([lived(turns[:, at], pace, turns) for at in range(turns.shape[1])], axis=1)
    last = np.maximum((begun <= lives[:, None]).sum(axis=1) - 1, 0)
    row = np.arange(len(lives))
    beyond = lives - begun[row, last]
    speed = np.where(beyond < 0, pace[:, 0], pace[row, last + 1])
    return np.asarray(turns[row, last] + beyond / speed)
