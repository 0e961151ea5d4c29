"""Merges over a store: what the one memory inherits, what follows it, and what is left where something changed."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import sqlalchemy as sa

from consolidator.laws.clock import CONSOLIDATED, WORKING
from consolidator.laws.strength import strength_at
from consolidator.plan import ScopePlan
from consolidator.store.care import pin, restore
from consolidator.store.clocks import read_clock
from consolidator.store.engine import Store, open_store
from consolidator.store.find import find_memories
from consolidator.store.forget import forget
from consolidator.store.merges import look
from consolidator.store.overlay import Overlay
from consolidator.store.search import search_keys
from consolidator.store.tables import (
    aliases,
    associations,
    attributions,
    embeddings,
    identities,
    memories,
    merge_sources,
    verdicts,
)
from tests import authors, lives
from tests.authors import Answer, absorbed, apart, applied, decided, one, pair, planned
from tests.lives import RATES, Line, day, exported, memory, name, rated, shown, take

CAT, KATZE, CAT_NOW = "She has a cat", "Her pet is a cat", "She has a cat for a pet"
DOG, BIRD, FISH = "He has a dog", "A bird sings", "The fish are red"
LETTER = "the letter lies on the table"


@pytest.fixture
def store(made_store_url: str) -> Iterator[Store]:
    """An empty store, open for writing; once on each kind."""
    with open_store(made_store_url, mode="write") as opened:
        yield opened


def row(store: Store, text: str) -> Any:
    """A memory's row."""
    with store.read() as conn:
        query = sa.select(memories).join(identities, identities.c.key == memories.c.key)
        return conn.execute(query.where(identities.c.hash == name(text))).one()


def strength(store: Store, text: str, at: float) -> float:
    """What a memory is worth on a day, by its row and the clock."""
    found = row(store, text)
    with store.read() as conn:
        clock = read_clock(conn, found.scope_key, now=day(at), rates=RATES)
    kind = CONSOLIDATED if found.consolidated else WORKING
    return float(strength_at(clock, found.strength, found.strength_at, day(at), kind))


def links(store: Store, at: float, *, inferred: bool = False) -> dict[frozenset[str], float]:
    """The living links between active memories on a day, by the texts of their ends."""
    told = exported(store, at).values["scopes"][0]
    texts = {each["id"]: each["content"] for each in told["memories"]}
    return {
        frozenset((texts[each["memory_a"]], texts[each["memory_b"]])): each["weight"]
        for each in told["associations"]
        if each["inferred"] == inferred
    }


def weight(store: Store, a: str, b: str, at: float) -> float:
    """The weight of one direct link on a day; 0 without one."""
    return links(store, at).get(frozenset((a, b)), 0.0)


def count(store: Store, table: sa.Table, *conditions: sa.ColumnElement[bool]) -> int:
    with store.read() as conn:
        return conn.scalar(sa.select(sa.func.count()).select_from(table).where(*conditions)) or 0


def link(a: str, b: str, weight: float, at: float = 0) -> Line:
    when = memory("", at)["created_at"]
    return {"kind": "association", "memory_a": name(a), "memory_b": name(b), "weight": weight, "weight_at": when}


CATS = one(CAT, KATZE, text=CAT_NOW, because="both say that she has a cat")


def two_cats(store: Store, *more: Line, at: float = 1, **of_the_second: Any) -> None:
    take(store, [memory(CAT, 0, 0.6), memory(KATZE, 0.5, 0.9, **of_the_second), *more], at=at)


# What the one memory inherits


def test_the_one_memory_is_worth_the_strongest_of_them(store: Store) -> None:
    """Its base is the largest current strength, from this night on, and from then it fades as a consolidated one."""
    two_cats(store)
    authors.night(store, 4, CATS)
    found = row(store, CAT_NOW)
    expected = 0.9 * 0.906**3.5
    assert (found.strength, found.base_strength) == (pytest.approx(expected), found.strength)
    assert (found.strength_at, found.base_at, found.created_at) == (day(4), day(4), day(4))
    assert (found.consolidated, found.source, found.status, found.type) == (True, "consolidation", "active", "fact")
    assert strength(store, CAT_NOW, 6) == pytest.approx(expected * 0.977**2)
    for text in (CAT, KATZE):
        assert row(store, text).status == "superseded"
        assert row(store, text).superseded_by == found.key


