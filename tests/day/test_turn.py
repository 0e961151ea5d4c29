"""A turn: what is recorded as shown, and what as used. On both kinds of store."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import sqlalchemy as sa

from consolidator import Memory
from consolidator.errors import BadInput
from consolidator.settings import Settings
from consolidator.store.tables import associations, attributions, exposures, identities, memories, turns
from tests.day.conftest import ADA, Watch
from tests.lives import day, night

HOME, WORK, SONG = "Ada lives in Turku.", "Ada works as a nurse.", "Ada plays the cello on Tuesdays."

Row = Sequence[Any]


@pytest.fixture
def ada(memory: Memory) -> Memory:
    for text in (HOME, WORK, SONG):
        memory.remember(text)
    return memory


def showings(memory: Memory) -> list[Row]:
    """(turn, text, mode, retrieval mode, whether it has a score), as they came in."""
    return _events(memory, exposures, exposures.c.mode, exposures.c.retrieval_mode, exposures.c.score.is_not(None))


def ratings(memory: Memory) -> list[Row]:
    """(turn, text, evidence, confidence), as they came in."""
    return _events(memory, attributions, attributions.c.evidence, attributions.c.confidence)


def _events(memory: Memory, table: sa.Table, *columns: Any) -> list[Row]:
    query = sa.select(turns.c.turn_id, memories.c.content, *columns).select_from(table).join(turns)
    query = query.join(identities, identities.c.key == table.c.memory_key)
    query = query.join(memories, memories.c.key == table.c.memory_key).order_by(table.c.key)
    with memory.store.read() as conn:
        return [tuple(row) for row in conn.execute(query)]


def test_shown_is_not_used(ada: Memory) -> None:
    """What is put before the agent is recorded as shown, and counts only where the reply refers to it."""
    with ada.turn("chat", "t1") as turn:
        assert len(turn.inject("What about Ada?").results) == 3
        assert ratings(ada) == []
        (used,) = turn.reply("She is a nurse.")
    assert sorted(showings(ada)) == sorted(
        ("t1", text, "auto_injected", "bm25_only", True) for text in (HOME, WORK, SONG)
    )
    assert ratings(ada) == [("t1", WORK, "auto_injected", 0.15)]
    assert ada.get(used).content == WORK


def test_without_a_reply(ada: Memory) -> None:
    """Without a reply what was injected stays shown, and what a search returned counts when the turn is closed."""
    with ada.turn("chat", "t1") as turn:
        turn.inject("Where does Ada live?", limit=1)
        turn.recall("cello", limit=1)
        assert ratings(ada) == []
    assert ratings(ada) == [("t1", SONG, "tool_search_returned", 0.3)]
    turn.close()
    assert len(ratings(ada)) == 1


def test_search_with_a_reply(ada: Memory) -> None:
    """With a reply the same test holds for what a search returned."""
    with ada.turn("chat", "t1") as turn:
        turn.recall("What about Ada?")
        turn.reply("She lives in Turku.")
    assert ratings(ada) == [("t1", HOME, "tool_search_returned", 0.3)]


def test_opened(ada: Memory) -> None:
    """What is opened by its id counts by itself, once a turn, and has no score."""
    name = ada.remember(SONG).id
    with ada.turn("chat", "t1") as turn:
        assert turn.get(name[:8]).content == SONG
        assert turn.get(name).content == SONG
    assert [row for row in showings(ada) if row[2] != "tool_store"] == [("t1", SONG, "tool_get", None, False)]
    assert ratings(ada) == [("t1", SONG, "tool_get", 0.6)]


def test_failed_turn(ada: Memory) -> None:
    """A turn that fails on the way leaves what was shown, and attributes nothing more."""

    def fail() -> None:
        with ada.turn("chat", "t1") as turn:
            turn.recall("cello")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert len(showings(ada)) == 1
    assert ratings(ada) == []


def test_idempotent(ada: Memory, opened: Callable[..., Memory]) -> None:
    """The same turn told twice, also by another process, is told once; one memory in two modes is shown twice."""
    for memory in (ada, opened(ADA)):
        with memory.turn("chat", "t1") as turn:
            turn.inject("cello")
            turn.recall("cello")
            turn.reply("The cello, on Tuesdays.", asked="What does Ada do?")
            turn.reply("The cello, on Tuesdays.", asked="What does Ada do?")
    assert sorted(row[2] for row in showings(ada)) == ["auto_injected", "tool_search_returned"]
    assert sorted(row[2] for row in ratings(ada)) == ["auto_injected", "tool_search_returned"]


def test_reply_elsewhere(ada: Memory, opened: Callable[..., Memory]) -> None:
    """A reply may be told by another process than the one that injected; it says what was asked."""
    ada.turn("chat", "t1").inject("Where does Ada live?")
    assert opened(ADA).turn("chat", "t1").reply("I don't know where Ada lives.", asked="Where does Ada live?") == []
    (used,) = opened(ADA).turn("chat", "t1").reply("In Turku.", asked="Where does Ada live?")
    assert ada.get(used).content == HOME


def test_in_any_language(opened: Callable[..., Memory]) -> None:
    """With the model on this machine a reply in other words counts, and so does one in Chinese."""
    memory = opened(ADA, Settings())
    for text in ("Bo cycles to the office.", "艾达住在图尔库。", "Bo sings 🎵."):
        memory.remember(text)
    with memory.turn("chat") as turn:
        shown = turn.inject("How does Bo get to work?")
        assert shown.mode == "hybrid"
        used = turn.reply("Bo goes to work by bike.")
    assert [memory.get(each).content for each in used] == ["Bo cycles to the office."]
    with memory.turn("chat") as turn:
        turn.inject("艾达住在哪里？")
        used = turn.reply("她住在图尔库。")
    assert [memory.get(each).content for each in used] == ["艾达住在图尔库。"]


def test_sessions(ada: Memory) -> None:
    """Turns without a name are new ones; turns of one name in two sessions are two; one without a session has one."""
    first, second = ada.turn(), ada.turn()
    assert first.id != second.id
    assert first.session == second.session == "default"
    for session in ("a", "b"):
        ada.turn(session, "t").inject("cello")
    assert len(showings(ada)) == 2
    for bad in ("x" * 2000, " ", "a\0b"):
        with pytest.raises(BadInput):
            ada.turn("chat", bad)


def test_changes_no_strength(ada: Memory, watch: Watch) -> None:
    """A day of use leaves every memory's row and every link as they were; the night makes strengths and links of it."""
    before = _rows(ada)
    with ada.turn("chat", "t1") as turn:
        turn.inject("What about Ada?")
        turn.reply("She is a nurse in Turku.")
        turn.rate(ada.browse().items[0].id, 1)
    assert _rows(ada) == before
    night(ada.store, 1)
    watch.now = day(1)
    strengths = {each.content: each.strength for each in ada.browse().items}
    assert len({round(strength, 3) for strength in strengths.values()}) > 1
    assert ada.stats().direct_links == 3


