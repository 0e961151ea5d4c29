"""One scope's night in the making."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from consolidator.laws.association import Pair
from consolidator.laws.clock import Clock
from consolidator.plan import Decision
from consolidator.steps.rows import Link, Memory


@dataclass
class Night:
    """What is known so far, and what was decided."""

    conn: sa.Connection
    scope: Any  # its row, or what a plan knows of it
    clock: Clock
    now: int
    memories: dict[int, Memory]
    latest: int  # the latest night: what it and those before it saw has no later time
    decisions: list[Decision] = field(default_factory=list)
    unscheduled: set[int] = field(default_factory=set)
    revisions: dict[int, int] = field(default_factory=dict)  # of memories as they were read
    moved: set[int] = field(default_factory=set)
    rewrites: bool = False  # what came in changes the past, so what earlier nights counted in it moves
    links_unseen: dict[Pair, Link] = field(default_factory=dict)
    links: dict[Pair, Link] = field(default_factory=dict)
    link_ages: dict[Pair, float] = field(default_factory=dict)
    known_attributions: set[int] = field(default_factory=set)
    known_exposures: set[int] = field(default_factory=set)
    because: dict[str, str] = field(default_factory=dict)
    notes: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def take(self, decided: tuple[list[Decision], Mapping[int, Memory]]) -> list[Decision]:
        """Keep what a step decided about memories."""
        decisions, changed = decided
        self.decisions += decisions
        self.memories |= changed
        return decisions
