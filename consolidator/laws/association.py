"""Association: memories shown in one turn are linked; strong links let a third be inferred."""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from math import inf
from typing import Any, NamedTuple, TypeVar

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike

from consolidator.laws.clock import ASSOCIATION, Clock
from consolidator.laws.fading import DEAD
from consolidator.laws.strength import Floats, Integers, accumulate

CHANNELS_AGREE = 0.15
ONE_CHANNEL = 0.05
BEST_OF_TURN = 12
INFERRED_FROM = 0.1
LEGS_OF_MIDDLE = 50
NEW_INFERRED = 100

EQUAL = 1e-12

Pair = tuple[int, int]
Named = Callable[[Iterable[int]], Mapping[int, Any]]
T = TypeVar("T")


class Shown(NamedTuple):
    """One memory as shown in one turn: its id for ties, its modes, its best score (None ranks first), when first."""

    memory: int
    name: str
    modes: frozenset[str]
    score: float
    first_at: int


def shown(memory: int, name: str, exposures: Iterable[tuple[str, float | None, int]]) -> Shown:
    """What (mode, score, at) exposures of one memory in one turn come to."""
    modes, scores, times = zip(*exposures, strict=True)
    return Shown(memory, name, frozenset(modes), inf if None in scores else max(scores), min(times))


def pairs(turn: Sequence[Shown]) -> Iterator[tuple[Pair, int, float]]:
    """
    The links that one turn makes: (lower, upper key), when, how much.

    Between the 12 best (highest score; none ranks first; ties by id), each pair once, at the later of their first
    exposures; 0.15 where their channels differ, 0.05 where they are equal.
    """
    best = sorted(turn, key=lambda one: (-one.score, one.name))[:BEST_OF_TURN]
    for one, other in combinations(best, 2):
        pair = (min(one.memory, other.memory), max(one.memory, other.memory))
        amount = ONE_CHANNEL if one.modes == other.modes else CHANNELS_AGREE
        yield pair, max(one.first_at, other.first_at), amount


def strengthen(
    clock: Clock, weight: ArrayLike, since: ArrayLike, link: ArrayLike, at: ArrayLike, amount: ArrayLike
) -> tuple[Floats, Integers]:
    """
    Weights after each link's turns: decayed, zero where below 0.01, then w + d - w * d.

    Cadence-free for links given with their whole history in order of time. weight, since: [m] by link; link, at,
    amount: [n], ordered by (link, time). Returns (weight float64[m], time of the last turn int64[m]).
    """

    def agree(decayed: Floats, added: Floats) -> Floats:
        living = np.where(decayed < DEAD, 0.0, decayed)
        return living + added - living * added

    return accumulate(clock, weight, since, ASSOCIATION, link, at, amount, agree)


def by_key(keys: Iterable[int]) -> Mapping[int, Any]:
    """Every memory named by its key."""
    return {key: key for key in keys}


class Inference:
    """
    What direct links alone imply: A-C where A-B and B-C multiply to at least 0.1, by the best middle B.

    legs: direct links as of now, `weight` each; whole around every memory asked of as a middle, of which the 50
    strongest links count. closed: memories that carry no inference, because they are not active. named: what tells
    memories apart where two weights are equal to 1e-12, by key; it is asked only then.
    """

    def __init__(self, legs: nx.Graph, *, closed: Container[int], named: Named = by_key) -> None:
        self.legs, self.closed, self.named = legs, closed, named
        self._ends = dict(legs.adjacency())
        self._arms: dict[int, dict[int, float]] = {}

    def around(self, changed: Iterable[Pair]) -> dict[Pair, set[int]]:
        """The pairs that links which changed imply, each with its middles."""
        implied: dict[Pair, set[int]] = {}
        for lower, upper in changed:
            for end, middle in ((lower, upper), (upper, lower)):
                arms = self._arms.get(middle)
                if arms is None:
                    arms = self.arms(middle)
                own = arms.get(end)
                if own is None:
                    continue
                for other, weight in arms.items():
                    if own * weight < INFERRED_FROM:
                        break
                    if other != end:
                        implied.setdefault((min(end, other), max(end, other)), set()).add(middle)
        return implied

    def best(self, pair: Pair, middles: Iterable[int]) -> tuple[float, int] | None:
        """The best product for a pair through any of `middles`, and that middle (of equals the first by name)."""
        one, other = pair
        paths = [
            (arms[one] * arms[other], -middle)
            for middle in middles
            if one in (arms := self.arms(middle)) and other in arms
        ]
        weight, middle = max(paths, default=(0.0, 0))
        if weight < INFERRED_FROM:
            return None
        if len(paths) > 1:
            equal = {-key: product for product, key in paths if weight - product <= EQUAL}
            if len(equal) > 1:
                names = self.named(equal)
                middle = -min(equal, key=lambda key: names[key])
        return weight, -middle

    def between(self, pair: Pair, *, least: float = 0.0) -> set[int]:
        """Every memory linked to both, whose legs multiply to at least `least`."""
        one, other = self._ends.get(pair[0], {}), self._ends.get(pair[1], {})
        return {
            middle for middle in one if middle in other and one[middle]["weight"] * other[middle]["weight"] >= least
        }

    def arms(self, middle: int) -> dict[int, float]:
        """The links of a middle that count, strongest first; none where it is closed or unknown."""
        arms = self._arms.get(middle)
        if arms is None:
            ends = {} if middle in self.closed else self._ends.get(middle, {})
            legs = sorted([(-data["weight"], end) for end, data in ends.items()])
            strongest = heaviest(legs, LEGS_OF_MIDDLE, lambda end: (end,), self.named)
            closed = self.closed
            arms = self._arms[middle] = {end: -weight for weight, end in strongest if end not in closed}
        return arms


def strongest_new(implied: Mapping[Pair, tuple[float, int]], named: Named = by_key) -> list[Pair]:
    """The new inferred links that a night may add: the 100 strongest (of equals the first by name), no more."""
    ranked = sorted((-weight, pair) for pair, (weight, _) in implied.items())
    return [pair for _, pair in heaviest(ranked, NEW_INFERRED, lambda pair: pair, named)]


def heaviest(
    ranked: list[tuple[float, T]], most: int, keys: Callable[[T], Iterable[int]], named: Named
) -> list[tuple[float, T]]:
    """
    The first of (minus weight, thing) in order, `most` of them; of equals at the cut the first by name.

    keys: the memories that a thing is about.
    """
    if len(ranked) <= most or ranked[most][0] - ranked[most - 1][0] > EQUAL:
        return ranked[:most]
    edge = ranked[most][0]
    above = [one for one in ranked if edge - one[0] > EQUAL]
    equal = [one for one in ranked if abs(edge - one[0]) <= EQUAL]
    names = named({key for _, thing in equal for key in keys(thing)})
    equal.sort(key=lambda one: sorted(names[key] for key in keys(one[1])))
    return sorted(above + equal[: most - len(above)])
