"""What was paid for once, what was killed once, and what was said many times."""

from pathlib import Path

import pytest
import sqlalchemy as sa

from consolidator.store.engine import open_store
from consolidator.store.tables import runs
from tests.alike import pairs
from tests.cli.life import WORDS_ALONE, Life, totals
from tests.lives import memory
from tests.providers.provider import Provider


def test_a_plan_taken_back_and_run_again_is_paid_once(life: Life, anthropic: Provider, tmp_path: Path) -> None:
    """The answers in a plan are kept by the store that applies it: after an undo, a night needs no others."""
    plan = tmp_path / "plan.json"
    life.take(*pairs(3))
    life.night(1, "--dry-run", "--write", "--out", plan)
    assert totals(life("apply", plan, "--json").document) == {"merged": 3, "superseded": 6}
    assert life("undo", "last").code == 0
    assert totals(life.night(2)) == {"merged": 3, "superseded": 6}
    assert len(anthropic.calls) == 3
    assert anthropic.paid_twice() == []


@pytest.mark.parametrize("many", [2, 8, 300])
def test_equal_texts_become_one_however_many(life: Life, many: int) -> None:
    """In one night, without a model, also where others went into one before; the first that was seen stays."""
    life.say(WORDS_ALONE)
    forms = [f"Ada likes{' ' * (1 + number)}GREEN tea{'.' * (number % 2)}" for number in range(many)]
    life.take(*(memory(text, number / 1000) for number, text in enumerate(forms)))
    assert totals(life.night(1)) == {"absorbed": 1, "superseded": many - 1}
    assert life.active() == {forms[0]}
    life.take(memory("ada likes green tea!", 1.5))
    assert totals(life.night(2)) == {"absorbed": 1, "superseded": 1}
    assert life.active() == {forms[0]}
    assert totals(life.night(3)) == {}


def test_a_killed_run_is_listed_with_what_it_did(life: Life, anthropic: Provider) -> None:
    """A run that left no report is told by its journal."""
    life.take(*pairs(2))
    life.night(1)
    with open_store(life.url, mode="write") as store, store.write() as conn:
        conn.execute(sa.update(runs).values(finished_at=None, report=None, exit_code=None))
    (listed,) = life("runs", "--json").document["runs"]
    assert {name: count for name, count in listed["totals"].items() if count} == {"merged": 2, "superseded": 4}
