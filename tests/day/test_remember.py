"""Remembering: what is stored, what is seen again, what comes back. On both kinds of store."""

from collections.abc import Callable
from datetime import UTC, date, datetime
from hashlib import sha256
from typing import Any

import pytest
import sqlalchemy as sa

from consolidator import Memory
from consolidator.errors import BadInput
from consolidator.instants import NIGHT
from consolidator.settings import Embedding, Settings
from consolidator.store.tables import embeddings, exposures, memories, turns
from consolidator.store.vectors import Pin, pin_anew
from tests.day.conftest import ADA, Watch
from tests.lives import day, night, rated, take
from tests.lives import memory as line

TEXT = "Ada is allergic to penicillin."


def contents(memory: Memory, **options: Any) -> list[str]:
    return sorted(each.content for each in memory.browse(limit=100, **options).items)


def modes(memory: Memory) -> list[str]:
    with memory.store.read() as conn:
        return list(conn.scalars(sa.select(exposures.c.mode).order_by(exposures.c.key)))


def test_once(memory: Memory) -> None:
    """The same text is one memory: said again it is the one that is here, its strength as it was, and a sighting."""
    first = memory.remember(TEXT)
    before = rows(memory)
    second = memory.remember(TEXT)
    assert (first.known, second.known) == (False, True)
    assert first.id == second.id == sha256(TEXT.encode()).hexdigest()
    assert contents(memory) == [TEXT]
    assert rows(memory) == before
    assert modes(memory) == ["tool_store"]
    memory.remember(f"  {TEXT}\n")
    assert modes(memory) == ["tool_store"] * 2
    assert contents(memory) == [TEXT]


def rows(memory: Memory) -> list[Any]:
    with memory.store.read() as conn:
        return list(conn.execute(sa.select(memories).order_by(memories.c.key)).all())


def test_all_that_can_be_said(memory: Memory, watch: Watch) -> None:
    """What is given beside a text is kept, times in any form; in its scope alone."""
    kept = memory.get(
        memory.remember(
            "Ada's review 山 🦉 is on Friday.",
            type="plan",
            anchor=datetime(2026, 6, 5, 9, tzinfo=UTC),
            end="2026-06-05T12:00:00+02:00",
            recurrence="FREQ=WEEKLY;COUNT=3",
            importance=0.8,
            topics=("work", "仕事"),
            pinned=True,
            expires_at=date(2030, 1, 1),
            observed_at="2026-02-28T08:00:00Z",
            metadata={"from": "mail", "deep": {"a": [1, None]}},
        ).id
    )
    assert (kept.content, kept.type, kept.source) == ("Ada's review 山 🦉 is on Friday.", "plan", "agent_tool")
    assert (kept.temporal_anchor, kept.temporal_end) == ("2026-06-05T09:00:00.000Z", "2026-06-05T10:00:00.000Z")
    assert (kept.temporal_state, kept.recurrence) == ("future", "FREQ=WEEKLY;COUNT=3")
    assert (kept.importance, kept.topics, kept.pinned) == (0.8, ("work", "仕事"), True)
    assert (kept.expires_at, kept.observed_at) == ("2030-01-01T00:00:00.000Z", "2026-02-28T08:00:00.000Z")
    assert kept.metadata == {"from": "mail", "deep": {"a": [1, None]}}
    assert kept.strength == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"anchor": "2026-13-01"}, "anchor: "),
        ({"anchor": "tomorrow"}, "anchor: "),
        ({"anchor": datetime(2026, 6, 5)}, "has no offset"),  # noqa: DTZ001
        ({"end": "2026-06-05"}, "end: needs a anchor"),
        ({"anchor": "2026-06-05", "end": "2026-06-04"}, "earlier than anchor"),
        ({"anchor": "2026-06-05", "recurrence": "FREQ=HOURLY"}, "recurrence: "),
        ({"importance": 1.5}, "importance: "),
        ({"importance": float("nan")}, "importance: "),
        ({"topics": [1]}, "topics: "),
        ({"type": ""}, "type: "),
        ({"type": "x" * 2000}, "type: "),
        ({"pinned": "yes"}, "pinned: "),
        ({"expires_at": "soon"}, "expires_at: "),
        ({"observed_at": 10**30}, "observed_at: "),
        ({"topics": 5}, "topics: "),
        ({"metadata": [1]}, "metadata: "),
        ({"metadata": {"a": object()}}, "metadata: "),
        ({"metadata": {"a": "x" * 100_001}}, "metadata: "),
        ({"metadata": {"a": float("inf")}}, "metadata"),
        ({"metadata": {"a": "\ud800"}}, "metadata"),
    ],
)
def test_bad(tmp_path: Any, given: dict[str, Any], word: str) -> None:
    """What cannot be meant is refused in one line that names it, and nothing is written."""
    with Memory(tmp_path / "m.db", settings=WORDS) as memory:
        with pytest.raises(BadInput, match=word) as refused:
            memory.remember(TEXT, **given)
        assert "\n" not in str(refused.value)
        assert memory.stats().active == 0


