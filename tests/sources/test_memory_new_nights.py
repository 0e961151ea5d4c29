"""Whole rounds over a folder of memory-new: pull, night, push, pull again, and all of it taken back."""

import json

import pytest

from consolidator.store.engine import Store
from tests.sources import acts
from tests.sources.memory_new_acts import foreign, quick
from tests.sources.memory_new_foreign import MemoryNewForeign

__all__ = ["foreign", "quick"]

POINTS = ["The cat sleeps on the warm radiator.", "Åsa watches owls in the old forest."]
BROKEN = b'{"id":"l1_0_x","content":"cut \n'


def everything(foreign: MemoryNewForeign) -> dict[str, bytes]:
    """Every file, byte for byte."""
    found = sorted(path for path in foreign.base.rglob("*") if path.is_file())
    return {path.relative_to(foreign.base).as_posix(): path.read_bytes() for path in found}


def test_a_night_merges_rows_and_scenes(store: Store, foreign: MemoryNewForeign) -> None:
    """What says the same is forgotten over there, and a scene that does goes; the undo leaves no trace."""
    keys = [foreign.add(text, session=session) for text in (acts.CAT, acts.TRAM) for session in ("a",)]
    keys.append(foreign.add(acts.CAT_AGAIN, session="b", status="draft"))
    with foreign.file("b").open("ab") as file:
        file.write(BROKEN)
    scenes = ("scene_1772355600000_aaaaaaa", "scene_1772355700000_bbbbbbb")
    foreign.scene(scenes[0], "家", POINTS)
    foreign.scene(scenes[1], "家", [point.lower() for point in POINTS])
    foreign.persona(f"# Agent Self-Model\n\n- {acts.CAT}\n")
    whole = everything(foreign)
    pulled = acts.pulled(store, foreign, 1)
    assert (pulled.new, pulled.bad_lines) == (6, 1)
    acts.slept(store, 2)
    assert everything(foreign) == whole
    done = acts.pushed(store, foreign, 3)
    assert done.conflicts == ()
    statuses = {key: foreign.rows()[key]["status"] for key in keys}
    assert statuses[keys[1]] == "active"
    assert sorted([statuses[keys[0]], statuses[keys[2]]]) in (["active", "forgotten"], ["draft", "forgotten"])
    left = everything(foreign)
    assert left["memory/persona.md"] == whole["memory/persona.md"]
    [gone] = {*whole} - {*left}
    assert gone in [f"memory/scenes/{scene}.md" for scene in scenes]
    assert [scene.encode() in left["memory/scenes/index.json"] for scene in scenes] == [
        f"memory/scenes/{scene}.md" in left for scene in scenes
    ]
    assert BROKEN in left["memory/l1/b.jsonl"]
    again = acts.pulled(store, foreign, 4)
    assert (again.new, again.changed, again.gone) == (0, 0, 0)
    assert acts.pushed(store, foreign, 4).push_id is None
    assert everything(foreign) == left
    assert acts.taken_back(store, foreign, 5, done.push_id or "").refused == ()
    assert everything(foreign) == whole


def test_what_fades_is_frozen_and_comes_back_active(store: Store, foreign: MemoryNewForeign) -> None:
    """Scenes and the persona never fade. A restored memory is active over there again."""
    key = foreign.add(acts.TRAM)
    foreign.scene("scene_1772355600000_aaaaaaa", "家", POINTS)
    acts.pulled(store, foreign, 1)
    for at in range(2, 60, 6):
        foreign.add(f"Another thing of day {at} that nobody else knows of.", session=f"day {at}")
        acts.pulled(store, foreign, at)
        acts.slept(store, at + 1)
    before = foreign.rows()[key]
    acts.pushed(store, foreign, 60)
    after = foreign.rows()[key]
    assert after["status"] == "frozen"
    assert {**after, "status": "active", "metadata": before["metadata"]} == before
    assert len(list((foreign.base / "memory/scenes").glob("*.md"))) == 1
    again = acts.pulled(store, foreign, 61)
    assert (again.new, again.changed, again.gone) == (0, 0, 0)
    acts.slept(store, 61.5)
    assert acts.standing(store)[acts.TRAM] == "faded"


