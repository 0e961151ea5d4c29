"""What a person is told when a database fails: one line that says what, where and what next, never a password."""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.engine import ExceptionContext

from consolidator.errors import ConsolidatorError, StoreUnreachable, StoreUnusable
from consolidator.store.urls import shown


def tell(engine: sa.Engine, url: sa.URL) -> None:
    """From now on, what an engine's driver raises reaches the caller as the one line for it, where there is one."""

    @event.listens_for(engine, "handle_error")
    def _tell(context: ExceptionContext) -> None:
        told = answer(context.original_exception, url, connecting=context.connection is None)
        if told is not None:
            raise told from context.original_exception


@contextmanager
def opening() -> Iterator[None]:
    """While a store is opened nothing has been done yet: whatever fails makes it unusable (exit code 2, not 1)."""
    try:
        yield
    except StoreUnusable:
        raise
    except ConsolidatorError as error:
        raise StoreUnreachable(str(error)) from error


@contextmanager
def answering(url: sa.URL) -> Iterator[None]:
    """Where a driver or the file system is used directly, what it raises becomes the one line for it."""
    try:
        yield
    except (sqlite3.Error, psycopg.Error) as error:
        told = answer(error, url)
        if told is None:
            raise
        raise told from error
    except OSError as error:
        raise StoreUnusable(f"{shown(url)}: {error.strerror} ({error.filename}); nothing was done") from error


def answer(error: BaseException, url: sa.URL, *, connecting: bool = False) -> ConsolidatorError | None:
    """
    The one line for what a driver raised; None where the failure is the program's and not the store's.

    StoreUnusable where what was asked was refused and nothing of it written; else the store failed on the way.
    """
    if isinstance(error, sqlite3.Error):
        return _answer_of_sqlite(error, shown(url))
    if isinstance(error, psycopg.Error):
        return _answer_of_postgres(error, url, connecting=connecting)
    return None


MOVED = "the file was moved, removed or replaced while in use, so nothing of this was written; put it back, run again"
_LOCKED = "locked by another process; try again when it is done"
_PERMISSIONS = "cannot be opened; check that it is there, and the permissions of the file and of its folder"
_SQLITE: tuple[tuple[str, type[ConsolidatorError], str], ...] = (
    ("SQLITE_BUSY", StoreUnusable, _LOCKED),
    ("SQLITE_LOCKED", StoreUnusable, _LOCKED),
    ("SQLITE_PROTOCOL", StoreUnusable, _LOCKED),
    ("SQLITE_FULL", StoreUnusable, "the disk is full, so nothing of this was written; free some space and run again"),
    ("SQLITE_IOERR_READ", ConsolidatorError, "could not be read (a failing disk?); restore it from a copy"),
    ("SQLITE_IOERR_SHORT_READ", ConsolidatorError, "could not be read (cut off?); restore it from a copy"),
    ("SQLITE_IOERR", StoreUnusable, "could not be written (a full disk, a limit on file sizes?), nothing of this was"),
    ("SQLITE_READONLY_DBMOVED", ConsolidatorError, MOVED),
    ("SQLITE_READONLY", StoreUnusable, "read-only; make the file and its folder writable for this user"),
    ("SQLITE_AUTH", StoreUnusable, "opened for reading only"),
    ("SQLITE_CANTOPEN", ConsolidatorError, _PERMISSIONS),
    ("SQLITE_PERM", ConsolidatorError, _PERMISSIONS),
    ("SQLITE_CORRUPT", ConsolidatorError, "damaged (its pages do not fit together); restore it from a copy"),
    ("SQLITE_NOTADB", ConsolidatorError, "not a SQLite database; check the path"),
)  # fmt: skip


def _answer_of_sqlite(error: sqlite3.Error, store: str) -> ConsolidatorError | None:
    name = getattr(error, "sqlite_errorname", None) or ""
    for prefix, kind, what in _SQLITE:
        if name.startswith(prefix):
            return kind(f"{store}: {what}")
    return None


_POSTGRES: tuple[tuple[tuple[str, ...], type[ConsolidatorError], str], ...] = (
    (("53100",), StoreUnusable, "the server's disk is full, so nothing of this was written; make room and run again"),
    (("53300",), ConsolidatorError, "the server has no connection left; try again later"),
    (("53",), ConsolidatorError, "the server is short of memory or other means; try again later"),
    (("25006",), StoreUnusable, "read-only; use the primary server, or another user"),
    (("42501",), StoreUnusable, "this user may not do that; grant it the rights"),
    (("28",), StoreUnusable, "the server refused the user or the password; check both"),
    (("3D000",), StoreUnusable, "there is no such database; make it with `createdb`"),
    (("3F000",), StoreUnusable, "the schema that the URL names is not there; make it with CREATE SCHEMA"),
    (("40001", "40P01", "55P03"), ConsolidatorError, "another program was writing the same rows; run again"),
    (("XX001", "XX002"), ConsolidatorError, "damaged; restore it from a backup"),
)
_CONNECTING = (
    ("password", "the server refused the user or the password; check both"),
    ("pg_hba.conf", "the server lets nobody in from here; see its pg_hba.conf"),
    ("the database system", "the server is starting or stopping; try again in a moment"),
    ('role "', "the server does not know this user; check it"),
    ('database "', "there is no such database, or it takes no connections; make it with `createdb`"),
    ("too many", "the server has no connection left; try again later"),
    (" resolve ", "there is no such host; check the address"),
    (" translate host name", "there is no such host; check the address"),
    ("invalid connection option", "one of the URL's options means nothing to Postgres; check them"),
    ("", "cannot be reached; check the address, and that the server runs"),
)


def _answer_of_postgres(error: psycopg.Error, url: sa.URL, *, connecting: bool) -> ConsolidatorError | None:
    state = error.sqlstate or ""
    text = _first_line(str(error), url)
    for states, kind, what in _POSTGRES:
        if state.startswith(states):
            return kind(f"{shown(url)}: {what} ({text})")
    if connecting:
        what = next(what for words, what in _CONNECTING if words in text)
        return ConsolidatorError(f"{shown(url)}: {what} ({text})")
    if state.startswith(("08", "57P")) or (not state and isinstance(error, psycopg.OperationalError)):
        return ConsolidatorError(f"{shown(url)}: the server went away; what was not committed is undone ({text})")
    return None


_PREAMBLE = re.compile(r"^(connection failed: )?(connection to server (at|on) .*? failed: )?(FATAL:\s+)?")


def _first_line(text: str, url: sa.URL) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    line = _PREAMBLE.sub("", lines[0]) if lines else "no reason given"
    return line.replace(str(url.password), "***") if url.password else line
