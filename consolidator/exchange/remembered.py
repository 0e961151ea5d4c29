"""Taking in what is remembered: scopes, memories, and what binds memories together."""

from typing import Any

import sqlalchemy as sa

from consolidator import scopes as names
from consolidator.exchange.desk import Desk
from consolidator.exchange.records import (
    AssociationLine,
    MemoryLine,
    MergeSourceLine,
    ScopeLine,
    TombstoneLine,
    VerdictLine,
)
from consolidator.exchange.spool import Spool
from consolidator.exchange.tally import Tally
from consolidator.plan import members_hash
from consolidator.store.clocks import adopt_segments
from consolidator.store.search import searchable
from consolidator.store.tables import (
    associations,
    embeddings,
    memories,
    merge_sources,
    scopes,
    tombstones,
    verdicts,
)

AS_THEY_ARE = (
    "content", "type", "source", "created_at", "observed_at", "strength", "consolidated", "pinned", "kept", "status",
    "archived_at", "archived_because", "temporal_state", "temporal_anchor", "temporal_end", "recurrence",
    "expires_at", "valid_until", "importance", "topics", "trust", "metadata",
    "anew",
)  # fmt: skip


def take_scopes(desk: Desk, spool: Spool, tally: Tally) -> None:
    """Scopes. A time zone that a line tells holds from now on; its clock is taken where the scope has none yet."""
    for batch in spool.batches(ScopeLine):
        added = 0
        for line in batch:
            new = not desk.knows_scope(str(line.scope))
            key = desk.scope_key(str(line.scope))
            added += new
            if line.time_zone is not None:
                _move(desk, tally, key, line)
            if line.segments and not desk.rehearses:
                adopt_segments(desk.conn, key, line.segments)
        tally.count(ScopeLine, added=added, of=len(batch))


def _move(desk: Desk, tally: Tally, key: int, line: ScopeLine) -> None:
    """Set a time zone; the next night judges every anchor anew."""
    before = desk.conn.scalar(sa.select(scopes.c.time_zone).where(scopes.c.key == key))
    if before == line.time_zone:
        return
    desk.write(sa.update(scopes).where(scopes.c.key == key).values(time_zone=line.time_zone))
    anchored = sa.and_(memories.c.scope_key == key, memories.c.temporal_anchor.is_not(None))
    if desk.conn.scalar(sa.select(sa.exists().where(anchored))):
        desk.write(sa.update(memories).where(anchored).values(fades_age=None, revision=memories.c.revision + 1))
        told = names.spell(str(line.scope))
        tally.notes.append(f"the time zone of {told} is {line.time_zone} now, and was {before}")


def take_tombstones(desk: Desk, spool: Spool, tally: Tally) -> None:
    """Tombstones. That of a memory which is here is left out: only `forget` deletes."""
    for scope_key, lines in tally.batches(desk, TombstoneLine):
        known = desk.names(scope_key, (line.id for line in lines))
        here = desk.present(memories.c.key, known.values())
        rows: list[dict[str, Any]] = []
        for line in lines:
            if known.get(line.id) in here:
                tally.notes.append(
                    f"{line.id[:12]} was forgotten elsewhere and is remembered here; `consolidate forget` deletes it"
                )
            else:
                rows.append({"scope_key": scope_key, "hash": line.id, "at": line.at})
        desk.forgotten(scope_key).update(row["hash"] for row in rows)
        tally.count(TombstoneLine, added=desk.add(tombstones, ("scope_key", "hash"), rows), of=len(lines))


def take_memories(desk: Desk, spool: Spool, tally: Tally, *, now: int) -> None:
    """Memories. A known one stays as it is, but for a vector of a model of which it has none."""
    for scope_key, lines in tally.batches(desk, MemoryLine, "id"):
        gone = desk.forgotten(scope_key)
        ids: set[str] = {line.id for line in lines}
        heirs = {each for line in lines if (each := line.superseded_by) is not None and each not in gone}
        keys, new = desk.keys(scope_key, ids | heirs)
        here = desk.present(memories.c.key, (keys[each] for each in ids))
        rows: dict[int, dict[str, Any]] = {}
        vectors: dict[tuple[int, str], dict[str, Any]] = {}
        refused = 0
        for line in lines:
            key = keys[line.id]
            strength_at = now if line.strength_at is None else line.strength_at
            if line.base_at is not None and line.base_at > strength_at:
                tally.refuse(line.line, "base_at", "is later than the memory is taken in")
                refused += 1
                continue
            if key not in here and key not in rows:
                rows[key] = row_of(line, key, scope_key, strength_at, keys.get(line.superseded_by or ""))
            if line.model is not None and line.vector is not None:
                vectors.setdefault((key, line.model), _vector(key, line.model, line.vector))
        tally.count(MemoryLine, added=desk.add(memories, ("key",), [*rows.values()]), of=len(lines) - refused)
        tally.arrived |= rows.keys()
        tally.late |= rows.keys() - new
        desk.add(embeddings, ("memory_key", "model"), [*vectors.values()])


