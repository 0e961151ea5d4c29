"""The values that a store has at a moment, for people and programs: what it means, not how it came to mean it."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import sqlalchemy as sa

from consolidator.exchange.rows import links_of, living, plain, scopes_of, stream
from consolidator.instants import format_instant
from consolidator.laws.clock import Clock, Rates
from consolidator.laws.pace import Ageing
from consolidator.laws.strength import strength_at
from consolidator.laws.temporal import temporal
from consolidator.store.clocks import read_clock
from consolidator.store.tables import identities, memories

DECIMALS = 10  # what two ways to one value leave them apart lies below


def export_values(
    conn: sa.Connection, *, scopes: Sequence[str] | None, as_of: int, rates: Rates,
    only: frozenset[tuple[str, str]] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """
    The document of these scopes (canonical; None: all) at `as_of`. only: of these memories, by scope and id.

    Memories of every status, strengths and weights moved there, temporal states as they are then; links that live
    between active memories. In order of scope and id. Events that no night has replayed do not count.
    """
    return {
        "as_of": format_instant(as_of),
        "scopes": [_scope(conn, scope, as_of, rates, only) for scope in scopes_of(conn, scopes)],
    }


def _scope(
    conn: sa.Connection,
    scope: sa.Row[Any, Any, Any],
    as_of: int,
    rates: Rates,
    only: frozenset[tuple[str, str]] | None,
) -> dict[str, Any]:
    clock = read_clock(conn, scope.key, now=as_of, rates=rates)
    rows = list(_memories(conn, scope, clock, as_of))
    if only is not None:
        rows = [row for row in rows if (scope.scope, row["id"]) in only]
    active = {memory["id"] for memory in rows if memory["status"] == "active"}
    return {
        "scope": json.loads(scope.scope),
        "time_zone": scope.time_zone,
        "memories": rows,
        "associations": [
            {
                "memory_a": row.memory_a,
                "memory_b": row.memory_b,
                "weight": round(weight, DECIMALS),
                "inferred": row.inferred,
            }
            for row, weight in living(conn, links_of(conn, scope.key), clock, as_of)
            if row.memory_a in active and row.memory_b in active
        ],
    }


def _memories(conn: sa.Connection, scope: sa.Row[Any, Any, Any], clock: Clock, as_of: int) -> Iterator[dict[str, Any]]:
    heir = identities.alias("heir")
    query = (
        sa.select(memories, identities.c.hash, heir.c.hash.label("heir"))
        .join(identities, identities.c.key == memories.c.key)
        .outerjoin(heir, heir.c.key == memories.c.superseded_by)
        .where(memories.c.scope_key == scope.key)
        .order_by(plain(conn, identities.c.hash))
    )
    for rows in stream(conn, query):
        strengths = strength_at(
            clock,
            [row.strength for row in rows],
            [row.strength_at for row in rows],
            as_of,
            Ageing.of(rows),
        )
        for row, strength in zip(rows, strengths.tolist(), strict=True):
            yield _memory(row, strength, scope.time_zone, as_of)


def _memory(row: sa.Row[Any], strength: float, zone: str, as_of: int) -> dict[str, Any]:
    now = temporal(
        row.temporal_state,
        row.temporal_anchor,
        row.temporal_end,
        row.recurrence,
        row.recurrence_start,
        zone=zone,
        now=as_of,
    )
    return {
        "id": row.hash,
        "content": row.content,
        "type": row.type,
        "status": row.status,
        "strength": round(strength, DECIMALS),
        "temporal_state": now.state,
        "temporal_anchor": now.anchor,
        "temporal_end": now.end,
        "recurrence": row.recurrence,
        "recurrence_start": row.recurrence_start,
        "consolidated": row.consolidated,
        "pinned": row.pinned,
        "kept": row.kept,
        "source": row.source,
        "created_at": format_instant(row.created_at),
        "observed_at": _instant(row.observed_at),
        "expires_at": _instant(row.expires_at),
        "valid_until": _instant(row.valid_until),
        "archived_because": row.archived_because,
        "superseded_by": row.heir,
        "importance": row.importance,
        "trust": row.trust,
        "topics": row.topics,
        "metadata": row.metadata,
    }


def _instant(value: int | None) -> str | None:
    return None if value is None else format_instant(value)
