"""
What recall reads: the index of a scope, kept in this process and brought up to date by what is new, and the few
memories and links that are looked at closely, always fresh.

A recall writes nothing. What is given is always read anew, so nothing archived, forgotten or changed is given as it
was. Which memories are worth a look is brought up to date when anything was written to the store (`Shelf.refresh`).
"""

from collections.abc import Collection, Sequence
from threading import Lock
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from consolidator.instants import SECOND
from consolidator.laws.clock import ASSOCIATION, Clock, Rates
from consolidator.laws.strength import strength_at
from consolidator.recall.index import Index
from consolidator.recall.spreading import Link
from consolidator.store.clocks import read_clock
from consolidator.store.engine import Store, keyed
from consolidator.store.stamps import stamp
from consolidator.store.tables import DIRECT, INFERRED, associations, identities, memories, runs
from consolidator.store.vectors import Pin, vector_parts

_ROWS_AT_ONCE = 5_000
_LACKING_AT_ONCE = 500
_LOOKED_THROUGH_AT_ONCE = 10_000
_CONNECTIONS = 8
_MINUTE = 60 * SECOND
_HIGHEST = sa.select(sa.func.max(memories.c.key))
_LAST_RUN = sa.select(runs.c.key, runs.c.finished_at, runs.c.undone_at).order_by(runs.c.key.desc()).limit(1)


class Row(NamedTuple):
    """A memory as it is stored."""

    key: int
    id: str
    content: str
    type: str
    status: str
    created_at: int
    observed_at: int | None
    strength: float
    strength_at: int
    consolidated: bool
    importance: float | None
    temporal_state: str
    temporal_anchor: str | None
    temporal_end: str | None
    recurrence: str | None
    recurrence_start: str | None


