"""Whether anything was written to a store between two snapshots, asked in one statement."""

from itertools import count
from typing import Any

import sqlalchemy as sa

_connections = count(1)
_NUMBER = "consolidator.stamps.number"
_SNAPSHOT = sa.text("SELECT pg_current_snapshot()::text")
_DATA_VERSION = sa.text("PRAGMA data_version")


def stamp(conn: sa.Connection) -> tuple[int, Any]:
    """
    A number, and a stamp: two snapshots with the same of both show the same rows; none that differ is missed.

    SQLite counts for each connection what others have committed, and what it has written itself; so the number is that
    of the connection. On Postgres the stamp says which transactions a snapshot sees, whoever asks; it changes with
    every write of the server, in other databases too.
    """
    if conn.dialect.name == "postgresql":
        return 0, conn.scalar(_SNAPSHOT)
    if _NUMBER not in conn.info:
        conn.info[_NUMBER] = next(_connections)
    written: Any = conn.connection.dbapi_connection
    return conn.info[_NUMBER], (conn.scalar(_DATA_VERSION), written.total_changes)