WORDS = Settings(embedding=Embedding(model="none"))


def test_unknown_field(memory: Memory) -> None:
    """A field that a memory does not have is a mistake of the program."""
    with pytest.raises(TypeError, match="strength"), memory.turn() as turn:
        turn.remember(TEXT, strength=0.5)


def test_scopes(opened: Callable[..., Memory]) -> None:
    """Each scope remembers by itself."""
    ada, bo, nobody = opened(ADA), opened({"user": "bo"}), opened()
    ada.remember(TEXT)
    assert not bo.remember(TEXT).known
    assert contents(ada) == contents(bo) == [TEXT]
    assert contents(nobody) == []
    assert nobody.recall("penicillin").reason == "there is nothing in this scope yet"
    with pytest.raises(BadInput, match="scope"):
        opened({"user": 7})  # type: ignore[dict-item]


def test_by_meaning(seeing: Memory) -> None:
    """A memory has its vector at once, and one that says the same in other words is named."""
    first = seeing.remember("The spare keys hang in the blue cupboard.")
    assert first.because is None
    near = seeing.remember("The spare keys hang in the blue cupboard!", seek_near=True)
    assert (near.known, near.near) == (False, first.id)
    for other in (
        "The spare keys don't hang in the blue cupboard.",
        "The 2 spare keys hang in the blue cupboard.",
        "Bo cycles to work.",
    ):
        assert seeing.remember(other, seek_near=True).near is None
    found = seeing.recall("Where are the extra keys kept?")
    assert found.mode == "hybrid"
    assert "cupboard" in found.results[0].content
    unread = seeing.remember("艾达住在图尔库。", seek_near=True)
    assert unread.near is None
    with seeing.store.read() as conn:
        assert conn.scalar(sa.select(sa.func.count()).select_from(embeddings)) == 6


def test_another_model(seeing: Memory) -> None:
    """A store that goes over to another model gets no vector of the old one; the next memory has one of the new."""
    assert [seeing.remember(f"Ada lives in {place}.").because for place in ("Turku", "Lund")] == [None] * 2
    with seeing.store.write() as conn:
        pin_anew(conn, Pin("another", 3))
    late = seeing.remember("Ada lives in Rome.")
    assert late.because == "the store has gone over to another model; the night embeds it"
    assert "another" in (seeing.remember("Ada lives in Oslo.").because or "")
    with seeing.store.read() as conn:
        assert conn.scalar(sa.select(sa.func.count()).select_from(embeddings)) == 2


def test_words_alone(memory: Memory) -> None:
    """Without an embedder the memory is there all the same, and it is said why it has no vector."""
    assert memory.remember(TEXT).because == "embedding.model is none"
    found = memory.recall("penicillin")
    assert (found.mode, found.because) == ("bm25_only", "embedding.model is none")
    assert found.results[0].content == TEXT


