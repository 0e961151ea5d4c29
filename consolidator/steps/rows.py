"""The rows that steps judge, as a night has read them or as an earlier step has decided them."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from consolidator.laws.clock import CONSOLIDATED, WORKING, Clock
from consolidator.laws.fading import FADED, fades_age
from consolidator.laws.pace import Ageing
from consolidator.laws.strength import Floats, Integers, strength_at
from consolidator.plan import Decision, Events


class Memory(NamedTuple):
    """
    A memory's row, without its text. `fades_age` is None until a night has seen it.

    anew: how fast it ages has changed since its head was made, which is to be replayed from the base.
    """

    key: int
    revision: int
    consolidated: bool
    pinned: bool
    kept: bool
    spared: bool
    status: str
    archived_at: int | None
    archived_because: str | None
    base_strength: float
    base_at: int
    strength: float
    strength_at: int
    temporal_state: str
    temporal_anchor: str | None
    temporal_end: str | None
    recurrence: str | None
    recurrence_start: str | None
    expires_at: int | None
    fades_age: float | None
    shifts_at: int | None
    protected_until: int | None
    importance: float | None
    type: str
    anew: bool

    @property
    def kind(self) -> int:
        """Which clock it ages on."""
        return CONSOLIDATED if self.consolidated else WORKING


class Link(NamedTuple):
    """
    An association's row; `revision` is None where there is no row yet.

    base_mark: the run whose merge set the base, which holds all that was linked by then.
    """

    revision: int | None
    weight: float
    weight_at: int
    base_weight: float
    base_at: int | None
    inferred: bool
    via: int | None
    fades_age: float | None
    base_mark: int | None = None


Memories = Mapping[int, Memory]


def kinds(memories: Iterable[Memory]) -> Integers:
    """The clock of each memory, int64[n]."""
    return np.array([memory.kind for memory in memories], np.int64)


def fading_ages(clock: Clock, memories: Iterable[Memory]) -> Floats:
    """The age of its clock at which each memory fades under the law that is in force, float64[n]."""
    rows = list(memories)
    how = Ageing.of(rows)
    lived = clock.lived(np.array([row.strength_at for row in rows], np.int64), how)
    return clock.age_at(fades_age(lived, [row.strength for row in rows], floor=FADED), how)


def strengths(clock: Clock, memories: Iterable[Memory], now: int) -> Floats:
    """The strength of each memory at `now`, float64[n]."""
    rows = list(memories)
    since = np.array([row.strength_at for row in rows], np.int64)
    return strength_at(clock, [row.strength for row in rows], since, now, Ageing.of(rows))


def change(
    memory: Memory, step: str, verb: str, because: str, *, events: Events = Events(), **after: Any
) -> tuple[Decision, Memory]:
    """The decision to change columns of a memory, and the memory as it then is."""
    before = {name: getattr(memory, name) for name in after}
    decision = Decision(step, verb, "memories", (memory.key,), memory.revision, before, after, because, events=events)
    return decision, memory._replace(revision=memory.revision + 1, **after)
