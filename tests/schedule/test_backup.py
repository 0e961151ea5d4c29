"""Copies of a store: whole or not there, readable by their owner alone, and as good as the store."""

import re
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy import make_url

from consolidator.errors import BadInput, ConsolidatorError
from consolidator.store import postgres_dump, sqlite
from consolidator.store.backup import back_up
from consolidator.store.engine import Store, open_store
from consolidator.store.locks import hold_scope
from consolidator.store.tables import locks
from tests.apart import run_apart
from tests.lives import EVE, day, exported, memory, night, take
from tests.postgres import fresh_database

NAME = "20260331T090000Z"


@contextmanager
def restored(url: str, copy: Path, dsn: Callable[[], str]) -> Iterator[Store]:
    """A store made of a copy, as a person does it."""
    with ExitStack() as stack:
        if url.startswith("sqlite"):
            other = f"sqlite:///{shutil.copy(copy, copy.with_name('restored.db'))}"
        else:
            other = stack.enter_context(fresh_database(dsn()))
            with open_store(url, mode="read") as store, store.engine.connect() as conn:
                tool = next(each for each in postgres_dump._tools(conn) if postgres_dump._version_of(each) >= "16")
            named = make_url(other)
            place = f"host={named.query['host']} user=postgres dbname={named.database}"
            command = [tool.with_name("pg_restore"), "--no-owner", "--exit-on-error", f"--dbname={place}", copy]
            subprocess.run(command, check=True, capture_output=True)
        yield stack.enter_context(open_store(other, mode="write"))


