"""
What recall reads: the index of a scope, kept in this process and brought up to date by what is new, and the few
memories and links that are looked at closely, always fresh.

A recall writes nothing. What changed in a memory (archived, another strength) is seen at once where the memory is
looked at; which memories are worth a look is brought up to date when their number changes and after every night.
"""

from collections.abc import Sequence
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
from consolidator.store.tables import DIRECT, INFERRED, associations, identities, memories, runs
from consolidator.store.vectors import Pin, vectors_of

_ROWS_AT_ONCE = 5_000
_LACKING_AT_ONCE = 500
_RECALLS_BETWEEN_LOOKS = 256
_COUNTED_AT_ONCE = 10_000
_MINUTE = 60 * SECOND


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
        self.active: NDArray[np.bool_] = np.zeros(0, bool)
        self.created_at: NDArray[np.int64] = np.zeros(0, np.int64)
        self.types: list[str] = []
        self._highest = 0
        self._seen: tuple[Any, ...] | None = None
        self._recalls = 0
        self._from = 0
        self._clock: tuple[int, Rates, Clock] | None = None

    def clock(self, conn: sa.Connection, scope_key: int, *, now: int, rates: Rates) -> Clock:
        """The clock of the scope; one of the last minute will do, until a night has run."""
        if self._clock is None or not 0 <= now - self._clock[0] < _MINUTE or self._clock[1] != rates:
            self._clock = (now, rates, read_clock(conn, scope_key, now=now, rates=rates))
        return self._clock[2]

    def refresh(self, conn: sa.Connection, scope_key: int) -> None:
        """Take in what is new in the snapshot."""
        highest = conn.scalar(sa.select(sa.func.max(memories.c.key))) or 0
        if highest != self._highest:
            self._add(conn, scope_key, after=min(self._highest, highest))
            self._highest = highest
        last = conn.execute(
            sa.select(runs.c.key, runs.c.finished_at, runs.c.undone_at).order_by(runs.c.key.desc()).limit(1)
        ).one_or_none()
        seen = tuple(last) if last else ()
        self._recalls += 1
        if self._seen is not None and (seen != self._seen or self._is_behind(conn, scope_key)):
            self._look(conn, scope_key)
            self._clock = None
        self._seen = seen
        self._fetch_vectors(conn, scope_key)

    def _is_behind(self, conn: sa.Connection, scope_key: int) -> bool:
        """Whether others are active than are held as such; a large scope is not counted at every recall."""
        if self._recalls % _RECALLS_BETWEEN_LOOKS == 0:
            return True
        if self._recalls % (1 + len(self.index) // _COUNTED_AT_ONCE):
            return False
        of_scope = sa.and_(memories.c.scope_key == scope_key, memories.c.status == "active")
        active = conn.scalar(sa.select(sa.func.count()).select_from(memories).where(of_scope))
        return active != int(self.active.sum())

    def _add(self, conn: sa.Connection, scope_key: int, *, after: int) -> None:
        said_at = sa.func.coalesce(memories.c.observed_at, memories.c.created_at)
        of_scope = memories.c.scope_key == scope_key
        if after:  # few rows: read by key, not by an index over the scope
            of_scope = memories.c.scope_key + 0 == scope_key
        query = (
            sa.select(
                memories.c.key,
                memories.c.content,
                sa.type_coerce(said_at, sa.BigInteger),
                sa.type_coerce(memories.c.created_at, sa.BigInteger),
                memories.c.status,
                memories.c.type,
            )
            .where(of_scope, memories.c.key > after)
            .order_by(memories.c.key)
        )
        active, created, types = [self.active], [self.created_at], self.types
        with conn.execute(query.execution_options(stream_results=True)) as rows:
            for part in rows.partitions(_ROWS_AT_ONCE):
                new = [row for row in part if not self.index.holds(row[0])]
                if not new:
                    continue
                keys, contents, said, made, statuses, kinds = zip(*new, strict=True)
                self.index.add(keys, contents, said)
                active.append(np.array([status == "active" for status in statuses]))
                created.append(np.array(made, np.int64))
                types += kinds
        self.active, self.created_at = np.concatenate(active), np.concatenate(created)

    def _look(self, conn: sa.Connection, scope_key: int) -> None:
        """See which memories are active now, and those whose keys are older than what is held."""
        query = sa.select(memories.c.key).where(memories.c.scope_key == scope_key)
        if (conn.scalar(sa.select(sa.func.count()).select_from(query.subquery())) or 0) > len(self.index):
            self._add(conn, scope_key, after=0)
        keys = np.array(conn.scalars(query.where(memories.c.status == "active")).all(), np.int64)
        self.active = np.isin(self.index.keys, keys)

    def _fetch_vectors(self, conn: sa.Connection, scope_key: int) -> None:
        if self.pinned is None:
            return
        lacking = self.index.without_vector()
        if len(lacking) == len(self.index):
            self._from = 0
        elif len(lacking) > _LACKING_AT_ONCE:
            self._from = self._from if self._from < len(lacking) else 0
            start, self._from = self._from, self._from + _LACKING_AT_ONCE
            lacking = np.concatenate([lacking[start : start + _LACKING_AT_ONCE], lacking[-_LACKING_AT_ONCE:]])
        if len(lacking):
            self.index.add_vectors(*vectors_of(conn, scope_key, self.pinned, np.unique(lacking).tolist()))


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
