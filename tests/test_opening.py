"""Opening SQLite stores: what cannot be used is one line and stays as it was; reading never changes a byte."""

import hashlib
import os
import shutil
import signal
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa

from consolidator.errors import ConsolidatorError, StoreUnusable
from consolidator.store import tables
from consolidator.store.engine import Store, open_store
from consolidator.store.search import search_keys
from tests.apart import run_apart, running_apart

MODES = ("read", "write", "create")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def made(path: Path) -> Path:
    """A closed store that holds one scope."""
    with open_store(str(path), mode="create") as store:
        add_scope(store, "{}")
    return path


def add_scope(store: Store, scope: str) -> None:
    with store.write() as connection:
        connection.execute(sa.insert(tables.scopes).values(scope=scope))


def scopes(store: Store) -> list[str]:
    with store.read() as connection:
        return list(connection.scalars(sa.select(tables.scopes.c.scope).order_by(tables.scopes.c.scope)))


def contents(path: Path) -> dict[str, str]:
    """The bytes of the file and of its log, where there are any. Only while this process has the file closed."""
    files = (path, path.with_name(f"{path.name}-wal"))
    return {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest()
        for file in files
        if file.exists() and file.stat().st_size
    }


def refusal(url: str | Path, mode: str, **options: float) -> str:
    """What a person is told: one line."""
    with pytest.raises(StoreUnusable) as raised:
        open_store(str(url), mode=mode, **options)  # type: ignore[arg-type]
    assert raised.value.exit_code == 2
    assert "\n" not in str(raised.value)
    return str(raised.value)


def make_text(path: Path) -> None:
    path.write_text("this is a letter, not a database; it is long enough to be one. " * 50)


def make_short(path: Path) -> None:
    path.write_text("short")


