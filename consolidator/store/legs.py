"""What a night reads of links: those it changes, those that fade, and the legs of what they imply."""

from collections.abc import Container, Iterable
from typing import Any

import networkx as nx
import sqlalchemy as sa

from consolidator.laws.association import Pair
from consolidator.laws.fading import DEAD, fades_age, value_at
from consolidator.steps.associate import Head
from consolidator.steps.rows import Link
from consolidator.store.engine import keyed
from consolidator.store.tables import DIRECT, INFERRED, UNSCHEDULED, associations, memories, pasts

_LINK = [associations.c[name] for name in Link._fields]


def links_of(conn: sa.Connection, pairs: Iterable[Pair]) -> dict[Pair, Link]:
    """The association rows of these pairs."""
    wanted = sorted(set(pairs))
    table = keyed(conn, a=[a for a, _ in wanted], b=[b for _, b in wanted])
    both = sa.and_(associations.c.memory_a == table.c.a, associations.c.memory_b == table.c.b)
    return _links(conn, sa.select(associations.c.memory_a, associations.c.memory_b, *_LINK).join(table, both))


def pasts_of(conn: sa.Connection, pairs: Iterable[Pair]) -> dict[Pair, Head]:
    """What purged turns had made of the links of these pairs, where they had any."""
    wanted = sorted(set(pairs))
    table = keyed(conn, a=[a for a, _ in wanted], b=[b for _, b in wanted])
    both = sa.and_(pasts.c.memory_a == table.c.a, pasts.c.memory_b == table.c.b)
    rows = conn.execute(sa.select(pasts.c.memory_a, pasts.c.memory_b, pasts.c.weight, pasts.c.at).join(table, both))
    return {(a, b): Head(weight, at) for a, b, weight, at in rows}


def links_unscheduled(conn: sa.Connection, scope_key: int, *, now: int) -> dict[Pair, Link]:
    """Association rows that no night has seen, with a weight of at or before `now`."""
    return _links(
        conn,
        sa.select(associations.c.memory_a, associations.c.memory_b, *_LINK).where(
            associations.c.scope_key == scope_key, UNSCHEDULED, associations.c.weight_at <= now
        ),
    )


def links_outside(conn: sa.Connection, scope_key: int, before: int, after: int, *, now: int) -> dict[Pair, Link]:
    """Association rows with a weight of before one instant or after another, at or before `now`."""
    return _links(
        conn,
        sa.select(associations.c.memory_a, associations.c.memory_b, *_LINK).where(
            associations.c.scope_key == scope_key,
            sa.or_(associations.c.weight_at < before, associations.c.weight_at > after),
            associations.c.weight_at <= now,
        ),
    )


def links_based_before(conn: sa.Connection, scope_key: int, before: int, *, now: int) -> dict[Pair, Link]:
    """Direct association rows that came with a weight of before an instant, now of at or before `now`."""
    return _links(
        conn,
        sa.select(associations.c.memory_a, associations.c.memory_b, *_LINK).where(
            associations.c.scope_key == scope_key,
            DIRECT,
            associations.c.base_at < before,
            associations.c.weight_at <= now,
        ),
    )


def direct_of(conn: sa.Connection, keys: Iterable[int]) -> dict[Pair, Link]:
    """Direct association rows of which one of these memories is an end."""
    ends = sorted(set(keys))
    found: dict[Pair, Link] = {}
    for column in (associations.c.memory_a, associations.c.memory_b):
        table = keyed(conn, key=ends)
        query = sa.select(associations.c.memory_a, associations.c.memory_b, *_LINK)
        found |= _links(conn, query.join(table, column == table.c.key).where(DIRECT))
    return found


def inferred_via(conn: sa.Connection, keys: Iterable[int]) -> dict[Pair, Link]:
    """Inferred links of which one of these memories is the middle."""
    return _inferred(conn, associations.c.via, keys)


def inferred_between(conn: sa.Connection, keys: Iterable[int]) -> dict[Pair, Link]:
    """Inferred links of which one of these memories is an end."""
    ends = sorted(set(keys))
    return _inferred(conn, associations.c.memory_a, ends) | _inferred(conn, associations.c.memory_b, ends)


def _inferred(conn: sa.Connection, column: sa.ColumnElement[int], keys: Iterable[int]) -> dict[Pair, Link]:
    table = keyed(conn, key=sorted(set(keys)))
    query = sa.select(associations.c.memory_a, associations.c.memory_b, *_LINK)
    return _links(conn, query.join(table, column == table.c.key).where(INFERRED))


def _links(conn: sa.Connection, query: sa.Select[Any]) -> dict[Pair, Link]:
    return {(row[0], row[1]): Link(*row[2:]) for row in conn.execute(query)}


def legs_of(
    conn: sa.Connection, legs: nx.Graph, middles: Iterable[int], *, age: float, least: float, changed: Container[Pair]
) -> None:
    """
    Add to `legs` every direct link of `middles` with a `weight` of at least `least` at an age of their clock.

    changed: links that this night changes, which are in `legs` already and not as their rows. Middles whose links
    are all there are marked `whole`. Reads what the key and the index of the other end hold, not each row.
    """
    asked = sorted({middle for middle in middles if not legs.nodes.get(middle, {}).get("whole")})
    table = keyed(conn, key=asked)
    legs.add_nodes_from(asked, whole=True)
    fades_from = float(fades_age(age, least, floor=DEAD))
    for column in (associations.c.memory_a, associations.c.memory_b):
        rows = conn.execute(
            sa.select(associations.c.memory_a, associations.c.memory_b, associations.c.fades_age)
            .join(table, column == table.c.key)
            .where(DIRECT, associations.c.fades_age >= fades_from)
        ).all()
        weights = value_at(age, [fades for _, _, fades in rows], floor=DEAD).tolist()
        found = ((a, b, weight) for (a, b, _), weight in zip(rows, weights, strict=True))
        legs.add_weighted_edges_from(leg for leg in found if leg[:2] not in changed)


def not_active(conn: sa.Connection, keys: Iterable[int]) -> set[int]:
    """Those of these memories that are not active."""
    table = keyed(conn, key=sorted(set(keys)))
    return set(
        conn.scalars(
            sa.select(memories.c.key).join(table, memories.c.key == table.c.key).where(memories.c.status != "active")
        )
    )


def count_dead(conn: sa.Connection, scope_key: int, age: float) -> int:
    """How many direct links have faded to nothing at an age of the association clock."""
    dead = sa.select(sa.func.count()).where(associations.c.scope_key == scope_key, associations.c.fades_age < age)
    return conn.scalar(dead.where(DIRECT)) or 0
