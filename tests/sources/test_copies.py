"""Records of one source that say the same: one of them stays, by which their memory is told, and the others go."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import pytest

from consolidator.sources.port import Image, Source
from consolidator.store.engine import Store
from consolidator.store.undo import undo_run
from tests.exchanged import contents
from tests.sources.acts import (
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
from tests.sources.foreign import Foreign
from tests.sources.lance_foreign import pro
from tests.sources.markdown_foreign import MarkdownForeign
from tests.sources.memory_foreign import plain, with_states

NINE = "The tram to the harbour is line nine."


def repeated(foreign: Foreign, times: int = 2) -> list[str]:
    """The ids of records that say the same; another record says something else."""
    ids = [foreign.add(TRAM) for _ in range(times)]
    foreign.add(OWL)
    assert len({*ids}) == times
    return ids


def saying(foreign: Foreign, text: str = TRAM) -> list[str]:
    """The ids of the records that say so."""
    return sorted(key for key, told in foreign.texts().items() if told == text)


def test_one_of_those_that_say_the_same_stays(store: Store, repeating: Foreign) -> None:
    """With why it goes; the next pull finds nothing changed, and the next push has nothing to say of any."""
    ids = repeated(repeating)
    rest = repeating.rest()
    pulled(store, repeating, 1)
    would = pushed(store, repeating, 1, dry_run=True).planned
    assert [line for line in would if "it says the same as" in line and all(key in line for key in ids)] == [would[-1]]
    done = pushed(store, repeating, 1)
    assert (done.written + done.removed, done.conflicts) == (len(would), ())
    assert texts(repeating) == sorted([TRAM, OWL])
    assert would[-1].endswith(f"it says the same as {saying(repeating)[0]}")
    before, told = exported(store, 1), repeating.texts()
    again = pulled(store, repeating, 1)
    assert (again.new, again.changed, again.gone, again.notes, again.conflicts) == (0, 0, 0, (), ())
    assert standing(store) == {TRAM: "active", OWL: "active"}
    second = pushed(store, repeating, 1)
    assert (second.push_id, second.conflicts) == (None, ())
    assert exported(store, 1) == before
    assert (repeating.texts(), repeating.rest()) == (told, rest)


def test_the_same_one_stays_when_another_comes(store: Store, repeating: Foreign) -> None:
    """That of which the agent knows by then."""
    repeated(repeating)
    pulled(store, repeating, 1)
    pushed(store, repeating, 1)
    stays = saying(repeating)
    repeating.add(DENTIST)
    repeating.add(TRAM)
    pulled(store, repeating, 2)
    if len(saying(repeating)) > 1:  # a page may have had it at that very place
        assert pushed(store, repeating, 2).exit_code == 0
    assert saying(repeating) == stays


def test_copies_are_there_again_when_their_push_is_undone(store: Store, repeating: Foreign) -> None:
    """As they were; the next push removes the same again."""
    repeated(repeating)
    rest, told = repeating.rest(), repeating.texts()
    pulled(store, repeating, 1)
    done = pushed(store, repeating, 1)
    after = texts(repeating)
    undone = taken_back(store, repeating, 2)
    assert (undone.restored, undone.refused) == (done.written + done.removed, ())
    assert (repeating.texts(), repeating.rest()) == (told, rest)
    again = pulled(store, repeating, 3)
    assert (again.new, again.changed, again.gone) == (0, 0, 0)
    assert pushed(store, repeating, 3).exit_code == 0
    assert texts(repeating) == after


@pytest.mark.parametrize("what", ["edited", "removed"])
def test_no_copy_goes_where_that_which_stays_was_changed(store: Store, repeating: Foreign, what: str) -> None:
    """Then one of them stays instead."""
    repeated(repeating)
    pulled(store, repeating, 1)
    line = pushed(store, repeating, 1, dry_run=True).planned[-1]
    stays = line.rpartition(" ")[2]
    if what == "edited":
        repeating.edit(stays, NINE)
    else:
        repeating.remove(stays)
    assert pushed(store, repeating, 1).exit_code == 3
    assert TRAM in texts(repeating)
    pulled(store, repeating, 2)
    assert standing(store)[TRAM] == "active"
    assert pushed(store, repeating, 2).exit_code == 0
    assert texts(repeating) == sorted([TRAM, OWL, *([NINE] if what == "edited" else [])])


def test_a_copy_that_was_edited_is_left_alone(store: Store, repeating: Foreign) -> None:
    """Its new text is a memory beside the old one."""
    ids = repeated(repeating)
    pulled(store, repeating, 1)
    stays = pushed(store, repeating, 1, dry_run=True).planned[-1].rpartition(" ")[2]
    repeating.edit(next(key for key in ids if key != stays), NINE)
    left = pushed(store, repeating, 1)
    assert len(left.conflicts) <= 1  # a system that names by content has another record now
    assert texts(repeating) == sorted([TRAM, NINE, OWL])
    pulled(store, repeating, 2)
    assert standing(store) == {TRAM: "active", NINE: "active", OWL: "active"}
    assert pushed(store, repeating, 2).conflicts == ()
    assert texts(repeating) == sorted([TRAM, NINE, OWL])


@pytest.mark.parametrize("what", ["edited", "removed"])
def test_what_becomes_of_the_one_that_stays_becomes_of_the_memory(store: Store, repeating: Foreign, what: str) -> None:
    """Its copies, which a push has removed, neither hold it nor are they brought back."""
    repeated(repeating)
    pulled(store, repeating, 1)
    pushed(store, repeating, 1)
    pulled(store, repeating, 1.5)
    [stays] = saying(repeating)
    if what == "edited":
        repeating.edit(stays, NINE)
    else:
        repeating.remove(stays)
    pulled(store, repeating, 2)
    assert standing(store)[TRAM] in (("superseded",) if what == "edited" else ("gone", "user"))
    slept(store, 3)
    assert pushed(store, repeating, 3).conflicts == ()
    assert TRAM not in texts(repeating)
    pulled(store, repeating, 4)
    assert standing(store)[TRAM] != "active"


def test_what_is_back_comes_back_once(store: Store, repeating: Foreign) -> None:
    """When the night that merged it away is undone: one record is enough, whatever there was before."""
    repeated(repeating)
    pulled(store, repeating, 1)
    merged(store, 2, TRAM, OWL, text=WRITTEN)
    pushed(store, repeating, 2)
    assert texts(repeating) == [WRITTEN]
    undo_run(store, "last", wall_clock=lambda: day(3))
    assert pushed(store, repeating, 3).exit_code == 0
    assert texts(repeating) == sorted([TRAM, OWL])
    again = pulled(store, repeating, 3)
    assert (again.new, again.changed, again.gone) == (0, 0, 0)
    assert pushed(store, repeating, 3).push_id is None


def test_what_had_copies_is_merged_away_like_any(store: Store, repeating: Foreign) -> None:
    """And forgotten: nothing of it is left, there or in the images of it."""
    repeated(repeating)
    pulled(store, repeating, 1)
    pushed(store, repeating, 1)
    pulled(store, repeating, 1.5)
    merged(store, 2, TRAM, OWL, text=WRITTEN)
    assert pushed(store, repeating, 2).conflicts == ()
    assert texts(repeating) == [WRITTEN]
    undo_run(store, "last", wall_clock=lambda: day(3))
    pushed(store, repeating, 3)
    assert texts(repeating) == sorted([TRAM, OWL])
    forgotten(store, TRAM, 4)
    pushed(store, repeating, 4)
    assert texts(repeating) == [OWL]
    assert not any(TRAM in row for rows in contents(store).values() for row in map(str, rows))


class Looked:
    """A source, and the ids that were looked up or written."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.ids: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.source, name)

    def look(self, ids: Collection[str]) -> Mapping[str, Image]:
        self.ids |= {*ids}
        return self.source.look(ids)


