"""What is special to memory-new: what its rows say, its states, and what a push makes of them."""

import json
import os
from typing import Any

import pytest

from consolidator.sources.conversations import Message, read_messages
from consolidator.sources.port import Write
from tests.lives import T0
from tests.sources.memory_new_acts import NOW, back, bad, foreign, items, ours, push, quick
from tests.sources.memory_new_foreign import SESSION, MemoryNewForeign

__all__ = ["foreign", "quick"]


def test_a_row_is_a_memory_of_its_agent(foreign: MemoryNewForeign) -> None:
    """With its kind, importance, scene, times and uses; what else it knows is metadata."""
    key = foreign.add("Åsa dances 🦉", agentId="scout", teamId="red", metadata={"mood": "好"}, retrievalCount=3,
                      lastRetrievedAt=T0 // 1000, timestamps=["2026-01-02T03:04:05.000Z", "no time"])  # fmt: skip
    item = items(foreign)[key]
    memory = item.memory
    assert (memory.content, memory.type, memory.scope) == ("Åsa dances 🦉", "fact", '{"agent":"scout"}')
    assert (memory.importance, memory.strength, memory.topics, memory.status) == (0.8, 0.8, ["日常"], "active")
    assert (item.uses, item.used_at, item.evidence) == (3, T0, "auto_injected")
    assert memory.observed_at is not None
    assert memory.observed_at < memory.created_at
    own = {"mood": "好", "type": "episodic", "sessionKey": SESSION, "userId": "ada", "teamId": "red"}
    assert memory.metadata == own


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [({"type": "persona"}, "fact"), ({"type": "episodic"}, "observation"), ({"type": "instruction"}, "procedure"),
     ({"type": "episodic", "kind": "hypothesis"}, "hypothesis"), ({"type": 7}, "fact")],
)  # fmt: skip
def test_a_row_without_what_came_later_is_read_as_its_program_reads_it(
    foreign: MemoryNewForeign, theirs: dict[str, Any], ours: str
) -> None:
    """No kind: that of its type. No importance: its priority. No status: active. No agent: `self`."""
    without = dict.fromkeys(("kind", "importance", "status", "agentId", "createdAt"))
    key = foreign.add("Old.", **{**without, **theirs}, priority=30)
    memory = items(foreign)[key].memory
    assert (memory.type, memory.importance, memory.strength) == (ours, 0.3, 0.5)
    assert (memory.status, memory.scope) == ("active", '{"agent":"self"}')
    assert memory.created_at == T0 + 1000


def test_what_its_agent_does_not_recall_is_archived(foreign: MemoryNewForeign) -> None:
    """Frozen and forgotten rows are gone; a draft is recalled, and so a memory."""
    keys = {status: foreign.add(status, status=status) for status in ("draft", "active", "frozen", "forgotten")}
    read = {status: items(foreign)[key].memory for status, key in keys.items()}
    assert {status: memory.status for status, memory in read.items()} == {
        "draft": "active", "active": "active", "frozen": "archived", "forgotten": "archived",
    }  # fmt: skip
    assert read["frozen"].archived_because == read["forgotten"].archived_because == "gone"


@pytest.mark.parametrize(
    ("theirs", "status", "because", "told"),
    [
        ("active", "active", None, "active"), (None, "active", None, None), ("draft", "active", None, "draft"),
        ("active", "archived", "faded", "frozen"), ("draft", "archived", "faded", "frozen"),
        ("active", "archived", "expired", "forgotten"), ("active", "archived", "user", "forgotten"),
        ("active", "superseded", None, "forgotten"), ("frozen", "active", None, "active"),
        ("frozen", "archived", "gone", "frozen"), ("forgotten", "archived", "gone", "forgotten"),
        ("active", "archived", "gone", "forgotten"),
    ],
)  # fmt: skip
def test_states_are_told_as_theirs(
    foreign: MemoryNewForeign, theirs: str | None, status: str, because: str | None, told: str | None
) -> None:
    """What has faded is frozen, what left recall otherwise is forgotten; importance and times stay theirs."""
    key = foreign.add("A text.", status=theirs)
    before = foreign.rows()[key]
    push(foreign, key, ours(status=status, because=because))
    after = foreign.rows()[key]
    assert after.pop("status", None) == told
    assert after.pop("metadata") == {"consolidator": {"strength": 0.25}}
    assert after == {name: before[name] for name in before if name not in ("status", "metadata")}


def test_an_id_that_is_there_twice_counts_once(foreign: MemoryNewForeign) -> None:
    """The first one; the second is told."""
    key = foreign.add("one")
    foreign.add("two", id=key)
    assert items(foreign)[key].memory.content == "one"
    assert bad(foreign)[0].endswith(f"id: {key} is there twice; the first one counts")


