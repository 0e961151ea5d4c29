"""The timeline of one memory: how it came, where it was shown and used, what was decided, what became of it."""

from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa

from consolidator.instants import format_instant
from consolidator.store.find import Found
from consolidator.store.journal import decisions_about
from consolidator.store.tables import aliases, attributions, exposures, identities, memories, merge_sources, turns


def history(conn: sa.Connection, found: Found) -> list[dict[str, Any]]:
    """
    Everything that happened to a memory, in order of time, as JSON documents: at, what, and what belongs to it.

    A decision has the `as_of` of its run, its run_id, and whether the run was undone.
    """
    entries = [
        *_memory(conn, found),
        *_exposures(conn, found),
        *_attributions(conn, found),
        *_aliases(conn, found),
        *_merges(conn, found),
        *_decisions(conn, found),
    ]
    entries.sort(key=lambda entry: entry["at"])
    return [{**entry, "at": format_instant(entry["at"])} for entry in entries]


def _memory(conn: sa.Connection, found: Found) -> Iterator[dict[str, Any]]:
    row = conn.execute(sa.select(memories).where(memories.c.key == found.key)).one_or_none()
    if row is None:
        return
    yield {"at": row.created_at, "what": "created", "source": row.source, "type": row.type}
    yield {"at": row.base_at, "what": "base", "strength": row.base_strength}
    if row.archived_at is not None:
        yield {"at": row.archived_at, "what": "archived", "because": row.archived_because}


def _exposures(conn: sa.Connection, found: Found) -> Iterator[dict[str, Any]]:
    rows = conn.execute(
        sa.select(exposures, turns.c.turn_id, turns.c.session_id)
        .join(turns, turns.c.key == exposures.c.turn_key)
        .where(exposures.c.memory_key == found.key)
        .order_by(exposures.c.at, exposures.c.key)
    )
    for row in rows:
        yield {
            "at": row.at,
            "what": "shown",
            "mode": row.mode,
            "score": row.score,
            "retrieval_mode": row.retrieval_mode,
            "session_id": row.session_id,
            "turn_id": row.turn_id,
            "waiting": row.waiting,
        }


def _attributions(conn: sa.Connection, found: Found) -> Iterator[dict[str, Any]]:
    rows = conn.execute(
        sa.select(attributions, turns.c.turn_id, turns.c.session_id)
        .join(turns, turns.c.key == attributions.c.turn_key)
        .where(sa.or_(attributions.c.memory_key == found.key, attributions.c.key.in_(_counted_for(found.key))))
        .order_by(attributions.c.at, attributions.c.key)
    )
    for row in rows:
        yield {
            "at": row.at,
            "what": "used",
            "evidence": row.evidence,
            "confidence": row.confidence,
            "message_id": row.message_id,
            "session_id": row.session_id,
            "turn_id": row.turn_id,
            "waiting": row.waiting,
            "applied": row.applied,
            "through_alias": row.memory_key != found.key,
        }


def _counted_for(key: int) -> sa.Select[Any]:
    """Attributions to memories whose aliases lead here, and that were counted here."""
    earlier = sa.select(aliases.c.old_key).where(aliases.c.new_key == key).cte("earlier", recursive=True)
    earlier = earlier.union(sa.select(aliases.c.old_key).join(earlier, aliases.c.new_key == earlier.c.old_key))
    return sa.select(attributions.c.key).where(
        attributions.c.memory_key.in_(sa.select(earlier.c.old_key)), attributions.c.target_key == key
    )


def _aliases(conn: sa.Connection, found: Found) -> Iterator[dict[str, Any]]:
    old, new = identities.alias(), identities.alias()
    rows = conn.execute(
        sa.select(aliases.c.at, aliases.c.reason, old.c.hash.label("old_id"), new.c.hash.label("new_id"))
        .join(old, old.c.key == aliases.c.old_key)
        .join(new, new.c.key == aliases.c.new_key)
        .where(sa.or_(aliases.c.old_key == found.key, aliases.c.new_key == found.key))
        .order_by(aliases.c.at, aliases.c.old_key)
    )
    for row in rows:
        yield {"at": row.at, "what": "alias", "old_id": row.old_id, "new_id": row.new_id, "reason": row.reason}


def _merges(conn: sa.Connection, found: Found) -> Iterator[dict[str, Any]]:
    made, source = identities.alias(), identities.alias()
    rows = conn.execute(
        sa.select(merge_sources.c.at, made.c.hash.label("memory_id"), source.c.hash.label("source_id"))
        .join(made, made.c.key == merge_sources.c.memory_key)
        .join(source, source.c.key == merge_sources.c.source_key)
        .where(sa.or_(merge_sources.c.memory_key == found.key, merge_sources.c.source_key == found.key))
        .order_by(merge_sources.c.at, source.c.hash)
    )
    for row in rows:
        yield {"at": row.at, "what": "merged", "memory_id": row.memory_id, "source_id": row.source_id}


def _decisions(conn: sa.Connection, found: Found) -> Iterator[dict[str, Any]]:
    for decision in decisions_about(conn, found.key):
        others = [
            {"id": name, "content": text}
            for name, text in zip(decision["ids"], decision["texts"], strict=True)
            if name != found.id
        ]
        yield {
            "at": decision["as_of"],
            "what": "decided",
            "step": decision["step"],
            "verb": decision["verb"],
            "because": decision["because"],
            "before": decision["before"],
            "after": decision["after"],
            "with": others,
            "run_id": decision["run_id"],
            "undone": decision["undone"],
        }