def looked_at(store: Store, foreign: Foreign, at: float) -> set[str]:
    """The ids of which a push looks at the record."""
    seen: list[Looked] = []

    def watch(source: Source) -> Looked:
        seen.append(Looked(source))
        return seen[-1]

    assert pushed(store, foreign, at, seen=watch).conflicts == ()
    return seen[-1].ids


def test_a_copy_that_was_put_away_is_not_looked_at_again(store: Store, tmp_path: Path) -> None:
    """Nor told how its memory fares, where every push tells all. An edit of one copy keeps no other there."""
    with with_states(tmp_path) as foreign:
        first, *others = [foreign.add(TRAM) for _ in range(5)]
        foreign.use(first)
        owl = foreign.add(OWL)
        pulled(store, foreign, 1)
        foreign.edit(others[0], NINE)
        left = pushed(store, foreign, 1)
        assert left.conflicts == (f"{others[0]}: was edited over there since it was last pulled",)
        assert saying(foreign) == [first]
        pulled(store, foreign, 2)
        for at in (2, 3):
            assert looked_at(store, foreign, at) == {first, others[0], owl}
        merged(store, 4, TRAM, OWL, text=WRITTEN)
        assert not {*others[1:]} & looked_at(store, foreign, 4)
        assert texts(foreign) == sorted([NINE, WRITTEN])