@pytest.mark.parametrize("status", ["frozen", "forgotten"])
def test_what_its_own_decay_put_away_stays_away(store: Store, foreign: MemoryNewForeign, status: str) -> None:
    """Whatever strength it has left here; and it comes back where a person brings it back over there."""
    key = foreign.add(acts.TRAM)
    foreign.add(acts.OWL)
    acts.pulled(store, foreign, 1)
    foreign.patch(key, status=status)
    assert acts.pulled(store, foreign, 2).changed == 1
    for at in (3, 4):
        acts.slept(store, at)
        acts.pushed(store, foreign, at)
    assert acts.standing(store)[acts.TRAM] == "gone"
    assert foreign.rows()[key]["status"] == status
    foreign.patch(key, status="active")
    acts.pulled(store, foreign, 5)
    assert acts.standing(store)[acts.TRAM] == "active"


def test_a_recall_meanwhile_counts_once(store: Store, foreign: MemoryNewForeign) -> None:
    """It is reinforcement here, and stays counted there through push and undo."""
    key = foreign.add(acts.TRAM)
    foreign.add(acts.CAT)
    foreign.add(acts.CAT_AGAIN)
    acts.pulled(store, foreign, 1)
    foreign.use(key)
    assert acts.pulled(store, foreign, 2).uses == 1
    acts.slept(store, 3)
    foreign.use(key)
    done = acts.pushed(store, foreign, 3)
    assert foreign.rows()[key]["retrievalCount"] == 2
    assert foreign.rows()[key]["metadata"]["consolidator"]["strength"] > 0
    assert acts.pulled(store, foreign, 4).uses == 1
    acts.taken_back(store, foreign, 5, done.push_id or "")
    assert foreign.rows()[key]["retrievalCount"] == 2


def test_a_scene_that_a_model_writes_of_two_takes_their_place(store: Store, foreign: MemoryNewForeign) -> None:
    """With a name, a file and an entry of its own; the undo leaves no trace."""
    foreign.scene("scene_1772355600000_aaaaaaa", "家", POINTS[:1])
    foreign.scene("scene_1772355700000_bbbbbbb", "家", POINTS)
    whole = everything(foreign)
    acts.pulled(store, foreign, 1)
    told = [*acts.standing(store)]
    written = "# 家\n\nThe cat sleeps on the warm radiator. Åsa watches owls in the old forest."
    acts.merged(store, 2, *told, text=written)
    done = acts.pushed(store, foreign, 3)
    assert (done.made, done.removed, done.conflicts) == (1, 2, ())
    index = json.loads((foreign.base / "memory/scenes/index.json").read_text())
    [name] = index
    assert (foreign.base / f"memory/scenes/{name}.md").read_text().endswith(f"---\n\n{written}\n")
    assert acts.pulled(store, foreign, 4).new == 0
    acts.taken_back(store, foreign, 5, done.push_id or "")
    assert everything(foreign) == whole


def test_a_counter_past_all_counting_is_taken_and_counts_no_more(store: Store, foreign: MemoryNewForeign) -> None:
    """A number of thirty digits is one of JSON, and no column of ours holds it: the record is read all the same."""
    key = foreign.add(acts.TRAM, retrievalCount=10**30)
    assert acts.pulled(store, foreign, 1).new == 1
    foreign.patch(key, retrievalCount=10**30 + 1)
    again = acts.pulled(store, foreign, 2)
    assert (again.unchanged, again.uses) == (1, 0)


@pytest.mark.parametrize("away_first", [True, False])
def test_a_frozen_row_stays_so_beside_another_that_says_it(
    away_first: bool, store: Store, foreign: MemoryNewForeign
) -> None:
    """The memory is active whichever is read first, and a push says nothing of the frozen row."""
    states = ["frozen", "active"] if away_first else ["active", "frozen"]
    ids = [foreign.add(acts.CAT, session=session, status=state) for session, state in zip("ab", states, strict=True)]
    away = ids[states.index("frozen")]
    foreign.add(acts.CAT_AGAIN, session="c")
    before = foreign.rows()[away]
    acts.pulled(store, foreign, 1)
    assert set(acts.standing(store).values()) == {"active"}
    acts.slept(store, 2)
    assert acts.pushed(store, foreign, 2).conflicts == ()
    assert foreign.rows()[away] == before
    assert acts.pulled(store, foreign, 3).changed == 0
    assert acts.pushed(store, foreign, 3).push_id is None
