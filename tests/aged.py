"""A memory is told to be of another importance or type, from outside of the night."""

from typing import Any

import sqlalchemy as sa

from consolidator.store.importance import age_otherwise
from consolidator.store.tables import memories


def set_importance(conn: sa.Connection, key: int, importance: float | None) -> bool:
    """A memory's importance is this from now on. Whether it was another."""
    return _set(conn, key, memories.c.importance, importance)


def set_type(conn: sa.Connection, key: int, kind: str) -> bool:
    """A memory's type is this from now on. Whether it was another."""
    return _set(conn, key, memories.c.type, kind)


def _set(conn: sa.Connection, key: int, column: sa.Column[Any], value: Any) -> bool:
    other = sa.and_(memories.c.key == key, column.is_distinct_from(value))
    changed = {column.name: value, "revision": memories.c.revision + 1}
    if not conn.execute(sa.update(memories).where(other).values(changed)).rowcount:
        return False
    age_otherwise(conn, [key])
    return True
