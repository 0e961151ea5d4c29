"""
The file of formative-memory, `associations.db`: where it is, what it says of itself, and how it is read and written.

A reader leaves its main file and its log as they are. A writer takes the lock of its agent's own kind, for as long as
one portion of a push takes, and changes neither its journal nor its schema.
"""

import os
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa

from consolidator.disk import sync
from consolidator.errors import BadInput, ConsolidatorError
from consolidator.instants import parse_instant
from consolidator.store import sqlite

SCHEMA = "5"
FILE_NAME = "associations.db"
USUAL_PLACE = f"~/.openclaw/memory/associative/{FILE_NAME}"
BUSY_TIMEOUT_SECONDS = 10.0
TABLES = {
    "memories": "id type content temporal_state temporal_anchor created_at strength source consolidated",
    "associations": "memory_a memory_b weight created_at last_updated_at",
    "memory_embeddings": "id embedding",
    "memory_fts": "id content type",
    "turn_memory_exposure": "session_id turn_id memory_id mode score retrieval_mode created_at",
    "message_memory_attribution": (
        "message_id memory_id evidence confidence turn_id created_at updated_at reinforcement_applied"
    ),
    "memory_aliases": "old_id new_id reason created_at",
}


def file_at(place: str | Path) -> Path:
    """The file that a place names: itself, one in that folder, or the usual one."""
    path = Path(place or USUAL_PLACE).expanduser()
    return path / FILE_NAME if os.path.isdir(path) else path


@dataclass(frozen=True, slots=True)
class State:
    """What its table of settings says. consolidated_at: when its strengths were last true. model: of its vectors."""

    consolidated_at: int | None
    model: str | None
    provider: str | None

    @property
    def pin(self) -> str | None:
        """The model of its vectors as we spell it, `openai:text-embedding-3-small`; None: it has none yet."""
        return f"{self.provider}:{self.model}" if self.provider and self.model else self.model


def state_of(conn: sqlite3.Connection, path: Path) -> State:
    """BadInput where it is another system's, or of another schema than this program knows."""
    found: dict[str, str | None] = dict(conn.execute("SELECT key, value FROM state").fetchall())
    version = found.get("schema_version")
    if version is None:
        raise BadInput(f"{path}: not a formative-memory store (it names no schema); name its {FILE_NAME}")
    if version != SCHEMA:
        raise BadInput(
            f"{path}: a formative-memory store of schema {version}, and this program reads schema {SCHEMA}; "
            "upgrade the older of the two"
        )
    _insist_on_tables(conn, path)
    consolidated = found.get("last_consolidation_at")
    try:
        consolidated_at = instant_of(consolidated) if consolidated else None
    except ValueError as error:
        raise BadInput(f"{path}: state: last_consolidation_at: {error}") from None
    return State(consolidated_at, found.get("embedding_model"), found.get("embedding_provider_id"))


def _insist_on_tables(conn: sqlite3.Connection, path: Path) -> None:
    """All that is read or written is there: what is found to be missing half way is found too late."""
    for table, columns in TABLES.items():
        there = {name for (name,) in conn.execute("SELECT name FROM pragma_table_info(?)", (table,))}
        lacking = [column for column in columns.split() if column not in there]
        if lacking:
            what = f"column {table}.{lacking[0]}" if there else f"table {table}"
            raise BadInput(f"{path}: not a formative-memory store of schema {SCHEMA} (it has no {what})")


def raw(conn: sa.Connection) -> sqlite3.Connection:
    """The connection below, which a writer has too."""
    connection = conn.connection.driver_connection
    assert isinstance(connection, sqlite3.Connection)
    return connection


def rows(conn: sqlite3.Connection, query: str, values: Sequence[Any] = ()) -> Iterator[dict[str, Any]]:
    """The rows of a query, by the names of their columns."""
    cursor = conn.execute(query, values)
    names = [column[0] for column in cursor.description]
    return (dict(zip(names, row, strict=True)) for row in cursor)


