"""What has changed between plan and apply is left out, and the next night makes up for it."""

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
import sqlalchemy as sa

from consolidator.instants import format_instant
from consolidator.plan import Result
from consolidator.store.care import pin, restore
from consolidator.store.engine import Store, open_store
from consolidator.store.find import find_memories
from consolidator.store.forget import forget
from consolidator.store.tables import identities
from tests import lives
from tests.lives import EVE, Line, apply, day, exported, memory, name, night, plan_of, rated, shown, take

Change = Callable[[Store], object]
Copy = Callable[[], str]


@dataclass(frozen=True)
class Between:
    """A plan applied after something had changed: how that ended, and what was left out, by the ids of the rows."""

    result: Result
    stale: set[tuple[str, ...]]


def between(
    copy_of_eve: Copy,
    change: Change,
    *,
    first: Sequence[Line] = (),
    later: Sequence[float] = (),
    scopes: Sequence[str] | None = ("{}",),
) -> Between:
    """
    Apply a plan after a change, and prove that nothing was lost by that: plan, change, apply and a night leave what
    change and a night leave.

    first: taken in before the plan was made. later: nights that follow, of which the last is compared.
    """
    told = []
    for planned in (True, False):
        with open_store(copy_of_eve(), mode="write") as store:
            if first:
                take(store, first, at=EVE)
            if planned:
                plan = plan_of(store, scopes=scopes).plan
            change(store)
            if planned:
                result = apply(store, plan)
                found = stale(store, result)
                assert result.exit_code == (3 if found else 0)
            for at in (EVE, *later):
                assert night(store, at, scopes=scopes).exit_code == 0
            told.append(without_inferred(exported(store, at)))
    assert told[0] == told[1]
    return Between(result, found)


def stale(store: Store, result: Result) -> set[tuple[str, ...]]:
    with store.read() as conn:
        names = dict(conn.execute(sa.select(identities.c.key, identities.c.hash)).all())
    return {
        (one.table, *sorted(names.get(key, "gone") for key in one.row))
        for outcome in result.outcomes.values()
        for one, _ in outcome.stale
    }


def without_inferred(told: lives.Exported) -> tuple[Any, ...]:
    """An export but for inferred links: a view as of the night that last changed a link beside them."""
    direct = [[link for link in scope["associations"] if not link["inferred"]] for scope in told.values["scopes"]]
    memories = [scope["memories"] for scope in told.values["scopes"]]
    return direct, memories, [line for line in told.lines if '"inferred": true' not in line]


def row(*texts: str) -> tuple[str, ...]:
    return ("memories" if len(texts) == 1 else "associations", *sorted(map(name, texts)))


def taking(lines: Iterable[Line]) -> Change:
    told = list(lines)
    return lambda store: take(store, told, at=EVE)


def pinning(text: str) -> Change:
    def change(store: Store) -> None:
        with store.write() as conn:
            assert pin(conn, find_memories(conn, [name(text)]), pinned=True)

    return change


def test_a_row_that_changed_leaves_out_what_was_decided_on_it_and_nothing_else(copy_of_eve: Copy) -> None:
    """A pin between plan and apply: the memory's chain is stale, listed with why, and all else is applied."""
    found = between(copy_of_eve, pinning(lives.OLD))
    assert found.stale == {row(lives.OLD)}
    decided = sum(len(part.decisions) for part in found.result.plan.scopes)
    (told,) = [each for outcome in found.result.outcomes.values() for each in outcome.stale]
    assert told[1] == "its row has changed"
    assert sum(len(outcome.applied) for outcome in found.result.outcomes.values()) == decided - 1


def test_what_was_decided_on_one_row_falls_together(copy_of_eve: Copy) -> None:
    """A memory that a rating revives: the rating and the revival stand on each other."""
    assert between(copy_of_eve, pinning(lives.GONE)).stale == {row(lives.GONE)}


def test_what_was_implied_of_a_memory_falls_with_its_archiving(copy_of_eve: Copy) -> None:
    """A memory pinned before its archiving is applied stays, and so do the inferred links that would have gone."""
    found = between(copy_of_eve, pinning(lives.SPOKES[5]))
    assert {row(lives.SPOKES[5]), row(lives.SPOKES[5], lives.SPOKES[0])} <= found.stale
    assert {each[0] for each in found.stale} == {"memories", "associations"}


def test_a_rating_that_came_leaves_out_its_memory(copy_of_eve: Copy) -> None:
    """Nothing is decided on a memory without what was said of it."""
    found = between(copy_of_eve, taking([rated("m between", "elsewhere", lives.OLD, 29.8)]))
    assert found.stale == {row(lives.OLD)}


def test_a_rating_of_a_memory_that_the_plan_leaves_alone_waits(copy_of_eve: Copy) -> None:
    """It makes nothing stale."""
    assert between(copy_of_eve, taking([rated("m between", "elsewhere", lives.CROWD[5], 29.8)])).stale == set()


def test_a_showing_in_a_turn_of_the_plan_leaves_out_that_turn(copy_of_eve: Copy) -> None:
    """Its links are decided anew, and so is what its ratings gave."""
    found = between(copy_of_eve, taking(shown("words alone", [lives.SPOKES[3]], 27.01)))
    assert {row(lives.OLD), row(lives.CROWD[3]), row(lives.OLD, lives.CROWD[3])} <= found.stale
    assert row(lives.GONE) not in found.stale


def test_a_showing_in_another_turn_waits(copy_of_eve: Copy) -> None:
    """It makes nothing stale."""
    assert between(copy_of_eve, taking(shown("elsewhere", [lives.CROWD[4], lives.CROWD[5]], 29))).stale == set()


