"""
A store's vectors for pgvector, with an HNSW index: a copy of `embeddings`, made where the extension is there.

It is for large stores alone, and for processes that have not read their vectors into memory. Measured at 100,000: the
nearest 100 of the index take 14 ms and hold 0.90 of the true ones; in memory all are compared in 5 ms, but reading them
took 2 s and 150 MB before.

Nothing leans on it. It is no part of the schema, so a store is migrated, copied and restored without it; a vector that
is deleted, for whatever reason, is deleted in it (a foreign key); new ones are copied whenever memories are embedded.
"""

import struct
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from consolidator.errors import ConsolidatorError
from consolidator.store.engine import Store
from consolidator.store.tables import embeddings, memories
from consolidator.store.vectors import Pin, pin_of, vector_parts

FROM_ROWS = 50_000  # below it, reading all vectors takes no longer than a person notices
TRIED, MOST_TRIED = 400, 1_000  # hnsw.ef_search: how many are compared on the way, and the most that pgvector allows
_COPIED_AT_ONCE = 5_000
_TABLE = sa.table(
    "memory_vectors",
    sa.column("memory_key", sa.BigInteger),
    sa.column("scope_key", sa.BigInteger),
    sa.column("model", sa.Text),
    sa.column("vector"),
)
_MAKE = """
CREATE TABLE memory_vectors (
    memory_key bigint PRIMARY KEY,
    scope_key bigint NOT NULL,
    model text NOT NULL,
    vector vector({dimension}) NOT NULL,
    FOREIGN KEY (memory_key, model) REFERENCES embeddings (memory_key, model) ON DELETE CASCADE
)
"""
_INDEX = "CREATE INDEX IF NOT EXISTS ix_memory_vectors_nearest ON memory_vectors USING hnsw (vector vector_ip_ops)"


def is_kept(conn: sa.Connection, pinned: Pin) -> bool:
    """Whether the store has them, of the model and dimension that it is pinned to."""
    return conn.dialect.name == "postgresql" and _described(conn) == _name(pinned)


def described(conn: sa.Connection) -> str:
    """What a doctor says of them, on Postgres."""
    found = _described(conn)
    if found:
        return f"keeps about {rows_kept(conn)} vectors {found}"
    there = conn.scalar(sa.text("SELECT 1 FROM pg_available_extensions WHERE name = 'vector'"))
    return (
        f"unused; `consolidate embed` uses it from {FROM_ROWS} vectors on" if there else "not installed, and not needed"
    )


def rows_kept(conn: sa.Connection) -> int:
    """About how many there are."""
    return int(conn.scalar(sa.text("SELECT reltuples FROM pg_class WHERE oid = to_regclass('memory_vectors')")) or 0)


def keep_up(store: Store, *, make: bool) -> bool:
    """
    Copy what is new; make: also where there are none yet. Returns whether the store has them now.

    Not where the store is small, where the extension is not installed, or where this user may not create it. In
    transactions of its own, and without error: recall does without.
    """
    with suppress(sa.exc.DBAPIError, ConsolidatorError):
        return _kept_up(store, make=make)
    return False


def _kept_up(store: Store, *, make: bool) -> bool:
    if store.dialect != "postgresql" or not store.writable:
        return False
    with store.read() as conn:
        pinned = pin_of(conn)
        if pinned is None:
            return False
        kept = is_kept(conn, pinned)
        some = sa.select(embeddings.c.memory_key).where(embeddings.c.model == pinned.model)
        count = sa.select(sa.func.count()).select_from(some.limit(FROM_ROWS).subquery())
        if not kept and (not make or (conn.scalar(count) or 0) < FROM_ROWS):
            return False
    if not kept and not (_has_extension(store) and _make(store, pinned)):
        return False
    _copy(store, pinned)
    with store.write() as conn:
        conn.exec_driver_sql("SET LOCAL maintenance_work_mem = '256MB'")
        conn.exec_driver_sql(_INDEX)
        if not kept:
            conn.exec_driver_sql("ANALYZE memory_vectors")
    return True


def nearest(
    conn: sa.Connection,
    scope_key: int,
    query: NDArray[np.float32],
    *,
    conditions: Sequence[sa.ColumnElement[bool]] = (),
    limit: int,
    tried: int = TRIED,
) -> list[int]:
    """
    The keys of about the nearest memories of a scope that meet conditions, the nearest first.

    The index is read on until so many meet them. tried: more find more of the true ones, and take longer.
    """
    conn.exec_driver_sql("SET LOCAL hnsw.iterative_scan = strict_order")
    conn.exec_driver_sql(f"SET LOCAL hnsw.ef_search = {min(max(tried, limit), MOST_TRIED)}")
    conn.exec_driver_sql("SET LOCAL enable_seqscan = off")
    asked = sa.bindparam(None, "[" + ",".join(f"{number:.7g}" for number in query.tolist()) + "]", type_=sa.Text)
    found = (
        sa.select(_TABLE.c.memory_key)
        .join(memories, memories.c.key == _TABLE.c.memory_key)
        .where(_TABLE.c.scope_key == scope_key, *conditions)
        .order_by(_TABLE.c.vector.op("<#>")(sa.cast(asked, _Vector())))
        .limit(limit)
    )
    keys = list(conn.scalars(found))
    conn.exec_driver_sql("SET LOCAL enable_seqscan = on")
    return keys


