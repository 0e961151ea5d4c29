"""The memories for which conditions hold."""

from collections.abc import Iterator, Sequence
from typing import Any

import sqlalchemy as sa

from consolidator.conditions import Conditions
from consolidator.laws.pace import AGED_BY, Ageing
from consolidator.laws.strength import strength_at
from consolidator.store.find import Found, Scope
from consolidator.store.readers import ROWS_AT_ONCE, Clocks
from consolidator.store.tables import identities, memories

_COLUMNS = ("key", "content", "status", "topics", "strength", "strength_at", *AGED_BY)


def matching(
    conn: sa.Connection, scopes: Sequence[Scope], conditions: Conditions, clocks: Clocks, *, now: int
) -> list[Found]:
    """The memories of these scopes for which all holds, the oldest first. Strengths are those at `now`."""
    return [found for scope in scopes for found in _of_scope(conn, scope, conditions, clocks, now=now)]


def _of_scope(
    conn: sa.Connection, scope: Scope, conditions: Conditions, clocks: Clocks, *, now: int
) -> Iterator[Found]:
    columns = [memories.c[name] for name in _COLUMNS]
    query = (
        sa.select(identities.c.hash, *columns)
        .join(identities, identities.c.key == memories.c.key)
        .where(memories.c.scope_key == scope.key, *_told_to_the_store(conditions))
        .order_by(memories.c.created_at, memories.c.key)
    )
    for rows in conn.execute(query).partitions(ROWS_AT_ONCE):
        since = [row.strength_at for row in rows]
        strengths = strength_at(clocks.of(scope.key), [row.strength for row in rows], since, now, Ageing.of(rows))
        for row, strength in zip(rows, strengths, strict=True):
            if _holds(row, float(strength), conditions):
                yield Found(row.key, row.hash, scope, row.content, row.status)


def _told_to_the_store(conditions: Conditions) -> Iterator[sa.ColumnElement[bool]]:
    """What a database can judge by a column; the rest is judged here."""
    for name, words in conditions.words:
        if name != "topic":
            yield memories.c[name].in_(sorted(words))
    if conditions.before is not None:
        yield memories.c.created_at < conditions.before
    if conditions.since is not None:
        yield memories.c.created_at >= conditions.since
    if conditions.pinned is not None:
        yield memories.c.pinned.is_(conditions.pinned)
    for name, bound in conditions.above:
        if name == "importance":
            yield memories.c.importance > bound
    for name, bound in conditions.below:
        if name == "importance":
            yield memories.c.importance < bound


def _holds(row: sa.Row[Any], strength: float, conditions: Conditions) -> bool:
    content = row.content.casefold() if conditions.text else ""
    return (
        all(words & {*(row.topics or ())} for name, words in conditions.words if name == "topic")
        and all(part in content for part in conditions.text)
        and all(strength > bound for name, bound in conditions.above if name == "strength")
        and all(strength < bound for name, bound in conditions.below if name == "strength")
    )
