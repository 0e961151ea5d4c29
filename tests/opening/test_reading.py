"""Reading never changes a byte: of a closed store, beside a live writer, and after a crash."""

import signal
from pathlib import Path

import pytest
import sqlalchemy as sa

from consolidator.errors import ConsolidatorError, StoreUnusable
from consolidator.store.engine import open_store
from consolidator.store.search import search_keys
from tests.apart import running_apart
from tests.opening.stores import WRITER, contents, scopes


def test_a_link_leads_to_the_store(made: Path) -> None:
    """The log is looked for beside the file that a link names, so that a reader sees what is only there."""
    link = made.with_name("link.db")
    link.symlink_to(made)
    with running_apart(WRITER, str(made)), open_store(str(link), mode="read") as store:
        assert scopes(store) == ["in the log", "{}"]


def test_reading_a_closed_store_changes_nothing(made: Path) -> None:
    """Neither the bytes nor the time of the file, and no log is left behind."""
    before, changed = contents(made), made.stat().st_mtime_ns
    with open_store(str(made), mode="read") as store:
        assert scopes(store) == ["{}"]
        with store.read() as connection:
            assert search_keys(connection, "window seats", None, 5) == []
    assert contents(made) == before
    assert made.stat().st_mtime_ns == changed
    assert list(made.parent.iterdir()) == [made]


def test_reading_beside_a_live_writer_changes_nothing(made: Path) -> None:
    """And sees what is only in its log."""
    with running_apart(WRITER, str(made)):
        before = contents(made)
        assert len(before) == 2
        with open_store(str(made), mode="read") as store:
            assert scopes(store) == ["in the log", "{}"]
        assert contents(made) == before


@pytest.mark.parametrize("without_index", [False, True])
def test_reading_after_a_crash_changes_nothing(made: Path, without_index: bool) -> None:
    """The log of a writer that was killed is read and stays, whether or not its index (`-shm`) is there."""
    with running_apart(WRITER, str(made)) as writer:
        writer.send_signal(signal.SIGKILL)
        writer.wait()
    if without_index:
        made.with_name(f"{made.name}-shm").unlink()
    before = contents(made)
    assert len(before) == 2
    for _ in range(2):
        with open_store(str(made), mode="read") as store:
            assert scopes(store) == ["in the log", "{}"]
        assert contents(made) == before
    with open_store(str(made), mode="write") as store:
        assert scopes(store) == ["in the log", "{}"]
    assert list(made.parent.iterdir()) == [made]


def test_a_reader_that_outlives_a_killed_writer_changes_nothing(made: Path) -> None:
    """Also the last one to close moves no log into the file, however it began."""
    code = "store = open_store(arguments[0], mode='write')\nwait()\nadd_scope(store, 'in the log')\nwait()"
    with running_apart(code, str(made)) as writer:
        before = contents(made)
        reader = open_store(str(made), mode="read")
        assert scopes(reader) == ["{}"]
        writer.stdin.write("\n")
        writer.stdin.flush()
        assert writer.stdout.readline() == "ready\n"
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        assert scopes(reader) == ["in the log", "{}"]
        reader.close()
    after = contents(made)
    assert after[made.name] == before[made.name]
    assert len(after) == 2
    with open_store(str(made), mode="read") as store:
        assert scopes(store) == ["in the log", "{}"]


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO scopes (scope) VALUES ('x')",
        "UPDATE scopes SET scope = 'x'",
        "DELETE FROM scopes",
        "REPLACE INTO scopes (key, scope) VALUES (1, 'x')",
        "CREATE TABLE x (y)",
        "CREATE INDEX x ON scopes (undos)",
        "CREATE TRIGGER x AFTER INSERT ON scopes BEGIN SELECT 1; END",
        "CREATE VIEW x AS SELECT 1",
        "CREATE VIRTUAL TABLE x USING fts5(y)",
        "ALTER TABLE scopes ADD COLUMN x",
        "ALTER TABLE scopes RENAME TO x",
        "DROP TABLE outbox",
        "DROP TRIGGER memory_words_insert",
        "UPDATE sqlite_master SET sql = ''",
        "INSERT INTO memory_words (memory_words) VALUES ('optimize')",
        "REINDEX",
        "ANALYZE",
        "VACUUM",
        "VACUUM INTO 'elsewhere.db'",
        "ATTACH 'elsewhere.db' AS elsewhere",
        "PRAGMA user_version = 7",
        "PRAGMA journal_mode = DELETE",
        "PRAGMA wal_checkpoint(TRUNCATE)",
        "PRAGMA wal_checkpoint",
        "PRAGMA writable_schema = ON",
        "PRAGMA incremental_vacuum",
        "PRAGMA optimize",
    ],
)
def test_a_reader_cannot_write(made: Path, statement: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is tried, inside a transaction or outside, is denied before it runs."""
    monkeypatch.chdir(made.parent)
    before = contents(made)
    with open_store(str(made), mode="read") as store:
        with store.read() as connection, pytest.raises((ConsolidatorError, sa.exc.DBAPIError)):
            connection.exec_driver_sql(statement)
        with (
            store.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection,
            pytest.raises((ConsolidatorError, sa.exc.DBAPIError)),
        ):
            connection.exec_driver_sql(statement)
        with pytest.raises(StoreUnusable, match="opened for reading only"), store.write():
            raise AssertionError
    assert contents(made) == before
    assert list(made.parent.iterdir()) == [made]


def test_a_reader_may_keep_notes(made: Path) -> None:
    """Temporary tables are kept in memory and not in the store."""
    with open_store(str(made), mode="read") as store, store.read() as connection:
        connection.exec_driver_sql("CREATE TEMP TABLE notes (key INTEGER PRIMARY KEY)")
        connection.exec_driver_sql("INSERT INTO notes SELECT key FROM scopes")
        connection.exec_driver_sql("CREATE INDEX temp.by_key ON notes (key)")
        assert connection.exec_driver_sql("SELECT key FROM notes").all() == [(1,)]
        connection.exec_driver_sql("DROP TABLE notes")
