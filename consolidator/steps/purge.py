"""
Purge: which counted events may go, and what takes their place in the bases, so that no later night misses them.

What goes is what every replay begins with: its effect becomes the base that the replay starts from.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, takewhile
from typing import NamedTuple

import numpy as np

from consolidator.laws.association import Pair, Shown, pairs, shown, strengthen
from consolidator.laws.clock import Clock
from consolidator.laws.pace import Ageing
from consolidator.laws.strength import LEARNING_RATE, replay
from consolidator.steps.associate import Exposure, Head, is_based, start_of
from consolidator.steps.lives import effective_of
from consolidator.steps.reinforce import Attribution
from consolidator.steps.rows import Link, Memory


class OldTurn(NamedTuple):
    """A turn and what was counted of it, each memory by its own key. ripe: whether it is old enough, as a whole."""

    key: int
    exposures: Sequence[Exposure]
    ripe: bool


class _Event(NamedTuple):
    at: int
    amount: float
    turn: int


def pairs_of(turns: Iterable[OldTurn], ends: Mapping[int, int], names: Mapping[int, str]) -> set[Pair]:
    """The pairs that these turns link, as their memories are known today."""
    return {pair for turn in turns for pair, _, _ in pairs(_shown(turn.exposures, ends, names))}


def purge_turns(
    turns: Sequence[OldTurn],
    links: Mapping[Pair, Link],
    pasts: Mapping[Pair, Head],
    ends: Mapping[int, int],
    names: Mapping[int, str],
    *,
    clock: Clock,
) -> tuple[set[int], dict[Pair, Head]]:
    """
    The turns of which the exposures may go, by key, and what they leave: the weight of each pair after them.

    A turn stays while it is not ripe, and while an earlier turn of one of its pairs stays: what goes of a pair is what
    every replay of it begins with. turns: every one with something counted before those that are ripe. links, pasts: of
    all their pairs. ends: where the aliases of their memories end; what was counted before a merge and is purged after
    it is in the base that the merge has made.
    """
    events: dict[Pair, list[_Event]] = defaultdict(list)
    for turn in turns:
        for pair, at, amount in _given(turn, ends, names, links):
            events[pair].append(_Event(at, amount, turn.key))
    stay = {turn.key for turn in turns if not turn.ripe}
    _hold_what_follows(events, stay)
    going = {pair: sorted(one for one in given if one.turn not in stay) for pair, given in events.items()}
    touched = [pair for pair, gone in going.items() if gone]
    starts = [start_of(links.get(pair), pasts.get(pair)) or Head(0.0, going[pair][0].at) for pair in touched]
    flat = [(i, one.at, one.amount) for i, pair in enumerate(touched) for one in going[pair]]
    weight, since = strengthen(
        clock,
        [start.value for start in starts],
        [start.at for start in starts],
        [i for i, _, _ in flat],
        [at for _, at, _ in flat],
        [amount for _, _, amount in flat],
    )
    heads = dict(zip(touched, map(Head, weight.tolist(), since.tolist()), strict=True))
    return {turn.key for turn in turns} - stay, heads


def _given(
    turn: OldTurn, ends: Mapping[int, int], names: Mapping[int, str], links: Mapping[Pair, Link]
) -> Iterator[tuple[Pair, int, float]]:
    """What a turn gives to each pair, but for what is in its base."""
    based: dict[int | None, set[Pair]] = {}
    for pair, at, amount in pairs(_shown(turn.exposures, ends, names)):
        mark = links[pair].base_mark if pair in links else None
        if mark not in based:
            held = [one for one in turn.exposures if is_based(one, mark)]
            based[mark] = {known for known, _, _ in pairs(_shown(held, ends, names))}
        if pair not in based[mark]:
            yield pair, at, amount


def _shown(exposures: Iterable[Exposure], ends: Mapping[int, int], names: Mapping[int, str]) -> list[Shown]:
    by_memory: dict[int, list[Exposure]] = defaultdict(list)
    for one in exposures:
        if ends[one.memory] in names:
            by_memory[ends[one.memory]].append(one)
    return [
        shown(memory, names[memory], ((row.mode, row.score, row.at) for row in rows))
        for memory, rows in by_memory.items()
    ]


def _hold_what_follows(events: Mapping[Pair, Sequence[_Event]], stay: set[int]) -> None:
    """Add to `stay` what comes, for one of its pairs, after something that stays."""
    pairs_of: dict[int, list[Pair]] = defaultdict(list)
    for pair, given in events.items():
        for one in given:
            pairs_of[one.turn].append(pair)
    ask = list(stay)
    first: dict[Pair, int] = {}
    while ask:
        for pair in pairs_of.get(ask.pop(), ()):
            kept = min(one.at for one in events[pair] if one.turn in stay)
            if kept >= first.get(pair, kept + 1):
                continue
            first[pair] = kept
            news = {one.turn for one in events[pair] if one.at > kept} - stay
            stay |= news
            ask += news


def purge_ratings(
    memory: Memory, ratings: Sequence[Attribution], *, before: int, most: int, clock: Clock
) -> tuple[set[int], Head | None]:
    """
    The ratings of a memory that may go, by key, and its base with them in it; None: nothing goes.

    ratings: all that its strength counts on its present base. most: messages at once. A message goes whole or not at
    all, and none goes while one that acts earlier stays.
    """
    if not ratings:
        return set(), None
    latest: dict[str, int] = defaultdict(int)
    for one in ratings:
        latest[one.message] = max(latest[one.message], one.at)
    acting = [(ratings[i], when) for i, when in zip(*effective_of(ratings), strict=True)]
    going = list(islice(takewhile(lambda each: latest[each[0].message] < before, acting), most))
    if not going:
        return set(), None
    amount = [LEARNING_RATE * one.confidence * one.mode for one, _ in going]
    strength, since = replay(
        clock,
        [memory.base_strength],
        [memory.base_at],
        Ageing.of([memory]),
        np.zeros(len(going), np.int64),
        [when for _, when in going],
        amount,
    )
    messages = {one.message for one, _ in going}
    return {one.key for one in ratings if one.message in messages}, Head(float(strength[0]), int(since[0]))
