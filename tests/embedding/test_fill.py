"""Embedding a store: what lacks a vector, all anew; beside others, failing, killed, and gone on with."""

import os
import signal
from collections.abc import Sequence

import numpy as np
import pytest
import sqlalchemy as sa

from consolidator.embedding import fill
from consolidator.embedding.fill import Filled, embed_all, embed_missing
from consolidator.embedding.minilm import MODEL, MiniLM
from consolidator.store.engine import Store, open_store
from consolidator.store.find import find_memories
from consolidator.store.forget import forget
from consolidator.store.tables import meta, scopes
from consolidator.store.vectors import Pin, pin_of, write_vectors
from tests.children import Child, in_child
from tests.embedding.models import Lengths, fill_with, key_of, models_of, stored
from tests.exchanged import take
from tests.lives import day, memory, name

TEXTS = tuple(f"memory {number} {'of words ' * number}" for number in range(7))


@pytest.fixture
def store(made_store_url: str) -> Store:
    with open_store(made_store_url, mode="write") as opened:
        yield opened


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fill, "AT_ONCE", 2)


def pinned(store: Store) -> Pin | None:
    with store.read() as conn:
        return pin_of(conn)


def notes(store: Store) -> set[str]:
    """What is noted of embeddings, by name."""
    with store.read() as conn:
        return {each for each in conn.scalars(sa.select(meta.c.name)) if each.startswith("embedding")}


def forget_one(store: Store, text: str) -> None:
    with store.read() as conn:
        found = find_memories(conn, [name(text)])
    forget(store, found, now=day(5), wall_clock=lambda: day(5))


def test_what_lacks(store: Store) -> None:
    """Each active memory that lacks a vector gets one, the store is pinned, and done again nothing is left to do."""
    fill_with(store, *TEXTS)
    fill_with(store, "old", status="superseded")
    told: list[int] = []
    done = embed_missing(store, None, Lengths(), advance=told.append)
    assert done == Filled(embedded=7)
    assert sum(told) == 7
    assert models_of(store) == {"lengths": set(TEXTS)}
    assert pinned(store) == Pin("lengths", 3)
    there = stored(store)
    embedder = Lengths()
    assert embed_missing(store, None, embedder) == Filled()
    assert embedder.seen == []
    fill_with(store, "new")
    assert embed_missing(store, None, embedder) == Filled(embedded=1)
    assert embed_missing(store, None, embedder, which="others") == Filled(embedded=1)
    assert embedder.seen == ["new", "old"]
    assert there.items() <= stored(store).items()
    assert notes(store) == {"embedding_model", "embedding_dimension"}


def test_it_stops_where_it_is_told_to(store: Store) -> None:
    """Between two batches: what was embedded stays, and the next time embeds the rest."""
    fill_with(store, *TEXTS)
    reasons = iter([None, None, "stopped on request"])
    assert embed_missing(store, None, Lengths(), stop=lambda: next(reasons)) == Filled(embedded=4)
    assert embed_missing(store, None, Lengths()) == Filled(embedded=3)


def test_one_scope(store: Store) -> None:
    """Of one scope only its own are embedded."""
    take(store, memory("here", 1), memory("there", 1, scope={"user": "bo"}))
    with store.read() as conn:
        key = conn.scalars(sa.select(scopes.c.key).where(scopes.c.scope == "{}")).one()
    assert embed_missing(store, key, Lengths()) == Filled(embedded=1)
    assert models_of(store) == {"lengths": {"here"}}


def test_nothing(store: Store) -> None:
    """An empty store is not pinned, by neither way, and asks nothing of the model."""
    embedder = Lengths(fails_after=0, dimension=None)
    assert embed_missing(store, None, embedder) == Filled()
    assert embed_all(store, embedder) == Filled()
    assert pinned(store) is None


