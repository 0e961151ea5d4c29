"""Decay: bring the scope's clock up to date. It rewrites no strength: time is arithmetic."""

from collections.abc import Sequence
from typing import Any

from consolidator.instants import format_instant
from consolidator.laws.clock import Clock, Rates
from consolidator.laws.pace import OFF
from consolidator.plan import Decision

ClockRow = dict[str, Any]


def decay(
    scope_key: int, revision: int, before: ClockRow, after: ClockRow, clock: Clock, *, rates: Rates
) -> list[Decision]:
    """
    The decision to keep what the clock has heard: its activity, its pauses, its rates.

    before, after: the columns of the scope's row and its segments, as stored.
    """
    if before == after:
        return []
    return [Decision("decay", "clock", "scopes", (scope_key,), revision, before, after, _because(before, clock, rates))]


def _because(before: ClockRow, clock: Clock, rates: Rates) -> str:
    reasons: Sequence[str] = [
        "the scope's first activity" if before["last_activity_at"] is None else "",
        f"last activity {format_instant(clock.last)}" if clock.last else "",
        f"{len(clock.pauses)} pauses so far" if clock.pauses else "",
    ]
    return ", ".join(filter(None, reasons)) + (
        f"; a night leaves {rates.working:g} of a working strength, {rates.consolidated:g} of a consolidated one, "
        f"{rates.association:g} of a link"
        + ("" if rates.by_importance == OFF else f", by importance as {rates.by_importance} has it")
    )
