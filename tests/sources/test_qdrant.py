"""What is special to memory-smart: its points, what is asked of a server, writers beside us, and what can be wrong."""

import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from qdrant_client import QdrantClient, models
from qdrant_client.http.exceptions import ResponseHandlingException

from consolidator.embedding import minilm
from consolidator.errors import BadInput, ConsolidatorError
from consolidator.sources.choose import open_source
from consolidator.sources.port import Image, Item, NeedsVector, Options, Ours, Source, Unreadable, Write
from consolidator.sources.qdrant import source as qdrant
from tests.lives import EVE, T0, day
from tests.sources.qdrant_foreign import COLLECTION, QdrantForeign, make_collection, plain, upsert, vectors_of

NOW = day(EVE)
ID = "11111111-2222-4333-8444-555555555555"
COLD = Options()


@pytest.fixture
def foreign(tmp_path: Path) -> Iterator[QdrantForeign]:
    with plain(tmp_path) as foreign:
        yield foreign


def ours(content: str = "The text.", **about: Any) -> Ours:
    told = {"id": "f" * 64, "scope": "{}", "type": "fact", "created_at": T0, "strength": 0.25, **about}
    return Ours(content=content, **told)


def items(source: Source) -> dict[str, Item]:
    return {each.id: each for each in source.read(None).records if isinstance(each, Item)}


def change(source: Source, key: str, memory: Ours) -> tuple[Write, str | None]:
    """A record is told what we hold: the write, and its conflict."""
    before = source.look([key])[key]
    write = Write(key, before, source.render(memory, before, None, now=NOW))
    return write, source.write([write])[key].conflict


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


# What cannot be used: each is one line, and nothing is made or written.


def refused(url: str, options: Options = COLD) -> str:
    with pytest.raises(BadInput) as error, open_source(url, options) as source:
        list(source.read(None).records)
    assert error.value.exit_code == 2
    assert "\n" not in str(error.value)
    return str(error.value)


def test_a_server_that_is_not_there_is_told() -> None:
    """With its place."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        told = refused(f"memory-smart:http://127.0.0.1:{port}/memory-smart")
    assert told.startswith(f"http://127.0.0.1:{port}/memory-smart: cannot be reached (")
    assert told.endswith("; is a Qdrant running there?")


def test_a_server_that_does_not_answer_is_told(foreign: QdrantForeign, monkeypatch: pytest.MonkeyPatch) -> None:
    """After its time."""

    def slow(*_args: object, **_more: object) -> None:
        raise ResponseHandlingException(httpx.ReadTimeout("timed out"))

    monkeypatch.setattr(QdrantClient, "get_collection", slow)
    assert "does not answer (timed out); is a Qdrant running there?" in refused(foreign.url)


def test_a_server_asks_for_its_key(foreign: QdrantForeign) -> None:
    """It is the source's token, and stands in no URL."""
    foreign.server.key = "the key"
    for options in (COLD, Options(token="another")):
        assert "refuses the key (401); set this source's token" in refused(foreign.url, options)
    with open_source(foreign.url, Options(token="the key")) as source:
        assert source.url == foreign.url
        assert "the key" not in repr(source.__dict__["options"])
    told = refused(foreign.url.replace("://", "://ada:secret@"))
    assert told.endswith("a key does not belong into the URL; set it as this source's token")
    assert "secret" not in told


def test_a_server_without_the_collection_or_in_trouble_is_told(foreign: QdrantForeign) -> None:
    """404 and 500."""
    assert refused(f"memory-smart:{foreign.server.url}/other").endswith("/other: there is no such collection there")
    foreign.server.fails_with = 500
    assert refused(foreign.url).endswith("answers 500 (something is wrong with the disk)")


