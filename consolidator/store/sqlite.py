"""
SQLite files as stores: how one may be opened, and what a connection to it may do.

A reader changes neither the main file nor the contents of `-wal`, whether the store is closed, has a live writer
or was left by a crash: it cannot write (an authorizer denies it) and it never moves a log into the file.
Never open a store's file other than through SQLite: closing it would drop the locks of this process on it.
"""

import itertools
import os
import shutil
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.pool import QueuePool

from consolidator.errors import ConsolidatorError, StoreUnusable
from consolidator.store.answers import MOVED, tell

CACHE_KIBIBYTES = 32_768


def size_of(path: Path) -> int | None:
    """The size of a regular file in bytes; None where there is none. StoreUnusable where it is something else."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    except NotADirectoryError:
        raise StoreUnusable(f"{path}: its folder is a file; check the path") from None
    except (OSError, ValueError) as error:
        what = error.strerror if isinstance(error, OSError) else str(error)
        raise StoreUnusable(f"{path}: cannot be looked at ({what}); check the path and its permissions") from None
    if stat.S_ISDIR(found.st_mode):
        raise StoreUnusable(f"{path}: a folder, not a store; name a file in it")
    if not stat.S_ISREG(found.st_mode):
        raise StoreUnusable(f"{path}: not a regular file; name another")
    return found.st_size


def insist_writable(path: Path) -> None:
    """Nothing, where this user may write the file and beside it. StoreUnusable elsewhere."""
    if path.exists() and not os.access(path, os.W_OK):
        raise StoreUnusable(f"{path}: read-only; make the file writable for this user")
    if not os.access(path.parent, os.W_OK):
        raise StoreUnusable(
            f"{path}: its folder is read-only, and the log is kept there; make it writable for this user"
        )


def make_file(path: Path) -> bool:
    """Whether this process made the file, empty; False where it is there already."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    except FileExistsError:
        return False
    return True


def remove_files(path: Path) -> None:
    """Remove a file and what SQLite keeps beside it."""
    for file in (path, _wal_of(path), path.with_name(f"{path.name}-shm")):
        file.unlink(missing_ok=True)


def copy_aside(path: Path, label: str) -> Path:
    """
    A copy of a store as it was last committed, `-wal` included, in a new file beside it. Returns its path.

    It appears under its name whole or not at all, has the store's permissions, and replaces nothing.
    """
    partial = path.with_name(f"{path.name}.{label}.partial")
    partial.unlink(missing_ok=True)
    os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    try:
        copy_pages(path, partial)
        shutil.copystat(path, partial)
        if hasattr(os, "chown"):
            with suppress(PermissionError):
                os.chown(partial, path.stat().st_uid, path.stat().st_gid)
        name = _new_file(path, label)
        os.replace(partial, name)  # over the empty file just made, so that nobody else's is replaced
        return name
    finally:
        partial.unlink(missing_ok=True)


def copy_pages(path: Path, copy: Path) -> None:
    """
    Write a store as it was last committed, `-wal` included, into an empty file.

    It is read in one transaction, which keeps nobody from writing meanwhile and need not begin anew for that.
    """
    with closing(_connect(path, "mode=ro", 10)) as source, closing(_connect(copy, "mode=rw", 0)) as target:
        source.backup(target)


def _new_file(path: Path, label: str) -> Path:
    for number in itertools.count(1):
        name = path.with_name(f"{path.stem}.{label}{f'-{number}' if number > 1 else ''}{path.suffix}")
        with suppress(FileExistsError):
            os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            return name
    raise AssertionError("numbers do not end")


def writing_engine(path: Path, *, busy_timeout_seconds: float, foreign_keys: bool = True) -> sa.Engine:
    """Connections that write: WAL, every commit on the disk, foreign keys kept (a migration must do without)."""

    def connect() -> sqlite3.Connection:
        connection = _connect(path, "mode=rw", busy_timeout_seconds)
        if connection.execute("PRAGMA journal_mode = WAL").fetchone() != ("wal",):
            connection.close()
            raise StoreUnusable(f"{path}: its disk cannot keep a write-ahead log (a network drive?); use a local one")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(f"PRAGMA foreign_keys = {'ON' if foreign_keys else 'OFF'}")
        connection.execute("PRAGMA recursive_triggers = ON")  # so that REPLACE tells the search index
        connection.execute("PRAGMA secure_delete = ON")  # so that what is forgotten is overwritten
        return connection

    engine = _engine(path, connect)
    files: set[tuple[int, int]] = set()  # of all connections; more than one, or another in its place: it was replaced

    @event.listens_for(engine, "connect")
    def _note(_connection: sqlite3.Connection, _record: object) -> None:
        files.add(_file_at(path))

    @event.listens_for(engine, "commit")
    def _insist_unmoved(_connection: sa.Connection) -> None:
        if files != {_file_at(path)}:
            raise ConsolidatorError(f"{path}: {MOVED}")

    return engine