def test_what_they_had_is_handed_on(store: Store) -> None:
    """Observed: the latest; importance: the largest; trust: the least; topics: all; metadata: what they agree on."""
    first = memory(CAT, 0, observed_at="2026-02-27T09:00:00Z", importance=0.7, trust=0.9, topics=["pets", "home"],
                   metadata={"room": 1, "who": "she"})  # fmt: skip
    second = memory(KATZE, 0.5, importance=0.2, trust=0.4, topics=["cats", "pets"], pinned=True,
                    metadata={"room": True, "who": "she", "mood": "good"})  # fmt: skip
    take(store, [first, second], at=1)
    authors.night(store, 1, CATS)
    found = row(store, CAT_NOW)
    assert found.observed_at == day(0.5)
    assert (found.importance, found.trust, found.pinned) == (0.7, 0.4, True)
    assert found.topics == ["pets", "home", "cats"]
    assert found.metadata == {"who": "she"}
    assert (found.kept, found.expires_at, found.valid_until) == (False, None, None)


@pytest.mark.parametrize(
    ("expiries", "expected"), [((None, None), None), ((9, None), None), ((9, 12), 12), ((12, 9), 12)]
)
def test_it_expires_with_the_last(store: Store, expiries: tuple[Any, Any], expected: float | None) -> None:
    """Never, where one of them never does."""
    lines = [
        memory(text, 0, **({"expires_at": memory("", at)["created_at"]} if at else {}))
        for text, at in zip((CAT, KATZE), expiries, strict=True)
    ]
    take(store, lines, at=1)
    authors.night(store, 1, CATS)
    assert row(store, CAT_NOW).expires_at == (None if expected is None else day(expected))


def test_its_anchor_is_theirs(store: Store) -> None:
    """With its end and its recurrence, and the state that follows from it now; it is protected as they were."""
    anchor = {
        "temporal_anchor": "2026-03-03T16:00:00Z", "temporal_end": "2026-03-03T18:00:00Z", "temporal_state": "future",
        "recurrence": "FREQ=WEEKLY;BYDAY=TU;COUNT=9",
    }  # fmt: skip
    take(store, [memory(CAT, 0, **anchor), memory(KATZE, 0.5)], at=1)
    before = row(store, CAT)
    authors.night(store, 5, CATS)
    found, source = row(store, CAT_NOW), row(store, CAT)
    assert found.recurrence == before.recurrence
    assert found.recurrence_start == before.recurrence_start is not None
    for column in ("temporal_anchor", "temporal_end", "temporal_state", "shifts_at", "protected_until"):
        assert getattr(found, column) == getattr(source, column) is not None, column
    lives.night(store, 14, steps=authors.MAIN)
    assert (row(store, CAT_NOW).temporal_state, row(store, CAT_NOW).temporal_anchor) == (
        "future",
        "2026-03-17T16:00:00.000Z",
    )


def test_an_update_takes_the_anchor_of_the_newer_and_ends_the_older(store: Store) -> None:
    """The older stays as history: it was valid until the newer was observed."""
    dates = [{"temporal_anchor": date, "temporal_state": "future"} for date in ("2026-03-20", "2026-03-25")]
    take(store, [memory(CAT, 0, **dates[0]), memory(KATZE, 0.5, **dates[1])], at=1)
    authors.night(store, 2, Answer((CAT, KATZE), "update", CAT_NOW))
    assert row(store, CAT_NOW).temporal_anchor == "2026-03-25"
    assert (row(store, CAT).valid_until, row(store, KATZE).valid_until) == (day(0.5), None)
    assert row(store, CAT_NOW).valid_until is None