@pytest.mark.parametrize(
    ("vectors", "told"),
    [
        ({"text": models.VectorParams(size=4, distance=models.Distance.COSINE)}, "have named or several vectors"),
        (
            models.VectorParams(size=4, distance=models.Distance.DOT),
            "are compared by Dot, and those of memory-smart by",
        ),
        (
            models.VectorParams(
                size=4,
                distance=models.Distance.COSINE,
                multivector_config=models.MultiVectorConfig(comparator=models.MultiVectorComparator.MAX_SIM),
            ),
            "have named or several vectors",
        ),
    ],
)
def test_a_collection_of_another_make_is_refused(foreign: QdrantForeign, vectors: Any, told: str) -> None:
    """memory-smart has one vector a point, compared by cosine."""
    foreign.server.client.create_collection("other", vectors)
    assert told in refused(f"memory-smart:{foreign.server.url}/other")


@pytest.mark.parametrize("model", ["openai:text-embedding-3-small", "minilm"])
def test_a_collection_of_another_size_of_vectors_is_refused(foreign: QdrantForeign, model: str) -> None:
    """Where the model of the settings is known to make others."""
    told = refused(foreign.url, Options(model=model))
    assert f"has vectors of 8 numbers, and {model} makes {1536 if model != 'minilm' else 384}" in told
    assert qdrant.SIZES[minilm.MODEL] == 384


@pytest.mark.parametrize("place", ["ftp://host/x", "http://", "http://host:x/y"])
def test_what_is_no_place_of_a_server_is_refused(place: str) -> None:
    """It shows how one is written."""
    assert "is no place of a Qdrant; write e.g. http://localhost:6333/memory-smart" in refused(f"memory-smart:{place}")


# A folder of local mode.


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With two points in it."""
    path = tmp_path / "qdrant"
    client = QdrantClient(path=str(path))
    make_collection(client)
    upsert(client, ID, "The text.")
    upsert(client, ID.replace("1", "9"), "Another 猫.")
    client.close()
    return path


def points(folder: Path) -> dict[str, dict[str, Any]]:
    client = QdrantClient(path=str(folder))
    found = {str(point.id): point.payload or {} for point in client.scroll(COLLECTION)[0]}
    client.close()
    return found


def test_a_folder_is_read_and_written(folder: Path) -> None:
    """It is known by its absolute path and its collection; what was written is there when it is opened again."""
    other = ID.replace("1", "9")
    before = points(folder)
    with open_source(f"memory-smart:{folder}/../qdrant", COLD) as source:
        assert source.url == f"memory-smart:{folder}#memory-smart"
        assert {item.memory.content for item in items(source).values()} == {"The text.", "Another 猫."}
        write, conflict = change(source, ID, ours())
        removal = Write(other, source.look([other])[other], None)
        assert (conflict, source.write([removal])[other].conflict) == (None, None)
    assert points(folder) == {ID: {**before[ID], "consolidator": {"strength": 0.25}}}
    with open_source(f"memory-smart:{folder}#memory-smart", COLD) as source:
        source.write([Write(ID, write.after, write.before), Write(other, None, removal.before)])
    assert points(folder) == before


def test_a_folder_that_cannot_be_used_is_refused(folder: Path) -> None:
    """Missing, and not made; without the collection; in use; and with a file that nobody understands."""
    missing = folder.parent / "missing"
    assert refused(f"memory-smart:{missing}") == f"{missing}: there is no Qdrant in this folder (no meta.json)"
    assert not missing.exists()
    assert "#other: there is no such collection in this folder" in refused(f"memory-smart:{folder}#other")
    client = QdrantClient(path=str(folder))
    assert refused(f"memory-smart:{folder}").endswith("another program uses it; end that, or use a Qdrant server")
    client.close()
    (folder / "meta.json").write_text('{"collections": {"cut')
    assert "not a Qdrant folder that can be read" in refused(f"memory-smart:{folder}")


def test_a_folder_that_cannot_be_written_to_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its lock is a file in it."""
    (folder / ".lock").unlink(missing_ok=True)
    os.mkdir(folder / ".lock")
    assert f"{folder}: cannot be opened (Is a directory)" in refused(f"memory-smart:{folder}")