def test_a_copy_is_as_good_as_the_store(eve_url: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """It tells the same, and its next night decides the same; only its owner can read it."""
    folder = tmp_path / "copies"
    folder.mkdir()
    with open_store(eve_url, mode="write") as store:
        before = exported(store, EVE)
        done = back_up(store, folder, keep=7, now=day(EVE))
        with restored(eve_url, done.path, lambda: request.getfixturevalue("postgres_dsn")) as copy:
            assert exported(copy, EVE) == before
            assert copy.store_id == store.store_id
            assert night(store, EVE).exit_code == night(copy, EVE).exit_code == 0
            assert exported(copy, EVE) == exported(store, EVE) != before
    assert NAME in done.path.name
    assert stat.S_IMODE(done.path.stat().st_mode) == 0o600
    assert done.size == done.path.stat().st_size
    by = r" by pg_dump \d\d\.\d+" if eve_url.startswith("postgresql") else ""
    assert re.fullmatch(rf"Copied to {re.escape(str(done.path))}{by}, {done.size / 1e6:,.1f} MB\.", done.words)
    assert {file.name for file in folder.iterdir()} - {"restored.db"} == {done.path.name}


@pytest.fixture
def store(made_sqlite: Path, tmp_path: Path) -> Iterator[Store]:
    """A store with one memory."""
    path = shutil.copy(made_sqlite, tmp_path / "memories.db")
    with open_store(f"sqlite:///{path}", mode="write") as store:
        take(store, [memory("first", 0)], at=0)
        yield store


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the copies go."""
    folder = tmp_path / "copies"
    folder.mkdir()
    return folder


@pytest.fixture
def public_folder() -> Iterator[Path]:
    """A folder that an unprivileged user can reach, and not write."""
    folder = Path(tempfile.mkdtemp(prefix="consolidator-test-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def test_agents_go_on_writing(store: Store, folder: Path) -> None:
    """A copy holds what was committed when it was made; who writes meanwhile is not waited for, nor kept waiting."""
    with store.write() as conn:
        conn.execute(sa.text("UPDATE memories SET content = 'second'"))
        done = back_up(store, folder, keep=7, now=day(0))
    with open_store(str(done.path), mode="read") as copy, copy.read() as conn:
        assert conn.scalar(sa.text("SELECT content FROM memories")) == "first"


def test_nobody_holds_a_scope_of_a_copy(store: Store, folder: Path) -> None:
    """A copy made while a night is at work can be used at once, on whatever machine."""
    with hold_scope(store, 1, wall_clock=lambda: day(1)):
        done = back_up(store, folder, keep=7, now=day(1))
        with open_store(str(done.path), mode="write") as copy:
            assert night(copy, 1).exit_code == 0
        with store.read() as conn:
            assert conn.scalar(sa.select(sa.func.count()).select_from(locks)) == 1


def test_the_oldest_go_and_nothing_else(store: Store, folder: Path) -> None:
    """So many copies are kept; files of other names, links, and copies of other stores of that name stay."""
    first, second = (back_up(store, folder, keep=2, now=day(number)) for number in (1, 2))
    assert (first.removed, second.removed) == ((), ())
    others = [
        first.path.with_name(name)
        for name in (
            f"memories-{NAME}.db", first.path.name.replace("memories", "memory"), f"{first.path.name}.gz",
            f"old {first.path.name}", first.path.name.replace(store.store_id[:8], "00000000"),
        )
    ]  # fmt: skip
    for file in others:
        file.write_text("not ours")
    link = first.path.with_name(first.path.name.replace("T09", "T08"))
    link.symlink_to(others[0])
    killed = first.path.with_name(f"{first.path.name.replace('T09', 'T07')}.partial")
    killed.write_text("half")
    third = back_up(store, folder, keep=2, now=day(3))
    assert third.removed == (first.path,)
    assert third.words.endswith("; 1 older removed.")
    assert set(folder.iterdir()) == {*others, link, second.path, third.path}


def test_a_folder_that_is_not_there_is_said(store: Store, tmp_path: Path) -> None:
    """In one line; it is not made, for a disk may be missing there."""
    with pytest.raises(BadInput, match="nowhere: there is no such folder for copies; make it first"):
        back_up(store, tmp_path / "nowhere", keep=7, now=day(1))


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("become_nobody()", "BadInput {0}: copies cannot be written there; make the folder writable for this user"),
        (
            "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\nresource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))",
            "ConsolidatorError {1}: no copy was made (disk I/O error); the older ones stay as they are",
        ),
    ],
    ids=["not writable", "disk full"],
)
def test_a_copy_that_cannot_be_made_leaves_nothing(store: Store, public_folder: Path, code: str, line: str) -> None:
    """One line says why; older copies stay."""
    path = public_folder / f"memories-{store.store_id[:8]}-{NAME}.db"
    older = path.with_name(path.name.replace(NAME, "20260330T090000Z"))
    older.write_text("older")
    said = run_apart(
        f"from consolidator.store.backup import back_up\n"
        f"store = open_store(arguments[0], mode='read')\n{code}\n"
        f"back_up(store, arguments[1], keep=1, now={day(EVE)})",
        str(store.url.database),
        str(public_folder),
    )
    assert said == line.format(public_folder, path)
    assert list(public_folder.iterdir()) == [older]


def test_a_damaged_copy_is_none(store: Store, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is looked at before it gets its name."""
    copy_pages = sqlite.copy_pages

    def damaged(path: Path, copy: Path) -> None:
        copy_pages(path, copy)
        whole = copy.read_bytes()
        copy.write_bytes(whole[: len(whole) // 2] + b"\xff" * 40_000 + whole[len(whole) // 2 + 40_000 :])

    monkeypatch.setattr(sqlite, "copy_pages", damaged)
    with pytest.raises(ConsolidatorError, match=r"no copy was made"):
        back_up(store, folder, keep=7, now=day(1))
    assert list(folder.iterdir()) == []


def test_a_password_is_no_argument(postgres_url: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """pg_dump has it from its environment; without a pg_dump of the server's version, a line says what to install."""
    with open_store(postgres_url, mode="create") as store:
        url = store.url.set(password="s3cret")
        url = url.update_query_dict({"sslpassword": "k3y", "application_name": "it's"})
        assert "s3cret" not in postgres_dump._server(url) + postgres_dump._server(url.set(password=None))
        assert "k3y" not in postgres_dump._server(url)
        assert postgres_dump._environment(url)["PGPASSWORD"] == "s3cret"
        monkeypatch.setattr(postgres_dump, "_tools", lambda _: iter(()))
        with pytest.raises(BadInput, match=r"no pg_dump of version \d+ or later here; install .*postgresql-client-\d+"):
            back_up(store, folder, keep=7, now=day(1))
    assert list(folder.iterdir()) == []