class Shelf:
    """The index of one scope with what its rows were when last looked at. `lock` is held while it is used."""

    def __init__(self, pinned: Pin | None) -> None:
        self.lock = Lock()
        self.pinned = pinned
        self.index = Index(pinned.dimension if pinned else 0)
        self.there: NDArray[np.bool_] = np.zeros(0, bool)
        self.active: NDArray[np.bool_] = np.zeros(0, bool)
        self.created_at: NDArray[np.int64] = np.zeros(0, np.int64)
        self._types: dict[str, int] = {}
        self._type_of: NDArray[np.int32] = np.zeros(0, np.int32)
        self.asked = 0  # questions that were answered without it
        self._highest = 0
        self._seen: dict[int, Any] = {}  # by connection: what it had read when this was last brought up to date
        self._run: tuple[Any, ...] | None = None
        self._behind = False
        self._recalls = 0
        self._from: int | None = None
        self._clock: tuple[int, Rates, Clock] | None = None

    def clock(self, conn: sa.Connection, scope_key: int, *, now: int, rates: Rates) -> Clock:
        """The clock of the scope; one of the last minute will do, until a night has run."""
        if self._clock is None or not 0 <= now - self._clock[0] < _MINUTE or self._clock[1] != rates:
            self._clock = (now, rates, read_clock(conn, scope_key, now=now, rates=rates))
        return self._clock[2]

    def of_types(self, wanted: Collection[str]) -> NDArray[np.bool_]:
        """bool[n]: the rows of these types."""
        return np.isin(self._type_of, [self._types[kind] for kind in wanted if kind in self._types])

    def refresh(self, conn: sa.Connection, scope_key: int) -> None:
        """
        Take in what has changed up to the snapshot.

        Where nothing was written to the store since the last recall, that is one question. Else what is new is taken
        in, with its vectors, and which memories are there and active is looked up. A scope of more than 10,000 into
        which somebody writes all the time is not looked through at every recall: what came back, or what another
        process took in under an older key, may then be seen up to a recall later for every 10,000 memories.
        """
        self._recalls += 1
        connection, seen = stamp(conn)
        if self._seen.get(connection) != seen:
            self._behind, self._from = True, 0
            first = self._run is None
            run = tuple(conn.execute(_LAST_RUN).one_or_none() or ())
            if self._run != run:
                self._recalls, self._clock, self._run = len(self.index), None, run
            highest = conn.scalar(_HIGHEST) or 0
            if highest > self._highest:
                self._add(conn, scope_key, after=self._highest)
                self._highest = highest
            if first:
                self._behind, self._recalls = False, 0
            self._seen = {**self._seen, connection: seen} if len(self._seen) < _CONNECTIONS else {connection: seen}
        if self._behind and self._recalls > len(self.index) // _LOOKED_THROUGH_AT_ONCE:
            self._look(conn, scope_key)
            self._behind, self._recalls = False, 0
        if self._from is not None:
            self._fetch_lacking(conn, scope_key)

    def take(self, conn: sa.Connection, scope_key: int, keys: Sequence[int]) -> None:
        """Take in these memories alone."""
        self._add(conn, scope_key, keys=keys)

    def _add(self, conn: sa.Connection, scope_key: int, *, after: int = 0, keys: Sequence[int] | None = None) -> None:
        query = sa.select(
            memories.c.key,
            memories.c.content,
            said_at(),
            sa.type_coerce(memories.c.created_at, sa.BigInteger),
            memories.c.status,
            memories.c.type,
        )
        if keys is not None:
            asked = keyed(conn, key=keys)
            query = query.join(asked, asked.c.key == memories.c.key).where(memories.c.scope_key + 0 == scope_key)
        elif after:  # few rows: read by key, not by an index over the scope
            query = query.where(memories.c.scope_key + 0 == scope_key, memories.c.key > after)
        else:
            query = query.where(memories.c.scope_key == scope_key)
        whole = not len(self.index)
        added: list[int] = []
        with conn.execute(query.order_by(memories.c.key).execution_options(stream_results=True)) as rows:
            for part in rows.partitions(_ROWS_AT_ONCE):
                new = [row for row in part if not self.index.holds(row[0])]
                if not new:
                    continue
                some, contents, said, made, statuses, kinds = zip(*new, strict=True)
                self.index.add(some, contents, said)
                types = [self._types.setdefault(kind, len(self._types)) for kind in kinds]
                self.there = np.concatenate([self.there, np.ones(len(new), bool)])
                self.active = np.concatenate([self.active, [status == "active" for status in statuses]])
                self.created_at = np.concatenate([self.created_at, np.array(made, np.int64)])
                self._type_of = np.concatenate([self._type_of, np.array(types, np.int32)])
                added += some
        self.index.settle()
        if self.pinned is not None and added:
            for found, vectors in vector_parts(conn, scope_key, self.pinned, None if whole and keys is None else added):
                self.index.add_vectors(found, vectors)

    def _look(self, conn: sa.Connection, scope_key: int) -> None:
        """See which memories are there and which of them are active, and take in those that are not held."""
        of_scope = memories.c.scope_key == scope_key
        count, total = conn.execute(
            sa.select(sa.func.count(), sa.type_coerce(sa.func.sum(memories.c.key), sa.BigInteger)).where(of_scope)
        ).one()
        held = self.index.keys
        if (count, int(total or 0)) != (int(self.there.sum()), int(held[self.there].sum())):
            keys = _keys(conn, of_scope)
            missing = np.setdiff1d(keys, held)
            if len(missing):
                self._add(conn, scope_key, keys=missing.tolist())
            self.there = np.isin(self.index.keys, keys)
        self.active = np.isin(self.index.keys, _keys(conn, of_scope, memories.c.status == "active"))

    def _fetch_lacking(self, conn: sa.Connection, scope_key: int) -> None:
        """Look for the vectors of memories that had none, some at each recall until all were looked for."""
        lacking = self.index.without_vector()
        start, self._from = self._from or 0, None
        if self.pinned is None or not len(lacking):
            return
        if len(lacking) == len(self.index):
            parts = vector_parts(conn, scope_key, self.pinned)
        else:
            if start + _LACKING_AT_ONCE < len(lacking):
                self._from = start + _LACKING_AT_ONCE
            parts = vector_parts(conn, scope_key, self.pinned, lacking[start : start + _LACKING_AT_ONCE].tolist())
        for found, vectors in parts:
            self.index.add_vectors(found, vectors)


