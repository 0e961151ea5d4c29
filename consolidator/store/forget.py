"""
Forgetting: the one act that deletes a memory, everywhere in the store and in one transaction.

What stays is a tombstone, the hash alone, which keeps the memory from being imported again. Texts merged from it
are not touched but named, for a person to judge. It holds the scope as a night does, because a night that had
read the memory would write its text into the report after the deletion.
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import sqlalchemy as sa

from consolidator.store.engine import Store
from consolidator.store.find import Found
from consolidator.store.forget_merges import forget_merges, forget_reasons, merged_from, sources_of
from consolidator.store.locks import hold_scope
from consolidator.store.outbox import forget_messages
from consolidator.store.pushes import forget_images
from consolidator.store.tables import (
    DIRECT,
    INFERRED,
    associations,
    attributions,
    decisions,
    embeddings,
    exposures,
    identities,
    memories,
    pasts,
    runs,
    tombstones,
    turns,
)
from consolidator.store.traces import STANDS_FOR, Gone, Traces, wipe

_ROWS_AT_ONCE = 20_000


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


def forget(
    store: Store, found: Sequence[Found], *, now: int, wall_clock: Callable[[], int], unwanted: bool = True
) -> Forgotten:
    """
    Delete memories everywhere. ScopeHeld while a night is going on there; then nothing was deleted.

    unwanted: in the stores of other systems that they were pulled from too, by the next push.
    """
    with ExitStack() as held:
        for scope_key in sorted({each.scope.key for each in found}):
            held.enter_context(hold_scope(store, scope_key, wall_clock=wall_clock))
        with store.write() as conn:
            present = _lock(conn, found)
            keys = {each.key for each in present}
            merged, sources = merged_from(conn, keys), sources_of(conn, keys)
            gone = Gone(
                keys=frozenset(keys),
                ids=frozenset(each.id for each in present),
                events=_forget_events(conn, keys),
                traces=Traces((each.id, each.content or "") for each in present),
            )
            forget_images(conn, keys, unwanted=unwanted)
            for each in present:
                _forget_one(conn, each, now=now)
            for scope_key in {each.scope.key for each in present}:
                _forget_journal(conn, scope_key, gone)
                forget_reasons(conn, scope_key, gone.traces)
            _forget_reports(conn, gone)
            forget_messages(conn, gone.traces)
            if store.dialect == "sqlite":
                conn.exec_driver_sql("INSERT INTO memory_words(memory_words) VALUES('optimize')")
    return Forgotten(
        ids=tuple(each.id for each in present), merged=tuple(merged), sources=tuple(sources), wiped=wipe(store)
    )


def _forget_one(conn: sa.Connection, found: Found, *, now: int) -> None:
    key = found.key
    _forget_links(conn, key)
    forget_merges(conn, found)
    conn.execute(sa.delete(embeddings).where(embeddings.c.memory_key == key))
    conn.execute(sa.delete(memories).where(memories.c.key == key))
    conn.execute(sa.delete(identities).where(identities.c.key == key))
    conn.execute(sa.insert(tombstones).values(scope_key=found.scope.key, hash=found.id, at=now))


def _lock(conn: sa.Connection, found: Sequence[Found]) -> list[Found]:
    """Those of the memories that are still there, theirs for the rest of the transaction."""
    query = sa.select(memories.c.key).where(memories.c.key.in_([each.key for each in found])).with_for_update()
    there = set(conn.scalars(query))
    return [each for each in found if each.key in there]


def _forget_events(conn: sa.Connection, keys: set[int]) -> dict[str, frozenset[int]]:
    """
    Delete the exposures and attributions of the memories; their keys are returned.

    A memory that one of them was merged into had counted its attributions: what they gave stays in its base.
    """
    elsewhere = sa.select(attributions.c.target_key).where(attributions.c.memory_key.in_(keys)).distinct()
    heirs_of_events = {key for key in conn.scalars(elsewhere) if key is not None} - keys
    conn.execute(
        sa.update(memories)
        .where(memories.c.key.in_(heirs_of_events))
        .values(
            base_strength=memories.c.strength,
            base_at=memories.c.strength_at,
            lives=None,
            revision=memories.c.revision + 1,
        )
    )
    in_the_base = attributions.c.target_key.in_(keys | heirs_of_events)
    conn.execute(sa.update(attributions).where(in_the_base).values(target_key=None, based_at=None))
    _forget_how_found(conn, keys)
    return {
        name: frozenset(conn.scalars(sa.delete(table).where(table.c.memory_key.in_(keys)).returning(table.c.key)))
        for name, table in (("attributions", attributions), ("exposures", exposures))
    }


def _forget_how_found(conn: sa.Connection, keys: set[int]) -> None:
    """Take the memories out of what purged turns have left."""
    scopes_of = sa.select(identities.c.scope_key).where(identities.c.key.in_(keys))
    rows = conn.execute(
        sa.select(turns.c.key, turns.c.found).where(turns.c.found.is_not(None), turns.c.scope_key.in_(scopes_of))
    ).all()
    for turn, found in rows:
        left = {mode: [key for key in given if key not in keys] for mode, given in found.items()}
        if left != found:
            conn.execute(sa.update(turns).where(turns.c.key == turn).values(found=left))


def _forget_links(conn: sa.Connection, key: int) -> None:
    conn.execute(sa.delete(pasts).where(sa.or_(pasts.c.memory_a == key, pasts.c.memory_b == key)))
    for condition in (
        associations.c.memory_a == key,
        sa.and_(associations.c.memory_b == key, DIRECT),
        sa.and_(associations.c.memory_b == key, INFERRED),
        sa.and_(associations.c.via == key, INFERRED),
    ):
        conn.execute(sa.delete(associations).where(condition))


def _forget_journal(conn: sa.Connection, scope_key: int, gone: Gone) -> None:
    """
    Delete the journal rows of the memories and of their links, and their names and words from the rows of others.

    A row that goes may also hold marks of events of other memories, which an undo must find: these stay, in a row
    without table.
    """
    concerned = []
    for rows in conn.execute(sa.select(decisions).where(decisions.c.scope_key == scope_key)).partitions(_ROWS_AT_ONCE):
        concerned += [row for row in rows if gone.concerns(row)]
    for row in concerned:
        owned = gone.owns(row)
        events = gone.left_of(row.events, owned=owned)
        this = sa.and_(decisions.c.run_key == row.run_key, decisions.c.sequence == row.sequence)
        if not owned and (events or row.table_name):
            because = STANDS_FOR if gone.traces.in_text(row.because) else row.because
            images = {name: gone.left_of_image(getattr(row, name)) for name in ("before", "after")}
            conn.execute(sa.update(decisions).where(this).values(because=because, events=events, **images))
        elif events is None:
            conn.execute(sa.delete(decisions).where(this))
        else:
            conn.execute(
                sa.update(decisions)
                .where(this)
                .values(verb="", table_name="", row_a=None, row_b=None, revision=None, before=None, after=None)
                .values(because=STANDS_FOR, events=events)
            )


def _forget_reports(conn: sa.Connection, gone: Gone) -> None:
    for key, report in conn.execute(sa.select(runs.c.key, runs.c.report).where(runs.c.report.is_not(None))).all():
        cleaned = gone.traces.removed_from(report)
        if cleaned != report:
            conn.execute(sa.update(runs).where(runs.c.key == key).values(report=cleaned))
