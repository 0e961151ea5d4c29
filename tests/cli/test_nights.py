"""Nights given on the command line: run, apply, undo, runs, and what each prints."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from consolidator.instants import NIGHT
from consolidator.plan import STEPS, TOTALS
from consolidator.store.engine import open_store
from consolidator.store.locks import hold_scope
from tests.cli.conftest import EVE_NIGHT, Consolidate
from tests.lives import EVE, FADING, ÅSA, day, memory, name


def test_json(eve: Consolidate) -> None:
    """`run --json` prints one object and nothing else, with the totals that are promised."""
    dry = eve("run", "--dry-run", "--json")
    real = eve("run", "--json")
    assert (dry.err, real.err) == ("", "")
    for ended, is_dry in ((dry, True), (real, False)):
        document = ended.document
        assert list(document)[:4] == ["run_id", "as_of", "dry_run", "exit"]
        assert (document["run_id"] is None) == is_dry == document["dry_run"]
        assert document["as_of"] == EVE_NIGHT
        assert document["exit"] == ended.code == 0
        assert tuple(document["totals"]) == TOTALS
        assert document["totals"]["archived"]
        assert [list(scope["steps"]) for scope in document["scopes"]] == [list(STEPS)] * 2
        for scope in document["scopes"]:
            for step in scope["steps"].values():
                assert len(step["examples"]) <= 5
                assert (step["because_nothing"] is not None) == (not any(step["counts"].values()))
    assert dry.document["totals"] == real.document["totals"]
    planned, done = (ended.document["scopes"] for ended in (dry, real))
    for scope in (*planned, *done):
        scope["steps"]["merge"]["asked"].pop("embedded")  # vectors are made for good by the real one alone
    assert planned == done


def test_second_run(eve: Consolidate) -> None:
    """A second night of the same moment decides nothing, says why, and has a run_id all the same."""
    assert eve("run").code == 0
    again = eve("run", "--json").document
    assert again["run_id"]
    assert set(again["totals"].values()) == {0}
    assert "A quiet night" in eve("run").out


def test_dry_run_changes_nothing(eve: Consolidate) -> None:
    """A dry run changes no byte of what an export tells, and keeps no run."""
    before = eve("export").out, eve("runs", "--json").out
    assert eve("run", "--dry-run").code == 0
    assert (eve("export").out, eve("runs", "--json").out) == before


def test_decisions(eve: Consolidate) -> None:
    """--decisions lists every decision with its reason: planned, done, and read back later, they are the same."""
    planned = eve("run", "--dry-run", "--json", "--decisions").document["decisions"]
    done = eve("run", "--json", "--decisions").document
    kept = eve("show", done["run_id"], "--json", "--decisions").document["decisions"]
    assert done["decisions"] == kept
    assert sorted(map(json.dumps, planned)) == sorted(map(json.dumps, done["decisions"]))
    assert all(decision["because"] for decision in kept)
    told = eve("show", done["run_id"], "--decisions").out
    assert told.count("\nprune: archived: ") == sum(decision["verb"] == "archived" for decision in kept)


def test_apply(eve: Consolidate, copy_of_eve: Callable[[], str], consolidate: Consolidate, tmp_path: Path) -> None:
    """A plan that is applied does what the run would have done."""
    plan = tmp_path / "plan.json"
    said = eve("run", "--dry-run", "--out", plan, "--report", "off")
    assert said.out == ""
    assert f"consolidate apply {plan}" in said.err
    applied = eve("apply", plan, "--json").document
    other = copy_of_eve()
    run = consolidate("--store", other, "run", "--json").document
    assert applied["totals"] == run["totals"]
    mine, theirs = eve("export").out, consolidate("--store", other, "export").out
    assert without_vectors(mine) == without_vectors(theirs)


def without_vectors(export: str) -> list[dict[str, object]]:
    """The lines of an export without what only a night makes for good."""
    lines = [json.loads(line) for line in export.splitlines()]
    return [{name: value for name, value in line.items() if name != "embedding"} for line in lines]


def test_apply_decides_nothing(eve: Consolidate, eve_url: str, tmp_path: Path) -> None:
    """A plan applies where the laws and steps cannot even be imported, and only by then is the store written."""
    plan = tmp_path / "plan.json"
    assert eve("run", "--dry-run", "--out", plan).code == 0
    code = f"""
