"""
What the store holds, as values for people and programs: memories as they are at a moment, counts, runs.

Strengths are the stored heads moved to `now` and temporal states are those at `now`; events that no night has
replayed yet do not count.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from consolidator.instants import format_instant
from consolidator.laws.clock import ASSOCIATION, Clock, Rates
from consolidator.laws.fading import DEAD
from consolidator.laws.pace import AGED_BY, Ageing
from consolidator.laws.strength import strength_at
from consolidator.laws.temporal import Temporal, temporal
from consolidator.scopes import parse_scope
from consolidator.store.clocks import read_clock
from consolidator.store.engine import keyed
from consolidator.store.find import Scope
from consolidator.store.tables import (
    DIRECT,
    INFERRED,
    associations,
    embeddings,
    identities,
    memories,
    merge_sources,
)

ROWS_AT_ONCE = 50_000
_INSTANTS = (
    "created_at", "observed_at", "strength_at", "base_at", "archived_at", "expires_at", "valid_until",
)  # fmt: skip
_PLAIN = (
    "content", "type", "status", "pinned", "kept", "consolidated", "recurrence", "recurrence_start", "source",
    "importance", "topics", "trust", "metadata", "archived_because", "base_strength",
)  # fmt: skip


class Clocks:
    """The clocks of scopes as they stand at one moment, each read once."""

    def __init__(self, conn: sa.Connection, *, now: int, rates: Rates) -> None:
        self._conn, self._now, self._rates = conn, now, rates
        self._read: dict[int, Clock] = {}

    def of(self, scope_key: int) -> Clock:
        """The clock of a scope."""
        if scope_key not in self._read:
            self._read[scope_key] = read_clock(self._conn, scope_key, now=self._now, rates=self._rates)
        return self._read[scope_key]


def strongest(
    conn: sa.Connection,
    scopes: Sequence[Scope],
    clocks: Clocks,
    *,
    now: int,
    status: str | None,
    kind: str | None,
    limit: int,
) -> list[int]:
    """Keys of the strongest memories of the scopes, strongest first; of one status and type, where given."""
    keys: list[NDArray[np.int64]] = [np.empty(0, np.int64)]
    strengths: list[NDArray[np.float64]] = [np.empty(0)]
    for scope in scopes:
        columns = (memories.c[name] for name in ("key", "strength", "strength_at", *AGED_BY))
        query = sa.select(*columns).where(memories.c.scope_key == scope.key)
        if status is not None:
            query = query.where(memories.c.status == status)
        if kind is not None:
            query = query.where(memories.c.type == kind)
        for rows in conn.execute(query).partitions(ROWS_AT_ONCE):
            key, strength, since, *aged_by = zip(*rows, strict=True)
            keys.append(np.array(key, np.int64))
            strengths.append(strength_at(clocks.of(scope.key), strength, since, now, Ageing(*aged_by)))
            if len(keys) > 20:
                keys, strengths = _best(keys, strengths, limit)
    (best,), _ = _best(keys, strengths, limit)
    return [int(key) for key in best]


def _best(
    keys: Sequence[NDArray[np.int64]], strengths: Sequence[NDArray[np.float64]], limit: int
) -> tuple[list[NDArray[np.int64]], list[NDArray[np.float64]]]:
    all_keys, all_strengths = np.concatenate(keys), np.concatenate(strengths)
    order = np.lexsort((all_keys, -all_strengths))[:limit]
    return [all_keys[order]], [all_strengths[order]]


def memory_documents(
    conn: sa.Connection, keys: Sequence[int], scopes: Mapping[int, Scope], clocks: Clocks, *, now: int
) -> list[dict[str, Any]]:
    """Memories as JSON documents, in the order of `keys`."""
    wanted = keyed(conn, key=keys)
    heir = identities.alias()
    query = (
        sa.select(memories, identities.c.hash, heir.c.hash.label("heir"))
        .join(wanted, wanted.c.key == memories.c.key)
        .join(identities, identities.c.key == memories.c.key)
        .outerjoin(heir, heir.c.key == memories.c.superseded_by)
    )
    found = {row["key"]: row for row in conn.execute(query).mappings()}
    return [_memory(found[key], scopes[found[key]["scope_key"]], clocks, now=now) for key in keys if key in found]


def temporal_of(row: sa.RowMapping, *, zone: str, now: int) -> Temporal:
    """The temporal law asked of a memory's row."""
    return temporal(
        row["temporal_state"],
        row["temporal_anchor"],
        row["temporal_end"],
        row["recurrence"],
        row["recurrence_start"],
        zone=zone,
        now=now,
    )


