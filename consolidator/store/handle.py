"""A store that is open: its transactions, and how it is closed."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import sqlalchemy as sa

from consolidator.errors import StoreUnusable
from consolidator.store import postgres, sqlite
from consolidator.store.urls import is_file, path_of, shown

BUSY_TIMEOUT_SECONDS = 10.0


@dataclass(frozen=True)
class Store:
    """
    An open store. Leaving it closes every connection; one that could write moves its log into the file.

    dialect: "sqlite" or "postgresql". store_id: the id kept inside the store; empty while it is being made.
    """

    engine: sa.Engine
    url: sa.URL
    writable: bool
    store_id: str = ""

    @property
    def dialect(self) -> str:
        return self.engine.dialect.name

    @contextmanager
    def read(self) -> Iterator[sa.Connection]:
        """One snapshot of the store; nothing can be written to it."""
        with self.engine.connect() as connection:
            transaction = connection.begin()
            try:
                if self.dialect == "postgresql":
                    connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
                yield connection
            finally:
                transaction.rollback()

    @contextmanager
    def write(self) -> Iterator[sa.Connection]:
        """One transaction: all of it at the end, nothing of it on an exception."""
        if not self.writable:
            raise StoreUnusable(f"{shown(self.url)}: opened for reading only")
        with self.engine.connect() as connection:
            if self.dialect == "sqlite":
                connection.execution_options(begin="BEGIN IMMEDIATE")
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


def reader(url: sa.URL, *, busy_timeout_seconds: float = BUSY_TIMEOUT_SECONDS) -> Store:
    """A store to look at, whatever it holds. StoreUnusable where its file is none."""
    if not is_file(url):
        return Store(postgres.engine(url), url, writable=False)
    path = path_of(url)
    if sqlite.size_of(path) is None:
        raise StoreUnusable(f"{path}: there is no store; check the path, or make one with `consolidate init`")
    return Store(sqlite.reading_engine(path, busy_timeout_seconds=busy_timeout_seconds), url, writable=False)


def writer(
    url: sa.URL,
    *,
    busy_timeout_seconds: float = BUSY_TIMEOUT_SECONDS,
    foreign_keys: bool = True,
) -> Store:
    """A store to change, whatever it holds: look before. StoreUnusable where this user may not write the file."""
    if not is_file(url):
        return Store(postgres.engine(url), url, writable=True)
    path = path_of(url)
    sqlite.insist_writable(path)
    engine = sqlite.writing_engine(path, busy_timeout_seconds=busy_timeout_seconds, foreign_keys=foreign_keys)
    return Store(engine, url, writable=True)
