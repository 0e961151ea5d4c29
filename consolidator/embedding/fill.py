"""
Embedding what lacks a vector, and all anew.

In batches: read, think, write, each by itself, so that no transaction is open while a model thinks, others go on
reading and writing, and a kill costs one batch. What is written is complete after every batch.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import sqlalchemy as sa

from consolidator.embedding.choose import spell
from consolidator.embedding.port import Embedder, EmbedderFailed
from consolidator.merging.secrets import find_secrets
from consolidator.store import vectors as stored
from consolidator.store.engine import Store
from consolidator.store.nearest import keep_up
from consolidator.store.vectors import Lacking, Pin, Which
from consolidator.terms import ANY_TERMS, Stop

AT_ONCE = 256

Advance = Callable[[int], object]


class Filled(NamedTuple):
    """
    embedded: memories whose vectors were written; unread: those of them that the model cannot read, kept with a vector
    of zeros so that they are not tried every night. held_back: those with a secret in them, which goes to no other
    machine; they are kept with zeros too. gone: memories that were forgotten meanwhile. deleted: vectors of the model
    before. why: what ended it early, in one line; else empty.
    """

    embedded: int = 0
    unread: int = 0
    held_back: int = 0
    gone: int = 0
    deleted: int = 0
    why: str = ""

    def and_then(self, other: "Filled") -> "Filled":
        """Both."""
        return Filled(
            self.embedded + other.embedded,
            self.unread + other.unread,
            self.held_back + other.held_back,
            self.gone + other.gone,
            self.deleted + other.deleted,
            self.why or other.why,
        )


def embed_missing(
    store: Store,
    scope_key: int | None,
    embedder: Embedder,
    *,
    which: Which = "active",
    dimension: int | None = None,
    advance: Advance | None = None,
    stop: Stop = ANY_TERMS.stop,
) -> Filled:
    """
    Embed the memories of a scope, None: of all, that lack a vector of the embedder's model. Pins the store to it.

    A failing embedder ends it, and so does `stop`; what was written until then stays. which, dimension: see
    `store.vectors.lacking`.
    """

    def read(conn: sa.Connection, after: int) -> Sequence[Lacking]:
        return stored.lacking(
            conn,
            embedder.model,
            limit=AT_ONCE,
            scope_key=scope_key,
            which=which,
            after=after,
            dimension=dimension,
        )

    def insist(conn: sa.Connection, of_batch: Pin, _last: int) -> None:
        pinned = stored.pin(conn, of_batch)
        if pinned.model != of_batch.model:
            raise EmbedderFailed(f"the store was pinned to {spell(pinned.model)} meanwhile; run again")
        if pinned != of_batch:
            model = spell(pinned.model)
            raise EmbedderFailed(
                f"{model} gives vectors of {of_batch.dimension} numbers now, the store's have {pinned.dimension}; "
                f"to embed all anew: consolidate embed --all --model {model}"
            )

    done = _fill(store, embedder, read, insist, after=0, advance=advance, stop=stop)
    keep_up(store, make=scope_key is None)
    return done


def embed_all(store: Store, embedder: Embedder, *, advance: Advance | None = None) -> Filled:
    """
    Embed every memory with this model, and pin the store to it once all have its vectors; those of the one before go.

    Killed or failed on the way, the next time goes on from there.
    """
    deleted = delete_left(store)
    with store.read() as conn:
        pinned = stored.pin_of(conn)
    done = Filled(deleted=deleted)
    if pinned is None or pinned.model == embedder.model:
        done = done.and_then(_embed_again(store, embedder, advance))
    more = Filled(embedded=1)
    while more.embedded and not done.why:  # until nothing has come in meanwhile
        more = _embed_lacking(store, embedder, advance)
        done = done.and_then(more)
    if done.why:
        return done
    with store.write() as conn:
        dimension = embedder.dimension or stored.usual_dimension(conn, embedder.model)
        stored.pin_anew(conn, None if dimension is None else Pin(embedder.model, dimension))
        stored.keep_place(conn, embedder.model, None)
    done = done.and_then(Filled(deleted=delete_left(store)))
    keep_up(store, make=True)
    return done


def delete_left(store: Store) -> int:
    """Delete what is left of the vectors of the model before; how many."""
    deleted = 0
    while True:
        with store.write() as conn:
            some = stored.delete_left(conn)
        if not some:
            return deleted
        deleted += some


def _embed_again(store: Store, embedder: Embedder, advance: Advance | None) -> Filled:
    """Every memory, with a vector of this model or without, from the place that was kept."""
    with store.read() as conn:
        after = stored.place_of(conn, embedder.model)

    def read(conn: sa.Connection, key: int) -> Sequence[Lacking]:
        return stored.following(conn, key, limit=AT_ONCE)

    def keep(conn: sa.Connection, of_batch: Pin, last: int) -> None:
        stored.pin(conn, of_batch)
        stored.keep_place(conn, embedder.model, last)

    return _fill(store, embedder, read, keep, after=after, advance=advance)


def _embed_lacking(store: Store, embedder: Embedder, advance: Advance | None) -> Filled:
    """What no vector of this model is there for, whatever the store is pinned to."""

    def read(conn: sa.Connection, after: int) -> Sequence[Lacking]:
        return stored.lacking(
            conn, embedder.model, limit=AT_ONCE, which="all", after=after, dimension=embedder.dimension
        )

    return _fill(store, embedder, read, lambda *_: None, after=0, advance=advance)


def _fill(
    store: Store,
    embedder: Embedder,
    read: Callable[[sa.Connection, int], Sequence[Lacking]],
    settle: Callable[[sa.Connection, Pin, int], object],
    *,
    after: int,
    advance: Advance | None,
    stop: Stop = ANY_TERMS.stop,
) -> Filled:
    """
    Batch by batch until `read` gives no more after the last key.

    settle: is told of each batch that is about to be written, in its transaction: its model and dimension, its last
    key.
    """
    done = Filled()
    while True:
        with store.read() as conn:
            batch = read(conn, after)
        if not batch or stop():
            return done
        after = batch[-1].key
        secret = np.array([not embedder.local and bool(find_secrets(memory.content)) for memory in batch], np.bool_)
        try:
            sent = embedder.passages([batch[place].content for place in np.flatnonzero(~secret).tolist()])
            written = gone = 0
            if embedder.dimension:
                vectors = np.zeros((len(batch), embedder.dimension), np.float32)
                vectors[~secret] = sent
                with store.write() as conn:
                    settle(conn, Pin(embedder.model, embedder.dimension), after)
                    keys = [memory.key for memory in batch]
                    written = stored.write_vectors(conn, embedder.model, keys, vectors)
                gone = len(batch) - written
        except EmbedderFailed as failed:
            return done._replace(why=str(failed))
        unread = int((~sent.any(axis=1)).sum())
        done = done.and_then(Filled(written, unread, int(secret.sum()), gone))
        if advance is not None:
            advance(len(batch))
