"""One contract over every source: what is pulled, changed over there, gone, and written back."""

import pytest
import sqlalchemy as sa

from consolidator.errors import BadInput, ScopeHeld
from consolidator.store.engine import Store
from consolidator.store.locks import hold_source
from consolidator.store.tables import push_images, source_records
from consolidator.store.undo import undo_run
from tests.exchanged import contents
from tests.sources.acts import (
    CAT,
    CAT_AGAIN,
    DENTIST,
    OWL,
    TRAM,
    WRITTEN,
    day,
    exported,
    forgotten,
    merged,
    pulled,
    pushed,
    slept,
    standing,
    taken_back,
    texts,
)
from tests.sources.broken import Broken, CutOff, Meddled
from tests.sources.foreign import Foreign

AWAY = ("gone", "user")  # the latter where a system with states of its own says so
ALL = (CAT, CAT_AGAIN, TRAM, OWL, DENTIST)


def filled(foreign: Foreign, *told: str) -> dict[str, str]:
    """A foreign store with records of these texts; their ids by text."""
    return {text: foreign.add(text) for text in told or ALL}


def id_of(foreign: Foreign, text: str) -> str:
    """As an agent finds it: an id may be another one after an edit."""
    return next(key for key, told in foreign.texts().items() if told == text)


def test_what_is_there_from_the_start_is_pulled_once(store: Store, any_foreign: Foreign) -> None:
    """And the second pull changes nothing, of what is only read and of what can be written."""
    first = pulled(store, any_foreign, 1)
    before = exported(store, 2)
    again = pulled(store, any_foreign, 2)
    assert (again.new, again.changed, again.gone, again.conflicts) == (0, 0, 0, ())
    assert first.bad_lines == again.bad_lines or again.bad_lines == 0
    assert exported(store, 2) == before


def test_a_pull_takes_every_record_in(store: Store, foreign: Foreign) -> None:
    """A second one finds nothing new, changes nothing, and neither writes anything over there."""
    filled(foreign)
    rest, told = foreign.rest(), foreign.texts()
    assert pulled(store, foreign, 1).new == len(ALL)
    assert standing(store) == dict.fromkeys(ALL, "active")
    before = exported(store, 2)
    again = pulled(store, foreign, 2)
    assert (again.new, again.changed, again.gone, again.uses) == (0, 0, 0, 0)
    assert exported(store, 2) == before
    assert (foreign.rest(), foreign.texts()) == (rest, told)


def test_a_dry_run_changes_nothing(store: Store, foreign: Foreign) -> None:
    """Neither here nor there, and says what the real one would do."""
    filled(foreign)
    before = contents(store)
    assert pulled(store, foreign, 1, dry_run=True).new == len(ALL)
    assert contents(store) == before
    pulled(store, foreign, 1)
    slept(store, 2)
    before, told, rest = contents(store), foreign.texts(), foreign.rest()
    would = pushed(store, foreign, 2, dry_run=True)
    assert would.planned
    assert (contents(store), foreign.texts(), foreign.rest()) == (before, told, rest)
    does = pushed(store, foreign, 2)
    assert does.written + does.made + does.removed == len(would.planned)


def test_an_edit_over_there_wins(store: Store, foreign: Foreign) -> None:
    """The new text takes the place of the old one, which stays as history."""
    filled(foreign)
    pulled(store, foreign, 1)
    foreign.edit(id_of(foreign, TRAM), "The tram to the harbour is line nine.")
    assert pulled(store, foreign, 2).changed == 1
    assert standing(store)[TRAM] == "superseded"
    assert standing(store)["The tram to the harbour is line nine."] == "active"
    assert pushed(store, foreign, 2).conflicts == ()
    assert TRAM not in texts(foreign)
    assert "The tram to the harbour is line nine." in texts(foreign)


def test_what_is_removed_over_there_is_archived_and_never_brought_back(store: Store, foreign: Foreign) -> None:
    """Nor does a night revive it; if somebody brings it back there, it is active again."""
    filled(foreign)
    pulled(store, foreign, 1)
    foreign.remove(id_of(foreign, TRAM))
    pulled(store, foreign, 2)
    assert standing(store)[TRAM] in AWAY
    slept(store, 3)
    pushed(store, foreign, 3)
    assert TRAM not in texts(foreign)
    assert pulled(store, foreign, 4).gone == 0
    assert standing(store)[TRAM] in AWAY
    foreign.add(TRAM)
    pulled(store, foreign, 5)
    assert standing(store)[TRAM] == "active"