def test_an_activity_that_changes_the_clock_leaves_out_its_scope(copy_of_eve: Copy) -> None:
    """A rating dated in the days before a leave: the pause begins later, and every age after it is another."""
    found = between(copy_of_eve, taking([rated("m between", "elsewhere", lives.CROWD[5], 13)]), scopes=None)
    by_scope = {part.scope: found.result.outcomes[part.key] for part in found.result.plan.scopes}
    assert (by_scope["{}"].applied, by_scope["{}"].unlinked) == ((), 0)
    assert {why for _, why in by_scope["{}"].stale} == {"the scope has changed since the plan was made"}
    assert all(outcome.applied for scope, outcome in by_scope.items() if scope != "{}")


def test_a_plan_that_changes_the_past_holds_whole_or_not_at_all(copy_of_eve: Copy) -> None:
    """It moves every row that counts on the clock's past: one that it left out would keep ages of the old clock."""
    before_the_leave = [rated("m early", "elsewhere", lives.CROWD[5], 15.5)]
    late = shown("late spring 1", [lives.CROWD[4]], 26.2)
    found = between(copy_of_eve, taking(late), first=before_the_leave, scopes=None)
    by_scope = {part.scope: found.result.outcomes[part.key] for part in found.result.plan.scopes}
    assert by_scope["{}"].applied == ()
    assert all(outcome.applied for scope, outcome in by_scope.items() if scope != "{}")


def test_a_part_of_a_night_leaves_a_past_that_changes_to_a_whole_one(copy_of_eve: Copy) -> None:
    """Without the steps that replay it no step is taken, and a report says why."""
    lines = [rated("m early", "elsewhere", lives.CROWD[5], 15.5)]
    with open_store(copy_of_eve(), mode="write") as store, open_store(copy_of_eve(), mode="write") as other:
        for one in (store, other):
            take(one, lines, at=EVE)
        result = night(store, EVE, steps=("decay", "prune"))
        (part,) = [part for part in result.plan.scopes if part.scope == "{}"]
        assert (result.exit_code, part.decisions) == (0, ())
        assert "changes the past" in part.because_nothing["prune"]
        assert night(store, EVE).exit_code == night(other, EVE).exit_code == 0
        assert without_inferred(exported(store, EVE)) == without_inferred(exported(other, EVE))


def test_a_memory_whose_events_came_first_keeps_them(copy_of_eve: Copy) -> None:
    """It comes between plan and apply: the plan read its events as those of a stranger, and they still count."""
    events = [*shown("new strangers", ["x", "y"], 29), rated("m stranger", "new strangers", "x", 29)]
    between(copy_of_eve, taking([memory("x", 28), memory("y", 28)]), first=events)


def test_a_name_that_came_is_followed(copy_of_eve: Copy) -> None:
    """An alias between plan and apply: what was said of the old name counts for the new one."""
    alias = {"kind": "alias", "old_id": name(lives.OLD), "new_id": name(lives.CROWD[6]), "reason": "merged",
             "at": format_instant(day(29))}  # fmt: skip
    found = between(copy_of_eve, taking([alias]))
    assert row(lives.OLD) in found.stale


def test_a_memory_that_is_itself_again_gets_its_events(copy_of_eve: Copy) -> None:
    """One that had been renamed is restored between plan and apply: what the plan gave to its heir is its own."""
    events = [rated("m r", "colours", lives.FADED_NAME, 29), *shown("colours", [lives.FADED_NAME, lives.HUB], 29)]

    def bring_back(store: Store) -> None:
        with store.write() as conn:
            assert restore(conn, find_memories(conn, [name(lives.FADED_NAME)]), now=day(EVE))

    found = between(copy_of_eve, bring_back, first=events)
    assert {row(lives.NEW_NAME), row(lives.NEW_NAME, lives.HUB)} <= found.stale


def test_days_are_those_of_the_zone(copy_of_eve: Copy) -> None:
    """A person moves between plan and apply: the days of the new zone hold, also of memories not yet decided on."""
    moved = {"kind": "scope", "scope": {}, "time_zone": "Pacific/Auckland"}
    dated = memory("a day at the sea", 29, temporal_state="future", temporal_anchor="2026-04-02")
    between(copy_of_eve, taking([moved]), first=[dated], later=(EVE + 1.2,))


@pytest.mark.parametrize("seed", range(2))
def test_whatever_came_in_between_is_made_up_for(copy_of_eve: Copy, seed: int) -> None:
    """Any mixture of ratings, corrections, showings, pins and deletions."""
    known = [lives.HUB, lives.OLD, lives.GONE, lives.KEPT, *lives.SPOKES, *lives.CROWD]
    turns = ["words alone", "alone", "one more", "late spring 1", "somewhere else", "crowd"]
    messages = ["m new", "m spring 0", "m corrected", "m words"]
    verdicts = ["tool_get", "agent_feedback_negative", "agent_feedback_positive"]

    def change(store: Store) -> None:
        chance = random.Random(seed)
        lines: list[Line] = []
        for _ in range(chance.randrange(1, 4)):
            text, turn, at = chance.choice(known), chance.choice(turns), chance.uniform(20.5, 29.9)
            if chance.random() < 0.6:
                lines.append(rated(chance.choice(messages), turn, text, at, chance.choice(verdicts)))
            else:
                lines += shown(turn, [text], at)
        take(store, lines, at=EVE)
        pinned, forgotten = chance.sample(known, 2)
        pinning(pinned)(store)
        if chance.random() < 0.5:
            with store.read() as conn:
                found = find_memories(conn, [name(forgotten)])
            forget(store, found, now=day(EVE), wall_clock=lambda: day(EVE))

    between(copy_of_eve, change)