import sys
class Shut:
    def find_spec(self, name, path=None, target=None):
        if name.startswith(("consolidator.laws", "consolidator.steps")):
            raise ImportError(name)
sys.meta_path.insert(0, Shut())
from consolidator.cli import main
sys.exit(main(["--store", {eve_url!r}, "apply", {str(plan)!r}, "--report", "summary"]))
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (said.returncode, said.stderr) == (0, "")
    assert said.stdout.startswith("I replayed")


def test_apply_refuses(eve: Consolidate, consolidate: Consolidate, tmp_path: Path, wall: Callable[[int], None]) -> None:
    """A plan of another store, of another format, cut off, or for a time to come is refused, and nothing written."""
    plan, other = tmp_path / "plan.json", tmp_path / "other.db"
    assert eve("run", "--dry-run", "--out", plan).code == 0
    before = eve("export").out
    assert consolidate("--store", other, "init").code == 0
    consolidate("--store", other, "apply", plan).refused("run --dry-run --out")
    text = plan.read_text()
    for broken in (text[:200], "[]", "{}", text.replace('"version": 2', '"version": 99', 1), "\udcff"):
        plan.write_bytes(broken.encode(errors="surrogateescape"))
        eve("apply", plan).refused(str(plan))
    plan.write_text(text)
    wall(day(EVE) - 1)
    eve("apply", plan).refused("future")
    wall(day(EVE))
    assert eve("export").out == before


def test_out_never_overwrites_the_store(consolidate: Consolidate, sqlite_url: str, tmp_path: Path) -> None:
    """--out and -o refuse the store itself."""
    store = ("--store", sqlite_url)
    path = sqlite_url.removeprefix("sqlite:///")
    assert consolidate(*store, "init").code == 0
    consolidate(*store, "run", "--dry-run", "--out", path).refused("the store itself")
    consolidate(*store, "export", "-o", path).refused("the store itself")
    consolidate(*store, "graph", "-o", path).refused("the store itself")
    assert consolidate(*store, "doctor").code == 0
    consolidate(*store, "run", "--dry-run", "--out", tmp_path).refused(str(tmp_path))
    consolidate(*store, "export", "-o", tmp_path / "none" / "x").refused("none")


def test_undo(eve: Consolidate) -> None:
    """An undone night leaves the export as it was; `last` and the run_id mean the same run; undone is undone."""
    before = eve("export").out
    run_id = eve("run", "--json").document["run_id"]
    after = eve("export").out
    assert after != before
    would = eve("undo", "last", "--dry-run")
    assert "would be given back" in would.out
    assert eve("export").out == after
    said = eve("undo", "last", "--json").document
    assert (said["run_id"], said["refused"], said["exit"]) == (run_id, [], 0)
    assert eve("runs").out.splitlines()[1].split()[0] == run_id
    assert "undone" in eve("runs").out.splitlines()[1]
    eve("undo", run_id).refused("undone already", "consolidate runs")
    eve("undo", "run-none").refused("run-none", "consolidate runs")
    assert f"{run_id} was undone" in eve("show", run_id).out


def test_undo_in_part(eve: Consolidate) -> None:
    """Rows changed since are refused and named: exit 3."""
    assert eve("run").code == 0
    assert eve("pin", name(FADING[0])).code == 0
    said = eve("undo", "last")
    assert said.code == 3
    assert name(FADING[0]) in said.out.split("Refused:")[1]


def test_scope(eve: Consolidate) -> None:
    """--scope is exact: only that scope's night runs, and one that is not there is refused."""
    said = eve("run", "--scope", "user=åsa 🦉,project=山", "--json").document
    assert [scope["scope"] for scope in said["scopes"]] == [ÅSA]
    eve("run", "--scope", "user=åsa 🦉").refused("user=åsa 🦉", "consolidate stats")
    assert eve("run", "--scope", "", "--json").document["scopes"][0]["scope"] == {}