def row_of(line: MemoryLine, key: int, scope_key: int, strength_at: int, superseded_by: int | None) -> dict[str, Any]:
    """A memory's row as it is first written."""
    start = line.recurrence_start
    return {
        "key": key,
        "scope_key": scope_key,
        **{name: getattr(line, name) for name in AS_THEY_ARE},
        "words": searchable(line.content),
        "base_strength": line.strength if line.base_strength is None else line.base_strength,
        "base_at": strength_at if line.base_at is None else line.base_at,
        "strength_at": strength_at,
        "superseded_by": superseded_by,
        "fresh": not line.merge_seen,
        "lives": line.lives,
        "recurrence_start": line.temporal_anchor if start is None and line.recurrence else start,
    }


def _vector(key: int, model: str, vector: bytes) -> dict[str, Any]:
    return {"memory_key": key, "model": model, "dimension": len(vector) // 4, "vector": vector}


def take_merge_sources(desk: Desk, spool: Spool, tally: Tally) -> None:
    """Which memories a text was written from."""
    for scope_key, lines in tally.batches(desk, MergeSourceLine, "memory_id", "source_id"):
        keys, _ = desk.keys(scope_key, (each for line in lines for each in (line.memory_id, line.source_id)))
        rows = [
            {"memory_key": keys[line.memory_id], "source_key": keys[line.source_id], "at": line.at} for line in lines
        ]
        added = desk.add(merge_sources, ("memory_key", "source_key"), rows)
        tally.count(MergeSourceLine, added=added, of=len(lines))


def take_associations(desk: Desk, spool: Spool, tally: Tally) -> None:
    """
    Links between memories that are in the store by now; one with an end that is not is bad.

    One that our own nights make of what came after the first import is left to them: it would count that twice.
    """
    for scope_key, lines in tally.batches(desk, AssociationLine, "memory_a", "memory_b", "via"):
        ends = {each for line in lines for each in (line.memory_a, line.memory_b, line.via) if each is not None}
        keys = desk.names(scope_key, ends)
        here = desk.present(memories.c.key, keys.values())
        rows: list[dict[str, Any]] = []
        remade = [line for line in lines if tally.remade and (line.remade_after or 0) > (tally.since or 0)]
        for line in [line for line in lines if line not in remade] if remade else lines:
            missing = [name for name in ("memory_a", "memory_b", "via") if _is_missing(getattr(line, name), keys, here)]
            if missing:
                tally.refuse(line.line, missing[0], f"{getattr(line, missing[0])} is in neither store nor file")
                continue
            a, b = sorted((keys[line.memory_a], keys[line.memory_b]))
            rows.append({
                "memory_a": a, "memory_b": b, "scope_key": scope_key, "weight": line.weight,
                "weight_at": line.weight_at, "base_weight": 0.0 if line.inferred else line.weight,
                "base_at": None if line.inferred else line.weight_at,
                "inferred": line.inferred, "via": keys[line.via] if line.via else None,
            })  # fmt: skip
        tally.count(
            AssociationLine, added=desk.add(associations, ("memory_a", "memory_b"), rows), of=len(rows) + len(remade)
        )


def _is_missing(name: str | None, keys: dict[str, int], here: set[int]) -> bool:
    return name is not None and keys.get(name) not in here


def take_verdicts(desk: Desk, spool: Spool, tally: Tally) -> None:
    """What was once judged of memories that look alike."""
    for scope_key, lines in tally.batches(desk, VerdictLine):
        gone = desk.forgotten(scope_key)
        rows = [
            {
                "scope_key": scope_key, "members_hash": members_hash(line.members), "members": list(line.members),
                "verdict": line.verdict, "at": line.at, "tries": line.tries, "because": line.because,
            }
            for line in lines
            if gone.isdisjoint(line.members)
        ]  # fmt: skip
        tally.leave_out(VerdictLine, len(lines) - len(rows))
        added = desk.add(verdicts, ("scope_key", "members_hash"), rows)
        tally.count(VerdictLine, added=added, of=len(rows))
