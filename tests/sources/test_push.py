"""What a push says of memories restored, forgotten, purged, updated and merged across sources, and to whom."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa

from consolidator.errors import BadInput
from consolidator.purge import purge_store
from consolidator.settings.jobs import PurgeJob
from consolidator.sources.port import Done, Options, Source, Write
from consolidator.store.care import restore
from consolidator.store.engine import Store, open_store
from consolidator.store.find import find_memory
from consolidator.store.tables import associations, memories, push_images, pushes, source_records
from tests.exchanged import contents
from tests.lives import name
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
from tests.sources.broken import Broken, Meddled
from tests.sources.memory_foreign import JsonForeign, Ways, letters


@pytest.fixture
def store(made_store_url: str) -> Iterator[Store]:
    with open_store(made_store_url, mode="write") as store:
        yield store


def made(tmp_path: Path, name: str = "theirs", **how: bool) -> JsonForeign:
    (tmp_path / name).mkdir()
    return JsonForeign(tmp_path / name, Ways(**how))


@pytest.fixture
def foreign(tmp_path: Path) -> JsonForeign:
    return made(tmp_path)


class OnlyRead:
    """A source of which nothing can be written."""

    ways = "read"

    def __init__(self, source: Source) -> None:
        self.source = source

    def __getattr__(self, name: str) -> Any:
        return getattr(self.source, name)


class DiesAfterRemoving:
    """A source after whose first removal its process is killed."""

    def __init__(self, source: Source) -> None:
        self.source = source

    def __getattr__(self, name: str) -> Any:
        return getattr(self.source, name)

    def write(self, writes: Sequence[Write]) -> Mapping[str, Done]:
        done = self.source.write(writes)
        if any(each.after is None for each in writes):
            raise Broken
        return done


def test_what_was_never_pulled_or_is_only_read_is_refused(store: Store, foreign: JsonForeign) -> None:
    """With one line each."""
    foreign.add(TRAM)
    with pytest.raises(BadInput, match="was never pulled into this store; `consolidate pull` it first"):
        pushed(store, foreign, 1)
    pulled(store, foreign, 1)
    with pytest.raises(BadInput, match="a source of this kind is only read"):
        pushed(store, foreign, 1, seen=OnlyRead)


def test_strengths_are_those_of_the_push(store: Store, tmp_path: Path) -> None:
    """Of every record, where the source holds strengths; as the export tells them."""
    foreign = made(tmp_path, states=True, strengths=True)
    record = foreign.add(TRAM)
    pulled(store, foreign, 1)
    for at in (1, 3.5):
        assert pushed(store, foreign, at).exit_code == 0
        (told,) = [one for scope in exported(store, at).values["scopes"] for one in scope["memories"]]
        assert foreign.records()[record]["ours"]["strength"] == round(told["strength"], 6)


def test_links_are_told_where_they_are_wanted(store: Store, tmp_path: Path) -> None:
    """Between records over there, with their weights as of the push."""
    foreign = made(tmp_path, strengths=True, states=True, links=True)
    one, other = foreign.add(TRAM), foreign.add(OWL)
    pulled(store, foreign, 1)
    with store.write() as conn:
        rows = conn.execute(sa.select(memories.c.key, memories.c.scope_key).order_by(memories.c.key)).all()
        (a, scope), (b, _) = rows
        link = {"memory_a": a, "memory_b": b, "scope_key": scope, "weight": 0.5, "weight_at": day(1)}
        conn.execute(sa.insert(associations).values(link))
    pushed(store, foreign, 1)
    assert foreign.records()[one]["ours"]["links"] == [[other, 0.5]]
    assert foreign.records()[other]["ours"]["links"] == [[one, 0.5]]


def test_a_restored_memory_is_written_back_as_it_was(store: Store, foreign: JsonForeign) -> None:
    """From the image that was kept: what only its system knows is there too."""
    for text in (TRAM, OWL, DENTIST):
        foreign.add(text)
    before = foreign.records()
    pulled(store, foreign, 1)
    merged(store, 2, TRAM, OWL, text=WRITTEN)
    pushed(store, foreign, 2)
    with store.write() as conn:
        restore(conn, [find_memory(conn, name(TRAM))], now=day(3))
    assert pushed(store, foreign, 3).conflicts == ()
    assert texts(foreign) == sorted([TRAM, DENTIST, WRITTEN])
    back = next(one for one in foreign.records().values() if one["text"] == TRAM)
    assert back["theirs"] == next(one for one in before.values() if one["text"] == TRAM)["theirs"]
    assert pushed(store, foreign, 4).push_id is None


def test_a_purged_memory_leaves_their_record_alone(store: Store, foreign: JsonForeign) -> None:
    """Only what is forgotten is removed over there; of neither an image is kept."""
    foreign.add(TRAM)
    foreign.add(OWL)
    pulled(store, foreign, 1)
    with store.write() as conn:
        away = {"status": "archived", "archived_because": "user", "archived_at": day(1)}
        conn.execute(sa.update(memories).where(memories.c.content == TRAM).values(away))
    purge_store(store, PurgeJob(archive_nights=1), now=day(9), wall_clock=lambda: day(9))
    assert set(standing(store)) == {OWL}
    assert pushed(store, foreign, 9).removed == 0
    assert texts(foreign) == sorted([TRAM, OWL])
    assert pulled(store, foreign, 10).new == 0
    assert set(standing(store)) == {OWL}


def test_of_a_forgotten_memory_no_image_is_kept(store: Store, foreign: JsonForeign) -> None:
    """Nor can the undo of a push bring it back, by its version or by its record."""
    for text in (TRAM, OWL, DENTIST):
        foreign.add(text)
    pulled(store, foreign, 1)
    merged(store, 2, TRAM, OWL, text=WRITTEN)
    pushed(store, foreign, 2)
    forgotten(store, TRAM, 3)
    assert not any(TRAM in row for rows in contents(store).values() for row in rows)
    taken_back(store, foreign, 4)
    assert texts(foreign) == sorted([OWL, DENTIST])


def test_versions_bring_back_nothing_forgotten(store: Store, tmp_path: Path) -> None:
    """A source that can go back as a whole is not asked to, once something of it was forgotten."""
    foreign = made(tmp_path, versions=True)
    for text in (TRAM, CAT, CAT_AGAIN):
        foreign.add(text)
    pulled(store, foreign, 1)
    slept(store, 2)
    pushed(store, foreign, 2)
    forgotten(store, TRAM, 3)
    taken_back(store, foreign, 4)
    pushed(store, foreign, 5)
    assert TRAM not in texts(foreign)


def test_forgotten_while_it_is_written_it_goes_again(store: Store, foreign: JsonForeign) -> None:
    """By the next push; what is known of it keeps no text."""
    for text in (TRAM, OWL, DENTIST):
        foreign.add(text)
    pulled(store, foreign, 1)
    merged(store, 2, TRAM, OWL, text=WRITTEN)
    done: list[str] = []

    def forget_it() -> None:
        if not done:
            done.append(WRITTEN)
            forgotten(store, WRITTEN, 3)

    pushed(store, foreign, 3, seen=lambda source: Meddled(source, forget_it))
    pushed(store, foreign, 4)
    assert WRITTEN not in texts(foreign)
    assert not any(WRITTEN in row for rows in contents(store).values() for row in rows)


def test_a_text_updated_here_takes_the_place_of_their_record(store: Store, foreign: JsonForeign) -> None:
    """It is made before the old one goes."""
    record = foreign.add(TRAM)
    pulled(store, foreign, 1)
    foreign.edit(record, OWL)
    pulled(store, foreign, 2)
    other = foreign.add(TRAM, created_at="2026-01-01T09:00:00Z")
    pulled(store, foreign, 3)
    assert standing(store) == {TRAM: "superseded", OWL: "active"}
    pushed(store, foreign, 3)
    assert texts(foreign) == [OWL]
    assert other not in foreign.records()


def test_a_merge_across_sources_is_told_to_each(store: Store, foreign: JsonForeign, tmp_path: Path) -> None:
    """The text that stays is made in the one that lacks it, before what it replaces goes there."""
    other = made(tmp_path, "others")
    foreign.add(TRAM)
    other.add(OWL)
    for one in (foreign, other):
        one.add(DENTIST)
        pulled(store, one, 1)
    merged(store, 2, TRAM, OWL, text=WRITTEN)
    for one in (foreign, other):
        assert pushed(store, one, 2).made == 1
        assert texts(one) == sorted([DENTIST, WRITTEN])
        assert pulled(store, one, 3).new == 0


def test_a_new_record_takes_what_is_not_known_here_from_one_that_it_is_made_of(
    store: Store, foreign: JsonForeign
) -> None:
    """But neither its text nor its counters; its id is the same however often it is made."""
    for text in (TRAM, OWL):
        foreign.add(text, uses=7, theirs={"agent": "ada"})
    pulled(store, foreign, 1)
    merged(store, 2, TRAM, OWL, text=WRITTEN)
    pushed(store, foreign, 2)
    (first,) = foreign.records().items()
    assert (first[1]["theirs"], first[1]["uses"]) == ({"agent": "ada"}, 0)
    taken_back(store, foreign, 3)
    pushed(store, foreign, 4)
    (second,) = foreign.records()
    assert second == first[0]


def test_vectors_are_of_the_models_that_they_are_for(store: Store, tmp_path: Path) -> None:
    """Made anew where none is here; without one, nothing is written of the merge, and it is said."""
    foreign = made(tmp_path, vectors=True)
    for text in (TRAM, OWL):
        foreign.add(text)
    foreign.options = Options()
    pulled(store, foreign, 1)
    merged(store, 2, TRAM, OWL, text=WRITTEN)
    left = pushed(store, foreign, 2)
    assert (left.push_id, left.made, left.removed, len(left.notes)) == (None, 0, 0, 1)
    assert "no vector of the model letters" in left.notes[0]
    assert texts(foreign) == sorted([TRAM, OWL])
    foreign.options = replace(foreign.options, vectors_of=letters)
    assert pushed(store, foreign, 3).made == 1
    (record,) = foreign.records().values()
    assert (np.frombuffer(bytes.fromhex(record["vector"]), "<f4") == letters([WRITTEN])[0]).all()


def test_what_was_edited_does_not_hold_back_the_rest(store: Store, foreign: JsonForeign) -> None:
    """Only what stands or falls with it is left."""
    ids = {text: foreign.add(text) for text in (CAT, CAT_AGAIN, TRAM, OWL, DENTIST)}
    pulled(store, foreign, 1)
    slept(store, 2)
    merged(store, 2.5, TRAM, OWL, text=WRITTEN)
    foreign.edit(ids[OWL], "Åsa watches herons by the lake.")
    left = pushed(store, foreign, 3)
    assert [line.partition(":")[0] for line in left.conflicts] == [ids[OWL]]
    assert len({CAT, CAT_AGAIN} & {*texts(foreign)}) == 1
    assert {TRAM, "Åsa watches herons by the lake."} <= {*texts(foreign)}


def test_a_made_record_that_somebody_removed_after_a_kill_is_not_made_again(store: Store, foreign: JsonForeign) -> None:
    """What it took the place of was removed after it, so that it must have been there."""
    for text in (TRAM, OWL, DENTIST):
        foreign.add(text)
    pulled(store, foreign, 1)
    merged(store, 2, TRAM, OWL, text=WRITTEN)

    with pytest.raises(Broken):
        pushed(store, foreign, 2, seen=DiesAfterRemoving)
    assert texts(foreign) == sorted([DENTIST, WRITTEN])
    (record,) = (key for key, text in foreign.texts().items() if text == WRITTEN)
    foreign.remove(record)
    pushed(store, foreign, 3)
    assert texts(foreign) == [DENTIST]
    assert pulled(store, foreign, 4).gone == 1
    pushed(store, foreign, 5)
    assert texts(foreign) == [DENTIST]
    assert standing(store)[WRITTEN] == "gone"


def test_a_newer_push_of_the_same_records_is_undone_first(store: Store, foreign: JsonForeign) -> None:
    """As nights are."""
    for text in (TRAM, OWL, DENTIST, CAT, CAT_AGAIN):
        foreign.add(text)
    pulled(store, foreign, 1)
    merged(store, 2, TRAM, OWL, text=WRITTEN)
    first = pushed(store, foreign, 2)
    with store.write() as conn:
        conn.execute(
            sa.update(memories)
            .where(memories.c.content == WRITTEN)
            .values(pinned=True, revision=memories.c.revision + 1)
        )
    second = pushed(store, foreign, 3)
    with pytest.raises(BadInput, match=f"undo {second.push_id} first"):
        taken_back(store, foreign, 4, str(first.push_id))
    taken_back(store, foreign, 4)
    taken_back(store, foreign, 5)
    assert texts(foreign) == sorted([TRAM, OWL, DENTIST, CAT, CAT_AGAIN])
    with pytest.raises(BadInput, match="no push is left to undo"):
        taken_back(store, foreign, 6)


def test_what_is_known_of_pushes_fits_together(store: Store, foreign: JsonForeign) -> None:
    """Every image is done, nothing is expected any more, and the push is at its end."""
    for text in (TRAM, OWL, CAT, CAT_AGAIN):
        foreign.add(text)
    pulled(store, foreign, 1)
    slept(store, 2)
    merged(store, 2.5, TRAM, OWL, text=WRITTEN)
    pushed(store, foreign, 3)
    with store.read() as conn:
        assert set(conn.scalars(sa.select(push_images.c.done))) == {True}
        assert set(conn.scalars(sa.select(source_records.c.expected))) == {None}
        assert conn.scalars(sa.select(pushes.c.finished_at)).all() == [day(3)]


def test_an_old_push_is_purged_with_the_journals(store: Store, tmp_path: Path) -> None:
    """It cannot be undone any more; what brings back a memory that is put away stays, and nothing else."""
    foreign = made(tmp_path, strengths=True)
    for text in (CAT, CAT_AGAIN, TRAM, OWL):
        foreign.add(text)
    pulled(store, foreign, 1)
    slept(store, 2)
    first = pushed(store, foreign, 2)
    gone = next(text for text in (CAT, CAT_AGAIN) if text not in texts(foreign))
    gone_for_good = purge_store(store, PurgeJob(journal_nights=5), now=day(9), wall_clock=lambda: day(9))
    assert (gone_for_good.pushes, gone_for_good.journals) == (1, 1)
    assert "1 old push can no longer be undone" in gone_for_good.words
    with store.read() as conn:
        (left,) = conn.execute(sa.select(push_images)).all()
    assert left.after is None
    with pytest.raises(BadInput, match="cannot be undone any more: its images were purged"):
        taken_back(store, foreign, 9, str(first.push_id))
    with store.write() as conn:
        restore(conn, [find_memory(conn, name(gone))], now=day(9))
    pushed(store, foreign, 9)
    assert texts(foreign) == sorted([CAT, CAT_AGAIN, TRAM, OWL])
    assert not purge_store(store, PurgeJob(journal_nights=5), now=day(9), wall_clock=lambda: day(9)).some


def test_of_a_strength_that_is_told_no_more_than_that_is_kept(store: Store, tmp_path: Path) -> None:
    """And the undo gives that back, over what others changed beside it."""
    foreign = made(tmp_path, strengths=True)
    record = foreign.add(TRAM)
    pulled(store, foreign, 1)
    pushed(store, foreign, 2)
    pushed(store, foreign, 3)
    with store.read() as conn:
        images = conn.execute(sa.select(push_images.c.before, push_images.c.after)).all()
    assert len(images) == 2
    assert not any(TRAM in text for image in images for text in image)
    foreign.use(record)
    before = foreign.records()[record]
    assert taken_back(store, foreign, 4).restored == 1
    after = foreign.records()[record]
    assert after["ours"]["strength"] > before["ours"]["strength"]
    assert {**after, "ours": None} == {**before, "ours": None}
    taken_back(store, foreign, 5)
    assert "ours" not in foreign.records()[record]


def test_a_record_that_moved_to_another_scope_leads_nowhere(store: Store, foreign: JsonForeign) -> None:
    """Its text is a memory there; here it is gone."""
    record = foreign.add(TRAM)
    foreign.add(OWL)
    pulled(store, foreign, 1)
    foreign.change(lambda records: records[record].update(scope={"user": "ada"}))
    assert pulled(store, foreign, 2).changed == 1
    with store.read() as conn:
        rows = conn.execute(
            sa.select(memories.c.status, memories.c.archived_because, memories.c.superseded_by)
            .where(memories.c.content == TRAM)
            .order_by(memories.c.key)
        ).all()
    assert rows == [("archived", "gone", None), ("active", None, None)]
