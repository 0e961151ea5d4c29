"""A writer loses nothing and leaves nothing behind: full disks, other writers, a file that is moved away."""

import os
import shutil
from pathlib import Path

import pytest
import sqlalchemy as sa

from consolidator.errors import ConsolidatorError, StoreUnusable
from consolidator.store import tables
from consolidator.store.engine import open_store
from tests.apart import run_apart, running_apart
from tests.opening.stores import MODES, add_scope, contents, make_other, refusal, scopes


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


def test_a_store_whose_making_was_killed_can_be_made(path: Path) -> None:
    """Half a store is none: the others say so, and `create` makes a whole one of it."""
    code = """
from consolidator.store import schema
made = schema.upgrade
schema.upgrade = lambda connection: (made(connection), os.kill(os.getpid(), signal.SIGKILL))
open_store(arguments[0], mode="create")
"""
    with pytest.raises(AssertionError):
        run_apart(code, str(path))
    assert path.exists()
    assert "holds no store yet" in refusal(path, "read")
    with open_store(str(path), mode="create") as store:
        add_scope(store, "{}")
        assert scopes(store) == ["{}"]
