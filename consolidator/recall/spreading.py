"""What comes along: memories linked to what was found."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

LEAST_SEED = 0.3
LEAST_LINK = 0.15
MOST_LINKS = 5
PASSED_ON = 0.6


class Link(NamedTuple):
    """A link of a seed, to another memory, and its weight now."""

    seed: int
    other: int
    weight: float


def activations(seeds: Mapping[int, float], links: Sequence[Link]) -> dict[int, float]:
    """
    How much each memory linked to a seed is activated, in [0, 1].

    From each seed of 0.3 or more over its 5 strongest links of 0.15 or more: seed * weight * 0.6. What several paths
    lead to is activated as by any of them: 1 - (1 - one)(1 - other).
    """
    found: dict[int, float] = {}
    used: dict[int, int] = {}
    for link in sorted(links, key=lambda each: (each.seed, -each.weight, each.other)):
        score = seeds.get(link.seed, 0.0)
        if score < LEAST_SEED or link.weight < LEAST_LINK or used.get(link.seed, 0) >= MOST_LINKS:
            continue
        used[link.seed] = used.get(link.seed, 0) + 1
        passed = min(score, 1.0) * link.weight * PASSED_ON
        found[link.other] = 1 - (1 - found.get(link.other, 0.0)) * (1 - passed)
    return found