def test_it_keeps_the_list_of_what_it_was_written_from(store: Store) -> None:
    """Aliases lead from each source to it, and a verdict says that they were merged."""
    two_cats(store)
    authors.night(store, 2, CATS)
    made = row(store, CAT_NOW).key
    with store.read() as conn:
        sources = conn.execute(sa.select(merge_sources.c.memory_key, merge_sources.c.source_key)).all()
        led = conn.execute(sa.select(aliases.c.old_key, aliases.c.new_key, aliases.c.reason, aliases.c.at)).all()
        told = conn.execute(sa.select(verdicts.c.members, verdicts.c.verdict, verdicts.c.because)).one()
    keys = sorted(row(store, text).key for text in (CAT, KATZE))
    assert sorted(sources) == [(made, key) for key in keys]
    assert sorted(led) == [(key, made, "merged", day(2)) for key in keys]
    assert tuple(told) == (sorted(map(name, (CAT, KATZE))), "merge", "both say that she has a cat")
    assert pair(CAT, KATZE) in apart(store)


def test_it_is_found_and_they_are_not(store: Store) -> None:
    """By words in every script, and its vector is there; lists and searches of what is active leave its sources out."""
    two_cats(store)
    text = "她有一只猫 🐈 named Zwirbel"
    authors.night(store, 2, one(CAT, KATZE, text=text), vector=True)
    found = row(store, text)
    with store.read() as conn:
        assert [key for key, _ in search_keys(conn, "一只猫", None, 9, statuses=["active"])] == [found.key]
        assert [key for key, _ in search_keys(conn, "zwirbel", None, 9)] == [found.key]
        assert search_keys(conn, "pet", None, 9, statuses=["active"]) == []
        assert len(search_keys(conn, "pet cat", None, 9)) == 2
        vector = conn.execute(sa.select(embeddings).where(embeddings.c.memory_key == found.key)).one()
        assert (vector.model, vector.dimension) == ("of the test", 2)
        active = conn.scalars(sa.select(memories.c.key).where(memories.c.status == "active")).all()
        assert active == [found.key]


# Texts that are there already


def test_a_text_that_is_kept_takes_the_others_in(store: Store) -> None:
    """The stronger lifts the one that stays: its base moves to this night, and it is consolidated; its text stays."""
    two_cats(store, memory(FISH, 0))
    night = authors.night(store, 4, absorbed(CAT, KATZE))
    found = row(store, CAT)
    assert night.landed[0].merge.text == CAT
    assert (found.status, found.consolidated, found.source, found.content) == ("active", True, "import", CAT)
    assert (found.strength, found.base_at) == (pytest.approx(0.9 * 0.906**3.5), day(4))
    assert found.lives == [[0.6, day(0), False]]
    assert row(store, KATZE).superseded_by == found.key
    assert found.created_at == day(0)
    assert count(store, merge_sources, merge_sources.c.memory_key == found.key) == 1


def test_what_is_strongest_and_consolidated_keeps_its_base(store: Store) -> None:
    """Nothing of its strength changes, and none of its ratings moves."""
    take(store, [memory(CAT, 0, 0.9, consolidated=True), memory(KATZE, 0, 0.3), rated("m", "t", CAT, 0.5)], at=1)
    authors.night(store, 2, absorbed(CAT, KATZE))
    found = row(store, CAT)
    assert (found.base_at, found.lives) == (day(0), None)
    assert found.strength_at == day(0.5)
    assert count(store, attributions, attributions.c.based_at.is_not(None)) == 0


def test_a_text_equal_to_that_of_a_member_is_that_member(store: Store) -> None:
    """It stays, and takes the others in."""
    two_cats(store)
    night = authors.night(store, 2, one(CAT, KATZE, text=KATZE))
    assert night.landed[0].merge.target == row(store, KATZE).key
    assert (row(store, KATZE).status, row(store, CAT).status) == ("active", "superseded")
    assert count(store, memories) == 2


