"""After a merge: what is said and shown of its sources, what a later pass sees, and what a person brings back."""

import math
from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from consolidator.laws.clock import CONSOLIDATED
from consolidator.laws.fading import FADED
from consolidator.plan import ScopePlan
from consolidator.store.care import restore
from consolidator.store.clocks import read_clock
from consolidator.store.engine import Store, open_store
from consolidator.store.find import find_memories
from consolidator.store.merges import look
from consolidator.store.overlay import Overlay
from consolidator.store.tables import (
    attributions,
    memories,
    merge_sources,
    verdicts,
)
from tests import authors, lives
from tests.authors import Answer, absorbed, apart, one, pair
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
    row,
    strength,
    two_cats,
    weight,
)
from tests.lives import RATES, day, memory, name, rated, shown, take


@pytest.fixture
def store(made_store_url: str) -> Iterator[Store]:
    """An empty store, open for writing; once on each kind."""
    with open_store(made_store_url, mode="write") as opened:
        yield opened


def test_a_rating_of_a_source_acts_on_the_one_memory(store: Store) -> None:
    """At its time; one of before the merge that comes late, at the base."""
    two_cats(store)
    authors.night(store, 4, CATS)
    base = 0.9 * 0.906**3.5
    take(store, [rated("late", "t", CAT, 2, "tool_get"), rated("m", "u", KATZE, 5, "agent_feedback_negative")], at=6)
    lives.night(store, 6, steps=authors.MAIN)
    expected = (min(1.0, base + 0.7 * 0.6) * 0.977 - 0.35) * 0.977
    assert strength(store, CAT_NOW, 6) == pytest.approx(expected)
    with store.read() as conn:
        told = conn.execute(sa.select(attributions.c.applied, attributions.c.target_key)).all()
    assert told == [(True, row(store, CAT_NOW).key)] * 2


STAYS = [CATS, absorbed(CAT, KATZE), absorbed(KATZE, CAT)]


def corrected(store: Store, *answers: Answer) -> float:
    """A day of ratings, a night, and a day on which two of them are taken back: what is left of the merged memory."""
    lines = [memory(CAT, 0, 0.5), memory(KATZE, 0, 0.3), memory(FISH, 0)]
    lines += [rated("m", "t", CAT, 1), rated("n", "t", KATZE, 1.5), rated("o", "t", KATZE, 1.7, "tool_get")]
    take(store, lines, at=2)
    night = authors.night(store, 2, *answers)
    taken_back = [
        rated("m", "t", CAT, 2.5, "agent_feedback_negative"),
        rated("n", "t", KATZE, 2.6, "agent_feedback_neutral"),
        rated("o", "t", KATZE, 2.7, "auto_injected"),
    ]
    take(store, taken_back, at=3)
    lives.night(store, 3, steps=authors.MAIN)
    lives.night(store, 4, steps=authors.MAIN)
    return strength(store, night.landed[0].merge.text, 4)


@pytest.mark.parametrize("answer", STAYS, ids=["written", "absorbed", "absorbed the other way"])
def test_five_then_one_is_one_across_a_merge(store: Store, answer: Answer) -> None:
    """
    What a message said before and after the merge counts once: the base holds it no longer, and it acts at the base.

    An older implicit rating that is the more confident stays in the base, and the weaker one adds nothing.
    """
    found = corrected(store, answer)
    cat = 0.5 * 0.906**2
    katze = (0.3 * 0.906**1.7 + 0.7 * 0.6) * 0.906**0.3
    base = max(cat, katze)
    assert base == katze
    assert found == pytest.approx(min(1, max(0, base - 0.35) + 0.7 * 0.4) * 0.977**2)


def test_a_correction_reaches_through_two_merges(store: Store) -> None:
    """Of what a message said long ago, in a memory that is two merges away, nothing is left in the base."""
    take(store, [memory(CAT, 0, 0.2), memory(KATZE, 0, 0.4), memory(DOG, 0, 0.1), rated("m", "t", CAT, 1)], at=2)
    authors.night(store, 2, CATS)
    authors.night(store, 4, absorbed(CAT_NOW, DOG))
    take(store, [memory(BIRD, 4.5, 0.1)], at=5)
    authors.night(store, 5, one(CAT_NOW, BIRD, text=LETTER))
    take(store, [rated("m", "t", CAT, 5.5, "agent_feedback_negative")], at=6)
    lives.night(store, 6, steps=authors.MAIN)
    base = 0.4 * 0.906**2 * 0.977**3
    assert strength(store, LETTER, 6) == pytest.approx(max(0, base - 0.35) * 0.977, abs=1e-9)
    assert row(store, LETTER).base_strength == pytest.approx(base)


