"""
Writing a store out: as lines, from which an equal store can be made, or as the values that it has at a moment.

Both are in one order whatever the store, and tell nothing of how or when the store came to be so.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import sqlalchemy as sa

from consolidator.exchange.records import FORMAT, VERSION
from consolidator.exchange.rows import links_of, living, plain, scopes_of, stream
from consolidator.exchange.values import export_values
from consolidator.instants import format_instant
from consolidator.laws.clock import Rates
from consolidator.laws.fading import DEAD
from consolidator.laws.strength import mode_factor
from consolidator.scopes import canonical
from consolidator.store.aliases import bearers
from consolidator.store.clocks import read_clock, segments_of
from consolidator.store.engine import keyed
from consolidator.store.tables import (
    aliases,
    attributions,
    embeddings,
    exposures,
    identities,
    memories,
    merge_sources,
    tombstones,
    turns,
    verdicts,
)

__all__ = ["export_jsonl", "export_values"]

Line = dict[str, Any]
INSTANTS = frozenset({
    "at", "created_at", "observed_at", "strength_at", "base_at", "expires_at", "valid_until", "archived_at",
    "weight_at", "based_at", "shown_until", "rated_until",
})  # fmt: skip
LINE_COLUMNS = (
    "content", "type", "source", "created_at", "observed_at", "strength", "strength_at", "base_strength", "base_at",
    "consolidated", "pinned", "kept", "temporal_state", "temporal_anchor", "temporal_end", "recurrence",
    "recurrence_start", "expires_at", "valid_until", "status", "archived_at", "archived_because", "superseded_by",
    "importance", "topics", "trust", "metadata", "fresh", "lives", "anew",
)  # fmt: skip

_NAMES = ("id", "memory_a", "memory_b", "via", "memory_id", "old_id", "new_id", "source_id")

Only = frozenset[tuple[str, str]] | None  # canonical scope and id of each


class Writer(Protocol):
    def write(self, data: bytes, /) -> object: ...


def export_jsonl(
    conn: sa.Connection, out: Writer, *, scopes: Sequence[str] | None, as_of: int, rates: Rates,
    whole: bool = False, only: Only = None,
) -> int:  # fmt: skip
    """
    Write the lines of these scopes (canonical; None: all), in UTF-8. Returns how many there are. only: these memories,
    and what is said of them alone.

    Links that have faded to nothing at `as_of` are not there, unless the `whole` store is asked for: then all that no
    night has deleted yet are. The clock is as a night at `as_of` would leave it.
    """
    number = 0
    for line in _lines(conn, scopes, as_of, rates, whole=whole):
        if only is not None and not _is_of(line, only):
            continue
        number += 1
        out.write(json.dumps(line, ensure_ascii=False, separators=(", ", ": ")).encode() + b"\n")
    return number


def _is_of(line: Line, only: frozenset[tuple[str, str]]) -> bool:
    """Whether a line is of these memories alone; how scopes are is told in any case."""
    if line["kind"] in ("header", "scope"):
        return True
    names = [line[name] for name in _NAMES if name in line] + line.get("members", [])
    scope = canonical(line["scope"])
    return line["kind"] not in ("turn", "tombstone") and all((scope, name) in only for name in names)


def _lines(
    conn: sa.Connection, chosen: Sequence[str] | None, as_of: int, rates: Rates, *, whole: bool
) -> Iterator[Line]:
    yield {"kind": "header", "format": FORMAT, "version": VERSION}
    for scope in scopes_of(conn, chosen):
        pairs = json.loads(scope.scope)
        told = segments_of(conn, scope.key, now=as_of, rates=rates)
        yield {"kind": "scope", "scope": pairs, "time_zone": scope.time_zone, **({"segments": told} if told else {})}
        for kind, rows in (
            ("memory", _memory_lines(conn, scope.key)),
            ("association", _association_lines(conn, scope.key, as_of, rates, whole=whole)),
            ("exposure", _exposure_lines(conn, scope.key)),
            ("turn", _turn_lines(conn, scope.key)),
            ("attribution", _attribution_lines(conn, scope.key)),
            ("alias", _alias_lines(conn, scope.key)),
            ("merge_source", _merge_source_lines(conn, scope.key)),
            ("verdict", _verdict_lines(conn, scope.key)),
            ("tombstone", _tombstone_lines(conn, scope.key)),
        ):
            for row in rows:
                yield {"kind": kind, "scope": pairs, **_as_line(row)}


def _as_line(row: Mapping[str, Any]) -> Line:
    return {
        name: format_instant(value) if name in INSTANTS else value for name, value in row.items() if value is not None
    }


def _memory_lines(conn: sa.Connection, scope_key: int) -> Iterator[Line]:
    heir = identities.alias("heir")
    columns = [heir.c.hash.label(name) if name == "superseded_by" else memories.c[name] for name in LINE_COLUMNS]
    query = (
        sa.select(memories.c.key, identities.c.hash.label("id"), *columns)
        .join(identities, identities.c.key == memories.c.key)
        .outerjoin(heir, heir.c.key == memories.c.superseded_by)
        .where(memories.c.scope_key == scope_key)
        .order_by(plain(conn, identities.c.hash))
    )
    models = _models(conn, scope_key)
    for rows in stream(conn, query):
        vectors = _vectors(conn, [row.key for row in rows], models) if models else {}
        for row in rows:
            line = dict(row._mapping)
            del line["key"]
            if row.metadata:
                line["metadata"] = _sorted(row.metadata)
            line["merge_seen"] = None if line.pop("fresh") else True
            line["anew"] = row.anew or None
            line["lives"] = row.lives and [_life(life) for life in row.lives]
            if row.key in vectors:
                line["embedding"] = vectors[row.key]
            yield line


def _life(life: Sequence[Any]) -> Line:
    strength, at, consolidated, *importance = life
    line = {"strength": strength, "at": format_instant(at), "consolidated": consolidated}
    return line | ({"importance": importance[0]} if importance else {})


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value


def _models(conn: sa.Connection, scope_key: int) -> list[str]:
    """The models of the scope's vectors, the most used first: a line holds one vector."""
    query = (
        sa.select(embeddings.c.model, sa.func.count())
        .join(memories, memories.c.key == embeddings.c.memory_key)
        .where(memories.c.scope_key == scope_key)
        .group_by(embeddings.c.model)
    )
    return [model for model, _ in sorted(conn.execute(query), key=lambda row: (-row[1], row[0]))]


