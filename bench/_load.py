"""Stores filled in bulk: SQLite files kept under bench/.data, and Postgres databases by COPY."""

import hashlib
import os
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from _life import Columns, draw
from _rows import parted, rows, tables

from consolidator.store.engine import open_store

HERE = Path(__file__).parent
DATA = HERE / ".data"


def sqlite_store(count: int) -> Path:
    """The file of a store of so many memories, made where it is not there or was made by other code."""
    path = DATA / f"life-{count}.db"
    stamp = path.with_suffix(".made-by")
    if path.exists() and stamp.exists() and stamp.read_text() == _maker():
        return path
    DATA.mkdir(exist_ok=True)
    for file in (path, stamp):
        file.unlink(missing_ok=True)
    with open_store(f"sqlite:///{path}", mode="create"):
        pass
    _fill_file(path, count)
    with path.open("rb") as file:
        os.fsync(file.fileno())
    stamp.write_text(_maker())
    return path


def _maker() -> str:
    import consolidator.store.tables as declared

    sources = [*sorted(HERE.glob("_*.py")), Path(declared.__file__)]
    return hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()


def _fill_file(path: Path, count: int) -> None:
    """
    Most rows first, then the indexes, then the rest in no order.

    An index filled in one go has no room: the first row into any of its pages would split it, as it never would in
    a store that has grown.
    """
    with closing(sqlite3.connect(path, isolation_level=None)) as conn:
        for pragma in ("journal_mode = OFF", "synchronous = OFF", "foreign_keys = OFF", "cache_size = -400000"):
            conn.execute(f"PRAGMA {pragma}")
        later = conn.execute(
            "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE type IN ('index', 'trigger') AND sql IS NOT NULL"
        ).fetchall()
        for kind, name, _, _ in later:
            conn.execute(f"DROP {kind} {name}")
        conn.execute("BEGIN")
        for name, columns in tables(draw(count)):
            early, late = parted(columns)
            _insert(conn, name, early)
            for one in [one for one in later if one[:1] == ("index",) and one[2] == name]:
                later.remove(one)
                conn.execute(one[3])
            _insert(conn, name, late)
        conn.execute("INSERT INTO memory_words (rowid, words) SELECT key, coalesce(words, content) FROM memories")
        for _, _, _, sql in later:
            conn.execute(sql)
        conn.execute("COMMIT")
        conn.execute("PRAGMA journal_mode = WAL")


def _insert(conn: sqlite3.Connection, table: str, columns: Columns) -> None:
    names = ", ".join(f'"{column}"' for column in columns)
    insert = f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(columns))})"
    for chunk in rows(columns):
        conn.executemany(insert, chunk)


def fill_postgres(url: str, count: int) -> None:
    """Fill a new database: the tables without their indexes and foreign keys, by COPY, then these."""
    with open_store(url, mode="create"):
        pass
    engine = sa.create_engine(url)
    with engine.begin() as conn:
        later = _set_aside(conn)
        for name, columns in tables(draw(count)):
            names = ", ".join(f'"{column}"' for column in columns)
            driver: Any = conn.connection.driver_connection
            with driver.cursor() as cursor, cursor.copy(f"COPY {name} ({names}) FROM STDIN") as copy:
                for chunk in rows(columns):
                    for row in chunk:
                        copy.write_row(row)
            if "key" in columns:
                conn.exec_driver_sql(
                    f"SELECT setval(sequence, (SELECT max(key) FROM {name})) "
                    f"FROM pg_get_serial_sequence('{name}', 'key') AS sequence WHERE sequence IS NOT NULL"
                )
        for sql in later:
            conn.exec_driver_sql(sql)
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as conn:
        conn.exec_driver_sql("VACUUM (FREEZE, ANALYZE)")
    engine.dispose()


def _set_aside(conn: sa.Connection) -> list[str]:
    """Drop indexes and foreign keys. Returns what makes them again."""
    indexes = conn.exec_driver_sql(
        "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = current_schema() "
        "AND indexname NOT IN (SELECT conname FROM pg_constraint)"
    ).all()
    keys = conn.exec_driver_sql(
        "SELECT conrelid::regclass, conname, pg_get_constraintdef(oid) FROM pg_constraint "
        "WHERE contype = 'f' AND connamespace = current_schema()::regnamespace"
    ).all()
    for table, name, _ in keys:
        conn.exec_driver_sql(f"ALTER TABLE {table} DROP CONSTRAINT {name}")
    for name, _ in indexes:
        conn.exec_driver_sql(f"DROP INDEX {name}")
    made_again = [definition for _, definition in indexes]
    return made_again + [f"ALTER TABLE {table} ADD CONSTRAINT {name} {what}" for table, name, what in keys]


if __name__ == "__main__":
    # In a process of its own: what a process reports as its peak includes that of the one that started it.
    if len(sys.argv) > 2:
        fill_postgres(sys.argv[2], int(sys.argv[1]))
    else:
        sqlite_store(int(sys.argv[1]))