def test_the_one_that_is_used_most_stays(store: Store, tmp_path: Path) -> None:
    """Of those that were never told of."""
    with plain(tmp_path) as foreign:
        ids = [foreign.add(TRAM, uses=uses) for uses in (1, 3, 2)]
        pulled(store, foreign, 1)
        pushed(store, foreign, 1)
        assert saying(foreign) == [ids[1]]


def test_a_copy_that_is_put_away_over_there_stays_so(store: Store, tmp_path: Path) -> None:
    """Whoever put it away: it is not the one that is brought back, nor told of again."""
    with pro(tmp_path) as foreign:
        ids = sorted([foreign.add(TRAM), foreign.add(TRAM)])
        foreign.add(OWL)
        foreign.agent().change(ids[0], metadata='{"state": "archived"}')
        pulled(store, foreign, 1)
        slept(store, 2)
        pushed(store, foreign, 2)
        assert saying(foreign) == [ids[1]]
        foreign.remove(ids[1])
        pulled(store, foreign, 3)
        assert standing(store)[TRAM] in ("gone", "user")
        slept(store, 3)
        pushed(store, foreign, 3)
        assert saying(foreign) == []


def test_what_two_sources_say_is_not_brought_back_by_a_copy(store: Store, tmp_path: Path) -> None:
    """Where it was changed in one of them; in the other it stays."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    with plain(tmp_path / "one") as one, plain(tmp_path / "two") as two:
        ids = [one.add(TRAM) for _ in range(4)]
        one.add(OWL)
        two.add(TRAM)
        for foreign in (one, two):
            pulled(store, foreign, 1)
            pushed(store, foreign, 1)
        one.remove(ids[0])
        pulled(store, one, 2)
        assert standing(store)[TRAM] == "active"
        slept(store, 3)
        pushed(store, one, 3)
        assert (texts(one), texts(two)) == ([OWL], [TRAM])


def test_a_line_that_the_agent_always_has_in_mind_stays(store: Store, tmp_path: Path) -> None:
    """Though another page says it too; and it is told once."""
    foreign = MarkdownForeign("openclaw", tmp_path, ("MEMORY.md", "USER.md"))
    other = MarkdownForeign("openclaw", tmp_path, ("memory/home.md", "memory/2026-05-01.md"))
    for each in (foreign, other):
        for _ in range(2):
            each.add(TRAM)
    pulled(store, foreign, 1)
    pushed(store, foreign, 1)
    assert (saying(foreign), saying(other)) == ([foreign.id_of("MEMORY.md", TRAM)], [])


def test_a_line_that_has_others_below_it_stays(store: Store, tmp_path: Path) -> None:
    """And no push looks at it again before its page says something else."""
    foreign = MarkdownForeign("markdown", tmp_path, ("notes.md", "home/kitchen.md"))
    for name in foreign.names:
        foreign.add(TRAM, file=name)
        with (tmp_path / name).open("a") as file:
            file.write(f"  - {name} says more of it.\n")
    pulled(store, foreign, 1)
    assert pushed(store, foreign, 1).push_id is None
    assert len(saying(foreign)) == 2
    assert looked_at(store, foreign, 1) == set()
    stays, copy = foreign.id_of("home/kitchen.md", TRAM), foreign.id_of("notes.md", TRAM)
    page = tmp_path / "notes.md"
    page.write_text(page.read_text().replace("  - notes.md says more of it.\n", ""))
    pulled(store, foreign, 2)
    pushed(store, foreign, 2)
    assert copy in foreign.texts()
    assert stays in foreign.texts()