def test_comes_back(memory: Memory, watch: Watch) -> None:
    """What has faded and is said again comes back as it was, strength and all, and the next night leaves it here."""
    first = memory.remember(TEXT)
    watch.now += NIGHT
    memory.remember("Bo swims.")
    for days in range(5, 100, 5):  # somebody is there all the time
        watch.now = day(days)
        memory.remember("Bo swims.")
    night(memory.store, 100)
    assert memory.get(first.id).status == "archived"
    before = memory.get(first.id).strength
    watch.now = day(101)
    again = memory.remember(TEXT)
    assert again.flags == ("brought_back",)
    assert again.known
    kept = memory.get(first.id)
    assert kept.status == "active"
    assert kept.strength < before
    assert kept.observed_at is not None
    night(memory.store, 102)
    assert memory.get(first.id).status == "active"


def test_merged(memory: Memory, watch: Watch) -> None:
    """What was merged into a text that says all of it is seen there; what another text has replaced comes back."""
    take(memory.store, LINES, at=1)
    watch.now = day(2)
    seen = memory.remember("Bo likes tea.")
    assert seen.known
    assert seen.flags == ("merged",)
    assert memory.get(seen.id).content == "Bo likes green tea."
    moved = memory.remember("Bo lives in Turku.")
    assert moved.flags == ("brought_back",)
    assert memory.get(moved.id).content == "Bo lives in Turku."
    assert sorted(contents(memory)) == ["Bo likes green tea.", "Bo lives in Rome.", "Bo lives in Turku."]


def _id(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def _replaced(old: str, new: str) -> list[dict[str, Any]]:
    at = line("", 1)["created_at"]
    alias = {"kind": "alias", "scope": ADA, "old_id": _id(old), "new_id": _id(new), "reason": "merged", "at": at}
    return [
        line(new, 0, scope=ADA),
        line(old, 0, scope=ADA, status="superseded", superseded_by=_id(new)),
        alias,
    ]


LINES = [*_replaced("Bo likes tea.", "Bo likes green tea."), *_replaced("Bo lives in Turku.", "Bo lives in Rome.")]


def test_forgotten(memory: Memory) -> None:
    """What was forgotten and is said again is remembered anew, and that is said."""
    first = memory.remember(TEXT)
    assert memory.forget(first.id[:12]).ids == (first.id,)
    assert contents(memory, status="all") == []
    again = memory.remember(TEXT)
    assert (again.known, again.flags) == (False, ("forgotten_before",))
    assert contents(memory) == [TEXT]


def test_known_by_its_events(memory: Memory, watch: Watch) -> None:
    """Ratings that were here before their memory wait for it, and count."""
    given = [{**rated("m", "t", TEXT, 0), "scope": ADA}]
    take(memory.store, given, at=0)
    night(memory.store, 1)
    watch.now = day(1)
    memory.remember(TEXT)
    assert memory.stats().attributions == 1


def test_in_a_turn(memory: Memory) -> None:
    """What is remembered in a turn belongs to what was shown in it, once however often."""
    with memory.turn("chat", "t1") as turn:
        first = turn.remember(TEXT)
        assert turn.remember(TEXT).known
    assert modes(memory) == ["tool_store"]
    with memory.store.read() as conn:
        assert conn.execute(sa.select(turns.c.session_id, turns.c.turn_id)).all() == [("chat", "t1")]
    assert memory.get(first.id).strength == pytest.approx(1.0, abs=1e-5)


def test_clock_gone_back(memory: Memory, watch: Watch) -> None:
    """A clock that was set back loses nothing: what was remembered before is known, and recalled when it is time."""
    watch.now = day(10)
    first = memory.remember(TEXT)
    watch.now = day(5)
    assert memory.remember(TEXT).id == first.id
    second = memory.remember("Bo swims in the lake.")
    assert memory.recall("lake").results[0].id == second.id
    watch.now = day(11)
    assert {each.id for each in memory.browse().items} == {first.id, second.id}


def test_nights_learn(memory: Memory, watch: Watch) -> None:
    """A sighting changes no strength: a night links what was seen together, and the strength falls as it would."""
    with memory.turn("chat", "t1") as turn:
        turn.remember(TEXT)
        turn.remember("Bo swims.")
    result = night(memory.store, 1)
    assert result.exit_code == 0
    watch.now = day(1)
    stats = memory.stats()
    assert (stats.active, stats.direct_links, stats.exposures) == (2, 1, 0)
    assert {round(each.strength, 2) for each in memory.browse().items} == {0.91}
