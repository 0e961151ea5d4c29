"""
Forgetting: the one act that deletes a memory, everywhere in the store and in one transaction.

What stays is a tombstone, the hash alone, which keeps the memory from being imported again. Texts merged from it
are not touched but named, for a person to judge. It holds the scope as a night does, because a night that had
read the memory would write its text into the report after the deletion.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from consolidator.report.document import without_memory
from consolidator.store.care import heirs
from consolidator.store.engine import Store
from consolidator.store.find import Found
from consolidator.store.locks import hold_scope
from consolidator.store.traces import Traces, wipe
from consolidator.store.tables import (
    DIRECT,
    INFERRED,
    aliases,
    associations,
    attributions,
    decisions,
    embeddings,
    exposures,
    identities,
    kept_reply_sources,
    kept_replies,
    memories,
    merge_sources,
    runs,
    tombstones,
    verdicts,
)


@dataclass(frozen=True, slots=True)
class Forgotten:
    """
    What forgetting did: the ids it deleted, and the ids of memories a person should look at.

    merged: texts written from a forgotten one. sources: texts that a forgotten one was written from.
    wiped: whether the text is gone from the file too, not only from the tables.
    """

    ids: tuple[str, ...]
    merged: tuple[str, ...]
    sources: tuple[str, ...]
    wiped: bool


def forget(store: Store, found: Sequence[Found], *, now: int, wall_clock: Callable[[], int]) -> Forgotten:
    """Delete memories everywhere. ScopeHeld while a night is going on there; then nothing was deleted."""
    with ExitStack() as held:
        for scope_key in sorted({each.scope.key for each in found}):
            held.enter_context(hold_scope(store, scope_key, wall_clock=wall_clock))
        with store.write() as conn:
            if store.dialect == "sqlite":
                conn.exec_driver_sql("PRAGMA secure_delete=ON")
            keys = {each.key for each in found}
            merged = _relatives(conn, keys, merge_sources.c.source_key, merge_sources.c.memory_key)
            sources = _relatives(conn, keys, merge_sources.c.memory_key, merge_sources.c.source_key)
            for each in found:
                _forget_one(conn, each, now=now)
            if store.dialect == "sqlite":
                conn.exec_driver_sql("INSERT INTO memory_words(memory_words) VALUES('optimize')")
    return Forgotten(
        ids=tuple(each.id for each in found), merged=tuple(merged), sources=tuple(sources), wiped=wipe(store)
    )


def _relatives(conn: sa.Connection, keys: set[int], this: sa.Column[int], that: sa.Column[int]) -> list[str]:
    """Ids of the memories reached from `keys` by merging, in one direction, however many merges away."""
    reached: set[int] = set()
    edge = set(keys)
    while edge:
        edge = set(conn.scalars(sa.select(that).where(this.in_(edge)))) - reached - keys
        reached |= edge
    query = sa.select(identities.c.hash).join(memories, memories.c.key == identities.c.key)
    return sorted(conn.scalars(query.where(identities.c.key.in_(reached))))


def _forget_one(conn: sa.Connection, found: Found, *, now: int) -> None:
    key = found.key
    content = conn.scalar(sa.select(memories.c.content).where(memories.c.key == key).with_for_update())
    if content is None:
        return
    traces = Traces(found.id, content)
    removed = _forget_events(conn, key)
    _forget_links(conn, key)
    _forget_merges(conn, key)
    _forget_journal(conn, found, traces, removed)
    _forget_reports(conn, traces)
    conn.execute(
        sa.delete(verdicts).where(
            verdicts.c.scope_key == found.scope.key, sa.cast(verdicts.c.members, sa.Text).contains(found.id)
        )
    )
    conn.execute(sa.delete(embeddings).where(embeddings.c.memory_key == key))
    conn.execute(sa.delete(memories).where(memories.c.key == key))
    conn.execute(sa.delete(identities).where(identities.c.key == key))
    conn.execute(sa.insert(tombstones).values(scope_key=found.scope.key, hash=found.id, at=now))


def _forget_events(conn: sa.Connection, key: int) -> dict[str, set[int]]:
    """
    Delete the memory's exposures and attributions; their keys are returned.

    A memory that it was merged into had counted its attributions: what they gave stays in that memory's base.
    """
    counted_elsewhere = conn.scalars(
        sa.select(attributions.c.target_key)
        .where(attributions.c.memory_key == key, attributions.c.target_key != key)
        .distinct()
    ).all()
    for heir in counted_elsewhere:
        conn.execute(
            sa.update(memories)
            .where(memories.c.key == heir)
            .values(
                base_strength=memories.c.strength,
                base_at=memories.c.strength_at,
                revision=memories.c.revision + 1,
            )
        )
    conn.execute(
        sa.update(attributions)
        .where(attributions.c.target_key.in_([key, *counted_elsewhere]))
        .values(target_key=None)
    )
    return {
        name: set(conn.scalars(sa.delete(table).where(table.c.memory_key == key).returning(table.c.key)))
        for name, table in (("attributions", attributions), ("exposures", exposures))
    }


def _forget_links(conn: sa.Connection, key: int) -> None:
    for condition in (
        associations.c.memory_a == key,
        sa.and_(associations.c.memory_b == key, DIRECT),
        sa.and_(associations.c.memory_b == key, INFERRED),
        sa.and_(associations.c.via == key, INFERRED),
    ):
        conn.execute(sa.delete(associations).where(condition))


def _forget_merges(conn: sa.Connection, key: int) -> None:
    """Delete aliases, merge sources and kept replies; who was led through the memory is led past it."""
    beyond = heirs(conn, key)
    conn.execute(sa.delete(aliases).where(aliases.c.old_key == key))
    if beyond:
        conn.execute(sa.update(aliases).where(aliases.c.new_key == key).values(new_key=beyond[0]))
    conn.execute(sa.delete(aliases).where(aliases.c.new_key == key))
    conn.execute(sa.delete(merge_sources).where(sa.or_(
        merge_sources.c.memory_key == key, merge_sources.c.source_key == key
    )))
    conn.execute(
        sa.update(memories)
        .where(memories.c.superseded_by == key)
        .values(superseded_by=beyond[0] if beyond else None, revision=memories.c.revision + 1)
    )
    used = sa.select(kept_reply_sources.c.request_hash).where(kept_reply_sources.c.memory_key == key)
    replies = list(conn.scalars(used))
    conn.execute(sa.delete(kept_reply_sources).where(kept_reply_sources.c.request_hash.in_(replies)))
    conn.execute(sa.delete(kept_replies).where(kept_replies.c.request_hash.in_(replies)))


def _forget_journal(conn: sa.Connection, found: Found, traces: Traces, removed: Mapping[str, set[int]]) -> None:
    """
    Delete the journal rows of the memory and of its links, and its name and words from the rows of others.

    A row that goes may also hold marks of events of other memories, which an undo must find: these stay, in a row
    without table.
    """
    rows = conn.execute(sa.select(decisions).where(decisions.c.scope_key == found.scope.key)).mappings()
    for row in list(filter(lambda row: _concerns(row, found.key, traces, removed), rows)):
        mine = found.key in (row["row_a"], row["row_b"]) and row["table_name"] in ("memories", "associations")
        mine = mine or _refers(row["before"], found.key) or _refers(row["after"], found.key)
        events = _without(row["events"], found.key, removed)
        this = sa.and_(decisions.c.run_key == row["run_key"], decisions.c.sequence == row["sequence"])
        if events is None and row["events"] and not row["table_name"]:
            mine = True
        if not mine:
            because = row["because"] if not traces.in_text(row["because"]) else "a memory since forgotten had a part in it"
            conn.execute(sa.update(decisions).where(this).values(because=because, events=events))
        elif events is None:
            conn.execute(sa.delete(decisions).where(this))
        else:
            conn.execute(
                sa.update(decisions)
                .where(this)
                .values(verb="", table_name="", row_a=None, row_b=None, revision=None, before=None, after=None)
                .values(because="of a memory since forgotten", events=events)
            )


def _concerns(row: Any, key: int, traces: Traces, removed: Mapping[str, set[int]]) -> bool:
    return (
        key in (row["row_a"], row["row_b"])
        or _refers(row["before"], key)
        or _refers(row["after"], key)
        or traces.in_text(row["because"])
        or _without(row["events"], key, removed) != row["events"]
    )


def _refers(values: str | None, key: int) -> bool:
    if not values or str(key) not in values:
        return False
    document = json.loads(values)
    return key in (document.get("via"), document.get("superseded_by"))


def _without(events: str | None, key: int, removed: Mapping[str, set[int]]) -> str | None:
    """Journal text of events without the forgotten; unchanged text where none was there, None where none is left."""
    if not events:
        return events
    document = json.loads(events)
    kept = {name: [mark for mark in marks if not _is_gone(name, mark, key, removed)] for name, marks in document.items()}
    if kept == document:
        return events
    return json.dumps(kept, separators=(",", ":")) if any(kept.values()) else None


def _is_gone(name: str, mark: Any, key: int, removed: Mapping[str, set[int]]) -> bool:
    if name == "memories":
        return bool(mark == key)
    if name == "links":
        return key in mark
    return mark[0] in removed.get(name, ())


def _forget_reports(conn: sa.Connection, traces: Traces) -> None:
    reports = conn.execute(sa.select(runs.c.key, runs.c.report).where(runs.c.report.is_not(None))).all()
    for key, report in reports:
        cleaned = without_memory(report, traces.id, traces.content)
        if cleaned != report:
            conn.execute(sa.update(runs).where(runs.c.key == key).values(report=cleaned))
