"""
The vectors of memories, and the model that a store is pinned to.

Every vector is kept with its model and dimension. Only those of one model and dimension are ever read together, so
that none is compared with another model's. The first embedding pins a store to its model (`pin`).
"""

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray
from sqlalchemy.dialects import postgresql, sqlite

from consolidator.store.engine import keyed
from consolidator.store.tables import embeddings, memories, meta

LONGEST_TEXT = 100_000  # characters of a memory that are read to embed it: no model reads further
DELETED_AT_ONCE = 20_000
_READ_AT_ONCE = 4_096
_MODEL, _DIMENSION, _LEFT, _PLACE = (
    "embedding_model", "embedding_dimension", "embedding_model_left", "embedding_place",
)  # fmt: skip

_PIN = sa.select(meta.c.name, meta.c.value).where(meta.c.name.in_((_MODEL, _DIMENSION)))

Which = Literal["active", "others", "all"]


class Pin(NamedTuple):
    """The model of a store's vectors, and how many numbers each has."""

    model: str
    dimension: int


class Lacking(NamedTuple):
    """A memory without a vector, and the text to embed."""

    key: int
    content: str


def pin_of(conn: sa.Connection) -> Pin | None:
    """What the store is pinned to; None before its first embedding."""
    noted = {row.name: row.value for row in conn.execute(_PIN)}
    model, dimension = noted.get(_MODEL), noted.get(_DIMENSION)
    return None if model is None or dimension is None else Pin(model, int(dimension))


def pin(conn: sa.Connection, wanted: Pin) -> Pin:
    """Pin a store that is not pinned yet, in the caller's transaction. Returns what it is pinned to."""
    pinned = pin_of(conn)
    if pinned is not None:
        return pinned
    for name, value in ((_MODEL, wanted.model), (_DIMENSION, str(wanted.dimension))):
        conn.execute(_insert(conn, meta).values(name=name, value=value).on_conflict_do_nothing())
    return pin_of(conn) or wanted


def pin_anew(conn: sa.Connection, wanted: Pin | None) -> None:
    """
    Pin a store to another model, or to none, in the caller's transaction.

    `delete_left` deletes the vectors of the model before.
    """
    before = pin_of(conn)
    conn.execute(sa.delete(meta).where(meta.c.name.in_((_MODEL, _DIMENSION))))
    if wanted is not None:
        pin(conn, wanted)
    if before is not None and (wanted is None or wanted.model != before.model):
        _note(conn, _LEFT, before.model)


def usual_dimension(conn: sa.Connection, model: str) -> int | None:
    """The dimension that most vectors of a model have; None where there are none."""
    of_model = sa.select(embeddings.c.dimension).where(embeddings.c.model == model).group_by(embeddings.c.dimension)
    return conn.scalar(of_model.order_by(sa.func.count().desc(), embeddings.c.dimension).limit(1))


def usual_pin(conn: sa.Connection, model: str) -> Pin | None:
    """
    By which the vectors of a model can be read: the pin, or while there is none the dimension that most of them have
    (they were imported). None where the store is pinned to another model, or has no vector of this one.
    """
    pinned = pin_of(conn)
    if pinned is not None:
        return pinned if pinned.model == model else None
    dimension = usual_dimension(conn, model)
    return None if dimension is None else Pin(model, dimension)


def vectors_of(
    conn: sa.Connection, scope_key: int, pinned: Pin, keys: Sequence[int] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """
    The vectors of a scope's active memories, or of these memories whatever their status, in order of their keys.

    keys: int64[n]; vectors: float32[n, dimension], each of length 1. Memories that the model cannot read, whose vector
    is zeros, are left out. 100,000 of 384 numbers take about a second, and little more memory than they fill.
    """
    found: list[NDArray[np.int64]] = []
    buffer = bytearray()
    for some, vectors in vector_parts(conn, scope_key, pinned, keys, only_active=keys is None):
        found.append(some)
        buffer += vectors.tobytes()
    vectors = np.frombuffer(buffer, "<f4").reshape(-1, pinned.dimension)
    in_order = np.concatenate(found) if found else np.zeros(0, np.int64)
    if (in_order[1:] < in_order[:-1]).any():  # sorted here: a server would sort the vectors on its disk
        order = np.argsort(in_order)
        in_order, vectors = in_order[order], vectors[order]
    return in_order, vectors


def vector_parts(
    conn: sa.Connection, scope_key: int, pinned: Pin, keys: Sequence[int] | None = None, *, only_active: bool = False
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float32]]]:
    """The same of all of a scope's memories or of these, whatever their status, some thousand at a time, unordered."""
    query = (
        sa.select(memories.c.key, sa.type_coerce(embeddings.c.vector, sa.types.NullType()))
        .join(embeddings, embeddings.c.memory_key == memories.c.key)
        .where(embeddings.c.model == pinned.model, embeddings.c.dimension == pinned.dimension)
    )
    if keys is None:
        query = query.where(memories.c.scope_key == scope_key)
    else:  # read by key: by an index over the scope, each memory of it would be looked for among the keys
        asked = keyed(conn, key=keys)
        query = query.join(asked, asked.c.key == memories.c.key).where(memories.c.scope_key + 0 == scope_key)
    if only_active:
        query = query.where(memories.c.status == "active")
    with conn.execute(query.execution_options(stream_results=True)) as rows:
        for part in rows.partitions(_READ_AT_ONCE):
            some, blobs = zip(*part, strict=True)
            vectors = np.frombuffer(bytearray().join(blobs), "<f4").reshape(-1, pinned.dimension)
            yield _of_length_one(np.array(some, np.int64), vectors)