def test_a_late_turn_counts_nothing_twice(store: Store) -> None:
    """A link that is replayed from its base, because a turn came late, does not count again what the base holds."""
    more = [memory(DOG, 0)]
    more += [line for n in range(3) for line in shown(f"before {n}", [CAT, DOG], 0.6 + n / 10)]
    two_cats(store, *more)
    authors.night(store, 2, CATS)
    base = weight(store, CAT_NOW, DOG, 2)
    take(store, shown("after", [KATZE, DOG], 3), at=4)
    lives.night(store, 4, steps=authors.MAIN)

    def grown(value: float, nights: float) -> float:
        faded = value * 0.9**nights
        return faded + 0.15 - 0.15 * faded

    second = lives.SECOND / lives.NIGHT  # a turn links at the later of two showings
    assert weight(store, CAT_NOW, DOG, 4) == pytest.approx(grown(base, 1 + second) * 0.9 ** (1 - second))
    late = shown("between", [CAT, DOG], 2.5) + shown("before the merge", [KATZE, DOG], 1.5)
    take(store, late, at=5)
    lives.night(store, 5, steps=authors.MAIN)
    expected = grown(grown(grown(base, 0), 0.5 + second), 0.5) * 0.9 ** (2 - second)
    assert weight(store, CAT_NOW, DOG, 5) == pytest.approx(expected)


def test_a_past_that_changes_leaves_its_head_right(store: Store) -> None:
    """A rating in a leave that was thought one: the clock is another before and after; the base stays as it was."""
    two_cats(store, memory(DOG, 0), rated("m", "t", CAT, 0.6, "auto_injected"), *shown("t", [CAT, DOG], 0.6))
    authors.night(store, 20)
    take(store, [rated("back", "u", DOG, 20.5, "auto_injected")], at=21)
    authors.night(store, 21, CATS)
    base = row(store, CAT_NOW).base_strength
    take(store, [rated("m now", "v", CAT_NOW, 22, "tool_get")], at=23)
    lives.night(store, 23, steps=authors.MAIN)
    before = strength(store, CAT_NOW, 23)
    take(store, [rated("in the leave", "w", DOG, 5, "auto_injected")], at=24)
    result = lives.night(store, 24, steps=authors.MAIN)
    assert result.plan.scopes[0].whole
    found = row(store, CAT_NOW)
    assert (found.base_strength, found.base_at) == (base, day(21))
    assert strength(store, CAT_NOW, 23) == pytest.approx(before)
    assert strength(store, CAT_NOW, 24) == pytest.approx(before * 0.977)
    with store.read() as conn:
        clock = read_clock(conn, found.scope_key, now=day(24), rates=RATES)
    faded = float(clock.age(found.strength_at, CONSOLIDATED)) + math.log2(found.strength / FADED)
    assert found.fades_age == pytest.approx(faded)
    assert lives.night(store, 24, steps=authors.MAIN).plan.scopes[0].decisions == ()


def test_a_memory_merged_again_keeps_all_its_sources(store: Store) -> None:
    """The list holds whose texts came in, however many merges ago, and every alias leads to the end."""
    two_cats(store)
    authors.night(store, 2, CATS)
    take(store, [memory(DOG, 2.5)], at=3)
    authors.night(store, 3, one(CAT_NOW, DOG, text=LETTER))
    made = row(store, LETTER).key
    with store.read() as conn:
        sources = set(conn.scalars(sa.select(merge_sources.c.source_key).where(merge_sources.c.memory_key == made)))
    assert sources == {row(store, text).key for text in (CAT, KATZE, DOG)}
    take(store, [rated("m", "t", CAT, 3.5, "tool_get")], at=4)
    lives.night(store, 4, steps=authors.MAIN)
    assert count(store, attributions, attributions.c.target_key == made) == 1


def test_a_restored_source_is_itself_and_stays_apart(store: Store) -> None:
    """It is kept, its ratings are its own again, and it is never asked about with what was written from it."""
    two_cats(store)
    authors.night(store, 2, CATS)
    with store.write() as conn:
        assert restore(conn, find_memories(conn, [name(CAT)]), now=day(2))
    found = row(store, CAT)
    assert (found.status, found.kept, found.superseded_by) == ("active", True, None)
    take(store, [rated("m", "t", CAT, 2.5, "tool_get")], at=3)
    night = authors.night(store, 3)
    assert row(store, CAT).kept is False
    assert night.sight.fresh == ()
    assert {pair(CAT, KATZE), pair(CAT, CAT_NOW)} <= apart(store)
    assert strength(store, CAT, 3) == pytest.approx((0.6 * 0.906**2.5 + 0.42) * 0.906**0.5)


