"""Merges as a plan: what the night would do, and what is left out where something has changed."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import sqlalchemy as sa

from consolidator.errors import BadInput
from consolidator.plan import load, save
from consolidator.store.engine import Store, open_store
from consolidator.store.tables import (
    memories,
    verdicts,
)
from tests import authors, lives
from tests.authors import Answer, applied, decided, one, planned
from tests.cats import (
    BIRD,
    CAT,
    CAT_NOW,
    CATS,
    DOG,
    FISH,
    KATZE,
    LETTER,
    count,
    forgotten,
    link,
    pinning,
    row,
    weight,
)
from tests.lives import exported, memory, name, rated, shown, take


@pytest.fixture
def store(made_store_url: str) -> Iterator[Store]:
    """An empty store, open for writing; once on each kind."""
    with open_store(made_store_url, mode="write") as opened:
        yield opened


def busy_cats(store: Store, *, strangers: bool = False) -> tuple[Answer, Answer]:
    """Two pairs that share neighbours, with a past of a night and a day that is still to be counted."""
    lines = [memory(text, 0, 0.5) for text in (CAT, KATZE, DOG, BIRD, FISH, LETTER)]
    for n in range(6):
        together = [(CAT, FISH), (KATZE, FISH), (DOG, FISH), (BIRD, LETTER), (KATZE, LETTER)]
        for a, b in together if strangers else [*together, (CAT, DOG)]:
            lines += shown(f"{a} {b} {n}", [a, b], 0.2 + n / 10)
    take(store, lines, at=1)
    authors.night(store, 1)
    turn = [CAT, LETTER] if strangers else [CAT, DOG, LETTER]
    more = [*shown("today", turn, 1.5), rated("m", "today", DOG, 1.6), memory("fades", 0.1, 0.051)]
    take(store, [*more, memory("new", 1.2)], at=2)
    return CATS, one(DOG, BIRD, text="He has a dog and a bird sings")


def test_a_plan_is_what_the_night_does(store: Store, sqlite_url: str) -> None:
    """Merges that share neighbours, planned on what the steps and each other will have left: as in the night."""
    answers = busy_cats(store)
    with open_store(sqlite_url + ".other", mode="create") as other:
        busy_cats(other)
        plan = planned(other, 2, *answers)
        assert not count(other, memories, memories.c.source == "consolidation")
        done = applied(other, plan)
        night = authors.night(store, 2, *answers)
        assert (done.stale, night.stale) == ([], [])
        assert exported(other, 2) == exported(store, 2)
        assert lives.journal(other, done.run_id) == lives.journal(store, night.run_id)
        assert weight(store, CAT_NOW, answers[1].text, 2) > 0
        assert decided(store, 2)[1].decisions == ()


def test_a_plan_with_merges_is_a_file(store: Store, tmp_path: Any) -> None:
    """Written and read back it is the same plan; one of a version without merges is refused, and says what next."""
    plan = planned(store, 2, *busy_cats(store))
    file = tmp_path / "plan.json"
    save(plan, file)
    assert load(file) == plan
    file.write_text(file.read_text().replace('"version": 2', '"version": 1'))
    with pytest.raises(BadInput, match="a plan of version 1, where this program reads 2; write it anew"):
        load(file)


CHANGES: dict[str, Callable[[Store], object]] = {
    "pinned": pinning(CAT),
    "forgotten": lambda store: forgotten(store, CAT),
    "rated": lambda store: take(store, [rated("meanwhile", "t", KATZE, 1.9)], at=2),
    "linked": lambda store: take(store, [link(CAT, "new", 0.5, 1.9)], at=2),
    "written": lambda store: take(store, [memory(CAT_NOW, 1.9)], at=2),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_merge_of_which_something_changed_is_left_out_and_the_others_land(store: Store, change: str) -> None:
    """A member pinned, forgotten, rated or linked, or the text taken in between plan and apply: then it waits."""
    answers = busy_cats(store, strangers=True)
    plan = planned(store, 2, *answers)
    CHANGES[change](store)
    done = applied(store, plan)
    assert [bool(one.stale) for one in done.landed] == [True, False]
    assert row(store, answers[1].text).status == "active"
    assert row(store, KATZE).status == "active"
    waiting = [] if change == "forgotten" else [sorted(map(name, (CAT, KATZE)))]
    with store.read() as conn:
        query = sa.select(verdicts.c.members).where(verdicts.c.verdict == "waiting")
        assert conn.scalars(query).all() == waiting


def test_a_merge_that_stands_on_one_that_was_left_out_is_left_out_too(store: Store) -> None:
    """It has inherited a link of the first."""
    first, second = busy_cats(store)
    plan = planned(store, 2, second, first)
    assert any(-1 in one.row for one in plan.scopes[0].merges[1].decisions)
    pinning(DOG)(store)
    done = applied(store, plan)
    assert all(one.stale for one in done.landed)
    assert "was left out" in done.landed[1].stale
    again = authors.night(store, 2, first)
    assert again.stale == []


def test_a_night_between_finds_its_members_changed(store: Store) -> None:
    """A member pinned while a model thinks: that merge waits, for what was written may not hold."""
    answers = busy_cats(store)
    night = authors.night(store, 2, *answers, between=lambda number: pinning(BIRD)(store) if number == 2 else None)
    assert night.verdicts == ["merge", "waiting"]
    assert "changed meanwhile" in night.landed[1].merge.because
