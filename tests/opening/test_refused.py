"""What cannot be opened is one line, exit code 2, and stays as it was."""

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from consolidator.store.engine import open_store
from tests.apart import running_apart
from tests.opening.stores import MODES, add_scope, make_other, refusal, scopes


def make_text(path: Path) -> None:
    path.write_text("this is a letter, not a database; it is long enough to be one. " * 50)


def make_short(path: Path) -> None:
    path.write_text("short")


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