def test_uses_over_there_count_once(store: Store, foreign: Foreign) -> None:
    """What came on top since the last pull; not what was there before the first."""
    filled(foreign)
    foreign.use(id_of(foreign, TRAM))
    assert pulled(store, foreign, 1).uses == 0
    foreign.use(id_of(foreign, TRAM))
    assert pulled(store, foreign, 2).uses in (0, 1)
    before = exported(store, 3)
    assert pulled(store, foreign, 3).uses == 0
    assert exported(store, 3) == before


def test_a_store_that_is_not_there_archives_nothing(store: Store, foreign: Foreign) -> None:
    """One line says so, unless it is allowed. Records that are there still, and put away, are no such thing."""
    ids = filled(foreign)
    pulled(store, foreign, 1)
    for text in ALL:
        foreign.remove(id_of(foreign, text))
    with foreign.source() as source:
        stay = bool(source.look(ids.values()))
    if not stay:
        with pytest.raises(BadInput, match=r"none of 5 records .* --gone"):
            pulled(store, foreign, 2)
        assert {*standing(store).values()} == {"active"}
    pulled(store, foreign, 2, allow_gone=not stay)
    assert {*standing(store).values()} <= {*AWAY}


def test_a_reading_that_fails_half_way_changes_nothing(store: Store, foreign: Foreign) -> None:
    """All of it is taken in, or nothing."""
    filled(foreign)
    with pytest.raises(Broken):
        pulled(store, foreign, 1, seen=CutOff)
    assert standing(store) == {}


def test_what_a_night_made_is_pushed_once(store: Store, foreign: Foreign) -> None:
    """Two texts that say the same are one over there too; nothing changes the second time, here or there."""
    filled(foreign)
    rest = foreign.rest()
    pulled(store, foreign, 1)
    slept(store, 2)
    assert pushed(store, foreign, 2).exit_code == 0
    assert sorted({*texts(foreign)} - {CAT, CAT_AGAIN}) == sorted([TRAM, OWL, DENTIST])
    assert len(texts(foreign)) == 4
    before, told = exported(store, 2), foreign.texts()
    again = pulled(store, foreign, 2)
    assert (again.new, again.changed, again.gone, again.notes) == (0, 0, 0, ())
    second = pushed(store, foreign, 2)
    assert (second.push_id, second.conflicts) == (None, ())
    assert exported(store, 2) == before
    assert (foreign.texts(), foreign.rest()) == (told, rest)


def test_a_text_that_a_night_wrote_is_a_new_record(store: Store, foreign: Foreign) -> None:
    """And is never taken in as one of theirs; those that it was written from are gone."""
    filled(foreign)
    pulled(store, foreign, 1)
    merged(store, 2, TRAM, OWL, text=WRITTEN)
    done = pushed(store, foreign, 2)
    assert (done.made, done.conflicts) == (1, ())
    assert texts(foreign) == sorted([CAT, CAT_AGAIN, DENTIST, WRITTEN])
    before = exported(store, 3)
    again = pulled(store, foreign, 3)
    assert (again.new, again.changed, again.gone) == (0, 0, 0)
    assert exported(store, 3) == before
    foreign.remove(id_of(foreign, WRITTEN))
    pulled(store, foreign, 4)
    assert standing(store)[WRITTEN] in AWAY
    pushed(store, foreign, 4)
    assert texts(foreign) == sorted([CAT, CAT_AGAIN, DENTIST])


def test_an_edit_since_the_pull_is_left_alone(store: Store, foreign: Foreign) -> None:
    """With all that it stands or falls with; the next pull takes it in, and nothing is lost."""
    filled(foreign)
    pulled(store, foreign, 1)
    merged(store, 2, TRAM, OWL, text=WRITTEN)
    foreign.edit(id_of(foreign, TRAM), "The tram to the harbour is line nine.")
    left = pushed(store, foreign, 2)
    assert left.exit_code == 3
    assert len(left.conflicts) == 1
    assert {OWL, "The tram to the harbour is line nine."} <= {*texts(foreign)}
    assert WRITTEN not in texts(foreign)
    assert pulled(store, foreign, 3).changed == 1
    assert standing(store)["The tram to the harbour is line nine."] == "active"
    assert pushed(store, foreign, 3).exit_code == 0
    assert texts(foreign) == sorted([CAT, CAT_AGAIN, DENTIST, WRITTEN, "The tram to the harbour is line nine."])


def test_an_edit_right_before_the_write_is_left_alone(store: Store, foreign: Foreign) -> None:
    """The write is only made over what was looked at."""
    filled(foreign)
    pulled(store, foreign, 1)
    slept(store, 2)
    kept = next(text for text, stands in standing(store).items() if stands == "superseded")
    before = id_of(foreign, kept)

    def meddle() -> None:
        if foreign.texts().get(before) == kept:
            foreign.edit(before, "The cat sleeps in the garden now.")

    assert pushed(store, foreign, 2, seen=lambda source: Meddled(source, meddle)).exit_code == 3
    assert "The cat sleeps in the garden now." in texts(foreign)
    pulled(store, foreign, 3)
    assert standing(store)["The cat sleeps in the garden now."] == "active"
    assert pushed(store, foreign, 3).exit_code == 0