def _of_length_one(
    keys: NDArray[np.int64], vectors: NDArray[np.float32]
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
    some = lengths > 0
    if not some.all():
        keys, vectors, lengths = keys[some], vectors[some], lengths[some]
    off = np.flatnonzero(np.abs(lengths - 1) > 1e-4)
    vectors[off] /= lengths[off, None].astype(np.float32)
    return keys, vectors


def lacking(
    conn: sa.Connection,
    model: str,
    *,
    limit: int,
    scope_key: int | None = None,
    which: Which = "active",
    after: int = 0,
    dimension: int | None = None,
) -> list[Lacking]:
    """
    Memories without a vector of a model, in order of their keys; those with keys up to `after` are not looked at.

    which: active ones, those of every other status, or all. scope_key None: of all scopes. dimension: vectors of
    another one count as none; without it they are not looked at, which is ten times as fast.
    """
    query = sa.select(memories.c.key, sa.func.substr(memories.c.content, 1, LONGEST_TEXT))
    query = query.where(_lacks(model, which, scope_key, dimension), memories.c.key > after)
    return [Lacking(*row) for row in conn.execute(query.order_by(memories.c.key).limit(limit))]


def count_lacking(
    conn: sa.Connection,
    model: str,
    *,
    scope_key: int | None = None,
    which: Which = "active",
    dimension: int | None = None,
) -> int:
    """How many memories `lacking` would give without a limit."""
    query = sa.select(sa.func.count()).select_from(memories)
    return conn.scalar(query.where(_lacks(model, which, scope_key, dimension))) or 0


def count_memories(conn: sa.Connection, *, after: int = 0) -> int:
    """How many memories the store holds after a key, whatever their status."""
    return conn.scalar(sa.select(sa.func.count()).select_from(memories).where(memories.c.key > after)) or 0


def following(conn: sa.Connection, key: int, *, limit: int) -> list[Lacking]:
    """The memories after a key, in order of their keys, whether or not they have a vector."""
    query = sa.select(memories.c.key, sa.func.substr(memories.c.content, 1, LONGEST_TEXT))
    query = query.where(memories.c.key > key).order_by(memories.c.key).limit(limit)
    return [Lacking(*row) for row in conn.execute(query)]


def place_of(conn: sa.Connection, model: str) -> int:
    """The key up to which memories were embedded anew with a model, where that is under way; else 0."""
    of, _, key = (_noted(conn, _PLACE) or "").rpartition(" ")
    return int(key) if of == model else 0


def keep_place(conn: sa.Connection, model: str, key: int | None) -> None:
    """Keep that key, in the caller's transaction; None: all are embedded anew."""
    if key is None:
        conn.execute(sa.delete(meta).where(meta.c.name == _PLACE))
    else:
        _note(conn, _PLACE, f"{model} {key}")


def write_vectors(conn: sa.Connection, model: str, keys: Sequence[int], vectors: NDArray[np.float32]) -> int:
    """
    Write the vectors of memories, over those of the same model, in the caller's transaction. Returns how many.

    A memory that is gone by now is left out. keys: in ascending order, so that two who write wait for each other and
    never both; vectors: float32[n, d].
    """
    asked = keyed(conn, key=keys)
    query = sa.select(memories.c.key).join(asked, asked.c.key == memories.c.key).order_by(memories.c.key)
    here = set(conn.scalars(query.with_for_update(read=True, key_share=True, of=memories)))
    blobs = np.ascontiguousarray(vectors, "<f4")
    rows = [
        {"memory_key": key, "model": model, "dimension": blobs.shape[1], "vector": blob.tobytes()}
        for key, blob in zip(keys, blobs, strict=True)
        if key in here
    ]
    if rows:
        insert = _insert(conn, embeddings)
        new = {name: insert.excluded[name] for name in ("dimension", "vector")}
        conn.execute(insert.on_conflict_do_update(index_elements=["memory_key", "model"], set_=new), rows)
    return len(rows)


def delete_left(conn: sa.Connection) -> int:
    """
    Delete vectors of the model that the store was pinned to before, at most 20,000, in the caller's transaction.

    Returns how many; 0 where there are none any more.
    """
    model = _noted(conn, _LEFT)
    if model is None:
        return 0
    oldest = sa.select(embeddings.c.memory_key).where(embeddings.c.model == model).order_by(embeddings.c.memory_key)
    last = conn.scalar(sa.select(sa.func.max(oldest.limit(DELETED_AT_ONCE).subquery().c.memory_key)))
    if last is None:
        conn.execute(sa.delete(meta).where(meta.c.name == _LEFT))
        return 0
    return conn.execute(
        sa.delete(embeddings).where(embeddings.c.model == model, embeddings.c.memory_key <= last)
    ).rowcount


def _lacks(model: str, which: Which, scope_key: int | None, dimension: int | None) -> sa.ColumnElement[bool]:
    same = [embeddings.c.memory_key == memories.c.key, embeddings.c.model == model]
    if dimension is not None:
        same.append(embeddings.c.dimension == dimension)
    conditions = [~sa.exists().where(*same)]
    if which != "all":
        conditions.append(memories.c.status == "active" if which == "active" else memories.c.status != "active")
    if scope_key is not None:
        conditions.append(memories.c.scope_key == scope_key)
    return sa.and_(*conditions)


def _noted(conn: sa.Connection, name: str) -> str | None:
    return conn.scalar(sa.select(meta.c.value).where(meta.c.name == name))


def _note(conn: sa.Connection, name: str, value: str) -> None:
    insert = _insert(conn, meta).values(name=name, value=value)
    conn.execute(insert.on_conflict_do_update(index_elements=["name"], set_={"value": value}))


def _insert(conn: sa.Connection, table: sa.Table) -> "postgresql.Insert | sqlite.Insert":
    return postgresql.insert(table) if conn.dialect.name == "postgresql" else sqlite.insert(table)