# What a pass sees


def test_a_pass_sees_each_memory_once(store: Store) -> None:
    """New ones, then only what was recalled since; what is kept, of later or renamed is not looked at."""
    take(store, [memory(CAT, 0), memory(KATZE, 0), memory(DOG, 0, kept=True), memory(BIRD, 9)], at=1)
    first = authors.night(store, 1)
    assert set(first.sight.fresh) == first.sight.changed == {row(store, text).key for text in (CAT, KATZE)}
    assert authors.night(store, 2).sight.changed == frozenset()
    take(store, shown("t", [KATZE], 2.5), at=3)
    assert authors.night(store, 3).sight.changed == {row(store, KATZE).key}
    late = authors.night(store, 9.5)
    assert late.sight.changed == {row(store, BIRD).key} == set(late.sight.fresh)


def test_a_night_in_which_nothing_came_reads_index_entries_alone(sqlite_url: str) -> None:
    """What no pass has seen and what waits are found by indexes of just that, however many memories there are."""
    with open_store(sqlite_url, mode="create") as store, store.read() as conn:
        asked: list[str] = []
        sa.event.listen(conn, "before_cursor_execute", lambda *given: asked.append(given[2]))
        look(Overlay(conn), ScopePlan(1, "{}", 0), now=day(1))
        plans = [conn.exec_driver_sql(f"EXPLAIN QUERY PLAN {query}", (1, "active")[: query.count("?")]).all()
                 for query in list(asked)]  # fmt: skip
    used = [step.detail for plan in plans for step in plan]
    assert [step.split("USING ")[1].split(" (")[0] for step in used if "ix_" in step] == [
        "INDEX ix_memories_fresh",
        "INDEX ix_verdicts_open",
    ]


def test_a_memory_whose_name_was_known_is_seen(store: Store) -> None:
    """Its events came first, so its key is lower than those of memories that a pass has seen."""
    take(store, [memory(DOG, 0), rated("m", "t", CAT, 0.5)], at=1)
    authors.night(store, 1)
    take(store, [memory(CAT, 1.5)], at=2)
    assert authors.night(store, 2).sight.fresh == (row(store, CAT).key,)


def test_what_waits_is_told_again_until_it_cannot_be(store: Store) -> None:
    """The oldest first, since when it began; a rejected one until it was tried twice; then it is settled."""
    take(store, [memory(text, 0) for text in (CAT, KATZE, DOG, BIRD, FISH)], at=1)
    authors.night(
        store, 1, Answer((DOG, BIRD), "waiting", because="no model"), Answer((CAT, KATZE), "rejected", tries=1)
    )
    second = authors.night(store, 2, Answer((DOG, BIRD), "waiting", because="out of budget"))
    assert [(one.verdict, one.tries, one.because, one.at) for one in second.sight.open] == sorted(
        [("waiting", 0, "no model", day(1)), ("rejected", 1, None, day(1))],
        key=lambda told: sorted(map(name, (DOG, BIRD) if told[0] == "waiting" else (CAT, KATZE))),
    )
    assert apart(store) == set()
    third = authors.night(store, 3, Answer((CAT, KATZE), "rejected", tries=2))
    assert [(one.because, one.at) for one in third.sight.open if one.verdict == "waiting"] == [
        ("out of budget", day(1))
    ]
    assert apart(store) == {pair(CAT, KATZE)}
    forgotten(store, DOG)
    assert authors.night(store, 4).sight.open == ()
    with store.write() as conn:
        conn.execute(sa.update(memories).values(kept=True))
    assert count(store, verdicts) == 1


def test_what_cannot_be_asked_any_more_is_dropped(store: Store) -> None:
    """A verdict waits no longer once a memory of it is merged with another."""
    take(store, [memory(text, 0) for text in (CAT, KATZE, DOG)], at=1)
    authors.night(store, 1, Answer((DOG, CAT), "waiting"), CATS)
    night = authors.night(store, 2)
    assert len(night.sight.gone) == 1
    assert count(store, verdicts, verdicts.c.verdict == "waiting") == 0