@contextmanager
def snapshot(path: Path) -> Iterator[sa.Connection]:
    """One read transaction. BadInput says why there can be none."""
    try:
        if sqlite.size_of(path) is None:
            raise BadInput(f"{path}: there is no such file")
        with _readable(path) as file:
            engine = sqlite.reading_engine(file, busy_timeout_seconds=BUSY_TIMEOUT_SECONDS)
            try:
                with engine.connect() as conn, conn.begin():
                    # Half a character in a text is a fault of its row, not of the file.
                    raw(conn).text_factory = _text
                    yield conn
            finally:
                sqlite.close_reader(file, engine)
    except BadInput:
        raise
    except ConsolidatorError as error:
        raise BadInput(str(error)) from error
    except sa.exc.DBAPIError as error:
        raise _unusable(path, error.orig) from error
    except sqlite3.Error as error:
        raise _unusable(path, error) from error


def _unusable(path: Path, error: BaseException | None) -> BadInput:
    if "locked" in str(error):
        return BadInput(f"{path}: another program keeps it locked ({error}); try again when that has ended")
    return BadInput(f"{path}: not a formative-memory store of schema {SCHEMA} ({error})")


def insist_writable(path: Path) -> None:
    """BadInput where this user may not write it."""
    if sqlite.size_of(path) is None:
        raise BadInput(f"{path}: there is no such file")
    sqlite.insist_writable(path)


@contextmanager
def transaction(path: Path) -> Iterator[sqlite3.Connection]:
    """
    One transaction that writes, and is on the disk when this ends; or nothing of it.

    BadInput where the file cannot be written, or its agent keeps it locked for longer than we wait.
    """
    insist_writable(path)
    try:
        with closing(
            sqlite3.connect(
                f"file:{quote(str(path))}?mode=rw", uri=True, isolation_level=None, timeout=BUSY_TIMEOUT_SECONDS
            )
        ) as conn:
            conn.text_factory = _text
            conn.execute("PRAGMA synchronous = FULL")
            conn.execute("PRAGMA secure_delete = ON")  # so that what is forgotten is overwritten
            conn.execute("BEGIN IMMEDIATE")
            try:
                state_of(conn, path)
                yield conn
                conn.execute("COMMIT")
            finally:
                if conn.in_transaction:
                    conn.execute("ROLLBACK")
    except sqlite3.Error as error:
        raise _unusable(path, error) from error


def copy_once(path: Path) -> Path | None:
    """
    A copy of the file as it was last committed, beside it and on the disk. None where there is one already: that of
    before the first push is the one to keep.
    """
    copy = path.with_name(f"{path.name}.before-consolidator")
    if copy.exists():
        return None
    insist_writable(path)
    partial = copy.with_name(f"{copy.name}.partial")
    partial.unlink(missing_ok=True)
    try:
        os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        sqlite.copy_pages(path, partial)
        shutil.copymode(path, partial)
        sync(partial)
        os.replace(partial, copy)
        sync(copy.parent)
    except (OSError, sqlite3.Error) as error:
        raise BadInput(f"{copy}: the copy before the first push cannot be made ({error}); nothing was pushed") from None
    finally:
        partial.unlink(missing_ok=True)
    return copy


@contextmanager
def _readable(path: Path) -> Iterator[Path]:
    """
    The file itself, or a copy of it and of a log that was left to it by a crash where nothing may be written.

    SQLite reads a log by an index beside it, which it can make neither there nor elsewhere; nobody uses the file
    then, for whoever does has made one.
    """
    log, index = (path.with_name(f"{path.name}{ending}") for ending in ("-wal", "-shm"))
    if not sqlite.size_of(log) or index.exists() or os.access(path.parent, os.W_OK):
        yield path
        return
    with TemporaryDirectory() as folder:
        for file in (path, log):
            shutil.copy(file, folder)
        yield Path(folder, path.name)


def _text(raw: bytes) -> str:
    return raw.decode(errors="surrogateescape")


@lru_cache(maxsize=1000)
def instant_of(time: str) -> int:
    """Its times are UTC, whether they say so or not."""
    try:
        return parse_instant(time)
    except ValueError:
        return parse_instant(f"{time}Z")