def _rows(memory: Memory) -> list[Any]:
    with memory.store.read() as conn:
        return [*conn.execute(sa.select(memories)).all(), *conn.execute(sa.select(associations)).all()]


def test_forgotten_meanwhile(ada: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is forgotten between being found and being recorded is not recorded, and nothing fails."""
    turn = ada.turn("chat", "t1")
    found = ada.recall("cello")
    ada.forget(found.results[0].id)
    monkeypatch.setattr("consolidator.day.recalling.recall", lambda *_, **__: found)
    turn.recall("cello")
    turn.close()
    assert showings(ada) == ratings(ada) == []


def test_needless(ada: Memory) -> None:
    """A greeting recalls nothing and records nothing."""
    with ada.turn("chat", "t1") as turn:
        assert turn.inject("good morning!").reason
    assert showings(ada) == []


@pytest.mark.parametrize(
    "options",
    [{"limit": 0}, {"words": -1}, {"limit": 1.5}, {"recency": -1}, {"importance": float("nan")}, {"since": "soon"}],
)
def test_bad_options(tmp_path: Any, options: dict[str, Any]) -> None:
    """Options of a recall that make no sense are refused, also where nothing is there yet."""
    with Memory(tmp_path / "m.db", settings=Settings()) as memory, pytest.raises(BadInput):
        memory.recall("cello", **options)