def make_other(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE birds (name TEXT)")


def make_formative(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("CREATE TABLE memories (id TEXT); CREATE TABLE message_memory_attribution (id TEXT)")


def make_foreign_alembic(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("CREATE TABLE alembic_version (version_num TEXT); CREATE TABLE meta (a TEXT, b TEXT)")


def make_truncated(path: Path) -> None:
    open_store(str(path), mode="create").close()
    os.truncate(path, path.stat().st_size // 2 // 4096 * 4096)


def make_scrambled(path: Path) -> None:
    open_store(str(path), mode="create").close()
    with path.open("r+b") as file:
        file.seek(100)
        file.write(b"\xa5" * 3000)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("make", "said"),
    [
        (make_text, "not a SQLite database; check the path"),
        (make_short, "not a SQLite database; check the path"),
        (make_other, "not a store of consolidator (it holds birds); name another"),
        (
            make_formative,
            "(it holds memories, message_memory_attribution); read it with `consolidate import formative`",
        ),
        (make_foreign_alembic, "not a store of consolidator (it holds alembic_version, meta)"),
        (make_truncated, "damaged (its pages do not fit together); restore it from a copy"),
        (make_scrambled, "damaged (its pages do not fit together); restore it from a copy"),
        (Path.mkdir, "a folder, not a store; name a file in it"),
        (os.mkfifo, "not a regular file; name another"),
    ],
)
def test_what_is_no_store_is_refused_in_one_line_and_stays_as_it_is(
    path: Path, mode: str, make: Callable[[Path], None], said: str
) -> None:
    """Whatever is asked of it. The line says which file, and what next."""
    make(path)
    before = path.read_bytes() if path.is_file() else None
    told = refusal(path, mode)
    assert told.startswith(f"{path}: ")
    assert said in told
    assert before is None or path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("mode", ["read", "write"])
def test_only_create_makes_a_store(path: Path, mode: str) -> None:
    """Where there is none, or an empty file or database, the others say how to make one, and make nothing."""
    assert "there is no store; check the path, or make one with `consolidate init`" in refusal(path, mode)
    assert not path.exists()
    path.touch()
    assert "holds no store yet; make one with `consolidate init`" in refusal(path, mode)
    assert path.stat().st_size == 0
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 1")
    assert "holds no store yet" in refusal(path, mode)
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("made_before", [lambda path: None, Path.touch], ids=["missing", "empty"])
def test_create_makes_a_file_but_never_its_folder(path: Path, made_before: Callable[[Path], None]) -> None:
    """A store is whole once it is made; a missing folder is named."""
    told = refusal(path.parent / "missing" / "store.db", "create")
    assert "its folder is not there; make it first" in told
    assert not (path.parent / "missing").exists()
    made_before(path)
    with open_store(str(path), mode="create") as store:
        assert scopes(store) == []
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("name", ["with space.db", "per%20cent.db", "a#b.db", "what?.db", "päivä 🎂.db", "a'b\".db"])
def test_a_path_means_itself(tmp_path: Path, name: str) -> None:
    """Nothing in a file's name is taken for a part of a URL."""
    with open_store(str(tmp_path / name), mode="create") as store:
        add_scope(store, "{}")
    with open_store(str(tmp_path / name), mode="read") as store:
        assert scopes(store) == ["{}"]
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_link_leads_to_the_store(made: Path) -> None:
    """The log is looked for beside the file that a link names, so that a reader sees what is only there."""
    link = made.with_name("link.db")
    link.symlink_to(made)
    with running_apart(WRITER, str(made)), open_store(str(link), mode="read") as store:
        assert scopes(store) == ["in the log", "{}"]


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("", "the store names no file"),
        ("sqlite://", "the store names no file"),
        (":memory:", "the store names no file"),
        ("sqlite:///:memory:", "the store names no file"),
        ("sqlite:///a.db?mode=memory", "takes a path and nothing else"),
        ("sqlite://host/a.db", "takes a path and nothing else"),
        ("mysql://ada:secret@host/memories", "mysql: not a kind of store"),
        ("postgresql://ada:secret@host:port/memories", "the URL of the store cannot be read"),
        ("nonsense://", "nonsense: not a kind of store"),
        ("a\0b", "holds a NUL"),
        ("/dev/null", "not a regular file"),
        ("/etc/hostname/store.db", "its folder is a file"),
        ("x" * 300, "cannot be looked at (File name too long)"),
    ],
)
def test_a_name_that_is_none_is_refused(url: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With what to write instead, and without a password."""
    monkeypatch.chdir(tmp_path)
    for mode in MODES:
        told = refusal(url, mode)
        assert said in told
        assert "secret" not in told
    assert not list(tmp_path.iterdir())


WRITER = "store = open_store(arguments[0], mode='write')\nadd_scope(store, 'in the log')\nwait()"


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


@pytest.fixture
def public_folder() -> Iterator[Path]:
    """A folder that an unprivileged user can reach."""
    folder = Path(tempfile.mkdtemp(prefix="consolidator-test-"))
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


AS_NOBODY = """
become_nobody()
for mode in arguments[1:]:
    try:
        with open_store(arguments[0], mode=mode) as store, store.read() as connection:
            print(*connection.scalars(sa.select(tables.scopes.c.scope).order_by(tables.scopes.c.scope)))
    except StoreUnusable as error:
        print(error)
"""


def as_nobody(path: Path, *modes: str) -> list[str]:
    """What an unprivileged user reads of the store when opening it so, or is told."""
    lines = run_apart(AS_NOBODY, str(path), *modes).splitlines()
    assert len(lines) == len(modes)
    return lines


def test_who_may_not_write_can_read_a_closed_store(public_folder: Path) -> None:
    """A file and folder that cannot be written are read as they are; writing is refused in one line."""
    path = public_folder / "store.db"
    with open_store(str(path), mode="create") as store:
        add_scope(store, "{}")
    path.chmod(0o444)
    public_folder.chmod(0o555)
    before = contents(path)
    refused = f"{path}: read-only; make the file writable for this user"
    assert as_nobody(path, "read", "write", "create") == ["{}", refused, refused]
    assert contents(path) == before
    assert list(public_folder.iterdir()) == [path]


def test_who_may_write_the_file_but_not_beside_it_can_read(public_folder: Path) -> None:
    """The log needs the folder: without it a store is read as it is, and writing is refused in one line."""
    path = public_folder / "store.db"
    with open_store(str(path), mode="create") as store:
        add_scope(store, "{}")
    path.chmod(0o666)
    public_folder.chmod(0o555)
    read, written = as_nobody(path, "read", "write")
    assert read == "{}"
    assert written.startswith(f"{path}: its folder is read-only")
    (created,) = as_nobody(public_folder / "new.db", "create")
    assert created.startswith(f"{public_folder / 'new.db'}: its folder is read-only")
    assert list(public_folder.iterdir()) == [path]


def test_who_may_not_write_reads_beside_a_live_writer(public_folder: Path) -> None:
    """What is only in the log is seen, and nothing is changed."""
    path = public_folder / "store.db"
    with open_store(str(path), mode="create") as store:
        add_scope(store, "{}")
    with running_apart(WRITER, str(path)):
        for file in public_folder.iterdir():
            file.chmod(0o444)
        public_folder.chmod(0o555)
        before = contents(path)
        assert as_nobody(path, "read") == ["in the log {}"]
        assert contents(path) == before


def test_who_may_not_write_after_a_crash_is_told_so(public_folder: Path) -> None:
    """A log whose index is gone cannot be read without writing beside it: one line, and nothing is left out."""
    path = public_folder / "store.db"
    open_store(str(path), mode="create").close()
    with running_apart(WRITER, str(path)) as writer:
        writer.send_signal(signal.SIGKILL)
        writer.wait()
    path.with_name(f"{path.name}-shm").unlink()
    for file in public_folder.iterdir():
        file.chmod(0o444)
    public_folder.chmod(0o555)
    assert as_nobody(path, "read")[0].startswith(f"{path}: cannot be opened; check")


def test_a_store_that_may_not_be_seen_is_refused(public_folder: Path) -> None:
    """A file without rights, and a folder without rights: one line each."""
    path = public_folder / "store.db"
    open_store(str(path), mode="create").close()
    path.chmod(0o000)
    assert all(told.startswith(f"{path}: ") and "permissions" in told for told in as_nobody(path, *MODES))
    path.chmod(0o644)
    public_folder.chmod(0o000)
    told = f"{path}: cannot be looked at (Permission denied); check the path and its permissions"
    assert as_nobody(path, *MODES) == [told] * 3


@pytest.mark.parametrize("mode", MODES)
def test_a_store_that_another_process_has_to_itself_is_refused(made: Path, mode: str) -> None:
    """After waiting as long as was said."""
    code = """
import sqlite3
connection = sqlite3.connect(arguments[0], isolation_level=None)
connection.execute("PRAGMA locking_mode = EXCLUSIVE")
connection.execute("BEGIN EXCLUSIVE")
connection.execute("INSERT INTO scopes (scope) VALUES ('x')")
wait()
"""
    with running_apart(code, str(made)):
        told = refusal(made, mode, busy_timeout_seconds=0.05)
        assert told == f"{made}: locked by another process; try again when it is done"


def test_a_write_while_another_process_writes_is_refused(made: Path) -> None:
    """Reading goes on meanwhile."""
    code = """
store = open_store(arguments[0], mode='write')
with store.write() as connection:
    connection.execute(sa.insert(tables.scopes).values(scope='x'))
    wait()
"""
    with running_apart(code, str(made)), open_store(str(made), mode="write", busy_timeout_seconds=0.05) as store:
        assert scopes(store) == ["{}"]
        with pytest.raises(StoreUnusable, match="locked by another process; try again when it is done"):
            add_scope(store, "y")


IN_ROOM_FOR = """
import alembic.command
from alembic import context, op
for size in map(int, arguments[1:]):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
    try:
        {}
        print("done")
    except StoreUnusable as error:
        print(error)
"""


def in_room_for(action: str, path: Path, *sizes: int) -> list[str]:
    """What a person is told where no file may grow over a size; `done` where it is enough."""
    lines = run_apart(IN_ROOM_FOR.format(action), str(path), *map(str, sizes)).splitlines()
    assert len(lines) == len(sizes)
    return lines


def test_a_full_disk_while_writing_is_one_line_and_leaves_the_store_as_it_was(made: Path) -> None:
    """The transaction is undone; the store goes on working once there is room."""
    fill = """
        store = open_store(arguments[0], mode="write")
        try:
            with store.write() as connection:
                rows = [{"scope": f"{size} {number} " + "x" * 1000} for number in range(3000)]
                connection.execute(sa.insert(tables.scopes), rows)
        finally:
            store.close()
"""
    told = in_room_for(fill, made, 0, 4096, 100_000, 1_000_000)
    assert all(line.startswith(f"{made}: could not be written (a full disk") for line in told)
    with open_store(str(made), mode="read") as store:
        assert scopes(store) == ["{}"]
    assert in_room_for(fill, made, 20_000_000) == ["done"]


def test_a_full_disk_while_making_a_store_leaves_no_file(path: Path) -> None:
    """At whatever point the room ends."""
    make = 'open_store(arguments[0], mode="create").close()'
    told = in_room_for(make, path, 0, 1000, 4096, 20_000, 50_000, 150_000)
    assert all(line.startswith(f"{path}: could not be written (a full disk") for line in told)
    assert not list(path.parent.iterdir())


@pytest.mark.parametrize("mode", ["read", "write"])
def test_a_full_disk_hinders_no_opening_or_says_so(made: Path, mode: str) -> None:
    """Without room for a log a store is refused in one line, and stays as it is."""
    before = contents(made)
    told = in_room_for(f'open_store(arguments[0], mode="{mode}").close()', made, 0, 1000, 40_000)
    assert all(line == "done" or line.startswith(f"{made}: could not be") for line in told)
    assert contents(made) == before


@pytest.mark.parametrize("put_another", [False, True])
def test_a_store_moved_away_while_in_use_fails_on_the_way(made: Path, put_another: bool) -> None:
    """What would be written then would be lost: exit code 1, not a success."""
    store = open_store(str(made), mode="write")
    assert scopes(store) == ["{}"]
    made.rename(made.with_name("elsewhere.db"))
    if put_another:
        shutil.copy(made.with_name("elsewhere.db"), made)
    with pytest.raises(ConsolidatorError, match="moved, removed or replaced while in use") as raised:
        add_scope(store, "x")
    assert raised.value.exit_code == 1
    assert scopes(store) == ["{}"]
    store.close()


def test_closing_leaves_no_file_open(made: Path) -> None:
    """Whatever was done, and however many connections were used at once."""
    for mode in MODES:
        with open_store(str(made), mode=mode) as store, store.read(), store.read():
            assert scopes(store) == ["{}"]
        assert not [link for link in open_files() if str(made) in link]
    assert list(made.parent.iterdir()) == [made]
    make_other(made.with_name("other.db"))
    refusal(made.with_name("other.db"), "write")
    assert not [link for link in open_files() if "other.db" in link]


def open_files() -> list[str]:
    links = []
    for file in Path("/proc/self/fd").iterdir():
        try:
            links.append(os.readlink(file))
        except FileNotFoundError:
            continue
    return links


def test_a_writer_moves_its_log_into_the_file(made: Path) -> None:
    """Also where it is not the last to close."""
    with open_store(str(made), mode="read") as reader:
        assert scopes(reader) == ["{}"]
        with open_store(str(made), mode="write") as store:
            add_scope(store, "more")
        assert made.with_name(f"{made.name}-wal").stat().st_size == 0
        assert scopes(reader) == ["more", "{}"]


def test_a_writer_is_durable_and_keeps_its_references(made: Path) -> None:
    """Every commit is on the disk, and a key that names nothing is refused."""
    with open_store(str(made), mode="write") as store:
        with store.read() as connection:
            said = [connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in ("journal_mode", "synchronous")]
            assert said == ["wal", 2]
        with pytest.raises(sa.exc.IntegrityError, match="FOREIGN KEY"), store.write() as connection:
            connection.execute(sa.insert(tables.identities).values(scope_key=99, hash="x"))


def test_what_is_deleted_is_overwritten(made: Path) -> None:
    """The bytes of a deleted row are not left in the file."""
    with open_store(str(made), mode="write") as store:
        add_scope(store, "a secret to be forgotten")
        with store.write() as connection:
            connection.execute(sa.delete(tables.scopes).where(tables.scopes.c.scope.like("a secret%")))
    assert b"to be forgotten" not in made.read_bytes()


def test_autocommit_changes_no_later_transaction(made: Path) -> None:
    """A connection lent for VACUUM comes back as it was: DDL and savepoints still roll back."""
    with open_store(str(made), mode="write") as store:
        with store.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.exec_driver_sql("VACUUM")
        with store.engine.connect() as connection:
            connection.exec_driver_sql("CREATE TABLE x (y)")
            connection.rollback()
        with store.read() as connection:
            assert "x" not in sa.inspect(connection).get_table_names()
