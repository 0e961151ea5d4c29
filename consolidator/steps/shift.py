"""Shift: turn the future into the present and the present into the past."""

from collections.abc import Iterable
from typing import Any

from consolidator.laws.temporal import Temporal, temporal
from consolidator.plan import Decision
from consolidator.steps.rows import Memory, change


def shift(memories: Iterable[Memory], *, zone: str, now: int) -> tuple[list[Decision], dict[int, Memory]]:
    """
    The temporal state of each memory follows from its anchor and `now`, however many nights were missed.

    Returns the decisions and the memories as they then are, also those of which only the next shift is new.
    """
    decisions, judged = [], {}
    for memory in memories:
        found = temporal_of(memory, zone=zone, now=now)
        after: dict[str, Any] = {
            "temporal_state": found.state,
            "temporal_anchor": found.anchor,
            "temporal_end": found.end,
        }
        derived: dict[str, Any] = {"shifts_at": found.shifts_at, "protected_until": found.protected_until}
        if all(getattr(memory, name) == value for name, value in after.items()):
            judged[memory.key] = memory._replace(**derived)
            continue
        decision, judged[memory.key] = change(memory, "shift", "shifted", _because(memory, found), **after, **derived)
        decisions.append(decision)
    return decisions, judged


def temporal_of(memory: Memory, *, zone: str, now: int) -> Temporal:
    """The law asked of a row."""
    return temporal(
        memory.temporal_state,
        memory.temporal_anchor,
        memory.temporal_end,
        memory.recurrence,
        memory.recurrence_start,
        zone=zone,
        now=now,
    )


def _because(memory: Memory, found: Temporal) -> str:
    moved = f", anchor {memory.temporal_anchor} -> {found.anchor}" if found.anchor != memory.temporal_anchor else ""
    until = f" to {found.end}" if found.end else ""
    return f"{memory.temporal_state} -> {found.state}: anchored at {found.anchor}{until}{moved}"