def test_a_text_equal_to_that_of_another_memory_is_that_memory(store: Store) -> None:
    """It joins them, and the verdict is on all of them."""
    two_cats(store, memory(CAT_NOW, 0.2, 0.2))
    authors.night(store, 2, CATS)
    found = row(store, CAT_NOW)
    assert (found.status, found.source) == ("active", "import")
    assert found.strength == pytest.approx(0.9 * 0.906**1.5)
    assert {pair(CAT, KATZE), pair(CAT, CAT_NOW), pair(KATZE, CAT_NOW)} <= apart(store)


def test_a_text_that_has_faded_revives(store: Store) -> None:
    """What was archived because it had faded, or expired, stands for them again."""
    two_cats(store, memory(CAT_NOW, 0.2, 0.051))
    authors.night(store, 3)
    assert row(store, CAT_NOW).status == "archived"
    authors.night(store, 3, CATS)
    found = row(store, CAT_NOW)
    assert (found.status, found.archived_because, found.archived_at) == ("active", None, None)
    assert found.strength == pytest.approx(0.9 * 0.906**2.5)
    lives.night(store, 3.1, steps=authors.MAIN)
    assert row(store, CAT_NOW).status == "active"


def test_a_text_that_led_to_one_of_them_is_itself_again(store: Store) -> None:
    """One that had been merged into a member stands for it now: no alias leads in a circle."""
    two_cats(store, memory(CAT_NOW, 0.2))
    authors.night(store, 1, absorbed(CAT, CAT_NOW))
    authors.night(store, 2, CATS)
    assert [row(store, text).status for text in (CAT_NOW, CAT, KATZE)] == ["active", "superseded", "superseded"]
    with store.read() as conn:
        led = dict(conn.execute(sa.select(aliases.c.old_key, aliases.c.new_key)).all())
    assert led == {row(store, text).key: row(store, CAT_NOW).key for text in (CAT, KATZE)}


def forgotten(store: Store, text: str, at: float = 2) -> None:
    with store.read() as conn:
        found = find_memories(conn, [name(text)])
    forget(store, found, now=day(at), wall_clock=lambda: day(at))


def test_a_forgotten_text_does_not_come_back(store: Store) -> None:
    """The merge is rejected, and nothing is written."""
    two_cats(store, memory(CAT_NOW, 0.2))
    forgotten(store, CAT_NOW)
    night = authors.night(store, 2, CATS)
    assert night.verdicts == ["rejected"]
    assert "forgotten" in night.landed[0].merge.because
    assert count(store, memories) == 2


@pytest.mark.parametrize(
    ("other", "why"),
    [
        ({"status": "archived", "archived_because": "user", "archived_at": "2026-03-01T12:00:00Z"}, "on purpose"),
        ({"status": "superseded", "superseded_by": name(FISH)}, "superseded"),
        ({"kept": True}, "to stay as it is"),
        ({"type": "plan"}, "a plan says just that"),
    ],
)  # fmt: skip
def test_a_text_that_is_not_to_be_touched_is_left(store: Store, other: dict[str, Any], why: str) -> None:
    """What a person archived or brought back, what was superseded by another memory, what is of another kind."""
    two_cats(store, memory(FISH, 0), memory(CAT_NOW, 0.2, **other))
    night = authors.night(store, 1, CATS)
    assert night.verdicts == ["rejected"]
    assert why in night.landed[0].merge.because
    assert row(store, CAT).status == "active"


# Links


