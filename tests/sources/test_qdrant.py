"""What is special to memory-smart: its points, what is asked of a server, writers beside us, and what can be wrong."""

import json
from typing import Any

import numpy as np
import pytest

from consolidator.errors import BadInput, ConsolidatorError
from consolidator.sources.choose import open_source
from consolidator.sources.port import Image, Item, NeedsVector, Options, Ours, Source, Unreadable, Write
from consolidator.sources.qdrant import source as qdrant
from consolidator.sources.qdrant.points import uses_of
from tests.lives import T0
from tests.sources.qdrant_acts import COLD, NOW, change, foreign, items, ours
from tests.sources.qdrant_foreign import COLLECTION, QdrantForeign, upsert, vectors_of

__all__ = ["foreign"]


def test_a_point_is_a_memory_of_one_scope(foreign: QdrantForeign) -> None:
    """Its agent is metadata, for everybody recalls from one pool; uses are recalls."""
    keys = [
        foreign.add(
            "Åsa dances 🦉", category="lesson", importance=0.3, accessCount=4, lastAccessed=T0 // 1000, mood="好"
        ),
        foreign.add("By hand.", sessionKey="manual", agentId="manual", importance=None, category=None),
    ]
    with open_source(foreign.url, Options('{"user":"ada"}')) as source:
        read = items(source)
    one, other = (read[key] for key in keys)
    assert (one.memory.content, one.memory.type, one.memory.scope) == ("Åsa dances 🦉", "lesson", '{"user":"ada"}')
    assert (one.memory.importance, one.memory.strength, one.memory.created_at) == (0.3, 0.5, T0 + 1000)
    assert one.memory.metadata == {"sessionKey": "agent:main:telegram:ada", "agentId": "main", "mood": "好"}
    assert (one.uses, one.used_at, one.evidence) == (4, T0, "auto_injected")
    assert (other.memory.type, other.memory.importance, other.memory.strength) == ("fact", None, 1.0)
    assert (other.uses, other.used_at, other.memory.scope) == (0, None, '{"user":"ada"}')


@pytest.mark.parametrize("count", [float("inf"), float("nan"), -4, True, "9"])
def test_what_is_no_number_of_times_counts_none(count: object) -> None:
    """A point whose counter is broken is read all the same."""
    assert uses_of({"accessCount": count, "lastAccessed": 1.8e12}) == (0, None)


@pytest.mark.parametrize(
    ("about", "told"),
    [
        ({"text": " "}, "text: is empty"),
        ({"text": 7}, "text: 7 is not a text"),
        ({"text": "a\0b"}, "text: holds a NUL"),
        ({"createdAt": None}, "createdAt: is missing"),
        ({"category": "x" * 1001}, "category: is longer than 1000 bytes"),
    ],
)
def test_a_point_that_is_no_memory_is_told(foreign: QdrantForeign, about: dict[str, Any], told: str) -> None:
    """By its id; the others are read."""
    key, other = foreign.add("A text."), foreign.add("Good.")
    payload = {name: value for name, value in {**foreign.payload(key), **about}.items() if value is not None}
    foreign.server.client.overwrite_payload(COLLECTION, payload, points=[key])
    with foreign.source() as source:
        found = {each.id: each for each in source.read(None).records if isinstance(each, Item | Unreadable)}
        assert isinstance(found[other], Item)
        bad = found[key]
        assert isinstance(bad, Unreadable)
        assert str(bad.bad) == f"{source.url}: {key}: {told}"


