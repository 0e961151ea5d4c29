"""The rows of a scope's clock."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from consolidator.store.tables import clock_segments

SegmentRow = tuple[int, float, float, float, bool]  # from_at, working, consolidated, association, paused


def segment_rows(conn: sa.Connection, scope_key: int) -> list[SegmentRow]:
    """The stored segments of a scope, in order of time."""
    table = clock_segments.c
    columns = (table.from_at, table.working, table.consolidated, table.association, table.paused)
    rows = conn.execute(sa.select(*columns).where(table.scope_key == scope_key).order_by(table.from_at))
    return [tuple(row) for row in rows]


def write_segments(conn: sa.Connection, scope_key: int, rows: Sequence[Sequence[Any]]) -> None:
    """Replace the stored segments of a scope."""
    conn.execute(sa.delete(clock_segments).where(clock_segments.c.scope_key == scope_key))
    if rows:
        names = ("from_at", "working", "consolidated", "association", "paused")
        conn.execute(
            sa.insert(clock_segments),
            [{"scope_key": scope_key, **dict(zip(names, row, strict=True))} for row in rows],
        )
