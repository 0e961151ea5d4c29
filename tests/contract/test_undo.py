"""Undo: a night taken back leaves the store as if it had not been, and what changed since is left alone."""

from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa

from consolidator.errors import BadInput
from consolidator.laws.clock import Rates
from consolidator.plan import Result
from consolidator.store.care import pin
from consolidator.store.engine import Store, open_store
from consolidator.store.find import find_memories
from consolidator.store.forget import forget
from consolidator.store.tables import attributions, exposures
from consolidator.store.undo import Undone, undo_run
from tests import lives
from tests.lives import EVE, apply, busy_store, day, exported, memory, name, plan_of, rated, shown, take

Copy = Callable[[], str]
RATES = {
    "as set": Rates(),
    "changed": Rates(working=0.8, consolidated=0.95, association=0.7),
    "by importance": Rates(by_importance="twofold"),
}


def night(store: Store, at: float, **more: Any) -> Result:
    """A night of the busy scope alone."""
    return lives.night(store, at, scopes=["{}"], **more)


def undo(store: Store, run: str | None = "last", *, dry_run: bool = False) -> Undone:
    return undo_run(store, run or "", wall_clock=lambda: day(EVE + 1), dry_run=dry_run)


def waiting(store: Store) -> list[tuple[str, int]]:
    with store.read() as conn:
        found = [
            (table.name, key)
            for table in (attributions, exposures)
            for key in conn.scalars(sa.select(table.c.key).where(table.c.waiting))
        ]
    return sorted(found)


def clocks(store: Store) -> list[str]:
    return [line for line in exported(store, EVE + 6).lines if '"kind": "scope"' in line]


def pinning(store: Store, text: str) -> None:
    with store.write() as conn:
        assert pin(conn, find_memories(conn, [name(text)]), pinned=True)


@pytest.mark.parametrize("rates", RATES)
def test_a_night_taken_back_leaves_the_store_as_it_was(eve_url: str, rates: str) -> None:
    """Every verb, two scopes, a leave, and a change of rates: both exports are what they were, and events wait."""
    with open_store(eve_url, mode="write") as store:
        before, waited = exported(store, EVE), waiting(store)
        result = lives.night(store, EVE, rates=RATES[rates])
        assert lives.verbs(result) >= lives.EVERYTHING - {"inferred changed"}
        assert exported(store, EVE) != before
        undone = undo(store)
        assert (undone.run_id, undone.exit_code) == (result.run_id, 0)
        assert exported(store, EVE) == before
        assert waiting(store) == waited


@pytest.mark.parametrize("steps", [("reinforce", "associate"), ("decay", "shift", "prune")])
def test_a_part_of_a_night_is_taken_back_too(eve_url: str, steps: tuple[str, ...]) -> None:
    """Whichever steps it had."""
    with open_store(eve_url, mode="write") as store:
        before, waited = exported(store, EVE), waiting(store)
        assert night(store, EVE, steps=steps).exit_code == 0
        assert undo(store).exit_code == 0
        assert (exported(store, EVE), waiting(store)) == (before, waited)


