"""Who may not write a store can read it, or is told in one line why not."""

import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from consolidator.store.engine import open_store
from tests.apart import run_apart, running_apart
from tests.opening.stores import MODES, WRITER, add_scope, contents


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