def test_links_are_inherited_by_probabilistic_or(store: Store) -> None:
    """Of the current weights, each link once; those among the merged are dropped, dead ones and strangers left out."""
    more = [memory(DOG, 0), memory(BIRD, 0), memory(FISH, 0)]
    more += [link(CAT, DOG, 0.5), link(KATZE, DOG, 0.4), link(KATZE, BIRD, 0.3), link(CAT, KATZE, 0.9)]
    more += [link(CAT, FISH, 0.0101), link(DOG, BIRD, 0.2)]
    two_cats(store, *more)
    authors.night(store, 2, CATS)
    half, other, third = (value * 0.9**2 for value in (0.5, 0.4, 0.3))
    assert links(store, 2) == {
        frozenset((CAT_NOW, DOG)): pytest.approx(1 - (1 - half) * (1 - other)),
        frozenset((CAT_NOW, BIRD)): pytest.approx(third),
        frozenset((DOG, BIRD)): pytest.approx(0.2 * 0.9**2),
    }
    assert weight(store, CAT_NOW, BIRD, 5) == pytest.approx(third * 0.9**3)


def test_a_link_to_an_archived_memory_is_there_when_it_revives(store: Store) -> None:
    """Nothing is lost because the other end had faded."""
    two_cats(store, memory(DOG, 0, 0.06), link(CAT, DOG, 0.8))
    authors.night(store, 3, CATS)
    assert row(store, DOG).status == "archived"
    take(store, [rated("m", "t", DOG, 3.5)], at=4)
    lives.night(store, 4, steps=authors.MAIN)
    assert weight(store, CAT_NOW, DOG, 4) == pytest.approx(0.8 * 0.9**4)


def test_merging_a_middle_memory_loses_no_links(store: Store) -> None:
    """What was inferred through a source is inferred through the one memory, and so is what led to a source."""
    more = [memory(text, 0) for text in (DOG, BIRD, FISH)]
    for n in range(8):
        more += shown(f"d {n}", [CAT, DOG], 0.6 + n / 100) + shown(f"b {n}", [CAT, BIRD], 0.7 + n / 100)
        more += shown(f"f {n}", [BIRD, FISH], 0.8 + n / 100)
    two_cats(store, *more)
    lives.night(store, 1, steps=authors.MAIN)
    before = links(store, 1, inferred=True)
    assert {frozenset((DOG, BIRD)), frozenset((CAT, FISH))} <= before.keys()
    authors.night(store, 1, CATS)
    after = links(store, 1, inferred=True)
    renamed = {frozenset(CAT_NOW if text == CAT else text for text in ends): value for ends, value in before.items()}
    assert after == pytest.approx(renamed)
    with store.read() as conn:
        vias = set(conn.scalars(sa.select(associations.c.via).where(associations.c.inferred)))
    assert row(store, CAT).key not in vias
    lives.night(store, 1, steps=authors.MAIN)
    assert links(store, 1, inferred=True) == after


def test_the_one_memory_infers_what_none_of_them_did(store: Store) -> None:
    """Two that were linked to different sources are linked through it."""
    more = [memory(DOG, 0), memory(BIRD, 0), link(CAT, DOG, 0.6), link(KATZE, BIRD, 0.5)]
    two_cats(store, *more)
    authors.night(store, 1, CATS)
    assert links(store, 1, inferred=True) == {frozenset((DOG, BIRD)): pytest.approx(0.6 * 0.5 * 0.9**2)}


# What follows it


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
    faded = float(clock.age(found.strength_at, CONSOLIDATED)) + float(
        sa.func and __import__("math").log2(found.strength / 0.05)
    )
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
    assert [row(store, text).key for text in (CAT, KATZE)] == sorted(first.sight.fresh) or set(first.sight.fresh) == {
        row(store, text).key for text in (CAT, KATZE)
    }
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


# Plans and what changes meanwhile


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
    """Written and read back it is the same plan."""
    from consolidator.plan import load, save

    plan = planned(store_with(store), 2, *ANSWERS)
    save(plan, tmp_path / "plan.json")
    assert load(tmp_path / "plan.json") == plan


ANSWERS: tuple[Answer, ...] = (CATS, one(DOG, BIRD, text="He has a dog and a bird sings"))


def store_with(store: Store) -> Store:
    busy_cats(store)
    return store


def pinning(text: str) -> Callable[[Store], None]:
    def change(store: Store) -> None:
        with store.write() as conn:
            assert pin(conn, find_memories(conn, [name(text)]), pinned=True)

    return change


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
