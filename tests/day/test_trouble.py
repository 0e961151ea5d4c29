"""Trouble: kills, many at once, a store that is held, an embedder that is down. On both kinds of store."""

import json
from collections.abc import Callable
from functools import partial
from threading import Barrier, Thread
from typing import Any

import pytest
import sqlalchemy as sa

from consolidator import Memory
from consolidator.day.place import Place
from consolidator.day.remember import embed
from consolidator.embedding.choose import Choice
from consolidator.errors import StoreUnusable
from consolidator.store.engine import open_store
from consolidator.store.tables import attributions, embeddings, exposures, identities, memories, turns
from tests.children import TOO_LONG_SECONDS, Child, Instants, in_child
from tests.crash.test_kill import assert_whole, wait_for_the_dead
from tests.day.conftest import ADA, WORDS_ALONE, Watch
from tests.embedding.models import Lengths
from tests.lives import night

TEXT, OTHER = "Ada plays the cello on Tuesdays.", "Ada lives in Turku."
TABLES = (identities, memories, turns, exposures, attributions)


def counts(url: str) -> list[int]:
    with open_store(url, mode="read") as store, store.read() as conn:
        return [conn.scalar(sa.select(sa.func.count()).select_from(table)) or 0 for table in TABLES]


def a_day(url: str) -> str:
    """Something is remembered, put in another's place, shown, used, opened and rated."""
    with Memory(url, ADA, settings=WORDS_ALONE, clock=Watch()) as memory:
        first = memory.remember(TEXT)
        memory.update(first.id, OTHER)
        memory.remember(TEXT)
        with memory.turn("chat", "t1") as turn:
            turn.inject("cello")
            turn.reply("On Tuesdays.")
            turn.get(first.id)
            turn.rate(first.id, 5)
    return ""


def test_killed_at_any_instant(made_store_url: str) -> None:
    """Nothing is half there after a kill, and the same day told again completes it: once, whatever was there."""

    def watched() -> str:
        instants = Instants()
        a_day(made_store_url)
        return json.dumps([instants.boundaries, instants.passed])

    def dying(instant: int) -> str:
        Instants(kill_at=instant)
        return a_day(made_store_url)

    boundaries, passed = json.loads(in_child(watched).said)
    expected = counts(made_store_url)
    for instant in sorted({*boundaries[:: max(1, len(boundaries) // 4)], *range(0, passed, max(1, passed // 4))}):
        in_child(partial(dying, instant), kill_after=TOO_LONG_SECONDS)
        wait_for_the_dead(made_store_url)
        assert_whole(made_store_url)
        with open_store(made_store_url, mode="read") as store, store.read() as conn:
            # A memory's name without its memory, or a turn without its events, would be half a thing.
            beside = identities.outerjoin(memories, memories.c.key == identities.c.key)
            alone = sa.select(sa.func.count()).select_from(beside)
            assert conn.scalar(alone.where(memories.c.key.is_(None))) == 0
            bare = ~sa.exists().where(exposures.c.turn_key == turns.c.key) & ~sa.exists().where(
                attributions.c.turn_key == turns.c.key
            )
            assert conn.scalar(sa.select(sa.func.count()).select_from(turns).where(bare)) == 0
    in_child(partial(a_day, made_store_url))
    after = counts(made_store_url)
    assert after[:2] == expected[:2]
    assert after[4] == expected[4]


def at_once(acts: list[Callable[[], object]]) -> None:
    """All of it at once, a thread each; none fails."""
    barrier, errors = Barrier(len(acts)), list[BaseException]()

    def do(act: Callable[[], object]) -> None:
        try:
            barrier.wait(60)
            act()
        except BaseException as error:  # noqa: BLE001 - whatever it is fails the test
            errors.append(error)

    threads = [Thread(target=do, args=[act]) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert errors == []


def test_many_at_once(opened: Callable[..., Memory]) -> None:
    """Threads that share a memory and others that have their own write the same and different texts: each once."""
    shared = opened(ADA)
    mine = [shared, shared, shared, opened(ADA), opened(ADA), shared]

    def work(number: int) -> None:
        for turn_number in range(4):
            with mine[number].turn("chat", f"t{turn_number}") as turn:
                turn.remember(f"Shared note {turn_number} about the lake.")
                turn.remember(f"Note {turn_number} of {number} about the sea.")
                turn.inject("lake")
                turn.reply("The lake.")

    at_once([partial(work, number) for number in range(6)])
    assert shared.stats().active == 4 + 6 * 4
    with shared.store.read() as conn:
        events = sa.select(exposures.c.turn_key, exposures.c.memory_key, exposures.c.mode)
        rows = conn.execute(events).all()
        assert len(rows) == len(set(rows))
        query = sa.select(attributions.c.turn_key, attributions.c.memory_key, attributions.c.evidence)
        used = conn.execute(query).all()
        assert len(used) == len(set(used))


def test_updates_at_once(opened: Callable[..., Memory]) -> None:
    """Of many updates of one memory at once one text stays, and of two that swap their texts one of the two."""
    mine = [opened(ADA) for _ in range(4)]
    heron = mine[0].remember("The heron stands at pier 0.").id
    wolves = {time: mine[0].remember(f"The wolf howls at {time}.").id for time in ("dusk", "dawn")}
    at_once([partial(each.update, heron, f"The heron stands at pier {1 + n}.") for n, each in enumerate(mine)])
    for _ in range(4):
        swaps = zip(mine, wolves.values(), reversed(wolves), strict=False)
        at_once([partial(each.update, name, f"The wolf howls at {time}.") for each, name, time in swaps])
    left = sorted(each.content for each in mine[0].browse().items)
    assert [each[:8] for each in left] == ["The hero", "The wolf"]
    assert mine[0].get(heron).content == left[0]
    assert {mine[0].get(name).content for name in wolves.values()} == {left[1]}


def test_replaced_while_it_is_updated(opened: Callable[..., Memory], monkeypatch: pytest.MonkeyPatch) -> None:
    """What took a memory's place while its new text was embedded is what the new text replaces."""
    memory = opened(ADA)
    old = memory.remember("The meeting is on Monday.").id

    def meanwhile(*arguments: Any) -> Any:
        monkeypatch.undo()
        memory.update(old, "The meeting, it was said, is on Monday.")
        return embed(*arguments)

    monkeypatch.setattr("consolidator.day.update.embed", meanwhile)
    memory.update(old, "The meeting is on Tuesday.")
    assert [each.content for each in memory.browse().items] == ["The meeting is on Tuesday."]


def test_beside_a_night(made_store_url: str) -> None:
    """While nights run in another process, an agent goes on: no error reaches it and nothing is lost."""

    def nights(child: Child) -> str:
        done = 0
        with open_store(made_store_url, mode="write") as store:
            child.pause()
            while not child.told():
                night(store, 1 + done)
                done += 1
        return str(done)

    with Memory(made_store_url, ADA, settings=WORDS_ALONE, clock=Watch()) as memory:
        memory.remember(TEXT)
    child = Child(nights)
    child.wait_until_paused()
    child.go_on()
    with Memory(made_store_url, ADA, settings=WORDS_ALONE, clock=Watch()) as memory:
        for number in range(40):
            with memory.turn("chat", f"t{number}") as turn:
                turn.remember(f"Note {number} about the lake.")
                turn.inject("lake")
        child.go_on()
        child.wait()
        assert memory.stats().active == 41


def test_held_for_long(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that another process holds for too long is said to be locked, in one line, and nothing was written."""
    monkeypatch.setattr("consolidator.day.memory.PATIENCE_SECONDS", 0.05)
    with Memory(sqlite_url, ADA, settings=WORDS_ALONE) as memory:
        locked = pytest.raises(StoreUnusable, match="locked by another process; try again")
        with open_store(sqlite_url, mode="write") as other, other.write(), locked:
            memory.remember(TEXT)
        assert not memory.remember(TEXT).known


def test_remote_embedder(opened: Callable[..., Memory], monkeypatch: pytest.MonkeyPatch) -> None:
    """An embedder that is down costs two tries; then words alone are compared, which is said, until it is back."""
    remote, ticks = Lengths(local=False), [0.0]
    monkeypatch.setattr("consolidator.day.place.embedder_of", lambda *_, **__: Choice(remote, "lengths"))
    memory = opened(ADA)
    memory._place = Place(memory.store, memory.scope, settings=WORDS_ALONE, clock=Watch(), ticks=lambda: ticks[0])
    assert memory.remember(TEXT).because is None
    assert (
        embed(memory._place.embedder_by(None), "password: hunter2!!").because
        == "it holds a secret, which goes to no other machine"
    )
    remote.fails_after = 0
    asked: list[object] = []
    remote.before = asked.append
    assert memory.remember("One note.").because == "lengths is out of order; the night embeds it"
    assert memory.recall("cello").because == "lengths is out of order"
    found = memory.recall("cello")
    assert found.mode == "bm25_only"
    assert found.because == "lengths is out of order; tried again in 30 s"
    assert found.results[0].content == TEXT
    assert memory.remember("Another note.").because
    assert len(asked) == 2
    remote.fails_after, ticks[0] = None, 31.0
    assert memory.recall("cello").mode == "hybrid"
    assert memory.remember("A third note.").because is None
    with memory.store.read() as conn:
        assert conn.scalar(sa.select(sa.func.count()).select_from(embeddings)) == 2