def test_steps(eve: Consolidate) -> None:
    """--steps runs the steps named; what was not named does nothing of its own."""
    said = eve("run", "--dry-run", "--steps", "prune, reinforce", "--json").document
    assert said["totals"]["reinforced"]
    assert said["totals"]["archived"]
    assert (said["totals"]["shifted"], said["totals"]["linked"]) == (0, 0)
    assert {"shift", "merge"}.isdisjoint(said["scopes"][1]["steps"])


@pytest.mark.parametrize("level", ["off", "errors", "summary", "detailed"])
def test_levels(eve: Consolidate, level: str) -> None:
    """A level says how much is printed, and no memory text below `detailed`."""
    said = eve("run", "--dry-run", "--report", level)
    assert said.code == 0
    assert bool(said.out) == (level in ("summary", "detailed"))
    assert ("fading note" in said.out) == (level == "detailed")


def test_held(eve: Consolidate, eve_url: str) -> None:
    """While another night holds a scope, exit 11; the other scopes are done, and the JSON is whole."""
    with open_store(eve_url, mode="write") as store, hold_scope(store, 1, wall_clock=lambda: day(EVE)):
        said = eve("run", "--json")
        assert said.code == said.document["exit"] == 11
        assert len(said.document["scopes"]) == 1
        assert "another night holds" in said.err
    assert eve("run").code == 0


def test_runs(eve: Consolidate, wall: Callable[[int], None]) -> None:
    """Nights are listed, the newest first, at most so many as asked for."""
    for nights in (0, 1, 2):
        wall(day(EVE) + nights * NIGHT)
        assert eve("run").code == 0
    listed = eve("runs", "-n", "2", "--json").document["runs"]
    assert [run["as_of"][:10] for run in listed] == ["2026-04-02", "2026-04-01"]
    assert eve("runs").out.startswith("run ")
    shown = eve("show", listed[0]["run_id"], "--json").document
    assert shown["report"]["comparison"]["nights"] == 5
    assert shown["report"]["run_id"] == listed[0]["run_id"]


@pytest.mark.parametrize("form", ["text", "markdown", "html", "json"])
def test_show_run(eve: Consolidate, tmp_path: Path, form: str) -> None:
    """A night's report can be had in every form, printed or in a file."""
    run_id = eve("run", "--json").document["run_id"]
    said = eve("show", run_id, "--format", form)
    assert said.code == 0
    assert run_id in said.out
    assert eve("show", "last", "--format", form).out == said.out
    assert eve("show", run_id[:20], "--format", form, "-o", tmp_path / "report").out == ""
    assert (tmp_path / "report").read_text() == said.out


def test_no_night_yet(consolidate: Consolidate, made_store_url: str) -> None:
    """Of a new store every question has an answer."""
    store = ("--store", made_store_url)
    assert consolidate(*store, "runs").out == "No night has run yet.\n"
    consolidate(*store, "show", "last").refused("no night has run yet")
    consolidate(*store, "undo", "last").refused("consolidate runs")
    said = consolidate(*store, "run", "--json").document
    assert set(said["totals"].values()) == {0}
    assert consolidate(*store, "run").code == 0


def test_clock_set_back(
    consolidate: Consolidate, made_store_url: str, write_lines: Callable[..., Path], wall: Callable[[int], None]
) -> None:
    """A clock that goes back, and rows dated in the future, neither end a night nor strengthen anything."""
    store = ("--store", made_store_url)
    lines = [memory("now", EVE), memory("far ahead", EVE + 400)]
    assert consolidate(*store, "import", "jsonl", write_lines(*lines)).code == 0
    assert consolidate(*store, "run").code == 0
    wall(day(EVE) - 20 * NIGHT)
    assert consolidate(*store, "run").code == 0
    strengths = {each["strength"] for each in consolidate(*store, "list", "--json").document["memories"]}
    assert strengths == {1.0}
