"""Rows of a store in an order that does not depend on the store."""

from collections.abc import Iterator, Sequence
from typing import Any

import sqlalchemy as sa

from consolidator.laws.clock import ASSOCIATION, Clock
from consolidator.laws.fading import DEAD
from consolidator.laws.strength import strength_at
from consolidator.store.tables import associations, identities, scopes

BATCH = 2000


def scopes_of(conn: sa.Connection, chosen: Sequence[str] | None) -> list[sa.Row[Any, Any, Any]]:
    """Key, canonical text and time zone of these scopes, or of all."""
    rows = conn.execute(sa.select(scopes.c.key, scopes.c.scope, scopes.c.time_zone))
    return sorted((row for row in rows if chosen is None or row.scope in chosen), key=lambda row: row.scope)


def stream(conn: sa.Connection, query: sa.Select[Any]) -> Iterator[Sequence[sa.Row[Any]]]:
    """The rows of a query, a batch in memory at a time."""
    with conn.execute(query, execution_options={"yield_per": BATCH}) as result:
        yield from result.partitions()


def plain(conn: sa.Connection, column: sa.ColumnElement[str]) -> sa.ColumnElement[str]:
    """A text to order by, character by character, on every store alike."""
    return sa.collate(column, "C") if conn.dialect.name == "postgresql" else column


def living(
    conn: sa.Connection, query: sa.Select[Any], clock: Clock, as_of: int, *, least: float = DEAD
) -> Iterator[tuple[sa.Row[Any], float]]:
    """Links, each with its weight at a moment; those of less than `least` by then are left out."""
    for rows in stream(conn, query):
        weights = strength_at(clock, [row.weight for row in rows], [row.weight_at for row in rows], as_of, ASSOCIATION)
        for row, weight in zip(rows, weights.tolist(), strict=True):
            if weight >= least:
                yield row, weight


def links_of(conn: sa.Connection, scope_key: int) -> sa.Select[Any]:
    """The links of a scope by the ids of their ends, the lower first."""
    one, other = identities.alias("one"), identities.alias("other")
    via = identities.alias("via")
    straight = one.c.hash < other.c.hash
    a = sa.case((straight, one.c.hash), else_=other.c.hash)
    b = sa.case((straight, other.c.hash), else_=one.c.hash)
    return (
        sa.select(
            a.label("memory_a"),
            b.label("memory_b"),
            associations.c.weight,
            associations.c.weight_at,
            associations.c.inferred,
            via.c.hash.label("via"),
        )
        .join(one, one.c.key == associations.c.memory_a)
        .join(other, other.c.key == associations.c.memory_b)
        .outerjoin(via, via.c.key == associations.c.via)
        .where(associations.c.scope_key == scope_key)
        .order_by(plain(conn, a), plain(conn, b))
    )
