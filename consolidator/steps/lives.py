"""
Lives: what a memory was before it took others in, and what they were, by which its base was once made.

The base of a merged memory is the largest strength that those it was made of had then. It can be told again without
some of the ratings that they had counted, where what a message said was corrected after the merge.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from consolidator.laws.clock import Clock
from consolidator.laws.pace import Ageing
from consolidator.laws.strength import LEARNING_RATE, effective, replay, strength_at
from consolidator.steps.reinforce import Attribution, is_explicit


class Life(NamedTuple):
    """
    A memory from one base to the next: strength and time of the base, which clock, the ratings that it counted.

    sources: the memories that it took in at the beginning. importance, type: those that it had then.
    """

    strength: float
    at: int
    kind: int
    ratings: tuple[Attribution, ...] = ()
    sources: tuple[int, ...] = ()
    importance: float | None = None
    type: str = ""


Lives = Mapping[int, Sequence[Life]]  # by memory, oldest first; the last is the current one


def decide_messages(
    held: Sequence[Attribution], current: Sequence[Attribution]
) -> tuple[list[Attribution], frozenset[str]]:
    """
    The ratings of a merged memory to be replayed, and the messages whose ratings its base must hold no longer.

    Of all that one message said of it, before the merge and after, what counts by the law counts, once. held: the
    ratings in its base. current: those in its replay, old and new; where one in the base counts, these act as nothing.
    """
    before: dict[str, list[Attribution]] = {}
    for one in held:
        before.setdefault(one.message, []).append(one)
    after: dict[str, list[Attribution]] = {}
    for one in current:
        after.setdefault(one.message, []).append(one)
    replayed = [one for message, ones in after.items() if message not in before for one in ones]
    corrected = set()
    for message in before.keys() & after.keys():
        of_message = [*before[message], *after[message]]
        if _chosen(of_message) in before[message]:
            replayed += [one._replace(confidence=0.0) for one in after[message]]
        else:
            corrected.add(message)
            replayed += [*(one._replace(new=False) for one in before[message]), *after[message]]
    return sorted(replayed, key=lambda one: one.key), frozenset(corrected)


def made_of(lives: Lives, memory: int) -> list[tuple[int, int]]:
    """The lives (memory, number) before the current one, of a memory and of all that it was made of."""
    found: list[tuple[int, int]] = []
    ask, met = [memory], {memory}
    while ask:
        one = ask.pop()
        found += [(one, number) for number in range(len(lives[one]) - (one == memory))]
        further = {source for life in lives[one] for source in life.sources} - met
        ask += further
        met |= further
    return found


def base_without(lives: Lives, memory: int, left_out: Collection[str], *, clock: Clock) -> float:
    """The base of a memory's current life, had what these messages said not been counted before."""
    current = (memory, len(lives[memory]) - 1)
    known = [*made_of(lives, memory), current]
    bases: dict[tuple[int, int], float] = {}
    for one, number in sorted(known, key=lambda each: _order(lives, *each)):
        life = lives[one][number]
        parents = [(source, len(lives[source]) - 1) for source in life.sources]
        parents += [(one, number - 1)] if number else []
        strengths = [
            _strength(lives[key][which], bases[key, which], left_out, life.at, clock) for key, which in parents
        ]
        bases[one, number] = max(strengths, default=life.strength)
    return bases[current]


def _order(lives: Lives, memory: int, number: int) -> tuple[int, bool, int]:
    life = lives[memory][number]
    return life.at, bool(number or life.sources), number


def _strength(life: Life, base: float, left_out: Collection[str], at: int, clock: Clock) -> float:
    ratings = [one for one in life.ratings if one.message not in left_out]
    index, acting = effective_of(ratings)
    amount = [LEARNING_RATE * ratings[i].confidence * ratings[i].mode for i in index]
    ageing = Ageing([life.kind], [life.importance], [life.type])
    heads, since = replay(clock, [base], [life.at], ageing, np.zeros(len(index), np.int64), acting, amount)
    return float(strength_at(clock, heads, since, at, ageing)[0])


def effective_of(ratings: Sequence[Attribution]) -> tuple[list[int], list[int]]:
    """Which of a memory's ratings are effective, by index in order of time, and when each acts (see the law)."""
    chosen, at = effective(
        np.zeros(len(ratings), np.int64),
        [one.message for one in ratings],
        [is_explicit(one) for one in ratings],
        [one.confidence for one in ratings],
        [one.at for one in ratings],
        [one.key for one in ratings],
    )
    return chosen.tolist(), at.tolist()


def _chosen(ratings: Sequence[Attribution]) -> Attribution:
    return ratings[effective_of(ratings)[0][0]]
