"""A plan: what a dry run shows is what a run does, and what has changed since is left out."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from consolidator.errors import BadInput
from consolidator.plan import load, save
from consolidator.store.engine import open_store
from tests import lives
from tests.lives import EVE, apply, exported, night, plan_of, planned

ROOT = Path(__file__).parents[2]


def test_the_night_of_the_eve_decides_everything_that_a_night_can_decide(eve_url: str) -> None:
    """What the tests below prove of that night they prove of every verb."""
    with open_store(eve_url, mode="read") as store:
        result = plan_of(store)
    assert lives.verbs(result) == lives.EVERYTHING
    assert sum(part.unlinked for part in result.plan.scopes) > 12


def test_a_plan_is_a_file_that_holds_all_of_it(eve_url: str, tmp_path: Path) -> None:
    """Written and read back it is the same plan."""
    with open_store(eve_url, mode="read") as store:
        plan = plan_of(store).plan
    save(plan, tmp_path / "plan.json")
    assert load(tmp_path / "plan.json") == plan


def test_a_plan_kept_and_applied_is_the_run(copy_of_eve: Callable[[], str], tmp_path: Path) -> None:
    """On copies of one store, `--out` and `apply` leave what `run` leaves, in the rows and in the journal."""
    ran, given = copy_of_eve(), copy_of_eve()
    file = tmp_path / "plan.json"
    with open_store(given, mode="read") as store:
        save(plan_of(store).plan, file)
    with open_store(ran, mode="write") as store, open_store(given, mode="write") as other:
        run, applied = night(store, EVE), apply(other, load(file))
        assert (run.exit_code, applied.exit_code) == (0, 0)
        assert exported(other, EVE) == exported(store, EVE)
        assert lives.journal(other, applied.run_id) == lives.journal(store, run.run_id) != []
        assert planned(run) == planned(applied)
        unlinked = [sum(outcome.unlinked for outcome in one.outcomes.values()) for one in (run, applied)]
        assert unlinked[0] == unlinked[1] > 12
        assert night(other, EVE).plan.scopes[0].decisions == ()


def test_a_plan_applied_twice_does_nothing_the_second_time(eve_url: str) -> None:
    """All of it is left out and listed, and no byte of an export changes."""
    with open_store(eve_url, mode="write") as store:
        plan = plan_of(store).plan
        apply(store, plan)
        after = exported(store, EVE)
        again = apply(store, plan)
        assert again.exit_code == 3
        assert not any(outcome.applied or outcome.unlinked for outcome in again.outcomes.values())
        assert exported(store, EVE) == after


def test_a_plan_of_another_store_is_refused(eve_url: str, made_store_url: str) -> None:
    """A store knows its plans by the id kept inside it."""
    with open_store(eve_url, mode="read") as store:
        plan = plan_of(store).plan
    with open_store(made_store_url, mode="write") as other, pytest.raises(BadInput, match="the plan is of store"):
        apply(other, plan)


def test_apply_needs_no_law_and_no_step(copy_of_eve: Callable[[], str], tmp_path: Path) -> None:
    """It decides nothing: the rooms that decide cannot even be imported."""
    ran, given = copy_of_eve(), copy_of_eve()
    with open_store(given, mode="read") as store:
        save(plan_of(store).plan, tmp_path / "plan.json")
    code = """
import sys
from pathlib import Path

class Blocked:
    def find_spec(self, fullname, path=None, target=None):
        if fullname.startswith(("consolidator.laws", "consolidator.steps")):
            raise ImportError(f"{fullname} is not to be had")

sys.meta_path.insert(0, Blocked())
from consolidator.perform import apply_plan
from consolidator.plan import load
from consolidator.store.engine import open_store
with open_store(sys.argv[1], mode="write") as store:
    plan = load(Path(sys.argv[2]))
    result = apply_plan(store, plan, wall_clock=lambda: plan.as_of, describe=lambda result: {})
sys.exit(result.exit_code)
"""
    command = [sys.executable, "-c", code, given, tmp_path / "plan.json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    with open_store(ran, mode="write") as store:
        night(store, EVE)
    assert lives.looked_at(given, EVE) == lives.looked_at(ran, EVE)