def _file_at(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError:
        return 0, 0
    return found.st_dev, found.st_ino


def reading_engine(path: Path, *, busy_timeout_seconds: float) -> sa.Engine:
    """Connections that read and leave the main file and the contents of `-wal` as they are."""

    def connect() -> sqlite3.Connection:
        connection = _connect(path, _reading_mode(path), busy_timeout_seconds)
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.set_authorizer(_allow_reading)
        return connection

    return _engine(path, connect)


def close_writer(engine: sa.Engine) -> None:
    """Move the log into the file and close. Where a reader is in the way, the log stays: nothing is lost."""
    with suppress(sqlite3.Error, sa.exc.DBAPIError, StoreUnusable):
        connection = engine.raw_connection()
        try:
            cursor = connection.cursor()
            cursor.execute("PRAGMA busy_timeout = 0")
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            cursor.close()
        finally:
            connection.close()
    engine.dispose()


def close_reader(path: Path, engine: sa.Engine) -> None:
    """
    Close without moving a log into the file, also where we are the last and a writer died while we read.

    A connection that cannot write is the last to go: only one that can tidies up.
    """
    last = None
    with suppress(sqlite3.Error, StoreUnusable):
        if size_of(_wal_of(path)):
            last = _connect(path, "mode=ro", 0)
            last.execute("SELECT count(*) FROM sqlite_master").fetchone()
    engine.dispose()
    if last is not None:
        last.close()


def _wal_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def _reading_mode(path: Path) -> str:
    if size_of(_wal_of(path)):
        return "mode=ro"
    writable = os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)
    if writable:
        return "mode=rw"  # a reader needs `-wal` and `-shm`, and may only then make them; empty, they say nothing
    if path.with_name(f"{path.name}-shm").exists():
        return "mode=ro"
    return "mode=ro&immutable=1"


def _connect(path: Path, mode: str, busy_timeout_seconds: float) -> sqlite3.Connection:
    return sqlite3.connect(
        f"file:{quote(str(path))}?{mode}",
        uri=True,
        isolation_level=None,  # transactions begin where the engine says, so that DDL and savepoints roll back
        timeout=busy_timeout_seconds,
        check_same_thread=False,
    )


def _engine(path: Path, connect: Callable[[], sqlite3.Connection]) -> sa.Engine:
    url = sa.URL.create("sqlite", database=str(path))
    # The connection that was used last is the next: what it has read is in its cache.
    engine = sa.create_engine(
        url, creator=connect, poolclass=QueuePool, pool_size=2, max_overflow=2, pool_use_lifo=True
    )
    tell(engine, url)

    @event.listens_for(engine, "connect")
    def _tune(connection: sqlite3.Connection, _record: object) -> None:
        connection.execute(f"PRAGMA cache_size = -{CACHE_KIBIBYTES}")

    @event.listens_for(engine, "checkout")
    def _as_made(connection: sqlite3.Connection, _record: object, _proxy: object) -> None:
        connection.isolation_level = None  # SQLAlchemy changes it after AUTOCOMMIT was asked for

    @event.listens_for(engine, "begin")
    def _begin(connection: sa.Connection) -> None:
        options = connection.get_execution_options()
        if options.get("isolation_level") != "AUTOCOMMIT":
            connection.exec_driver_sql(options.get("begin", "BEGIN"))

    return engine


_ALLOWED = frozenset({
    sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE,
    sqlite3.SQLITE_TRANSACTION, sqlite3.SQLITE_SAVEPOINT,
    sqlite3.SQLITE_CREATE_TEMP_TABLE, sqlite3.SQLITE_DROP_TEMP_TABLE,
    sqlite3.SQLITE_CREATE_TEMP_INDEX, sqlite3.SQLITE_DROP_TEMP_INDEX,
})  # fmt: skip
_WRITING = frozenset({
    sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE, sqlite3.SQLITE_REINDEX,
})  # fmt: skip
_ASKING = frozenset({
    "application_id", "busy_timeout", "cache_size", "compile_options", "data_version", "database_list", "encoding",
    "foreign_key_check", "foreign_key_list", "foreign_keys", "freelist_count", "index_info", "index_list",
    "index_xinfo", "integrity_check", "journal_mode", "page_count", "page_size", "quick_check", "read_uncommitted",
    "schema_version", "table_info", "table_list", "table_xinfo", "user_version",
})  # fmt: skip
_ASKING_ABOUT = frozenset({
    "busy_timeout", "cache_size", "foreign_key_check", "foreign_key_list", "index_info", "index_list", "index_xinfo",
    "integrity_check", "quick_check", "read_uncommitted", "table_info", "table_list", "table_xinfo",
})  # fmt: skip


def _allow_reading(action: int, first: str | None, second: str | None, database: str | None, _by: str | None) -> int:
    if action in _ALLOWED or (action in _WRITING and database == "temp"):
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_UPDATE and first == "sqlite_master":
        return sqlite3.SQLITE_OK  # asked, and not done, where the search index is declared; DDL is denied by name
    if action == sqlite3.SQLITE_UPDATE and first == "sqlite_master":
        return sqlite3.SQLITE_OK  # asked for each virtual table that is opened; the schema itself stays shut
    if action == sqlite3.SQLITE_PRAGMA and (first or "").lower() in (_ASKING if second is None else _ASKING_ABOUT):
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY
