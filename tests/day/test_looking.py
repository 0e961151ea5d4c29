"""Looking and changing: get, browse, stats, update, forget. On both kinds of store."""

from functools import partial
from threading import Thread
from typing import Any

import pytest

from consolidator import Memory
from consolidator.errors import BadInput, ScopeHeld
from consolidator.instants import NIGHT
from consolidator.store.locks import hold_scope
from tests.day.conftest import Watch
from tests.lives import day, night


def said(memory: Memory, **options: Any) -> list[str]:
    """All of it, page by page."""
    found: list[str] = []
    after = None
    for _ in range(100):
        page = memory.browse(after=after, **options)
        found += [each.content for each in page.items]
        after = page.next
        if after is None:
            return found
    raise AssertionError("pages without end")


def test_browse(memory: Memory, watch: Watch) -> None:
    """Pages in each order hold every memory once, also where others come and go between them."""
    texts = [f"Note {number} of Ada." for number in range(7)]
    for number, text in enumerate(texts):
        memory.remember(text, type="plan" if number % 2 else "fact")
        watch.now += NIGHT
    assert said(memory, order="oldest", limit=2) == texts
    assert said(memory, order="newest", limit=3) == texts[::-1]
    assert said(memory, order="strength", limit=2) == texts[::-1]
    assert said(memory, types=["plan"], order="oldest") == texts[1::2]
    assert said(memory, types="plan", order="oldest", limit=1) == texts[1::2]
    assert said(memory, since=day(3), until=day(5), order="oldest") == texts[3:5]
    assert said(memory, since="2026-03-04", until="2026-03-05", order="oldest") == texts[3:5]
    for ask in (memory.browse, partial(memory.recall, "What was said?")):
        with pytest.raises(BadInput, match="types: 5"):
            ask(types=5)
        with pytest.raises(BadInput, match="no time lies between"):
            ask(since="2026-03-05", until="2026-03-04")
    assert said(memory, order="upcoming") == []
    page = memory.browse(order="oldest", limit=3)
    memory.remember("A late one.")
    assert [each.content for each in memory.browse(order="oldest", limit=3, after=page.next).items] == texts[3:6]
    with pytest.raises(BadInput, match="in order of oldest"):
        memory.browse(order="newest", after=page.next)


def test_upcoming(memory: Memory) -> None:
    """What is still to come or under way, the nearest first, and nothing else."""
    for text, more in {
        "The fair.": {"anchor": "2026-05-01"},
        "Today.": {"anchor": "2026-03-01"},
        "Gone.": {"anchor": "2026-01-01"},
        "Every week.": {"anchor": "2026-01-07T10:00:00Z", "recurrence": "FREQ=WEEKLY"},
        "No time.": {},
    }.items():
        memory.remember(text, **more)  # type: ignore[arg-type]
    assert said(memory, order="upcoming", limit=1) == ["Today.", "Every week.", "The fair."]


@pytest.mark.parametrize(
    "options",
    [{"order": "best"}, {"status": "gone"}, {"limit": 0}, {"limit": 501}, {"after": "nonsense"}, {"after": "W10="}],
)
def test_bad_pages(memory: Memory, options: dict[str, Any]) -> None:
    """What makes no page is refused."""
    memory.remember("Bo swims.")
    with pytest.raises(BadInput):
        memory.browse(**options)


def test_update(memory: Memory, watch: Watch) -> None:
    """A new text takes the place of the old, which stays as history and leads to the new; its kind is inherited."""
    old = memory.remember("Ada lives in Turku.", type="observation", topics=["home"], pinned=True, importance=0.9)
    new = memory.update(old.id[:9], "Ada lives in Rome.")
    assert not new.known
    kept = memory.get(old.id)
    assert (kept.id, kept.content) == (new.id, "Ada lives in Rome.")
    assert (kept.type, kept.topics, kept.pinned, kept.importance) == ("observation", ("home",), True, 0.9)
    (before,) = memory.browse(status="superseded").items
    assert (before.content, before.superseded_by) == ("Ada lives in Turku.", new.id)
    assert [each.content for each in memory.recall("Where does Ada live?").results] == ["Ada lives in Rome."]
    newest = memory.update(old.id, "Ada lives in Oslo.", type="fact", pinned=False)
    assert memory.get(old.id).id == memory.get(new.id).id == newest.id
    assert memory.get(old.id).type == "fact"
    assert not memory.get(old.id).pinned
    back = memory.update(newest.id, "Ada lives in Turku.")
    assert (back.id, back.known) == (old.id, True)
    assert {memory.get(each.id).content for each in (old, new, newest)} == {"Ada lives in Turku."}
    assert memory.update(old.id, "Ada lives in Turku.").known
    assert memory.stats().active == 1
    night(memory.store, 1)
    watch.now = day(1)
    assert memory.get(newest.id).content == "Ada lives in Turku."
    assert memory.stats().active == 1


def test_update_of_nothing(memory: Memory) -> None:
    """What is not here cannot be replaced, and what the door refuses replaces nothing."""
    name = memory.remember("Ada lives in Turku.").id
    for prefix, text in (("0" * 8, "Ada lives in Rome."), (name, "hello"), (name, "")):
        with pytest.raises(BadInput):
            memory.update(prefix, text)
    assert [each.content for each in memory.browse(status="all").items] == ["Ada lives in Turku."]


def test_forget(memory: Memory, watch: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forgetting deletes exactly the memory named, and never while a night works in the scope: it waits for that."""
    old = memory.remember("Ada lives in Turku.")
    new = memory.update(old.id, "Ada lives in Rome.")
    with memory.store.read() as conn:
        key = memory._place.key(conn)
    assert key is not None
    with hold_scope(memory.store, key, wall_clock=watch):
        with monkeypatch.context() as hasty:
            hasty.setattr("consolidator.day.forgetting.PATIENCE_SECONDS", 0.0)
            with pytest.raises(ScopeHeld):
                memory.forget(old.id)
        waiting = Thread(target=memory.forget, args=[old.id])
        waiting.start()
        assert memory.get(new.id).id == new.id
    waiting.join(60)
    assert [each.id for each in memory.browse(status="all").items] == [new.id]
    with pytest.raises(BadInput):
        memory.get(old.id)


def test_stats(memory: Memory, watch: Watch) -> None:
    """Counts of the scope, before and after anything is there."""
    assert memory.stats().active == 0
    memory.remember("Bo swims in the lake.")
    memory.turn("chat", "t").inject("lake")
    stats = memory.stats()
    assert (stats.active, stats.exposures, stats.last_night) == (1, 1, None)
    night(memory.store, 1)
    watch.now = day(1)
    assert memory.stats().last_night == "2026-03-02T09:00:00.000Z"
    assert memory.stats().exposures == 0
