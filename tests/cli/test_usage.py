"""How commands are told what to do, and how they end."""

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa

from consolidator.cli.main import COMMANDS
from consolidator.store.engine import open_store
from consolidator.store.tables import runs
from tests.cli.conftest import Consolidate, Ended
from tests.lives import EVE, day

EVERY = [(name,) for name, command in COMMANDS.items() if command] + [("import", "jsonl"), ("import", "formative")]
PROGRAM = (sys.executable, "-m", "consolidator")


@pytest.mark.parametrize("command", EVERY, ids=" ".join)
def test_help(consolidate: Consolidate, command: tuple[str, ...]) -> None:
    """Every command has --help with an example, which names that command."""
    said = consolidate(*command, "--help")
    assert said.code == 0
    _, example = said.out.split("Example:")
    assert f"consolidate {' '.join(command)}" in example or f" {' '.join(command)}" in example.splitlines()[1]
    assert consolidate(*command, "-h").out == said.out


def test_help_of_all(consolidate: Consolidate) -> None:
    """The program alone says what it is and names every command, whole."""
    said = consolidate()
    assert said == consolidate("--help")
    assert said.code == 0
    assert "..." not in said.out.split("Commands:")[1]
    for name in COMMANDS:
        assert f"\n  {name} " in said.out


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["frob"], "frob"),
        (["--frob"], "--frob"),
        (["run", "--frob"], "--frob"),
        (["show"], "ID"),
        (["import"], "command"),
        (["import", "jsonl"], "PATH"),
        (["runs", "-n", "x"], "-n"),
        (["runs", "-n", "0"], "-n"),
        (["run", "--steps", "reinforced"], "did you mean reinforce?"),
        (["run", "--steps", ""], "known are reinforce, decay, associate, shift, prune, merge"),
        (["run", "--report", "loud"], "known are off, errors, summary, detailed"),
        (["run", "--as-of", "yesterday"], "--as-of"),
        (["run", "--as-of", "2026-03-30"], "is a date"),
        (["run", "--as-of", "2026-03-30T03:00:00"], "no offset"),
        (["run", "--as-of", "2026-02-30T03:00:00Z"], "not a possible time"),
        (["run", "--as-of", "0001-01-01T00:00:00Z"], "from 1000 to 9998"),
        (["export", "--as-of", "9999-12-31T23:59:59Z"], "from 1000 to 9998"),
        (["run", "--scope", "ada"], "--scope"),
        (["run", "--out", "plan.json"], "--dry-run"),
        (["export", "--format", "xml"], "known are jsonl, json"),
        (["graph", "--format", "dots"], "did you mean dot?"),
        (["list", "--status", "activ"], "did you mean active?"),
        (["show", "12345678", "--format", "pdf"], "known are text, markdown, html, json"),
        (["apply", "no.json"], "no.json"),
    ],
)
def test_bad_arguments(consolidate: Consolidate, tmp_path: Path, arguments: list[str], word: str) -> None:
    """A wrong argument ends in one line and exit code 2, and makes no store."""
    consolidate("--store", tmp_path / "s.db", *arguments).refused(word)
    assert list(tmp_path.glob("s.db*")) == []


def test_future_run(consolidate: Consolidate, sqlite_url: str) -> None:
    """A night in the future is refused unless it is a dry run; an export may look ahead."""
    ahead = ("--as-of", "2026-12-01T00:00:00Z")
    store = ("--store", sqlite_url)
    assert consolidate(*store, "init").code == 0
    consolidate(*store, "run", *ahead).refused("--as-of", "future", "--dry-run")
    assert consolidate(*store, "run", "--dry-run", *ahead).code == 0
    assert consolidate(*store, "export", *ahead).code == 0


@pytest.mark.parametrize("command", [*EVERY, ("import", "jsonl")], ids=" ".join)
def test_no_store(consolidate: Consolidate, tmp_path: Path, command: tuple[str, ...]) -> None:
    """Only init, import, pull and sync make a store: all that need one say where none is, and how to make one."""
    if command[0] in ("init", "import", "apply", "pull", "sync", "sources", "messages"):
        return
    arguments = {
        "show": ["12345678"],
        "history": ["12345678"],
        "search": ["word"],
        "recall": ["word"],
        "remember": ["Ada swims."],
        "rate": ["12345678", "5"],
        "job": ["consolidate"],
        "undo": ["last"],
        "push": ["memory-new"],
    }
    ids = ["12345678", "--yes"] if command == ("forget",) else ["12345678"]
    more = ids if command[0] in ("pin", "unpin", "restore", "forget") else arguments.get(command[0], [])
    consolidate("--store", tmp_path / "none.db", *command, *more).refused("none.db", "consolidate init")
    assert not (tmp_path / "none.db").exists()


def test_default_store(consolidate: Consolidate, tmp_path: Path) -> None:
    """Without a name the store is a file in the user's data folder, which init makes with it."""
    assert consolidate("init").code == 0
    assert (tmp_path / "data" / "consolidator" / "memories.db").is_file()


def test_folder_is_never_made(consolidate: Consolidate, tmp_path: Path) -> None:
    """The folder of a named store is not made for it."""
    consolidate("--store", tmp_path / "none" / "s.db", "init").refused("none")
    assert not (tmp_path / "none").exists()