_shelves: "WeakKeyDictionary[Store, dict[int, Shelf]]" = WeakKeyDictionary()
_shelving = Lock()


def shelf_of(store: Store, scope_key: int, pinned: Pin | None) -> Shelf:
    """The shelf of a scope, kept as long as the store is; a new one where the store was pinned to another model."""
    with _shelving:
        shelves = _shelves.setdefault(store, {})
        found = shelves.get(scope_key)
        if found is None or found.pinned != pinned:
            found = shelves[scope_key] = Shelf(pinned)
        return found


def said_at() -> sa.ColumnElement[int]:
    """When a memory was observed, else created."""
    return sa.type_coerce(sa.func.coalesce(memories.c.observed_at, memories.c.created_at), sa.BigInteger)


def _keys(conn: sa.Connection, *conditions: sa.ColumnElement[bool]) -> NDArray[np.int64]:
    """The keys of memories, in no order: as one value, which takes a tenth of the time of as many rows."""
    if conn.dialect.name == "postgresql":
        packed = sa.func.string_agg(sa.func.int8send(memories.c.key), sa.text("''"))
        found = conn.scalar(sa.select(sa.type_coerce(packed, sa.LargeBinary)).where(*conditions))
        return np.frombuffer(found or b"", ">i8").astype(np.int64)
    text = conn.scalar(sa.select(sa.func.group_concat(memories.c.key, type_=sa.Text)).where(*conditions))
    return np.fromstring(text, np.int64, sep=",") if text else np.zeros(0, np.int64)


def said_in(conn: sa.Connection, scope_key: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The keys of a scope's memories, in ascending order, and when each was said; a hundred thousand as one value."""
    both = sa.func.string_agg(sa.func.int8send(memories.c.key).op("||")(sa.func.int8send(said_at())), sa.text("''"))
    packed = conn.scalar(sa.select(sa.type_coerce(both, sa.LargeBinary)).where(memories.c.scope_key == scope_key))
    found = np.frombuffer(packed or b"", ">i8").astype(np.int64).reshape(-1, 2)
    found = found[np.argsort(found[:, 0])]
    return found[:, 0].copy(), found[:, 1].copy()


def rows_of(conn: sa.Connection, keys: Sequence[int]) -> dict[int, Row]:
    """Memories as they are now, by their keys; one that is forgotten is missing."""
    wanted = keyed(conn, key=keys)
    columns = [identities.c.hash if name == "id" else memories.c[name] for name in Row._fields]
    query = (
        sa.select(*columns)
        .select_from(wanted)
        .join(memories, memories.c.key == wanted.c.key)
        .join(identities, identities.c.key == memories.c.key)
    )
    return {row[0]: Row(*row) for row in conn.execute(query)}


def links_from(conn: sa.Connection, seeds: Sequence[int], clock: Clock, *, now: int) -> list[Link]:
    """The links of some memories, direct and inferred, as heavy as they are now."""
    if not seeds:
        return []
    wanted = keyed(conn, key=seeds)
    ends = (associations.c.memory_a, associations.c.memory_b)
    queries = [
        sa.select(here, there, associations.c.weight, sa.type_coerce(associations.c.weight_at, sa.BigInteger))
        .select_from(wanted)
        .join(associations, here == wanted.c.key)
        .where(part)
        for here, there in (ends, ends[::-1])
        for part in (DIRECT, INFERRED)
    ]
    found = conn.execute(sa.union_all(*queries)).all()
    if not found:
        return []
    here_keys, there_keys, weights, since = zip(*found, strict=True)
    now_weights = strength_at(clock, weights, since, now, ASSOCIATION)
    return [Link(*link) for link in zip(here_keys, there_keys, now_weights.tolist(), strict=True)]
