"""The rows of a scope's clock."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from consolidator.store.tables import NO_LAW, clock_segments, memories

SegmentRow = tuple[int, float, float, float, bool, str]  # from_at, working, consolidated, association, paused, law
_NAMES = ("from_at", "working", "consolidated", "association", "paused", "law")


def segment_rows(conn: sa.Connection, scope_key: int) -> list[SegmentRow]:
    """The stored segments of a scope, in order of time."""
    columns = (clock_segments.c[name] for name in _NAMES)
    of_scope = sa.select(*columns).where(clock_segments.c.scope_key == scope_key)
    rows = conn.execute(of_scope.order_by(clock_segments.c.from_at))
    return [tuple(row) for row in rows]


def write_segments(conn: sa.Connection, scope_key: int, rows: Sequence[Sequence[Any]]) -> None:
    """
    Replace the stored segments of a scope. A row without a law, as older journals have them, has none.

    Where the laws by importance become others, what was derived by them is to be derived anew.
    """
    told = [(*row, NO_LAW)[: len(_NAMES)] for row in rows]
    before = segment_rows(conn, scope_key)
    if before and _turns(before) != _turns(told):
        known = sa.and_(memories.c.scope_key == scope_key, memories.c.importance.is_not(None))
        conn.execute(sa.update(memories).where(known).values(fades_age=None))
    conn.execute(sa.delete(clock_segments).where(clock_segments.c.scope_key == scope_key))
    if told:
        conn.execute(
            sa.insert(clock_segments),
            [{"scope_key": scope_key, **dict(zip(_NAMES, row, strict=True))} for row in told],
        )


def _turns(rows: Sequence[Sequence[Any]]) -> list[tuple[int | None, str]]:
    """The laws by importance, each with from when on; the first since ever."""
    turns: list[tuple[int | None, str]] = [(None, rows[0][-1] if rows else NO_LAW)]
    for from_at, *_, law in rows:
        if law != turns[-1][1]:
            turns.append((from_at, law))
    return turns