def test_imported_count(store: Store) -> None:
    """An imported vector of the model counts, one of another model does not, and neither is changed."""
    of_model, of_other = ({"model": model, "vector": [1, 0, 0]} for model in ("lengths", "other"))
    take(store, memory("has", 1, embedding=of_model), memory("has another", 1, embedding=of_other))
    embedder = Lengths()
    assert embed_missing(store, None, embedder) == Filled(embedded=1)
    assert embedder.seen == ["has another"]
    found = stored(store)
    assert found["has", "lengths"] == found["has another", "other"] == [1, 0, 0]


def test_failing(store: Store) -> None:
    """Where the embedder fails, what was written stays, the failure is told, and the next time goes on from there."""
    fill_with(store, *TEXTS)
    done = embed_missing(store, None, Lengths(fails_after=4))
    assert done == Filled(embedded=4, why="lengths is out of order")
    assert models_of(store) == {"lengths": set(TEXTS[:4])}
    embedder = Lengths()
    assert embed_missing(store, None, embedder) == Filled(embedded=3)
    assert embedder.seen == list(TEXTS[4:])


def test_unread(store: Store) -> None:
    """What the model cannot read is counted, and is not tried again every night."""

    class Blind(Lengths):
        def passages(self, texts: Sequence[str]) -> np.ndarray:
            return super().passages(texts) * [[text != TEXTS[1]] for text in texts]

    fill_with(store, *TEXTS)
    assert embed_missing(store, None, Blind()) == Filled(embedded=7, unread=1)
    assert embed_missing(store, None, Blind(fails_after=0)) == Filled()


def test_secrets(store: Store) -> None:
    """A memory with a secret in it is not sent to another machine, also where it is alone; a local model reads it."""
    secret = "The password of the router is password: xK9#mQ2$vL7w"
    fill_with(store, secret)
    far = Lengths(local=False, dimension=None)
    assert embed_missing(store, None, far) == Filled(held_back=1)
    assert far.seen == []
    fill_with(store, *TEXTS)
    far = Lengths(local=False)
    assert embed_missing(store, None, far) == Filled(embedded=8, held_back=1)
    assert sorted(far.seen) == sorted(TEXTS)
    near = Lengths("near")
    assert embed_all(store, near).embedded == 8
    assert secret in near.seen


def test_pinned_meanwhile(store: Store) -> None:
    """Where another has pinned the store to another model meanwhile nothing is mixed, and it is said."""
    fill_with(store, *TEXTS)
    assert embed_missing(store, None, Lengths("other"), which="active").embedded == 7
    done = embed_missing(store, None, Lengths())
    assert (done.embedded, done.why) == (0, "the store was pinned to openai:other meanwhile; run again")
    assert models_of(store) == {"other": set(TEXTS)}


def test_other_dimension(store: Store) -> None:
    """A model that gives vectors of another dimension than the store's is refused with the command that helps."""
    fill_with(store, *TEXTS[:2])
    embed_missing(store, None, Lengths())
    fill_with(store, "new")
    done = embed_missing(store, None, Lengths(dimension=2))
    assert done.why.startswith("openai:lengths gives vectors of 2 numbers now, the store's have 3")
    assert done.why.endswith(": consolidate embed --all --model openai:lengths")
    assert embed_all(store, Lengths(dimension=2)) == Filled(embedded=3)
    assert pinned(store) == Pin("lengths", 2)
    assert {len(vector) for vector in stored(store).values()} == {2}


def test_mended(store: Store) -> None:
    """An imported vector of the model but of another dimension is embedded where dimensions are looked at."""
    take(store, memory("one", 1, embedding={"model": "lengths", "vector": [1, 0]}))
    assert embed_missing(store, None, Lengths()) == Filled()
    assert embed_missing(store, None, Lengths(), dimension=3) == Filled(embedded=1)


def test_forgotten_meanwhile(store: Store) -> None:
    """A memory forgotten while the model thinks gets no vector, and the others get theirs; it stays forgotten."""
    fill_with(store, *TEXTS)
    before = [lambda texts: forget_one(store, TEXTS[1])]
    embedder = Lengths(before=lambda texts: before.pop()(texts) if before else None)
    assert embed_missing(store, None, embedder) == Filled(embedded=6, gone=1)
    assert models_of(store) == {"lengths": set(TEXTS) - {TEXTS[1]}}


