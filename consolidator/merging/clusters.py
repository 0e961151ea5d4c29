"""Clusters: memories that are put together before it is asked whether they say the same thing."""

from collections.abc import Callable, Container, Sequence
from itertools import product

import numpy as np

from consolidator.merging.candidates import Pairs

MOST_MEMBERS = 7

# A part of the threshold. Of pairs of sentences that people call the same (MSRP, SICK, STS-B, with MiniLM vectors) 99
# to 100 in 100 score 0.4 or more, of unrelated ones 19 to 39; six wordings of one fact never fell below 0.45.
FLOOR = 0.8


def find_clusters(
    ids: Sequence[str],
    pairs: Pairs,
    apart: Container[tuple[int, int]],
    likeness: Callable[[int, int], float],
) -> list[tuple[int, ...]]:
    """
    The connected components of the candidates, split so that none exceeds 7 and chains do not join strangers.

    The strongest pair comes first (of equals the first by id), and brings together what each of its two has already
    joined: unless that were more than 7, any two of them are `apart` (a < b: judged before), or any two are less alike
    than the floor. So two clusters may be parted although a pair joins them, and only for one of these reasons.
    likeness: the score of any two positions as a part of the threshold. Returns positions, ordered by id, of two or
    more, in the order of their members' strongest pairs. Independent of the order of the rows.
    """
    by_id = np.empty(len(ids), np.int64)
    by_id[sorted(range(len(ids)), key=ids.__getitem__)] = np.arange(len(ids))
    low, high = np.minimum(by_id[pairs.a], by_id[pairs.b]), np.maximum(by_id[pairs.a], by_id[pairs.b])
    strongest_first = np.lexsort((high, low, -pairs.of_threshold()))

    def strangers(one: int, other: int) -> bool:
        pair = (min(one, other), max(one, other))
        return pair in apart or likeness(*pair) < FLOOR

    home: dict[int, list[int]] = {}
    parted: dict[int, set[int]] = {}
    for a, b in zip(pairs.a[strongest_first].tolist(), pairs.b[strongest_first].tolist(), strict=True):
        mine, theirs = home.setdefault(a, [a]), home.setdefault(b, [b])
        if mine is theirs or len(mine) + len(theirs) > MOST_MEMBERS:
            continue
        # What has parted two clusters goes on parting all that they grow into. A cluster is known by its first member.
        foes = parted.setdefault(mine[0], set())
        if theirs[0] in foes:
            continue
        if any(strangers(one, other) for one, other in product(mine, theirs)):
            foes.add(theirs[0])
            parted.setdefault(theirs[0], set()).add(mine[0])
            continue
        for foe in parted.pop(theirs[0], ()):
            parted[foe].discard(theirs[0])
            parted[foe].add(mine[0])
            foes.add(foe)
        mine.extend(theirs)
        home.update(dict.fromkeys(theirs, mine))
    clusters = {id(cluster): cluster for cluster in home.values() if len(cluster) > 1}
    return [tuple(sorted(cluster, key=by_id.__getitem__)) for cluster in clusters.values()]
