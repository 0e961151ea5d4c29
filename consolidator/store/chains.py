"""Decisions on one row, and decisions that consume one event, stand or fall together."""

from collections.abc import Hashable, Iterable, Sequence

Tokens = frozenset[Hashable]


def fallen(touched: Sequence[Iterable[Hashable]], read: Sequence[Iterable[Hashable]], stale: set[Hashable]) -> set[int]:
    """
    Which decisions fall, given tokens (rows, events) that are stale.

    touched: by decision, what it changes or consumes: where one decision falls, so does every other that shares
    one of these. read: what it was judged by: it falls with these, but does not draw them down. `stale` grows.
    """
    down: set[int] = set()
    if not stale:
        return down
    waiting = dict(enumerate(zip(map(frozenset, touched), map(frozenset, read), strict=True)))
    while falling := [i for i, (own, others) in waiting.items() if own & stale or others & stale]:
        for i in falling:
            down.add(i)
            stale |= waiting.pop(i)[0]
    return down
