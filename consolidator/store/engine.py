"""
Opening a store, and its transactions.

Whatever is wrong with a store is one line for a person (`StoreUnusable`), found before anything is changed.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Literal, Self

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from consolidator.errors import ConsolidatorError, StoreUnusable
from consolidator.store import postgres, schema, sqlite
from consolidator.store.urls import parse_url, path_of, shown

BUSY_TIMEOUT_SECONDS = 10.0

Mode = Literal["read", "write", "create"]


@dataclass(frozen=True)
class Store:
    """An open store. Leaving it closes every connection; one that could write moves its log into the file."""

    engine: sa.Engine
    url: sa.URL
    dialect: str
    store_id: str
    writable: bool

    @contextmanager
    def read(self) -> Iterator[sa.Connection]:
        """One snapshot of the store; nothing can be written to it."""
        with self.engine.connect() as connection:
            if self.dialect == "postgresql":
                connection = connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
            with connection.begin() as transaction:
                try:
                    yield connection
                finally:
                    if transaction.is_active:
                        transaction.rollback()

    @contextmanager
    def write(self) -> Iterator[sa.Connection]:
        """One transaction: all of it at the end, nothing of it on an exception."""
        if not self.writable:
            raise StoreUnusable(f"{shown(self.url)}: opened for reading only")
        with self.engine.connect() as connection:
            if self.dialect == "sqlite":
                connection = connection.execution_options(begin="BEGIN IMMEDIATE")
            with connection.begin():
                yield connection

    def close(self) -> None:
        """Close every connection."""
        if self.dialect != "sqlite":
            self.engine.dispose()
        elif self.writable:
            sqlite.close_writer(self.engine)
        else:
            sqlite.close_reader(path_of(self.url), self.engine)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def open_store(url: str, *, mode: Mode, busy_timeout_seconds: float = BUSY_TIMEOUT_SECONDS) -> Store:
    """
    Open the store that a URL names. StoreUnusable says in one line why it cannot be, before anything is changed.

    read: creates and changes nothing. write: of a store that is there. create: makes a SQLite file, never its
    folder, or the tables in an empty Postgres database; a store that is there is opened as it is.
    busy_timeout_seconds: how long to wait for another process that holds a SQLite file.
    """
    named = parse_url(url)
    try:
        if named.get_backend_name() == "sqlite":
            return _open_file(named, mode, busy_timeout_seconds)
        return _open_server(named, mode)
    except StoreUnusable:
        raise
    except ConsolidatorError as error:
        raise StoreUnusable(str(error)) from error


def _open_file(url: sa.URL, mode: Mode, busy_timeout_seconds: float) -> Store:
    path = path_of(url)
    size = sqlite.size_of(path)
    if mode == "create" and not size:
        return _create_file(url, busy_timeout_seconds)
    if size is None:
        raise StoreUnusable(f"{path}: there is no store; make one with `consolidate init`, or check the path")
    reading = sqlite.reading_engine(path, busy_timeout_seconds=busy_timeout_seconds)
    try:
        with reading.connect() as connection:
            found = schema.look(connection)
            if mode == "create" and not found.tables:
                return _create_file(url, busy_timeout_seconds)
            store_id = schema.insist(found, url).store_id or ""
    except BaseException:
        sqlite.close_reader(path, reading)
        raise
    if mode == "read":
        return Store(reading, url, "sqlite", store_id, writable=False)
    sqlite.close_reader(path, reading)
    sqlite.insist_writable(path)
    engine = sqlite.writing_engine(path, busy_timeout_seconds=busy_timeout_seconds, create=False)
    return _ready(Store(engine, url, "sqlite", store_id, writable=True))


def _create_file(url: sa.URL, busy_timeout_seconds: float) -> Store:
    path = path_of(url)
    is_new = sqlite.size_of(path) is None
    if not path.parent.is_dir():
        raise StoreUnusable(f"{path}: its folder is not there; make it first")
    sqlite.insist_writable(path)
    engine = sqlite.writing_engine(path, busy_timeout_seconds=busy_timeout_seconds, create=True)
    store = Store(engine, url, "sqlite", "", writable=True)
    try:
        with store.write() as connection:
            store_id = _found_or_make(connection, url)
    except BaseException:
        store.close()
        if is_new:
            sqlite.remove_unfinished(path)
        raise
    return replace(store, store_id=store_id)


def _open_server(url: sa.URL, mode: Mode) -> Store:
    store = Store(postgres.engine(url), url, "postgresql", "", writable=mode != "read")
    try:
        if mode == "create":
            with store.write() as connection:
                postgres.wait_for_founding(connection)
                store_id = _found_or_make(connection, url)
        else:
            with store.read() as connection:
                store_id = schema.insist(schema.look(connection), url).store_id or ""
    except BaseException:
        store.close()
        raise
    return replace(store, store_id=store_id)


def _found_or_make(connection: sa.Connection, url: sa.URL) -> str:
    found = schema.look(connection)
    if not found.tables:
        return schema.make(connection)
    return schema.insist(found, url).store_id or ""


def _ready(store: Store) -> Store:
    """The same store, once it has let us in."""
    try:
        with store.read() as connection:
            schema.look(connection)
    except BaseException:
        store.close()
        raise
    return store


def keyed(
    connection: sa.Connection,
    types: Mapping[str, type[sa.types.TypeEngine[Any]]] | None = None,
    /,
    **columns: Sequence[Any],
) -> sa.Subquery:
    """
    The rows of some columns of equal length, as a table to join: one bind and one statement for any number.

    Whole numbers, or what `types` says of a column (BigInteger, Text: what survives the way through JSON). A join
    finds its rows by key: `select(t).join(k, t.c.key == k.c.key)`.
    """
    chosen = {name: (types or {}).get(name, sa.BigInteger)() for name in columns}
    rows = list(zip(*columns.values(), strict=True))
    if connection.dialect.name == "postgresql":
        arrays = [
            sa.bindparam(None, [row[index] for row in rows], type_=postgresql.ARRAY(kind))
            for index, kind in enumerate(chosen.values())
        ]
        unnested = sa.func.unnest(*arrays).table_valued(*(sa.column(n, kind) for n, kind in chosen.items()))
        return sa.select(*unnested.render_derived().c).subquery()
    each = sa.func.json_each(sa.bindparam(None, json.dumps(rows, default=int), type_=sa.Text())).table_valued("value")
    return sa.select(
        *(
            sa.type_coerce(sa.func.json_extract(each.c.value, sa.literal_column(f"'$[{index}]'")), kind).label(name)
            for index, (name, kind) in enumerate(chosen.items())
        )
    ).subquery()
