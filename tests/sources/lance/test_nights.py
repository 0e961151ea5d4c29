"""Nights over a LanceDB table that an agent goes on using through a handle that it opened before."""

import json
from pathlib import Path

import pytest

from consolidator.store.engine import Store
from tests.sources.acts import CAT, CAT_AGAIN, TRAM, pulled, pushed, slept, standing
from tests.sources.lance_foreign import LanceForeign


@pytest.mark.parametrize("kind", ["claw-memory-ultra", "memory-lancedb-pro"])
def test_what_an_old_handle_brings_back_goes_again(kind: str, store: Store, tmp_path: Path) -> None:
    """By the next push, with a word about it; its use counts for what took its place, and then nothing changes."""
    foreign = LanceForeign(kind, tmp_path / "it")
    for text in (CAT, CAT_AGAIN, TRAM):
        foreign.add(text)
    before = foreign.texts()
    pulled(store, foreign, 1)
    agent = foreign.agent()
    slept(store, 2)
    pushed(store, foreign, 2)
    left, stands = foreign.texts(), standing(store)
    (gone,) = before.keys() - left.keys()
    agent.use(gone)
    assert foreign.texts() == before
    again = pulled(store, foreign, 3)
    assert (again.new, again.changed, again.uses, len(again.notes)) == (0, 0, 1, 1)
    assert standing(store) == stands
    pushed(store, foreign, 3)
    assert foreign.texts() == left
    slept(store, 4)
    assert pushed(store, foreign, 4).removed == 0
    after = pulled(store, foreign, 5)
    assert (after.new, after.changed, after.gone, after.notes) == (0, 0, 0, ())
    assert pushed(store, foreign, 5).push_id is None
    assert (foreign.texts(), standing(store)) == (left, stands)


def test_what_their_program_makes_active_again_is_active_again(store: Store, tmp_path: Path) -> None:
    """It keeps what we wrote beside; the next push adds nothing that says otherwise."""
    foreign = LanceForeign("memory-lancedb-pro", tmp_path / "it")
    for text in (CAT, CAT_AGAIN, TRAM):
        foreign.add(text)
    before = foreign.texts()
    pulled(store, foreign, 1)
    slept(store, 2)
    pushed(store, foreign, 2)
    (gone,) = before.keys() - foreign.texts().keys()
    about = {**foreign.about(gone), "state": "confirmed", "memory_layer": "working"}
    del about["invalidated_at"], about["superseded_by"]
    foreign.agent().change(gone, metadata=json.dumps(about))
    assert pulled(store, foreign, 3).changed == 1
    assert set(standing(store).values()) == {"active"}
    assert pushed(store, foreign, 3).conflicts == ()
    assert foreign.texts() == before
    assert pulled(store, foreign, 4).changed == 0


@pytest.mark.parametrize("away_first", [True, False])
def test_what_their_program_archived_stays_so_beside_another_that_says_it(
    away_first: bool, store: Store, tmp_path: Path
) -> None:
    """The memory is active whichever is read first, and what a night makes of it is told of the active record alone."""
    foreign = LanceForeign("memory-lancedb-pro", tmp_path / "it")
    archived = json.dumps({"state": "archived", "archived_at": 1_700_000_000_000})
    ids = [foreign.add(CAT, metadata=metadata) for metadata in ([archived, "{}"] if away_first else ["{}", archived])]
    away, here = ids if away_first else reversed(ids)
    foreign.add(CAT_AGAIN)
    pulled(store, foreign, 1)
    assert set(standing(store).values()) == {"active"}
    slept(store, 2)
    assert pushed(store, foreign, 2).conflicts == ()
    assert foreign.about(away) == json.loads(archived)
    assert len(foreign.texts()) == 1
    assert away not in foreign.texts()
    assert foreign.about(here)["consolidator"]
    assert pulled(store, foreign, 3).changed == 0
    assert pushed(store, foreign, 3).push_id is None