def _memory(row: sa.RowMapping, scope: Scope, clocks: Clocks, *, now: int) -> dict[str, Any]:
    ageing = Ageing(*([row[name]] for name in AGED_BY))
    strength = strength_at(clocks.of(scope.key), row["strength"], row["strength_at"], now, ageing)[0]
    state = temporal_of(row, zone=scope.time_zone, now=now)
    document = {
        "id": row["hash"],
        "scope": parse_scope(scope.text),
        "strength": round(float(strength), 6),
        "temporal_state": state.state,
        "temporal_anchor": state.anchor,
        "temporal_end": state.end,
        "superseded_by": row["heir"],
    }
    document |= {name: row[name] for name in _PLAIN}
    return document | {name: _instant(row[name]) for name in _INSTANTS}


def links_of(conn: sa.Connection, key: int, clock: Clock, *, now: int) -> list[dict[str, Any]]:
    """The links of a memory that have not faded to nothing, strongest first, with what they lead to."""
    far, middle, named = identities.alias(), identities.alias(), memories.alias()
    columns = (associations.c.weight, associations.c.weight_at, associations.c.inferred)
    found: list[Any] = []
    for here, there in (
        (associations.c.memory_a, associations.c.memory_b),
        (associations.c.memory_b, associations.c.memory_a),
    ):
        for part in (DIRECT, INFERRED):
            query = (
                sa.select(*columns, far.c.hash, middle.c.hash.label("via"), named.c.content, named.c.status)
                .select_from(associations)
                .join(far, far.c.key == there)
                .join(named, named.c.key == there)
                .outerjoin(middle, middle.c.key == associations.c.via)
                .where(here == key, part)
            )
            found += conn.execute(query).all()
    links = [
        {
            "id": row.hash,
            "weight": round(weight, 6),
            "inferred": row.inferred,
            "via": row.via,
            "status": row.status,
            "content": row.content,
        }
        for row in found
        if (weight := float(strength_at(clock, row.weight, row.weight_at, now, ASSOCIATION))) >= DEAD
    ]
    return sorted(links, key=lambda link: (-link["weight"], link["id"]))


def merged_from(conn: sa.Connection, key: int) -> list[dict[str, Any]]:
    """The memories that a memory was merged from, in order of their ids; `content` None for one known only by name."""
    source = identities.alias()
    query = (
        sa.select(source.c.hash, memories.c.content, memories.c.status)
        .select_from(merge_sources)
        .join(source, source.c.key == merge_sources.c.source_key)
        .outerjoin(memories, memories.c.key == source.c.key)
        .where(merge_sources.c.memory_key == key)
    )
    found = [{"id": row.hash, "content": row.content, "status": row.status} for row in conn.execute(query)]
    return sorted(found, key=lambda each: each["id"])


def vectors_of(conn: sa.Connection, key: int) -> Iterator[dict[str, Any]]:
    """The vectors kept of a memory: model and dimension."""
    rows = conn.execute(
        sa.select(embeddings.c.model, embeddings.c.dimension)
        .where(embeddings.c.memory_key == key)
        .order_by(embeddings.c.model)
    )
    for model, dimension in rows:
        yield {"model": model, "dimension": dimension}


def _instant(instant: int | None) -> str | None:
    return None if instant is None else format_instant(instant)