def test_what_is_forgotten_here_goes_over_there(store: Store, foreign: Foreign) -> None:
    """By the next push; nothing of its text is kept, and no pull brings it back."""
    filled(foreign)
    pulled(store, foreign, 1)
    slept(store, 2)
    pushed(store, foreign, 2)
    forgotten(store, TRAM, 3)
    assert pushed(store, foreign, 3).removed == 1
    assert TRAM not in texts(foreign)
    pulled(store, foreign, 4)
    assert TRAM not in standing(store)
    assert not any(TRAM in row for rows in contents(store).values() for row in map(str, rows))


def test_a_night_taken_back_is_taken_back_over_there(store: Store, foreign: Foreign) -> None:
    """By the next push: every text is there again, and what was made is not."""
    filled(foreign)
    rest, told = foreign.rest(), texts(foreign)
    pulled(store, foreign, 1)
    slept(store, 2)
    merged(store, 2.5, TRAM, OWL, text=WRITTEN)
    pushed(store, foreign, 2.5)
    assert texts(foreign) != told
    for _ in range(2):
        undo_run(store, "last", wall_clock=lambda: day(3))
    assert pushed(store, foreign, 3).exit_code == 0
    assert (texts(foreign), foreign.rest()) == (told, rest)
    again = pulled(store, foreign, 4)
    assert (again.new, again.changed, again.gone) == (0, 0, 0)
    assert set(standing(store)) == {*ALL}


def test_a_push_is_undone(store: Store, foreign: Foreign) -> None:
    """The records are as they were before; what our store says stays, and the next push tells it again."""
    filled(foreign)
    rest, told = foreign.rest(), foreign.texts()
    pulled(store, foreign, 1)
    merged(store, 2, TRAM, OWL, text=WRITTEN)
    done = pushed(store, foreign, 2)
    after = texts(foreign)
    undone = taken_back(store, foreign, 3)
    assert (undone.push_id, undone.refused) == (done.push_id, ())
    assert undone.restored == done.made + done.written + done.removed
    assert (sorted(foreign.texts().values()), foreign.rest()) == (sorted(told.values()), rest)
    with pytest.raises(BadInput, match="undone already"):
        taken_back(store, foreign, 3, str(done.push_id))
    again = pulled(store, foreign, 4)
    assert (again.new, again.changed, again.gone) == (0, 0, 0)
    assert pushed(store, foreign, 4).exit_code == 0
    assert texts(foreign) == after


def test_what_changed_since_a_push_is_refused_by_its_undo(store: Store, foreign: Foreign) -> None:
    """And listed; the rest is given back."""
    filled(foreign)
    pulled(store, foreign, 1)
    merged(store, 2, TRAM, OWL, text=WRITTEN)
    pushed(store, foreign, 2)
    changed = id_of(foreign, WRITTEN)
    foreign.edit(changed, "Line six goes to the harbour.")
    undone = taken_back(store, foreign, 3)
    assert len(undone.refused) == (changed in foreign.texts())  # a system that names by content has another one now
    assert undone.exit_code == (3 if undone.refused else 0)
    assert {TRAM, OWL, "Line six goes to the harbour."} <= {*texts(foreign)}


def test_two_at_once(store: Store, foreign: Foreign) -> None:
    """The second ends with exit code 11, and has changed nothing."""
    filled(foreign)
    pulled(store, foreign, 1)
    with store.read() as conn:
        key = conn.scalars(sa.select(source_records.c.source_key).limit(1)).one()
    with hold_source(store, key, wall_clock=lambda: day(1)):
        for act in (pulled, pushed):
            with pytest.raises(ScopeHeld, match="another pull or push of this source") as held:
                act(store, foreign, 1)
            assert held.value.exit_code == 11


def test_images_are_kept_before_anything_is_written(store: Store, foreign: Foreign) -> None:
    """So that whatever happens then can be found out, and taken back."""
    filled(foreign)
    pulled(store, foreign, 1)
    slept(store, 2)
    seen: list[int] = []

    def look() -> None:
        with store.read() as conn:
            seen.append(conn.scalar(sa.select(sa.func.count()).select_from(push_images)) or 0)

    done = pushed(store, foreign, 2, seen=lambda source: Meddled(source, look))
    assert seen
    assert seen[-1] == done.written + done.made + done.removed
