"""What a purge reads and takes away of ratings: those that the bases of their memories hold from then on."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from consolidator.steps.associate import Head
from consolidator.steps.reinforce import Attribution
from consolidator.steps.rows import Memory
from consolidator.store.engine import keyed
from consolidator.store.gather import memories_by_key
from consolidator.store.tables import aliases, attributions, memories, scopes, turns


class Rated(NamedTuple):
    """
    A memory that nothing was merged into or from.

    ratings: those that its strength counts. based: the keys of those of before a horizon that its base holds. rows:
    the keys of all that name it.
    """

    memory: Memory
    ratings: list[Attribution]
    based: set[int]
    rows: set[int]


def memories_rated_before(conn: sa.Connection, horizon: int) -> dict[int, list[tuple[int, int]]]:
    """
    By scope: the memories whose strength or base holds ratings of before an instant, with how many; no merge met.

    Reads all ratings once.
    """
    held = sa.and_(attributions.c.applied, attributions.c.based_at.is_(None), ~attributions.c.waiting)
    whose = sa.func.coalesce(attributions.c.target_key, attributions.c.memory_key).label("key")
    old = sa.select(whose, sa.func.count().label("rows")).where(held, attributions.c.at < horizon)
    rated = old.group_by(whose).subquery()
    led = [sa.exists().where(column == memories.c.key) for column in (aliases.c.old_key, aliases.c.new_key)]
    query = (
        sa.select(memories.c.scope_key, memories.c.key, rated.c.rows)
        .join(rated, rated.c.key == memories.c.key)
        .where(memories.c.lives.is_(None), memories.c.superseded_by.is_(None), *(~each for each in led))
        .order_by(memories.c.key)
    )
    found: dict[int, list[tuple[int, int]]] = {}
    for scope_key, key, rows in conn.execute(query):
        found.setdefault(scope_key, []).append((key, rows))
    return found


def read_ratings(conn: sa.Connection, keys: Iterable[int], *, horizon: int, now: int) -> list[Rated]:
    """Memories with all their ratings; one of which a rating waits is left out."""
    rows = memories_by_key(conn, keys, now=now)
    found: dict[int, list[Any]] = {}
    for row in _naming(conn, sorted(rows)):
        found.setdefault(row.of, []).append(row)
    return [
        Rated(
            rows[key],
            [
                Attribution(
                    row.key, key, row.message_id, row.evidence, row.confidence, row.at, row.mode or 1.0, new=False
                )
                for row in given
                if row.target_key == key and row.based_at is None
            ],
            {row.key for row in given if row.applied and row.target_key is None and row.at < horizon},
            {row.key for row in given},
        )
        for key, given in sorted(found.items())
        if not any(row.waiting for row in given)
    ]


def _naming(conn: sa.Connection, keys: Sequence[int]) -> list[Any]:
    """Each rating that names one of these memories, or that its strength counts, once for the memory (`of`)."""
    found: dict[tuple[int, int], Any] = {}
    for column in (attributions.c.memory_key, attributions.c.target_key):
        table = keyed(conn, key=keys)
        for row in conn.execute(sa.select(table.c.key.label("of"), attributions).join(table, column == table.c.key)):
            found[row.of, row.key] = row
    return [found[each] for each in sorted(found)]


def delete_ratings(conn: sa.Connection, scope_key: int, folded: Sequence[tuple[Rated, set[int], Head | None]]) -> int:
    """
    Delete ratings that their memories' bases hold, and set the bases. A memory that has changed since is left out.

    A plan that was made before is stale: it knows of other bases.
    """
    there: dict[int, set[int]] = {}
    for row in _naming(conn, [rated.memory.key for rated, _, _ in folded]):
        there.setdefault(row.of, set()).add(row.key)
    going: set[int] = set()
    for rated, keys, base in folded:
        memory = rated.memory
        if there.get(memory.key) != rated.rows:
            continue
        if base is not None:
            this = sa.and_(memories.c.key == memory.key, memories.c.revision == memory.revision)
            values = {"base_strength": base.value, "base_at": base.at}
            if conn.execute(sa.update(memories).where(this).values(values)).rowcount != 1:
                continue
        going |= keys | rated.based
    if not going:
        return 0
    table = keyed(conn, key=sorted(going))
    these = attributions.c.key.in_(sa.select(table.c.key))
    latest = sa.select(attributions.c.turn_key, sa.func.max(attributions.c.at)).where(these)
    for turn, at in conn.execute(latest.group_by(attributions.c.turn_key)).all():
        this = sa.and_(turns.c.key == turn, sa.func.coalesce(turns.c.rated_until, at - 1) < at)
        conn.execute(sa.update(turns).where(this).values(rated_until=at))
    conn.execute(sa.delete(attributions).where(these))
    conn.execute(sa.update(scopes).where(scopes.c.key == scope_key).values(undos=scopes.c.undos + 1))
    return len(going)