def test_all_pages_are_read_with_vectors_only_where_their_model_is_known(
    foreign: QdrantForeign, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A point is read once, also one whose id is a number."""
    monkeypatch.setattr(qdrant, "PAGE", 3)
    monkeypatch.setattr(qdrant, "PAGE_OF_VECTORS", 2)
    texts = {foreign.add(f"text {number}"): f"text {number}" for number in range(7)}
    upsert(foreign.server.client, 42, "a number")  # type: ignore[arg-type]
    texts["42"] = "a number"
    with open_source(foreign.url, COLD) as source:
        read = items(source)
        assert {key: item.memory.content for key, item in read.items()} == texts
        assert {item.memory.vector for item in read.values()} == {None}
        assert source.look(["42"])["42"]["payload"]["text"] == "a number"
        assert change(source, "42", ours())[1] is None
        assert source.model is None
    asked = [body for _, path, body in foreign.server.asked if path.endswith("/scroll")]
    assert [body["with_vector"] for body in asked] == [False] * 3
    with foreign.source() as source:
        read = items(source)
        assert source.model == "openai:letters"
    assert len(read) == 8
    memory = read["42"].memory
    assert (memory.model, memory.vector) == ("letters", vectors_of(["a number"]).astype("<f4").tobytes())


def test_only_our_field_is_set(foreign: QdrantForeign) -> None:
    """Over the point as it is by then, and what a server is asked compares and sets at once."""
    key = foreign.add("A text.", extra={"n": [1]}, flag=True, importance=1)
    before = foreign.payload(key)
    with foreign.source() as source:
        write, conflict = change(source, key, ours(consolidated=True, temporal_state="past"))
        assert conflict is None
        told = {"strength": 0.25, "consolidated": True, "temporal_state": "past"}
        assert foreign.payload(key) == {**before, "consolidator": told}
        [asked] = [body for _, path, body in foreign.server.asked if path.endswith("/batch")]
        [operation] = asked["operations"]
        assert operation["set_payload"]["payload"] == {"consolidator": told}
        compared = {one["key"] for one in operation["set_payload"]["filter"]["must"][1:]}
        assert compared == {"text", "category", "importance", "sessionKey", "agentId", "createdAt", "flag"}
        assert operation["set_payload"]["filter"]["must"][0] == {"has_id": [key]}
        assert source.write([Write(key, write.after, write.before)])[key].conflict is None
    assert foreign.payload(key) == before


def test_what_was_recalled_meanwhile_stays_counted(foreign: QdrantForeign) -> None:
    """Also between our last look and our writing."""
    key = foreign.add("A text.")
    foreign.server.before_update = lambda: foreign.use(key)
    with foreign.source() as source:
        write, conflict = change(source, key, ours())
        assert conflict is None
        assert source.write([Write(key, write.after, write.before)])[key].conflict is None
    assert foreign.payload(key)["accessCount"] == 2
    assert "consolidator" not in foreign.payload(key)


@pytest.mark.parametrize("status", ["active", "archived"])
def test_an_edit_between_our_look_and_our_writing_is_a_conflict(foreign: QdrantForeign, status: str) -> None:
    """The server leaves the point alone, whether it was to be changed or removed; the others are written."""
    key, other = foreign.add("A text."), foreign.add("Another.")
    foreign.server.before_update = lambda: foreign.edit(key, "What she said.")
    with foreign.source() as source:
        there = source.look([key, other])
        told = ours(status=status)
        done = source.write(
            [Write(each, there[each], source.render(told, there[each], None, now=NOW)) for each in there]
        )
    assert done[key].conflict == "was edited over there meanwhile"
    assert done[other].conflict is None
    assert foreign.payload(key)["text"] == "What she said."
    assert "consolidator" not in foreign.payload(key)
    assert (other in foreign.texts()) == (status == "active")


def test_a_point_removed_meanwhile_is_not_brought_back(foreign: QdrantForeign) -> None:
    """It is a conflict to change it, and none to remove it."""
    key, other = foreign.add("A text."), foreign.add("Another.")
    with foreign.source() as source:
        there = source.look([key, other])
        after = source.render(ours(), there[key], None, now=NOW)
        foreign.server.before_update = lambda: foreign.remove(key)
        done = source.write([Write(key, there[key], after), Write(other, there[other], None)])
        assert done[key].conflict == "was edited over there meanwhile"
        assert done[other].conflict is None
        done = source.write([Write(key, there[key], after), Write(other, there[other], None)])
        assert done[key].conflict == "was removed over there meanwhile"
        assert done[other].conflict is None
    assert foreign.texts() == {}


@pytest.mark.parametrize(("status", "because"), [("superseded", None), ("archived", "faded"), ("archived", "user")])
def test_what_was_put_away_is_removed(foreign: QdrantForeign, status: str, because: str | None) -> None:
    """memory-smart has no state for it; its image brings it back whole."""
    key = foreign.add("A text.", accessCount=3, extra={"a": [1, None]})
    before = foreign.points()
    with foreign.source() as source:
        write, conflict = change(source, key, ours(status=status, because=because))
        assert (write.after, conflict) == (None, None)
        assert foreign.texts() == {}
        assert json.loads(json.dumps(write.before)) == write.before
        assert source.write([Write(key, None, write.before)])[key].conflict is None
    assert foreign.points() == before


def new(source: Source, memory: Ours, like: Image | None) -> Write:
    return Write(source.new_id(memory), None, source.render(memory, None, like, now=NOW))


def test_a_merged_text_is_a_point_like_its_source(foreign: QdrantForeign) -> None:
    """With a vector, nobody's counts, and importance and agent of the source; written twice it is there once."""
    like = foreign.add("One cat.", agentId="scout", sessionKey="s9", importance=0.9, category="event", accessCount=7)
    vector = vectors_of(["Two cats 🐈."])[0]
    memory = ours("Two cats 🐈.", vector=vector.astype("<f4").tobytes(), type="whatever", strength=0.9)
    with foreign.source() as source:
        write = new(source, memory, source.look([like])[like])
        assert [source.write([write])[write.id].conflict for _ in range(2)] == [None, None]
        assert source.look([write.id])[write.id] == write.after
    assert foreign.payload(write.id) == {
        "text": "Two cats 🐈.", "category": "event", "importance": 0.9, "sessionKey": "s9", "agentId": "scout",
        "createdAt": T0 // 1000, "accessCount": 0, "lastAccessed": 0, "consolidator": {"strength": 0.9},
    }  # fmt: skip
    assert len(foreign.points()) == 2


def test_a_new_point_overwrites_none(foreign: QdrantForeign) -> None:
    """Neither one that is there, nor one that comes while we write."""
    memory = ours("New.", vector=vectors_of(["New."]).astype("<f4").tobytes())
    with foreign.source() as source:
        write = new(source, memory, None)
        foreign.server.before_update = lambda: upsert(foreign.server.client, write.id, "Theirs.")
        for _ in range(2):
            assert source.write([write])[write.id].conflict == "was edited over there meanwhile"
    assert foreign.texts() == {write.id: "Theirs."}


def test_a_new_point_needs_a_vector_of_its_size(foreign: QdrantForeign) -> None:
    """None is made without one, and one of another model is refused."""
    with foreign.source() as source:
        with pytest.raises(NeedsVector):
            new(source, ours(), None)
        with pytest.raises(BadInput, match="vectors of 8 numbers, and the model that this source is set to makes 3"):
            new(source, ours(vector=np.ones(3, "<f4").tobytes()), None)


def test_a_server_that_fails_while_we_write_is_told(foreign: QdrantForeign) -> None:
    """Not as if nothing were written."""
    key = foreign.add("A text.")

    def fail() -> None:
        raise ValueError("No space left on device")

    with foreign.source() as source:
        write = Write(key, source.look([key])[key], None)
        foreign.server.before_update = fail
        with pytest.raises(
            ConsolidatorError, match=r"answers 400 \(No space left on device\); what is written already"
        ):
            source.write([write])
        foreign.server.before_update = lambda: None
        assert source.write([write])[key].conflict is None