def newest_kept(conn: sa.Connection) -> int:
    """The highest key that they hold; 0 where they are none."""
    return conn.scalar(sa.select(sa.func.max(_TABLE.c.memory_key))) or 0


class _Vector(sa.types.UserDefinedType[Any]):
    cache_ok = True

    def get_col_spec(self, **_: Any) -> str:
        return "vector"


def _described(conn: sa.Connection) -> str | None:
    found = conn.scalar(sa.text("SELECT obj_description(to_regclass('memory_vectors'), 'pg_class')"))
    return None if found is None else str(found)


def _name(pinned: Pin) -> str:
    return f"of {pinned.dimension} numbers by {pinned.model}"


def _has_extension(store: Store) -> bool:
    with store.read() as conn:
        if conn.scalar(sa.text("SELECT 1 FROM pg_extension WHERE extname = 'vector'")):
            return True
        if not conn.scalar(sa.text("SELECT 1 FROM pg_available_extensions WHERE name = 'vector'")):
            return False
    with suppress(sa.exc.DBAPIError, ConsolidatorError), store.write() as conn:
        conn.exec_driver_sql("CREATE EXTENSION IF NOT EXISTS vector")
        return True
    return False


def _make(store: Store, pinned: Pin) -> bool:
    """Whether the table could be made: not by a user who may make none, nor for more numbers than HNSW takes."""
    with suppress(sa.exc.DBAPIError, ConsolidatorError), store.write() as conn:
        conn.exec_driver_sql("DROP TABLE IF EXISTS memory_vectors")
        conn.exec_driver_sql(_MAKE.format(dimension=pinned.dimension))
        conn.exec_driver_sql(_INDEX)  # refused here where it cannot be; an empty one is made anew when filled
        conn.exec_driver_sql("DROP INDEX ix_memory_vectors_nearest")
        comment = _name(pinned).replace("'", "''").replace("%", "%%")
        conn.exec_driver_sql(f"COMMENT ON TABLE memory_vectors IS '{comment}'")
        return True
    return False


def _copy(store: Store, pinned: Pin) -> None:
    """Copy the vectors that it lacks, some thousand in a transaction."""
    last = 0
    while True:
        with store.write() as conn:
            of_model = (embeddings.c.model == pinned.model, embeddings.c.dimension == pinned.dimension)
            held = sa.exists().where(_TABLE.c.memory_key == embeddings.c.memory_key)
            lacking = (
                sa.select(embeddings.c.memory_key, memories.c.scope_key)
                .join(memories, memories.c.key == embeddings.c.memory_key)
                .where(*of_model, ~held, embeddings.c.memory_key > last)
                .order_by(embeddings.c.memory_key)
                .limit(_COPIED_AT_ONCE)
                .with_for_update(read=True, key_share=True, of=embeddings)
            )
            scope_of = dict(conn.execute(lacking).all())
            if not scope_of:
                return
            last = max(scope_of)
            for scope_key in set(scope_of.values()):
                keys = [key for key, of in scope_of.items() if of == scope_key]
                for found, vectors in vector_parts(conn, scope_key, pinned, keys):
                    _write(conn, scope_key, pinned.model.encode(), found, vectors)


def _write(
    conn: sa.Connection, scope_key: int, model: bytes, keys: NDArray[np.int64], vectors: NDArray[np.float32]
) -> None:
    """In the binary format of COPY: a vector is its dimension, two bytes of nothing, and its numbers, big-endian."""
    driver: Any = conn.connection.driver_connection
    size = vectors.shape[1]
    with driver.cursor() as cursor, cursor.copy("COPY memory_vectors FROM STDIN (FORMAT BINARY)") as copy:
        copy.write(b"PGCOPY\n\xff\r\n\0" + struct.pack("!ii", 0, 0))
        for key, vector in zip(keys.tolist(), vectors.astype(">f4"), strict=True):
            head = struct.pack(f"!hiqiqi{len(model)}s", 4, 8, key, 8, scope_key, len(model), model)
            copy.write(head + struct.pack("!ihh", 4 + 4 * size, size, 0) + vector.tobytes())
        copy.write(struct.pack("!h", -1))