def test_nothing_is_locked(store: Store) -> None:
    """While the model thinks others write: no transaction is open. What they add is embedded too."""
    fill_with(store, *TEXTS[:2])
    news = ["new a", "new b"]
    embedder = Lengths(before=lambda texts: fill_with(store, news.pop()) if news else None)
    assert embed_missing(store, None, embedder) == Filled(embedded=4)


def test_all_again(store: Store) -> None:
    """All anew with the same model rewrites each vector once, whatever its status, and keeps the pin."""
    fill_with(store, *TEXTS)
    fill_with(store, "old", status="superseded")
    embed_missing(store, None, Lengths())
    wrong = [key_of(store, text) for text in TEXTS[:3]]
    with store.write() as conn:
        write_vectors(conn, "lengths", wrong, np.eye(3, dtype=np.float32))
    embedder = Lengths()
    assert embed_all(store, embedder) == Filled(embedded=8)
    assert sorted(embedder.seen) == sorted([*TEXTS, "old"])
    there = stored(store)
    embed_all(store, Lengths())
    assert stored(store) == there
    assert there[TEXTS[0], "lengths"] != [1, 0, 0]
    assert pinned(store) == Pin("lengths", 3)
    assert notes(store) == {"embedding_model", "embedding_dimension"}


def test_other_model(store: Store) -> None:
    """Another model takes over once all have its vectors; until then the old ones serve, and then they go."""
    take(store, memory("imported", 1, embedding={"model": "third", "vector": [1, 0]}))
    fill_with(store, *TEXTS)
    fill_with(store, "old", status="superseded")
    embed_missing(store, None, Lengths())
    everything = {*TEXTS, "old", "imported"}
    done = embed_all(store, Lengths("next", fails_after=4))
    assert done == Filled(embedded=4, why="lengths is out of order")
    assert pinned(store) == Pin("lengths", 3)
    assert models_of(store)["lengths"] == everything - {"old"}
    embedder = Lengths("next", dimension=2)
    assert embed_all(store, Lengths("next")) == Filled(embedded=5, deleted=8)
    assert models_of(store) == {"next": everything, "third": {"imported"}}
    assert pinned(store) == Pin("next", 3)
    assert embed_all(store, embedder).embedded == 9
    assert notes(store) == {"embedding_model", "embedding_dimension"}


def test_all_imported(store: Store) -> None:
    """Where all have a vector of the other model already, the pin moves without asking it anything."""
    take(store, *[memory(text, 1, embedding={"model": "next", "vector": [1, 0]}) for text in TEXTS])
    embed_missing(store, None, Lengths())
    assert embed_all(store, Lengths("next", dimension=None, fails_after=0)) == Filled(deleted=7)
    assert pinned(store) == Pin("next", 2)


def test_emptied(store: Store) -> None:
    """A store that holds nothing any more is free for any model."""
    fill_with(store, "one")
    embed_missing(store, None, Lengths())
    forget_one(store, "one")
    assert embed_all(store, Lengths("next", dimension=None)) == Filled()
    assert pinned(store) is None


def test_real_model(store: Store) -> None:
    """The local model's vectors arrive whole."""
    texts = ["Ada is allergic to penicillin.", "我喜欢喝绿茶。"]
    fill_with(store, *texts)
    assert embed_missing(store, None, MiniLM()) == Filled(embedded=2, unread=1)
    for text, vector in zip(texts, MiniLM().passages(texts).tolist(), strict=True):
        assert stored(store)[text, MODEL] == vector


# Killed, and beside others. Children open the store themselves.


def killing(at: int, model: str = "lengths") -> Lengths:
    """An embedder whose process is killed while it thinks of a batch."""
    batches: list[int] = []

    def before(texts: Sequence[str]) -> None:
        batches.append(len(texts))
        if len(batches) == at:
            os.kill(os.getpid(), signal.SIGKILL)

    return Lengths(model, before=before)