def _vectors(conn: sa.Connection, keys: Sequence[int], models: Sequence[str]) -> dict[int, Line]:
    asked = keyed(conn, key=keys)
    query = sa.select(embeddings.c.memory_key, embeddings.c.model, embeddings.c.vector).join(
        asked, embeddings.c.memory_key == asked.c.key
    )
    found: dict[int, tuple[str, bytes]] = {}
    for key, model, vector in sorted(conn.execute(query), key=lambda row: -models.index(row.model)):
        found[key] = (model, vector)
    return {
        key: {"model": model, "vector": np.frombuffer(vector, "<f4").tolist()} for key, (model, vector) in found.items()
    }


def _association_lines(conn: sa.Connection, scope_key: int, as_of: int, rates: Rates, *, whole: bool) -> Iterator[Line]:
    clock = read_clock(conn, scope_key, now=as_of, rates=rates)
    for row, _ in living(conn, links_of(conn, scope_key), clock, as_of, least=0.0 if whole else DEAD):
        yield dict(row._mapping)


def _exposure_lines(conn: sa.Connection, scope_key: int) -> Iterator[Line]:
    query = (
        sa.select(
            turns.c.session_id,
            turns.c.turn_id,
            identities.c.hash.label("memory_id"),
            exposures.c.mode,
            exposures.c.score,
            exposures.c.retrieval_mode,
            exposures.c.at,
            exposures.c.linked,
        )
        .join(turns, turns.c.key == exposures.c.turn_key)
        .join(identities, identities.c.key == exposures.c.memory_key)
        .where(exposures.c.scope_key == scope_key)
        .order_by(
            plain(conn, turns.c.session_id),
            plain(conn, turns.c.turn_id),
            plain(conn, identities.c.hash),
            plain(conn, exposures.c.mode),
        )
    )
    for rows in stream(conn, query):
        yield from (dict(row._mapping) for row in rows)


def _turn_lines(conn: sa.Connection, scope_key: int) -> Iterator[Line]:
    """The turns of which events were purged."""
    columns = [turns.c[name] for name in ("session_id", "turn_id", "shown_until", "rated_until", "found")]
    query = (
        sa.select(*columns)
        .where(turns.c.scope_key == scope_key)
        .where(sa.or_(turns.c.shown_until.is_not(None), turns.c.rated_until.is_not(None)))
        .order_by(plain(conn, turns.c.session_id), plain(conn, turns.c.turn_id))
    )
    for rows in stream(conn, query):
        ids = _hashes(conn, {key for row in rows for keys in (row.found or {}).values() for key in keys})
        for row in rows:
            found = {mode: sorted(ids[key] for key in keys if key in ids) for mode, keys in (row.found or {}).items()}
            yield dict(row._mapping) | {"session_id": row.session_id or None, "found": found or None}


def _hashes(conn: sa.Connection, keys: Iterable[int]) -> dict[int, str]:
    table = keyed(conn, key=sorted(keys))
    query = sa.select(identities.c.key, identities.c.hash).join(table, identities.c.key == table.c.key)
    return dict(conn.execute(query).all())


