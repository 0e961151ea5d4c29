"""memory-smart in a folder of Qdrant's local mode: read, written, and a whole round over it."""

from pathlib import Path
from typing import Any
from uuid import NAMESPACE_OID, uuid5

from qdrant_client import QdrantClient

from consolidator.sources.choose import open_source
from consolidator.sources.port import Write
from consolidator.store.engine import Store
from tests.sources import acts
from tests.sources.foreign import Foreign
from tests.sources.qdrant_acts import COLD, OTHER, POINT, change, folder, items, ours
from tests.sources.qdrant_foreign import COLLECTION, upsert

__all__ = ["folder"]


def points(folder: Path) -> dict[str, dict[str, Any]]:
    client = QdrantClient(path=str(folder))
    found = {str(point.id): point.payload or {} for point in client.scroll(COLLECTION)[0]}
    client.close()
    return found


def test_a_folder_is_read_and_written(folder: Path) -> None:
    """It is known by its absolute path and its collection; what was written is there when it is opened again."""
    before = points(folder)
    with open_source(f"memory-smart:{folder}/../qdrant", COLD) as source:
        assert source.url == f"memory-smart:{folder}#memory-smart"
        assert {item.memory.content for item in items(source).values()} == {"The text.", "Another 猫."}
        write, conflict = change(source, POINT, ours())
        removal = Write(OTHER, source.look([OTHER])[OTHER], None)
        assert (conflict, source.write([removal])[OTHER].conflict) == (None, None)
    assert points(folder) == {POINT: {**before[POINT], "consolidator": {"strength": 0.25}}}
    with open_source(f"memory-smart:{folder}#memory-smart", COLD) as source:
        source.write([Write(POINT, write.after, write.before), Write(OTHER, None, removal.before)])
    assert points(folder) == before


class Folder(Foreign):
    """Such a folder, to be pulled and pushed."""

    def __init__(self, path: Path) -> None:
        self.url, self.options = f"memory-smart:{path}", COLD


def test_a_whole_round_over_a_folder_and_back(store: Store, folder: Path) -> None:
    """Without a model for a vector a written text waits, and what it would replace stays; what only goes, goes."""
    client = QdrantClient(path=str(folder))
    for number, text in enumerate((acts.CAT, acts.CAT_AGAIN, acts.TRAM, acts.OWL), 1):
        upsert(client, str(uuid5(NAMESPACE_OID, str(number))), text)
    client.close()
    foreign, before = Folder(folder), points(folder)
    assert acts.pulled(store, foreign, 1).new == 6
    acts.slept(store, 2)
    acts.merged(store, 2.5, acts.TRAM, acts.OWL, text=acts.WRITTEN)
    done = acts.pushed(store, foreign, 3)
    left = {point["text"] for point in points(folder).values()}
    assert left >= {acts.TRAM, acts.OWL}
    assert len(left & {acts.CAT, acts.CAT_AGAIN}) == 1
    assert acts.WRITTEN not in left
    again = acts.pulled(store, foreign, 4)
    assert (again.new, again.changed, again.gone) == (0, 0, 0)
    assert acts.taken_back(store, foreign, 5, done.push_id or "").refused == ()
    assert points(folder) == before
