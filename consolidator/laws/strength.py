"""Strength: what a memory is worth at a moment, a pure function of its base, its ratings and the clock."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from consolidator.laws.clock import Clock
from consolidator.laws.pace import Ageing

LEARNING_RATE = 0.7
WORDS_ALONE = 0.5
CONFIDENCE = {
    "auto_injected": 0.15,
    "tool_search_returned": 0.3,
    "tool_get": 0.6,
    "agent_feedback_neutral": 0.4,
    "agent_feedback_positive": 0.95,
    "agent_feedback_negative": -0.5,
}
EXPLICIT = frozenset(evidence for evidence in CONFIDENCE if evidence.startswith("agent_feedback"))

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def mode_factor(retrieval_modes: set[str | None]) -> float:
    """0.5 where a memory was found in a turn by words and never by meaning too, else 1."""
    return WORDS_ALONE if "bm25_only" in retrieval_modes and "hybrid" not in retrieval_modes else 1.0


def strength_at(
    clock: Clock, strength: ArrayLike, since: ArrayLike, at: ArrayLike, ageing: ArrayLike | Ageing
) -> Floats:
    """
    A strength or weight of `since` moved to `at`; earlier than `since`: as stored.

    strength: float64[n]; since, at: int64[n] microseconds; ageing: how the memories age, or for links their clock.
    """
    elapsed = np.maximum(clock.lived(at, ageing) - clock.lived(since, ageing), 0.0)
    return np.asarray(strength, np.float64) * np.exp2(-elapsed)


def effective(
    memory: ArrayLike, message: Any, explicit: ArrayLike, confidence: ArrayLike, at: ArrayLike, row: ArrayLike
) -> tuple[Integers, Integers]:
    """
    Which attributions count, and when: per (message, memory) the latest explicit rating, else the most confident.

    All arrays are [n], one entry an attribution: index of its memory, its message, whether it is an explicit
    rating, its confidence, its time, its row (of two explicit ratings of one time the later row counts).
    Returns (index of the attribution that counts, the earliest `at` of its group), ordered by (memory, time,
    message): the order in which they act.
    """
    memory, explicit = np.asarray(memory, np.int64), np.asarray(explicit, bool)
    confidence, at, row = np.asarray(confidence, np.float64), np.asarray(at, np.int64), np.asarray(row, np.int64)
    if not memory.size:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    names, message = np.unique(np.asarray(message, object), return_inverse=True)
    group = memory * len(names) + message.reshape(-1)
    order = np.lexsort(
        (
            np.where(explicit, row, -row),
            np.where(explicit, 0.0, confidence),
            np.where(explicit, at, 0),
            explicit,
            group,
        )
    )
    ends = np.append(np.flatnonzero(np.diff(group[order])), len(order) - 1)
    starts = np.append(0, ends[:-1] + 1)
    chosen = order[ends]
    earliest = np.minimum.reduceat(at[order], starts)
    acting = np.lexsort((message.reshape(-1)[chosen], earliest, memory[chosen]))
    return chosen[acting], earliest[acting]


def replay(
    clock: Clock,
    strength: ArrayLike,
    since: ArrayLike,
    ageing: ArrayLike | Ageing,
    memory: ArrayLike,
    at: ArrayLike,
    amount: ArrayLike,
) -> tuple[Floats, Integers]:
    """
    Heads after each memory's events, in their order: strength decayed to the event, plus its amount, in [0, 1].

    Cadence-free: replaying in two halves equals replaying at once. An event before `since` acts at `since`.
    strength, since, ageing: [m] by memory; memory, at, amount: [n], events ordered by (memory, time).
    Returns (strength float64[m], time of the last event or `since` int64[m]).
    """

    def reinforce(decayed: Floats, added: Floats) -> Floats:
        return np.clip(decayed + added, 0.0, 1.0)

    return accumulate(clock, strength, since, ageing, memory, at, amount, reinforce)


def accumulate(
    clock: Clock,
    value: ArrayLike,
    since: ArrayLike,
    ageing: ArrayLike | Ageing,
    owner: ArrayLike,
    at: ArrayLike,
    amount: ArrayLike,
    combine: Any,
) -> tuple[Floats, Integers]:
    """The fold under `replay` and under link weights: decay to each event, combine, one event of every owner a pass."""
    value, since = np.array(value, np.float64), np.array(since, np.int64)
    owner, amount = np.asarray(owner, np.int64), np.asarray(amount, np.float64)
    if not owner.size:
        return value, since
    if not isinstance(ageing, Ageing):
        ageing = np.broadcast_to(np.asarray(ageing, np.int64), value.shape)
    acting = np.maximum(np.asarray(at, np.int64), since[owner])
    age, head = clock.lived(acting, ageing[owner]), clock.lived(since, ageing)
    starts = np.flatnonzero(np.append(True, np.diff(owner) != 0))
    counts = np.diff(np.append(starts, owner.size))
    for rank in range(int(counts.max())):
        event = starts[counts > rank] + rank
        who = owner[event]
        decayed = value[who] * np.exp2(-np.maximum(age[event] - head[who], 0.0))
        value[who], head[who], since[who] = combine(decayed, amount[event]), age[event], acting[event]
    return value, since