def _attribution_lines(conn: sa.Connection, scope_key: int) -> Iterator[Line]:
    """
    Of ratings of one moment the later row counts, so they keep their order.

    The target is told where it is not what the memory was at the time: a late one counts for what that was merged into.
    """
    shown = {
        mode: sa.exists()
        .where(exposures.c.turn_key == attributions.c.turn_key, exposures.c.memory_key == attributions.c.memory_key)
        .where(exposures.c.retrieval_mode == mode)
        for mode in ("bm25_only", "hybrid")
    }
    query = (
        sa.select(
            attributions.c.message_id,
            turns.c.session_id,
            turns.c.turn_id,
            turns.c.found,
            identities.c.hash.label("memory_id"),
            attributions.c.evidence,
            attributions.c.confidence,
            attributions.c.at,
            attributions.c.applied,
            attributions.c.mode,
            attributions.c.based_at,
            attributions.c.memory_key,
            attributions.c.target_key,
            sa.and_(attributions.c.based_at.is_(None), attributions.c.at <= memories.c.base_at).label("replayed"),
            *(condition.label(mode) for mode, condition in shown.items()),
        )
        .join(turns, turns.c.key == attributions.c.turn_key)
        .join(identities, identities.c.key == attributions.c.memory_key)
        .outerjoin(memories, memories.c.key == attributions.c.target_key)
        .where(attributions.c.scope_key == scope_key)
        .order_by(
            plain(conn, attributions.c.message_id),
            plain(conn, identities.c.hash),
            attributions.c.at,
            attributions.c.key,
        )
    )
    for rows in stream(conn, query):
        elsewhere = _elsewhere(conn, rows)
        for row in rows:
            line = dict(row._mapping)
            del line["memory_key"], line["target_key"], line["found"]
            modes: set[str | None] = {mode for mode in shown if line.pop(mode)}
            modes |= {mode for mode, keys in (row.found or {}).items() if row.memory_key in keys}
            follows = row.mode is None or row.mode == mode_factor(modes)
            yield line | {
                "session_id": row.session_id or None,
                "replayed": True if row.replayed else None,
                "mode": None if follows else row.mode,
                "target": elsewhere.get((row.memory_key, row.at, row.target_key)),
            }


def _elsewhere(conn: sa.Connection, rows: Iterable[sa.Row[Any]]) -> dict[tuple[int, int, int], str]:
    """The ids of targets that are not what the memory was at the time, by memory, time and target."""
    counted = {(row.memory_key, row.at, row.target_key) for row in rows if row.target_key is not None}
    bearer = bearers(conn, {(memory, at) for memory, at, _ in counted})
    told = {each for each in counted if bearer[each[0], each[1]] != each[2]}
    names = _hashes(conn, {target for _, _, target in told})
    return {each: names[each[2]] for each in told}


def _alias_lines(conn: sa.Connection, scope_key: int) -> Iterator[Line]:
    old, new = identities.alias("old"), identities.alias("new")
    query = (
        sa.select(old.c.hash.label("old_id"), new.c.hash.label("new_id"), aliases.c.reason, aliases.c.at)
        .join(old, old.c.key == aliases.c.old_key)
        .join(new, new.c.key == aliases.c.new_key)
        .where(aliases.c.scope_key == scope_key)
        .order_by(plain(conn, old.c.hash))
    )
    for rows in stream(conn, query):
        yield from (dict(row._mapping) for row in rows)


def _merge_source_lines(conn: sa.Connection, scope_key: int) -> Iterator[Line]:
    memory, source = identities.alias("memory"), identities.alias("source")
    query = (
        sa.select(memory.c.hash.label("memory_id"), source.c.hash.label("source_id"), merge_sources.c.at)
        .join(memory, memory.c.key == merge_sources.c.memory_key)
        .join(source, source.c.key == merge_sources.c.source_key)
        .where(memory.c.scope_key == scope_key)
        .order_by(plain(conn, memory.c.hash), plain(conn, source.c.hash))
    )
    for rows in stream(conn, query):
        yield from (dict(row._mapping) for row in rows)


def _verdict_lines(conn: sa.Connection, scope_key: int) -> Iterator[Line]:
    rows = conn.execute(
        sa.select(verdicts.c.members, verdicts.c.verdict, verdicts.c.at, verdicts.c.tries, verdicts.c.because).where(
            verdicts.c.scope_key == scope_key
        )
    )
    for line in sorted((dict(row._mapping) for row in rows), key=lambda line: line["members"]):
        yield line | {"tries": line["tries"] or None}


def _tombstone_lines(conn: sa.Connection, scope_key: int) -> Iterator[Line]:
    query = (
        sa.select(tombstones.c.hash.label("id"), tombstones.c.at)
        .where(tombstones.c.scope_key == scope_key)
        .order_by(plain(conn, tombstones.c.hash))
    )
    for rows in stream(conn, query):
        yield from (dict(row._mapping) for row in rows)
