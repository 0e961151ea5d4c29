"""Taking memories in and giving them out: import, export."""

import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import EVE_NIGHT, Consolidate
from tests.lives import HUB, OLD, ÅSA, memory, name, shown


def test_there_and_back(eve: Consolidate, consolidate: Consolidate, tmp_path: Path) -> None:
    """An export taken in by an empty store gives the same export again, and a second time changes nothing."""
    path, other = tmp_path / "all.jsonl", ("--store", tmp_path / "other.db")
    assert eve("export", "-o", path).out == ""
    said = consolidate(*other, "import", "jsonl", path, "--json").document
    assert said["exit"] == 0
    assert not any(said["known"].values())
    assert consolidate(*other, "export").out == path.read_text()
    said = consolidate(*other, "import", "jsonl", path, "--json").document
    assert not any(said["added"].values())
    assert consolidate(*other, "export").out == path.read_text()
    assert consolidate(*other, "doctor").code == 0


def test_values(eve: Consolidate) -> None:
    """The export of values is one document for the moment asked, of the scope asked."""
    document = eve("export", "--format", "json", "--as-of", EVE_NIGHT, "--scope", json.dumps(ÅSA)).document
    assert document["as_of"] == EVE_NIGHT
    assert [scope["scope"] for scope in document["scopes"]] == [ÅSA]
    later = eve("export", "--format", "json", "--as-of", "2027-03-31T09:00:00Z").document
    strengths = [each["strength"] for scope in later["scopes"] for each in scope["memories"]]
    assert max(strengths) < 1
    eve("export", "--scope", "user=ada").refused("user=ada")


def test_bad_file_leaves_nothing(
    consolidate: Consolidate, write_lines: Callable[..., Path], sqlite_url: str, tmp_path: Path
) -> None:
    """A file with a bad line is refused whole: with its name, line, field and reason, and no store is made."""
    path = write_lines(memory(HUB, 1), memory("x", 1, strength=7), memory("", 1))
    store = ("--store", sqlite_url)
    consolidate(*store, "import", "jsonl", path).refused(f"{path}:3: strength: ", "1 more bad line")
    assert not list(tmp_path.glob("store.db*"))
    consolidate(*store, "import", "jsonl", tmp_path / "none").refused(str(tmp_path / "none"), "No such file")
    consolidate(*store, "import", "jsonl", tmp_path).refused(str(tmp_path), "directory")
    assert not list(tmp_path.glob("store.db*"))


def test_bad_file_found_late(
    consolidate: Consolidate, write_lines: Callable[..., Path], sqlite_url: str, tmp_path: Path
) -> None:
    """A line that turns out to be bad only against the store is refused so too, and the new store goes again."""
    path = write_lines(
        memory(HUB, 1),
        {"kind": "association", "memory_a": name(HUB), "memory_b": name(OLD), "weight": 0.5,
         "weight_at": "2026-03-03T00:00:00Z"},
    )  # fmt: skip
    consolidate("--store", sqlite_url, "import", "jsonl", path).refused(f"{path}:3: memory_b: ")
    assert not list(tmp_path.glob("store.db*"))


def test_skip_bad(consolidate: Consolidate, write_lines: Callable[..., Path], made_store_url: str) -> None:
    """--skip-bad takes the good lines and lists the bad ones: exit 3."""
    path = write_lines(memory(HUB, 1), memory("x", 1, strength=7))
    said = consolidate("--store", made_store_url, "import", "jsonl", path, "--skip-bad")
    assert said.code == 3
    assert said.out == "Added: 1 memory.\n"
    assert said.err.startswith(f"skipped: {path}:3: strength: ")
    said = consolidate("--store", made_store_url, "import", "jsonl", path, "--skip-bad", "--json")
    assert said.document["bad_lines"] == len(said.document["bad"]) == 1
    assert said.document["known"] == {"memory": 1}


def test_dry_run(consolidate: Consolidate, write_lines: Callable[..., Path], sqlite_url: str, tmp_path: Path) -> None:
    """A dry run says what would be added, whether there is a store or not, and adds nothing."""
    path = write_lines(memory(HUB, 1))
    command = ("--store", sqlite_url, "import", "jsonl", path)
    assert consolidate(*command, "--dry-run").out == "Would be added: 1 memory.\n"
    assert not list(tmp_path.glob("store.db*"))
    assert consolidate(*command).out == "Added: 1 memory.\n"
    assert consolidate(*command, "--dry-run").out == "Known already: 1 memory.\n"
    more = write_lines(memory(OLD, 1), name="more.jsonl")
    assert consolidate("--store", sqlite_url, "import", "jsonl", more, "--dry-run").out == "Would be added: 1 memory.\n"
    assert OLD not in consolidate("--store", sqlite_url, "list").out