def test_nights_taken_back_one_by_one_were_never_there(
    store_url: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The newest first: what is left is what those before it and all that was taken in make of each other."""
    with busy_store(store_url) as store:
        lives.night(store, EVE)
        for left in (3, 2, 1, 0):
            assert undo(store).exit_code == 0
            other = f"sqlite:///{tmp_path_factory.mktemp('other')}/store.db"
            with busy_store(other, nights=lives.NIGHTS[:left]) as reference:
                assert exported(store, EVE).lines == exported(reference, EVE).lines
        with pytest.raises(BadInput, match="no run is left to undo"):
            undo(store)


def test_a_night_after_an_undo_decides_the_same_but_archives_nothing_that_came_back(eve_url: str) -> None:
    """What an undo brought back it spares, until an event touches it."""
    with open_store(eve_url, mode="write") as store:
        first = night(store, EVE)
        undo(store)
        again = night(store, EVE)
        archived = {row for row in lives.planned(first) if row[1] == "archived" and "faded" in row[4]}
        assert len(archived) > 12
        spared = {row[2][0] for row in archived}

        def elsewhere(result: Result) -> set[tuple[Any, ...]]:
            return {row for row in lives.planned(result) if row[1] != "inferred" or not spared & set(row[2])}

        assert elsewhere(again) == elsewhere(first) - archived
        take(store, [rated("m spared", "spared", lives.FADING[0], 30.1, "auto_injected")], at=30.2)
        later = night(store, 60)
        assert lives.name(lives.FADING[0]) in [
            row[2] for row in lives.journal(store, later.run_id) if "archived" in row
        ]
        assert exported(store, 60).values["scopes"][1]["memories"] != []


def test_a_plan_of_before_an_undo_does_not_apply(eve_url: str) -> None:
    """Revisions only grow, and a scope counts its undos: all of it is left out, and no byte of an export changes."""
    with open_store(eve_url, mode="write") as store:
        plan = plan_of(store).plan
        before = exported(store, EVE)
        lives.night(store, EVE)
        undo(store)
        result = apply(store, plan)
        assert result.exit_code == 3
        assert not any(outcome.applied or outcome.unlinked for outcome in result.outcomes.values())
        assert exported(store, EVE) == before


def test_a_night_that_another_built_upon_is_taken_back_after_that(eve_url: str) -> None:
    """One line says which to undo first; a dry run says the same."""
    with open_store(eve_url, mode="write") as store:
        first = night(store, EVE)
        take(store, [rated("m next", "next", lives.OLD, 30.5)], at=31)
        second = night(store, 31)
        before = exported(store, 31)
        for dry_run in (True, False):
            with pytest.raises(BadInput) as refusal:
                undo(store, first.run_id, dry_run=dry_run)
            assert str(refusal.value) == (
                f"{second.run_id} came after {first.run_id} and decided on the same rows; undo {second.run_id} first"
            )
        assert exported(store, 31) == before
        assert undo(store, second.run_id).exit_code == 0
        assert undo(store, first.run_id).exit_code == 0


def test_an_older_night_elsewhere_is_taken_back_alone(copy_of_eve: Copy) -> None:
    """Disjoint rows and events: the newer night stays as it is."""
    with open_store(copy_of_eve(), mode="write") as store, open_store(copy_of_eve(), mode="write") as other:
        older = lives.night(store, EVE, scopes=['{"project":"山","user":"åsa 🦉"}'])
        night(store, EVE)
        assert undo(store, older.run_id).exit_code == 0
        night(other, EVE)
        assert exported(store, EVE) == exported(other, EVE)


def test_an_undone_night_is_not_undone_again(eve_url: str) -> None:
    """Nor is one that never was."""
    with open_store(eve_url, mode="write") as store:
        result = night(store, EVE)
        undo(store, result.run_id)
        before = exported(store, EVE)
        with pytest.raises(BadInput, match="has been undone already"):
            undo(store, result.run_id)
        with pytest.raises(BadInput, match="there is no run run-of-nobody"):
            undo(store, "run-of-nobody")
        assert exported(store, EVE) == before


def test_a_row_changed_since_is_refused_and_listed_with_all_that_shares_its_events(eve_url: str) -> None:
    """A pin since the night: its memory stays as it is, everything else goes back; exit code 3."""
    with open_store(eve_url, mode="write") as store:
        before = {line for line in exported(store, EVE).lines if lives.name(lives.OLD) not in line}
        night(store, EVE)
        pinning(store, lives.OLD)
        kept = next(line for line in exported(store, EVE).lines if f'"id": "{name(lives.OLD)}"' in line)
        told = undo(store, dry_run=True)
        undone = undo(store)
        assert told == undone
        assert undone.exit_code == 3
        assert f"memories {name(lives.OLD)}: changed since the run" in undone.refused
        after = exported(store, EVE)
        assert kept in after.lines
        assert {line for line in after.lines if lives.name(lives.OLD) not in line} == before


def test_a_clock_does_not_forget_what_was_not_taken_back(eve_url: str) -> None:
    """Where a row is refused, the events that it holds stay counted, so the clock goes on knowing of them."""
    with open_store(eve_url, mode="write") as store:
        take(store, [rated("m last", "last", lives.OLD, 29.9)], at=EVE)
        night(store, EVE)
        pinning(store, lives.OLD)
        there = clocks(store)
        assert undo(store).exit_code == 3
        assert clocks(store) == there
        assert night(store, EVE).exit_code == 0
        assert clocks(store) == there


def test_a_link_that_has_died_since_is_no_obstacle(eve_url: str) -> None:
    """A later night deleted it, as every reader had it already: the night that made it is taken back all the same."""
    with open_store(eve_url, mode="write") as store:
        steps = ("associate", "decay")
        result = night(store, EVE, steps=steps)
        with store.read() as conn:
            links = sa.text("SELECT count(*) FROM associations")
            before = conn.scalar(links)
        night(store, EVE + 40)
        with store.read() as conn:
            assert conn.scalar(links) < before
        undo(store)
        undone = undo(store, result.run_id)
        assert undone.refused == ()


def test_an_inferred_link_comes_back_where_the_direct_one_that_took_its_place_has_died(eve_url: str) -> None:
    """Its row was deleted with the direct link; the undo writes it again."""
    pair = sorted(map(name, (lives.SPOKES[1], lives.SPOKES[2])))

    def of_pair(store: Store, at: float) -> list[str]:
        return [line for line in exported(store, at).lines if '"association"' in line and all(x in line for x in pair)]

    with open_store(eve_url, mode="write") as store:
        at = EVE + 16
        inferred = of_pair(store, at)
        assert '"inferred": true' in inferred[0]
        take(store, lives.alike("two", [lives.SPOKES[1], lives.SPOKES[2]], EVE), at=EVE)
        keeping = [rated(f"m {n}", "on", lives.OLD, EVE + n) for n in range(16)]
        result = night(store, EVE)
        take(store, keeping, at=at)
        night(store, at)
        assert of_pair(store, at) == []
        undo(store)
        assert undo(store, result.run_id).refused == ()
        assert of_pair(store, at) == inferred


def test_a_factor_that_came_with_a_rating_is_kept(eve_url: str) -> None:
    """A night uses it and an undo leaves it, so the night after it counts the same."""
    with open_store(eve_url, mode="write") as store:
        first = night(store, EVE)
        after = exported(store, EVE)
        undo(store)
        assert any('"mode": 0.25' in line for line in exported(store, EVE).lines)
        second = night(store, EVE, steps=("reinforce",))
        rows = [lives.planned(one) for one in (first, second)]
        assert {row for row in rows[0] if row[0] == "reinforce"} == {row for row in rows[1] if row[0] == "reinforce"}
        assert [line for line in exported(store, EVE).lines if '"kind": "attribution"' in line] == [
            line for line in after.lines if '"kind": "attribution"' in line
        ]


def test_what_was_forgotten_stays_so(eve_url: str) -> None:
    """An undo brings back nothing of a memory that was forgotten since, and is not held up by it."""
    with open_store(eve_url, mode="write") as store:
        night(store, EVE)
        with store.read() as conn:
            found = find_memories(conn, [name(lives.HUB), name(lives.OLD)])
        forget(store, found, now=day(EVE), wall_clock=lambda: day(EVE))
        assert undo(store).exit_code == 0
        assert not any(lives.HUB in line or lives.OLD in line for line in exported(store, EVE).lines)
        assert night(store, EVE).exit_code == 0


def test_a_dry_undo_changes_nothing(eve_url: str) -> None:
    """It says what an undo would, of a store opened for reading."""
    with open_store(eve_url, mode="write") as store:
        night(store, EVE)
        before = exported(store, EVE)
    with open_store(eve_url, mode="read") as store:
        told = undo(store, dry_run=True)
        assert exported(store, EVE) == before
    with open_store(eve_url, mode="write") as store:
        assert undo(store) == told
        assert told.restored > 30
        assert told.events > 30


def test_what_came_since_stays(eve_url: str) -> None:
    """Memories and events taken in after a night are there after its undo, as if taken in without it."""
    late = [
        memory("since then", 30.2),
        *shown("since", ["since then", lives.HUB], 30.3),
        rated("m s", "since", "x", 30),
    ]
    with open_store(eve_url, mode="write") as store:
        take(store, late, at=31)
        before = exported(store, 31)
        undone_before = night(store, EVE)
        assert undo(store, undone_before.run_id).exit_code == 0
        assert exported(store, 31) == before