def test_store_variable(consolidate: Consolidate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """$CONSOLIDATOR_STORE names the store, and --store comes before it; a path will do for either."""
    monkeypatch.setenv("CONSOLIDATOR_STORE", str(tmp_path / "variable.db"))
    assert consolidate("init").code == 0
    assert consolidate("--store", f"sqlite:///{tmp_path}/option.db", "init").code == 0
    assert {path.name for path in tmp_path.glob("*.db")} == {"variable.db", "option.db"}


def test_init_twice(consolidate: Consolidate, store_url: str) -> None:
    """init leaves a store that is there as it is."""
    assert consolidate("--store", store_url, "init").code == 0
    before = consolidate("--store", store_url, "doctor", "--json").document["store_id"]
    assert consolidate("--store", store_url, "init").code == 0
    assert consolidate("--store", store_url, "doctor", "--json").document["store_id"] == before


def test_not_a_store(consolidate: Consolidate, tmp_path: Path) -> None:
    """A file that is no store is refused by every command, and left as it is."""
    path = tmp_path / "letter.txt"
    path.write_text("Dear Ada, " * 200)
    for command in (["init"], ["run"], ["run", "--dry-run"], ["stats"], ["migrate"], ["doctor"], ["pin", "12345678"]):
        consolidate("--store", path, *command).refused("letter.txt", "SQLite")
    assert path.read_text() == "Dear Ada, " * 200


def test_password_is_never_said(consolidate: Consolidate) -> None:
    """A server that cannot be reached is named without the password."""
    said = consolidate("--store", "postgresql://ada:geheim@127.0.0.1:1/memories", "stats")
    said.refused("127.0.0.1")
    assert "geheim" not in said.err


def test_help_is_quick() -> None:
    """Help loads no database, no arrays, no models."""
    heavy = ["sqlalchemy", "numpy", "networkx", "anthropic", "openai", "alembic", "psycopg", "jinja2", "apscheduler"]
    code = f"import sys, consolidator.cli as c; c.main(['--help']); print([m for m in {heavy} if m in sys.modules])"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.splitlines()[-1] == "[]"


def test_night_loads_no_model(consolidate: Consolidate, sqlite_url: str) -> None:
    """A night without merging loads no client of a language model."""
    assert consolidate("--store", sqlite_url, "init").code == 0
    code = (
        f"import sys, consolidator.cli as c; c.main(['--store', {sqlite_url!r}, 'run']);"
        "print([m for m in ('anthropic', 'openai', 'alembic') if m in sys.modules])"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.splitlines()[-1] == "[]"


def test_closed_pipe(eve_sqlite: Path) -> None:
    """A reader that has seen enough is no failure, and nothing is said of it."""
    reading, writing = os.pipe()
    os.close(reading)
    said = subprocess.run(
        [*PROGRAM, "--store", str(eve_sqlite), "list"], stdout=writing, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(writing)
    assert (said.returncode, said.stderr) == (0, "")


def test_full_output(eve_sqlite: Path) -> None:
    """Output that cannot be written ends in one line."""
    with open("/dev/full", "w") as full:
        command = [*PROGRAM, "--store", str(eve_sqlite), "list"]
        said = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert said.returncode == 1
    assert said.stderr.count("\n") == 1
    assert "No space left" in said.stderr


def test_interrupted(consolidate: Consolidate, sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C ends quietly with 130."""

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("consolidator.store.engine.open_store", interrupt)
    assert consolidate("--store", sqlite_url, "stats") == Ended(130, "", "")


def test_fault(consolidate: Consolidate, sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault of the program itself ends in one line too, which says how to see where."""

    def fail(*_: object, **__: object) -> None:
        raise KeyError("whoops")

    monkeypatch.setattr("consolidator.store.engine.open_store", fail)
    consolidate("--store", sqlite_url, "stats").refused("KeyError", "CONSOLIDATOR_TRACEBACK=1", code=1)
    monkeypatch.setenv("CONSOLIDATOR_TRACEBACK", "1")
    with pytest.raises(KeyError):
        consolidate("--store", sqlite_url, "stats")


def test_version(consolidate: Consolidate) -> None:
    """--version says the version and nothing else."""
    assert consolidate("--version").out.startswith("consolidate 0.")


def test_doctor(eve: Consolidate) -> None:
    """A sound store is well, says the doctor; what waits it tells, as text and as JSON."""
    said = eve("doctor")
    assert said.code == 0
    assert "WRONG" not in said.out
    document = eve("doctor", "--json").document
    assert document["healthy"]
    assert {"integrity", "indexes"} & {check["what"] for check in document["checks"]}


def test_doctor_finds_a_killed_run(eve: Consolidate, eve_url: str) -> None:
    """A run that never finished is a fault until a later one has run."""
    with open_store(eve_url, mode="write") as store, store.write() as conn:
        conn.execute(sa.insert(runs).values(run_id="run-killed", as_of=day(EVE), started_at=day(EVE)))
    said = eve("doctor")
    assert said.code == 1
    assert "WRONG  runs" in said.out
    assert "run-killed was killed" in said.out
    assert eve("run").code == 0
    assert eve("doctor").code == 0


def test_doctor_finds_what_is_wrong(consolidate: Consolidate, eve_sqlite: Path, tmp_path: Path) -> None:
    """Rows that point nowhere and an index out of step are found: exit 1, and which."""
    path = tmp_path / "sick.db"
    path.write_bytes(eve_sqlite.read_bytes())
    with closing(sqlite3.connect(path)) as conn:
        conn.execute("UPDATE exposures SET memory_key = 987654 WHERE key = 1")
        conn.execute("DROP TRIGGER memory_words_delete")
        conn.execute("DELETE FROM embeddings")
        conn.execute("DELETE FROM associations")
        conn.execute("DELETE FROM memories WHERE key = (SELECT max(key) FROM memories)")
        conn.commit()
    said = consolidate("--store", path, "doctor", "--json")
    assert said.code == 1
    assert [check["what"] for check in said.document["checks"] if check["sound"] is False] == [
        "foreign keys",
        "search index",
    ]