def test_scope(consolidate: Consolidate, write_lines: Callable[..., Path], made_store_url: str) -> None:
    """--scope fills lines without one, and a line with another is bad."""
    command = ("--store", made_store_url, "import", "jsonl")
    assert consolidate(*command, write_lines(memory(HUB, 1)), "--scope", "user=ada").code == 0
    (listed,) = consolidate("--store", made_store_url, "list", "--json").document["memories"]
    assert listed["scope"] == {"user": "ada"}
    consolidate(*command, write_lines(memory(OLD, 1, scope=ÅSA)), "--scope", "user=ada").refused("scope")


def test_as_of(consolidate: Consolidate, write_lines: Callable[..., Path], made_store_url: str) -> None:
    """What says no time of its own is taken in at --as-of, else by the clock; never in the future."""
    store = ("--store", made_store_url)
    line = memory(HUB, 1)
    del line["strength_at"]
    path = write_lines(line)
    consolidate(*store, "import", "jsonl", path, "--as-of", "2027-01-01T00:00:00Z").refused("future")
    assert consolidate(*store, "import", "jsonl", path, "--as-of", "2026-03-15T00:00:00Z").code == 0
    assert consolidate(*store, "show", name(HUB), "--json").document["strength_at"] == "2026-03-15T00:00:00.000Z"


def test_standard_input(tmp_path: Path, consolidate: Consolidate, monkeypatch: pytest.MonkeyPatch) -> None:
    """`-` is standard input, and standard output for what goes out."""
    lines = ['{"kind": "header", "format": "consolidator-jsonl", "version": 1}', json.dumps(memory(HUB, 1))]

    class Input:
        buffer = io.BytesIO("\n".join(lines).encode())

        @staticmethod
        def isatty() -> bool:
            return False

    monkeypatch.setattr("sys.stdin", Input)
    assert consolidate("--store", tmp_path / "s.db", "import", "jsonl", "-").out == "Added: 1 memory.\n"
    command = [sys.executable, "-m", "consolidator", "--store", str(tmp_path / "s.db"), "export", "-o", "-"]
    assert HUB in subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_file_appears_whole(eve: Consolidate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that cannot be finished is not begun: what was there before stays."""
    path = tmp_path / "kept.jsonl"
    path.write_text("as it was")

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("consolidator.exchange.export.export_jsonl", fail)
    eve("export", "-o", path).refused(str(path), "No space left", code=1)
    assert path.read_text() == "as it was"
    assert [each.name for each in tmp_path.glob("*kept*")] == ["kept.jsonl"]


def test_counts(consolidate: Consolidate, write_lines: Callable[..., Path], made_store_url: str) -> None:
    """What was taken in is counted in words."""
    alias = {"kind": "alias", "old_id": name("a"), "new_id": name("b"), "reason": "r", "at": "2026-03-03T00:00:00Z"}
    lines = [memory(HUB, 1), memory(OLD, 1), *shown("t", [HUB, OLD], 2), alias]
    said = consolidate("--store", made_store_url, "import", "jsonl", write_lines(*lines))
    assert said.out == "Added: 2 memories, 3 exposures, 1 alias.\n"
    assert consolidate("--store", made_store_url, "import", "jsonl", write_lines()).out == "Nothing to take in.\n"


def test_parity(consolidate: Consolidate, sqlite_url: str, shared_data: Path) -> None:
    """Days of a real conversation, each imported and followed by its night, come out as another reading says."""
    folder, store = shared_data / "parity" / "conv-26", ("--store", sqlite_url)
    expected = json.loads((folder / "expected.json").read_text())["nights"]
    assert consolidate(*store, "import", "jsonl", folder / "seed.jsonl").code == 0
    for number, night in enumerate(expected, 1):
        assert consolidate(*store, "import", "jsonl", folder / f"day-{number:02}.jsonl").code == 0
        totals = consolidate(*store, "run", "--as-of", night["as_of"], "--json").document["totals"]
        assert (totals["archived"], totals["shifted"]) == (night["archived"], night["transitioned"])
        (scope,) = consolidate(*store, "export", "--format", "json", "--as-of", night["as_of"]).document["scopes"]
        active = {
            each["id"]: [each["strength"], each["temporal_state"]]
            for each in scope["memories"]
            if each["status"] == "active"
        }
        assert active.keys() == night["memories"].keys()
        for each, (strength, state) in night["memories"].items():
            assert active[each] == [pytest.approx(strength, abs=1e-6), state]