@pytest.mark.parametrize("at", [1, 3])
def test_killed(made_store_url: str, at: int) -> None:
    """Killed while the model thinks, what was written stays, and the next time does the rest alone."""
    with open_store(made_store_url, mode="write") as store:
        fill_with(store, *TEXTS)

    def work() -> str:
        with open_store(made_store_url, mode="write") as opened:
            return str(embed_missing(opened, None, killing(at)))

    assert in_child(work).killed
    with open_store(made_store_url, mode="write") as store:
        embedder = Lengths()
        assert embed_missing(store, None, embedder) == Filled(embedded=7 - 2 * (at - 1))
        assert embedder.seen == list(TEXTS[2 * (at - 1) :])
        assert models_of(store) == {"lengths": set(TEXTS)}


@pytest.mark.parametrize("model", ["lengths", "next"])
def test_killed_in_all(made_store_url: str, model: str) -> None:
    """Killed while all is embedded anew, with the same model or another, the next time goes on from there."""
    with open_store(made_store_url, mode="write") as store:
        fill_with(store, *TEXTS)
        embed_missing(store, None, Lengths())

    def work() -> str:
        with open_store(made_store_url, mode="write") as opened:
            return str(embed_all(opened, killing(3, model)))

    assert in_child(work).killed
    with open_store(made_store_url, mode="write") as store:
        assert pinned(store) == Pin("lengths", 3)
        assert models_of(store)["lengths"] == set(TEXTS)
        embedder = Lengths(model)
        assert embed_all(store, embedder).embedded == 3
        assert embedder.seen == list(TEXTS[4:])
        assert models_of(store) == {model: set(TEXTS)}
        assert pinned(store) == Pin(model, 3)
        assert notes(store) == {"embedding_model", "embedding_dimension"}


def test_killed_before_deleting(made_store_url: str) -> None:
    """Killed when the pin has moved and the old vectors are still there, they go the next time."""
    with open_store(made_store_url, mode="write") as store:
        fill_with(store, *TEXTS)
        embed_missing(store, None, Lengths())

    def work() -> None:
        fill.delete_left = lambda store: os.kill(os.getpid(), signal.SIGKILL) if pinned(store).model == "next" else 0
        with open_store(made_store_url, mode="write") as opened:
            embed_all(opened, Lengths("next"))

    assert in_child(work).killed
    with open_store(made_store_url, mode="write") as store:
        assert models_of(store) == {"lengths": set(TEXTS), "next": set(TEXTS)}
        assert fill.delete_left(store) == 7
        assert models_of(store) == {"next": set(TEXTS)}


def test_two_at_once(made_store_url: str) -> None:
    """Two that embed at the same time wait for nobody, and the store has each vector once."""
    with open_store(made_store_url, mode="write") as store:
        fill_with(store, *TEXTS)

    def act(child: Child) -> str:
        paused: list[bool] = []

        def before(_: Sequence[str]) -> None:
            if not paused:
                paused.append(True)
                child.pause()

        with open_store(made_store_url, mode="write") as opened:
            return str(embed_missing(opened, None, Lengths(before=before)).why)

    child = Child(act)
    child.wait_until_paused()
    with open_store(made_store_url, mode="write") as store:
        assert embed_missing(store, None, Lengths()) == Filled(embedded=7)
        child.go_on()
        assert child.wait().said == ""
        assert models_of(store) == {"lengths": set(TEXTS)}
        assert embed_missing(store, None, Lengths(fails_after=0)) == Filled()


def test_in_a_child(minilm: MiniLM) -> None:
    """The model that a process has loaded serves its children too."""
    here = minilm.passages(["Ada drinks tea."])
    there = in_child(lambda: str(minilm.passages(["Ada drinks tea."]).tolist())).said
    assert there == str(here.tolist())
