"""Merges over a store: what the one memory inherits, whose text it has, and what it is linked to."""

from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa

from consolidator.store.engine import Store, open_store
from consolidator.store.search import search_keys
from consolidator.store.tables import (
    aliases,
    associations,
    attributions,
    embeddings,
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
    count,
    forgotten,
    link,
    links,
    row,
    strength,
    two_cats,
    weight,
)
from tests.lives import day, memory, name, rated, shown, take


@pytest.fixture
def store(made_store_url: str) -> Iterator[Store]:
    """An empty store, open for writing; once on each kind."""
    with open_store(made_store_url, mode="write") as opened:
        yield opened


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