def test_a_merged_text_is_a_row_as_its_program_writes_them(foreign: MemoryNewForeign) -> None:
    """Of the session of one of its sources, with no counts of its own, and read as what it is."""
    like_id = foreign.add("One cat.", teamId="red", retrievalCount=9, priority=60, importance=None, session="agent:x")
    whole = foreign.file("agent:x").read_bytes()
    memory = ours("Two cats 🐈.", strength=0.9, consolidated=True, observed_at=T0 - 5000, merged_from=(like_id,))
    with foreign.source() as source:
        key = source.new_id(memory)
        image = source.render(memory, None, source.look([like_id])[like_id], now=NOW)
        assert source.write([Write(key, None, image)])[key].conflict is None
    line = foreign.file("agent:x").read_bytes().removeprefix(whole).decode()
    assert line == (
        f'{{"id":"{key}","content":"Two cats 🐈.","type":"persona","priority":60,"sceneName":"日常",'
        '"sourceMessageIds":[],"metadata":{"consolidator":{"strength":0.9,"consolidated":true}},'
        '"timestamps":["2026-03-01T08:59:59.995Z"],"createdAt":"2026-03-01T09:00:00.000Z",'
        '"updatedAt":"2026-03-01T09:00:00.000Z","version":1,"sessionKey":"agent:x","sessionId":"s1","userId":"ada",'
        f'"agentId":"main","teamId":"red","status":"active","kind":"fact","importance":0.6,'
        f'"lastEffectiveAt":{T0 // 1000}}}\n'
    )
    assert key.startswith(f"l1_{T0 // 1000}_")
    item = items(foreign)[key]
    assert (item.memory.content, item.memory.scope, item.uses) == (memory.content, memory.scope, 0)
    back(foreign, Write(key, None, image))
    assert foreign.file("agent:x").read_bytes() == whole


def test_a_new_row_written_twice_is_there_once(foreign: MemoryNewForeign) -> None:
    """A push that was killed after its write is made good by the next."""
    memory = ours("New.")
    with foreign.source() as source:
        write = Write(source.new_id(memory), None, source.render(memory, None, None, now=NOW))
        done = [source.write([write])[write.id] for _ in range(2)]
    assert done[0] == done[1]
    assert done[0].conflict is None
    assert len(foreign.file("consolidator").read_bytes().splitlines()) == 1


def test_what_was_recalled_meanwhile_stays_counted(foreign: MemoryNewForeign) -> None:
    """A push changes what is ours to say over the row as it is by then; taking it back does too."""
    key = foreign.add("A text.")
    with foreign.source() as source:
        before = source.look([key])[key]
        after = source.render(ours(status="archived", because="faded"), before, None, now=NOW)
        foreign.use(key)
        assert source.write([Write(key, before, after)])[key].conflict is None
        assert (foreign.rows()[key]["retrievalCount"], foreign.rows()[key]["status"]) == (1, "frozen")
        foreign.patch(key, retrievalCount=2)
        assert source.write([Write(key, after, before)])[key].conflict is None
    row = foreign.rows()[key]
    assert (row["retrievalCount"], row["status"], row["metadata"]) == (2, "active", {})


def test_nothing_changed_is_told_at_once(foreign: MemoryNewForeign) -> None:
    """By the content of every file: a recall, a scene, a new row are changes; a touched file is none."""
    foreign.add("A text.")
    key = foreign.add("Another.")
    with foreign.source() as source:
        since = source.read(None).since
    os.utime(foreign.file(), ns=(1, 1))
    with foreign.source() as source:
        assert source.read(since).unchanged
        assert list(source.read(since).records) == []
        for act in (
            lambda: foreign.use(key),
            lambda: foreign.scene("scene_1_a", "家", ["x"]),
            lambda: foreign.add("n"),
        ):
            act()
            reading = source.read(since)
            assert not reading.unchanged
            since = reading.since


def test_conversations_are_read_as_messages(foreign: MemoryNewForeign) -> None:
    """The first layer is no memory: it is a log."""
    line = {
        "id": "l0_1_b",
        "role": "user",
        "content": "你好",
        "timestamp": T0 // 1000,
        "sessionKey": "k",
        "sessionId": "s",
    }
    foreign.write("memory/l0/main.jsonl", json.dumps(line) + "\n")
    assert list(read_messages(foreign.base / "memory/l0")) == [Message("s", T0, "user", "你好", "l0_1_b")]
    assert items(foreign) == {}


def test_it_is_a_source_without_versions(foreign: MemoryNewForeign) -> None:
    """One that is written too."""
    with foreign.source() as source:
        assert (source.ways, source.version(), source.go_back("1", "2")) == ("both", None, False)
        assert source.prepare() == ()
