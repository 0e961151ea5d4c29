"""
What our store knows of other systems' stores: which record over there is which memory here, and how it was last seen.

A record *lives* while it is over there as far as we know: neither gone by another hand nor removed by a push.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

import sqlalchemy as sa

from consolidator.store.bulk import for_each, portions
from consolidator.store.engine import keyed
from consolidator.store.tables import UNWANTED, identities, memories, merge_sources, scopes, source_records, sources

NEW = ""  # in place of a fingerprint: a push under way makes the record
REMOVED = ""  # in place of an expected one: a push under way removes it
# In place of a revision, of what a push has told to be a copy of another record: it is put away, or stays as it is.
ASIDE, LEFT = -1, -2
_NAMES_AT_ONCE = 10_000
_ROWS_AT_ONCE = 20_000
_COLUMNS = ("memory_key", "fingerprint", "expected", "uses", "revision", "gone_at", "removed_at", "unwanted")


class Mapped(NamedTuple):
    """A record over there as our store knows it: the columns of `source_records`."""

    memory_key: int | None
    fingerprint: str
    expected: str | None = None
    uses: int = 0
    revision: int | None = None
    gone_at: int | None = None
    removed_at: int | None = None
    unwanted: bool = False

    @property
    def lives(self) -> bool:
        return self.gone_at is None and self.removed_at is None and self.fingerprint != NEW

    @property
    def is_copy(self) -> bool:
        return self.revision in (ASIDE, LEFT)


class Standing(NamedTuple):
    """How a memory stands here."""

    key: int
    scope_key: int
    status: str
    archived_because: str | None
    archived_at: int | None
    superseded_by: int | None
    revision: int
    pinned: bool


LIVES = sa.and_(
    source_records.c.gone_at.is_(None), source_records.c.removed_at.is_(None), source_records.c.fingerprint != NEW
)


def find_source(conn: sa.Connection, url: str) -> sa.Row[Any] | None:
    """What is known of a source; None: it was never pulled."""
    return conn.execute(sa.select(sources).where(sources.c.url == url)).one_or_none()


def add_source(conn: sa.Connection, url: str) -> int:
    """The key of a source, which is added where it is new."""
    found = find_source(conn, url)
    if found is not None:
        return int(found.key)
    return int(conn.scalars(sa.insert(sources).returning(sources.c.key), [{"url": url}]).one())


def read_map(conn: sa.Connection, source_key: int, ids: Collection[str] | None = None) -> dict[str, Mapped]:
    """The records of a source by their ids, all of them or these."""
    query = sa.select(source_records.c.id, *(source_records.c[name] for name in _COLUMNS))
    if ids is None:
        query = query.where(source_records.c.source_key == source_key)
    else:  # read by key: by the source alone, each of its records would be looked for among the ids
        asked = keyed(conn, {"id": sa.Text}, source_key=[source_key] * len(ids), id=sorted(ids))
        same = sa.and_(source_records.c.source_key == asked.c.source_key, source_records.c.id == asked.c.id)
        query = query.join(asked, same)
    return {row[0]: Mapped(*row[1:]) for row in conn.execute(query)}


def write_map(conn: sa.Connection, source_key: int, old: Mapping[str, Mapped], new: Mapping[str, Mapped]) -> None:
    """Make of the records `old` the records `new`: what differs is written."""
    row = sa.and_(source_records.c.source_key == source_key, source_records.c.id == sa.bindparam("theirs"))
    bound: dict[str, sa.ColumnElement[Any]] = {name: sa.bindparam(f"new_{name}") for name in _COLUMNS}
    names = [*(f"new_{name}" for name in _COLUMNS), "theirs"]
    gone = [(name,) for name in old.keys() - new.keys()]
    for_each(conn, sa.delete(source_records).where(row), ["theirs"], gone)
    changed = [(*new[name], name) for name in new.keys() & old.keys() if new[name] != old[name]]
    for_each(conn, sa.update(source_records).where(row).values(bound), names, changed)
    added = [(*values, name) for name, values in new.items() if name not in old]
    whole = {**bound, "id": sa.bindparam("theirs"), "source_key": sa.literal_column(str(int(source_key)))}
    for_each(conn, sa.insert(source_records).values(whole), names, added)


def names_of(conn: sa.Connection, named: Iterable[tuple[str, str]]) -> dict[tuple[str, str], int]:
    """The keys of memories by (scope, id), of those that are here."""
    by_scope: dict[str, set[str]] = {}
    for scope, name in named:
        by_scope.setdefault(scope, set()).add(name)
    found: dict[tuple[str, str], int] = {}
    for scope, names in by_scope.items():
        scope_key = conn.scalar(sa.select(scopes.c.key).where(scopes.c.scope == scope))
        for some in portions(sorted(names), _NAMES_AT_ONCE) if scope_key is not None else ():
            asked = keyed(conn, {"hash": sa.Text}, scope_key=[scope_key] * len(some), hash=some)
            same = sa.and_(identities.c.scope_key == asked.c.scope_key, identities.c.hash == asked.c.hash)
            query = sa.select(identities.c.hash, identities.c.key).join(asked, same)
            query = query.join(memories, memories.c.key == identities.c.key)
            found |= {(scope, name): key for name, key in conn.execute(query)}
    return found


def standings(conn: sa.Connection, keys: Iterable[int], *, hold: bool = False) -> dict[int, Standing]:
    """
    How these memories stand; what is known by name alone is left out.

    hold: nobody deletes one of them before the end of the transaction.
    """
    found: dict[int, Standing] = {}
    for some in portions(sorted({*keys}), _ROWS_AT_ONCE):
        asked = keyed(conn, key=some)
        query = sa.select(*(memories.c[name] for name in Standing._fields))
        query = query.join(asked, asked.c.key == memories.c.key).order_by(memories.c.key)
        if hold:
            query = query.with_for_update(read=True, key_share=True, of=memories)
        found |= {row[0]: Standing(*row) for row in conn.execute(query)}
    return found


def held_elsewhere(conn: sa.Connection, keys: Iterable[int], source_key: int) -> set[int]:
    """Those of these memories that a living record of another source holds."""
    asked = keyed(conn, key=sorted({*keys}))
    query = sa.select(source_records.c.memory_key).join(asked, asked.c.key == source_records.c.memory_key)
    return {*conn.scalars(query.where(source_records.c.source_key != source_key, LIVES))}


def holds_unwanted(conn: sa.Connection, source_key: int) -> bool:
    """Whether something that was forgotten here is, or was, in a source."""
    query = sa.exists().where(source_records.c.source_key == source_key, UNWANTED)
    return conn.scalar(sa.select(query)) is True


def note_told(conn: sa.Connection, source_key: int, told: Mapping[str, int]) -> None:
    """By record, the revision of its memory that it says."""
    this = sa.and_(source_records.c.source_key == source_key, source_records.c.id == sa.bindparam("theirs"))
    change = sa.update(source_records).where(this).values(revision=sa.bindparam("told"))
    for_each(conn, change, ["told", "theirs"], [(revision, name) for name, revision in told.items()])


class Counted(NamedTuple):
    """A source that was pulled: how many of its records live, are gone, and were removed by pushes."""

    url: str
    records: int
    gone: int
    removed: int
    pulled_at: int | None
    pushed_at: int | None


def counted_sources(conn: sa.Connection) -> list[Counted]:
    """Every source that this store knows, in order of their URLs."""
    here = source_records.c.source_key == sources.c.key
    numbers = [
        sa.select(sa.func.count()).select_from(source_records).where(here, condition).scalar_subquery()
        for condition in (LIVES, source_records.c.gone_at.is_not(None), source_records.c.removed_at.is_not(None))
    ]
    query = sa.select(sources.c.url, *numbers, sources.c.pulled_at, sources.c.pushed_at)
    query = query.where(sources.c.pulled_at.is_not(None))
    return sorted((Counted._make(row) for row in conn.execute(query)), key=lambda one: one.url)


def note_pulled(conn: sa.Connection, source_key: int, *, since: str | None, at: int) -> None:
    """A source was read whole, up to `since`."""
    conn.execute(sa.update(sources).where(sources.c.key == source_key).values(since=since, pulled_at=at))


def merges_of(conn: sa.Connection, keys: Iterable[int]) -> dict[int, set[int]]:
    """What was written from these memories, however many merges away: by memory, what it was written from."""
    found: dict[int, set[int]] = {}
    edge = {*keys}
    met: set[int] = set()
    while edge:
        met |= edge
        asked = keyed(conn, key=sorted(edge))
        query = sa.select(merge_sources.c.memory_key, merge_sources.c.source_key)
        edge = set()
        for memory, source in conn.execute(query.join(asked, asked.c.key == merge_sources.c.source_key)):
            found.setdefault(memory, set()).add(source)
            edge.add(memory)
        edge -= met
    return found
