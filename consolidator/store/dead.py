"""Links that have faded to nothing: deleted after the night, kept in its journal until then so that undo is whole."""

import json
from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa

from consolidator.plan import ScopePlan
from consolidator.store.engine import Store, keyed
from consolidator.store.recheck import revision_of_scope
from consolidator.store.run import Run
from consolidator.store.tables import associations, memories
from consolidator.store.writing import UNLINKED, write_journal

ROWS_A_TRANSACTION = 20_000

_MEMORIES = ("memory_a", "memory_b", "via")
_REST = ("weight", "weight_at", "base_weight", "base_at", "inferred", "fades_age", "revision", "base_mark")
_COLUMNS = [associations.c[name] for name in (*_MEMORIES, *_REST)]


def delete_dead(store: Store, part: ScopePlan, run: Run) -> int:
    """
    Delete the links that have faded to nothing, 20,000 a transaction. Returns how many were direct.

    None where a run was undone since the plan was made: the ages of another clock say nothing of these links.
    """
    unlinked = 0
    while part.dead_before is not None:
        with run.writing(store) as conn:
            if revision_of_scope(conn, part) is None:
                break
            dead = conn.execute(
                sa.select(*_COLUMNS)
                .where(associations.c.scope_key == part.key, associations.c.fades_age < part.dead_before)
                .limit(ROWS_A_TRANSACTION)
            ).all()
            if dead:
                conn.execute(
                    sa.delete(associations).where(
                        associations.c.memory_a == sa.bindparam("a"), associations.c.memory_b == sa.bindparam("b")
                    ),
                    [{"a": row.memory_a, "b": row.memory_b} for row in dead],
                )
                write_journal(conn, run, part.key, (), notes=[(UNLINKED, {"dead": [list(row) for row in dead]})])
                unlinked += sum(not row.inferred for row in dead)
        if len(dead) < ROWS_A_TRANSACTION:
            break
    return unlinked


def give_back(conn: sa.Connection, rows: Iterable[sa.Row[Any]]) -> int:
    """Write again the dead links that a run deleted, but where a link or an end is no longer as it was."""
    given = 0
    for row in rows:
        if row.verb != UNLINKED:
            continue
        told = json.loads(row.events)["dead"]  # without `base_mark` where an older version wrote it
        dead = [dict(zip((*_MEMORIES, *_REST), values, strict=False)) for values in told]
        asked = keyed(conn, a=[one["memory_a"] for one in dead], b=[one["memory_b"] for one in dead])
        both = sa.and_(associations.c.memory_a == asked.c.a, associations.c.memory_b == asked.c.b)
        there = {tuple(pair) for pair in conn.execute(sa.select(asked.c.a, asked.c.b).join(associations, both))}
        ends = keyed(conn, key=sorted({one[end] for one in dead for end in _MEMORIES if one[end]}))
        known = {None, *conn.scalars(sa.select(memories.c.key).join(ends, memories.c.key == ends.c.key))}
        lost = [
            {"scope_key": row.scope_key, **one}
            for one in dead
            if (one["memory_a"], one["memory_b"]) not in there and known.issuperset(one[end] for end in _MEMORIES)
        ]
        if lost:
            conn.execute(sa.insert(associations), lost)
        given += len(lost)
    return given
