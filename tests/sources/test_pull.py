"""What a pull makes of records that were there before, of two that say the same, and of ours that are there again."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from consolidator.errors import BadInput
from consolidator.exchange.records import BadLine
from consolidator.sources.listing import listing
from consolidator.sources.port import MOST_USES
from consolidator.store.engine import Store, open_store
from consolidator.store.tables import aliases, attributions, memories, source_records, tombstones
from tests.lives import name
from tests.sources.acts import (
    CAT,
    CAT_AGAIN,
    DENTIST,
    OWL,
    TRAM,
    day,
    exported,
    forgotten,
    pulled,
    pushed,
    slept,
    standing,
    texts,
)
from tests.sources.memory_foreign import JsonForeign, Ways


@pytest.fixture
def store(made_store_url: str) -> Iterator[Store]:
    with open_store(made_store_url, mode="write") as store:
        yield store


@pytest.fixture
def foreign(tmp_path: Path) -> JsonForeign:
    return JsonForeign(tmp_path, Ways())


@pytest.fixture
def states(tmp_path: Path) -> JsonForeign:
    """One with states."""
    (tmp_path / "states").mkdir()
    return JsonForeign(tmp_path / "states", Ways(states=True))


def memory(store: Store, text: str) -> sa.Row:
    with store.read() as conn:
        return conn.execute(sa.select(memories).where(memories.c.content == text)).one()


def mapped(store: Store, record: str) -> sa.Row:
    with store.read() as conn:
        return conn.execute(sa.select(source_records).where(source_records.c.id == record)).one()


def test_two_records_that_say_the_same_are_one_memory(store: Store, foreign: JsonForeign) -> None:
    """Which stays while one of them does, and is archived with the last."""
    one, other = foreign.add(TRAM), foreign.add(TRAM)
    foreign.add(OWL)
    assert pulled(store, foreign, 1).new == 3
    assert mapped(store, one).memory_key == mapped(store, other).memory_key
    foreign.remove(one)
    pulled(store, foreign, 2)
    assert standing(store)[TRAM] == "active"
    foreign.remove(other)
    pulled(store, foreign, 3)
    assert standing(store)[TRAM] == "gone"


def test_a_memory_that_another_source_holds_stays(store: Store, foreign: JsonForeign, states: JsonForeign) -> None:
    """Gone in one store, and edited in it, it is what the other one says."""
    here = {text: foreign.add(text) for text in (TRAM, OWL, CAT)}
    for text in (TRAM, OWL):
        states.add(text)
    pulled(store, foreign, 1)
    pulled(store, states, 1)
    foreign.remove(here[TRAM])
    foreign.edit(here[OWL], DENTIST)
    pulled(store, foreign, 2)
    assert standing(store) == dict.fromkeys((TRAM, OWL, CAT, DENTIST), "active")


def test_texts_that_change_places_stay(store: Store, foreign: JsonForeign) -> None:
    """Each is held by another record now; neither supersedes the other."""
    one, other = foreign.add(TRAM), foreign.add(OWL)
    pulled(store, foreign, 1)
    foreign.edit(one, OWL)
    foreign.edit(other, TRAM)
    assert pulled(store, foreign, 2).changed == 2
    assert standing(store) == {TRAM: "active", OWL: "active"}
    foreign.edit(one, DENTIST)
    foreign.edit(other, OWL)
    pulled(store, foreign, 3)
    assert standing(store) == {TRAM: "superseded", OWL: "active", DENTIST: "active"}


def test_an_edited_text_is_history_and_leads_to_the_new_one(store: Store, foreign: JsonForeign) -> None:
    """As an update here does; what a person has pinned stays pinned. Edited back, it holds again."""
    record = foreign.add(TRAM)
    pulled(store, foreign, 1)
    with store.write() as conn:
        conn.execute(sa.update(memories).values(pinned=True))
    foreign.edit(record, OWL)
    pulled(store, foreign, 2)
    old, new = memory(store, TRAM), memory(store, OWL)
    assert (old.status, old.superseded_by, new.pinned) == ("superseded", new.key, True)
    with store.read() as conn:
        assert conn.execute(sa.select(aliases.c.old_key, aliases.c.new_key, aliases.c.reason)).all() == [
            (old.key, new.key, "updated")
        ]
    foreign.edit(record, TRAM)
    pulled(store, foreign, 3)
    old, new = memory(store, TRAM), memory(store, OWL)
    assert (old.status, old.superseded_by, new.status, new.superseded_by) == ("active", None, "superseded", old.key)


def test_what_they_say_beside_a_text_holds(store: Store, foreign: JsonForeign) -> None:
    """Type, importance, being pinned; the next night judges anew when it fades. Their own counters change nothing."""
    record = foreign.add(TRAM)
    pulled(store, foreign, 1)
    slept(store, 1.5)
    before = memory(store, TRAM)
    foreign.change(lambda records: records[record].update(type="lesson", importance=0.3, pinned=True))
    assert pulled(store, foreign, 2).changed == 1
    after = memory(store, TRAM)
    assert (after.type, after.importance, after.pinned) == ("lesson", 0.3, True)
    assert (after.fades_age, after.fresh, after.revision) == (None, True, before.revision + 1)
    assert (after.strength, after.strength_at) == (before.strength, before.strength_at)
    assert pushed(store, foreign, 2).push_id is None


def test_states_over_there_are_states_here(store: Store, states: JsonForeign) -> None:
    """Put away there it is archived here, by a user; active there it is active again."""
    record = states.add(TRAM)
    away = states.add(OWL, state="archived")
    pulled(store, states, 1)
    assert standing(store) == {TRAM: "active", OWL: "user"}
    assert memory(store, OWL).archived_at == day(1)
    states.change(lambda records: records[record].update(state="archived"))
    states.change(lambda records: records[away].update(state="active"))
    pulled(store, states, 2)
    assert standing(store) == {TRAM: "user", OWL: "active"}


def test_uses_are_ratings_with_names_of_their_own(store: Store, foreign: JsonForeign) -> None:
    """Ten of them a pull at most; never twice; a counter that went down begins anew."""
    record = foreign.add(TRAM, uses=5)
    pulled(store, foreign, 1)
    foreign.change(lambda records: records[record].update(uses=7, used_at=day(1.5)))
    assert pulled(store, foreign, 2).uses == 2
    with store.read() as conn:
        rows = conn.execute(sa.select(attributions.c.at, attributions.c.evidence, attributions.c.waiting)).all()
    assert rows == [(day(1.5), "tool_search_returned", True)] * 2
    foreign.change(lambda records: records[record].update(uses=3))
    assert pulled(store, foreign, 3).uses == 0
    foreign.change(lambda records: records[record].update(uses=50, used_at=day(99)))
    assert pulled(store, foreign, 4).uses == MOST_USES
    with store.read() as conn:
        assert conn.scalar(sa.select(sa.func.max(attributions.c.at))) == day(4)
    before = memory(store, TRAM).strength
    slept(store, 5)
    assert memory(store, TRAM).strength > before * 0.8


def test_what_was_forgotten_here_stays_out(store: Store, foreign: JsonForeign, states: JsonForeign) -> None:
    """It is known as that, and not asked for again."""
    foreign.add(TRAM)
    states.add(TRAM)
    pulled(store, foreign, 1)
    forgotten(store, TRAM, 2)
    found = pulled(store, states, 3)
    assert (found.new, found.notes) == (1, ("1 record holds what was forgotten here, and stayed out",))
    assert standing(store) == {}
    assert pulled(store, states, 4).unchanged == 0  # its `since` says that nothing was changed
    with store.read() as conn:
        assert set(conn.scalars(sa.select(source_records.c.memory_key))) == {None}
        assert conn.scalar(sa.select(sa.func.count()).select_from(tombstones)) == 1


def test_a_record_that_cannot_be_read_is_not_gone(store: Store, foreign: JsonForeign) -> None:
    """It is told as bad, and the rest is taken in."""
    record = foreign.add(TRAM)
    foreign.add(OWL)
    pulled(store, foreign, 1)
    foreign.edit(record, " ")
    found = pulled(store, foreign, 2)
    assert (found.gone, found.bad_lines, found.exit_code) == (0, 1, 3)
    assert [type(bad) for bad in found.bad] == [BadLine]
    assert standing(store) == {TRAM: "active", OWL: "active"}


def test_half_a_store_is_not_archived_unasked(store: Store, foreign: JsonForeign) -> None:
    """Of twenty records or more; of fewer some may go."""
    ids = [foreign.add(f"The {number}th day was a day like any other.") for number in range(20)]
    pulled(store, foreign, 1)
    for record in ids[:11]:
        foreign.remove(record)
    with pytest.raises(BadInput, match=r"only 9 of 20 records"):
        pulled(store, foreign, 2)
    assert pulled(store, foreign, 2, allow_gone=True).gone == 11
    for record in ids[11:19]:
        foreign.remove(record)
    assert pulled(store, foreign, 3).gone == 8


def test_a_record_that_moved_is_known_by_its_former_place(store: Store, foreign: JsonForeign) -> None:
    """Its memory stays; a copy of one that stayed where it was is a second record."""
    record, other = foreign.add(TRAM), foreign.add(OWL)
    pulled(store, foreign, 1)
    foreign.change(lambda records: records.update(moved={**records.pop(record), "was": record}))
    foreign.change(lambda records: records.update(copied={**records[other], "was": other}))
    found = pulled(store, foreign, 2)
    assert (found.new, found.changed, found.gone, found.unchanged) == (1, 0, 0, 2)
    assert standing(store) == {TRAM: "active", OWL: "active"}
    foreign.edit("moved", DENTIST)
    pulled(store, foreign, 3)
    assert standing(store)[TRAM] == "superseded"


def test_a_record_that_a_push_removed_and_that_is_there_again_stays_retired(store: Store, foreign: JsonForeign) -> None:
    """A program over there wrote it from memory; the next push removes it again."""
    ids = {text: foreign.add(text) for text in (CAT, CAT_AGAIN, TRAM)}
    records = foreign.records()
    pulled(store, foreign, 1)
    slept(store, 2)
    pushed(store, foreign, 2)
    gone = next(text for text in (CAT, CAT_AGAIN) if text not in texts(foreign))
    foreign.change(lambda now: now.update({ids[gone]: records[ids[gone]]}))
    found = pulled(store, foreign, 3)
    assert (found.new, found.changed, len(found.notes)) == (0, 0, 1)
    assert standing(store)[gone] == "superseded"
    assert pushed(store, foreign, 3).removed == 1
    assert gone not in texts(foreign)


def test_a_record_that_a_push_removed_and_somebody_wrote_anew_is_theirs(store: Store, foreign: JsonForeign) -> None:
    """It is alive, and taken as changed."""
    ids = {text: foreign.add(text) for text in (CAT, CAT_AGAIN, TRAM)}
    records = foreign.records()
    pulled(store, foreign, 1)
    slept(store, 2)
    pushed(store, foreign, 2)
    gone = next(text for text in (CAT, CAT_AGAIN) if text not in texts(foreign))
    foreign.change(lambda now: now.update({ids[gone]: {**records[ids[gone]], "text": OWL}}))
    assert pulled(store, foreign, 3).changed == 1
    assert standing(store)[OWL] == "active"
    assert pushed(store, foreign, 3).exit_code == 0
    assert OWL in texts(foreign)


def test_what_is_gone_and_there_again_is_active_again(store: Store, foreign: JsonForeign) -> None:
    """And fades on as if it had never been away."""
    record = foreign.add(TRAM)
    foreign.add(OWL)
    held = foreign.records()[record]
    pulled(store, foreign, 1)
    foreign.remove(record)
    pulled(store, foreign, 2)
    foreign.change(lambda records: records.update({record: held}))
    assert pulled(store, foreign, 3).unchanged == 2
    row = memory(store, TRAM)
    assert (row.status, row.archived_because, row.kept) == ("active", None, False)
    assert mapped(store, record).gone_at is None


def test_what_somebody_says_again_comes_back(store: Store, foreign: JsonForeign) -> None:
    """A new record of a text that was put away here before is active; an older one changes nothing."""
    ids = [foreign.add(text) for text in (TRAM, OWL)]
    pulled(store, foreign, 1)
    with store.write() as conn:
        faded = {"status": "archived", "archived_because": "faded", "archived_at": day(2)}
        conn.execute(sa.update(memories).values(faded))
    foreign.add(TRAM)
    pulled(store, foreign, 3)
    assert standing(store)[TRAM] == "faded"
    foreign.add(OWL, created_at="2027-06-01T09:00:00Z")
    pulled(store, foreign, 4)
    assert standing(store)[OWL] == "active"
    assert memory(store, OWL).kept
    assert ids


def test_an_edit_of_what_a_night_merged_away_is_a_memory_of_its_own(store: Store, foreign: JsonForeign) -> None:
    """Nothing is lost, and it is said."""
    ids = {text: foreign.add(text) for text in (CAT, CAT_AGAIN)}
    pulled(store, foreign, 1)
    slept(store, 2)
    gone = next(text for text, stands in standing(store).items() if stands == "superseded")
    foreign.edit(ids[gone], OWL)
    found = pulled(store, foreign, 3)
    assert (found.changed, len(found.conflicts)) == (1, 1)
    assert ids[gone] in found.conflicts[0]
    assert standing(store)[OWL] == "active"
    assert memory(store, gone).superseded_by != memory(store, OWL).key


def test_sources_are_listed(store: Store, foreign: JsonForeign) -> None:
    """With how many of their records live, are gone, and were removed by pushes."""
    ids = [foreign.add(text) for text in (CAT, CAT_AGAIN, TRAM, OWL)]
    assert listing(store) == []
    pulled(store, foreign, 1)
    slept(store, 2)
    pushed(store, foreign, 2)
    foreign.remove(ids[2])
    pulled(store, foreign, 3)
    (one,) = listing(store)
    assert one == (foreign.url, 2, 1, 1, day(3), day(2))
    assert name(TRAM) in "".join(exported(store, 3).lines)
