"""What pgvector keeps of a store's vectors, and what is ranked where the scope is not in memory."""

from collections.abc import Iterator

import numpy as np
import pytest
import sqlalchemy as sa

from consolidator.embedding.fill import embed_all, embed_missing
from consolidator.embedding.minilm import DIMENSION, MODEL, MiniLM
from consolidator.recall import picking, recall
from consolidator.store import nearest
from consolidator.store.engine import Store, open_store
from consolidator.store.find import find_memory
from consolidator.store.forget import forget
from consolidator.store.tables import memories
from consolidator.store.vectors import Pin, vectors_of
from tests.lives import day, memory, name, take
from tests.postgres import fresh_database
from tests.recall.lives import ALLERGY, TEA, ask, texts

PIN = Pin(MODEL, DIMENSION)


@pytest.fixture
def made_store_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of an empty store, on Postgres alone."""
    made, dsn = (request.getfixturevalue(each) for each in ("made_postgres", "postgres_dsn"))
    with fresh_database(dsn, template=made) as url:
        yield url


@pytest.fixture
def vectored(store: Store, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A store with pgvector's copy of its vectors."""
    monkeypatch.setattr(nearest, "FROM_ROWS", 1)
    monkeypatch.setattr(picking, "FROM_ROWS", 1)
    if not nearest.keep_up(store, make=True):
        pytest.skip("this Postgres has no pgvector")
    return store


def held(store: Store) -> dict[int, str]:
    """What pgvector keeps, by memory."""
    with store.read() as conn:
        return dict(conn.execute(sa.text("SELECT memory_key, vector::text FROM memory_vectors")).all())


def test_same_as_the_vectors(vectored: Store) -> None:
    """It is a copy of the vectors: after remembering, forgetting, embedding anew and a change of what is pinned."""
    take(vectored, [memory("The bicycle is locked at the station.", 39)], at=40)
    embed_missing(vectored, None, MiniLM())
    with vectored.read() as conn:
        found = find_memory(conn, name(TEA))
    forget(vectored, [found], now=day(40), wall_clock=lambda: day(40))
    embed_all(vectored, MiniLM())
    with vectored.read() as conn:
        every = list(conn.scalars(sa.select(memories.c.key)))
        keys, vectors = vectors_of(conn, 1, PIN, every)
        assert nearest.is_kept(conn, PIN)
        assert not nearest.is_kept(conn, Pin("another", DIMENSION))
    kept = held(vectored)
    assert sorted(kept) == keys.tolist() == sorted(every)
    for key, vector in zip(keys.tolist(), vectors, strict=True):
        np.testing.assert_allclose(np.fromstring(kept[key].strip("[]"), sep=","), vector, atol=1e-6)


@pytest.mark.parametrize("deep", [False, True])
def test_nearest_are_the_nearest(vectored: Store, deep: bool) -> None:
    """Where enough are tried, they are in the order in which NumPy puts them."""
    conditions = [] if deep else [memories.c.status == "active"]
    for query in MiniLM().queries(["Which medicine must she never be given?", "Where are the keys?"]):
        with vectored.read() as conn:
            every = None if not deep else list(conn.scalars(sa.select(memories.c.key)))
            keys, vectors = vectors_of(conn, 1, PIN, every)
            found = nearest.nearest(conn, 1, query, conditions=conditions, limit=100, tried=1_000)
        assert found == keys[np.argsort(-(vectors @ query), kind="stable")].tolist()


def test_few_rank_as_all(vectored: Store, made_store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process's first question is answered without reading the scope, as it is answered from memory."""
    take(vectored, [memory("The bicycle is locked at the station.", 39)], at=40)  # pgvector does not know it
    for query, more in (
        ("Which medicine must she never be given?", {}),
        ("Where is the bicycle locked?", {}),
        ("Ada allergic penicillin", {"explain": True}),
        ("Where are the spare keys and the car?", {"deep": True}),
        ("What does Bo like?", {"types": ["preference"]}),
        ("What about Ada?", {"since": day(20), "until": day(20.5)}),
    ):
        with open_store(made_store_url, mode="read") as other:
            first = ask(other, query, **more)
            with monkeypatch.context() as patch:
                patch.setattr(recall, "picked", lambda *_: None)
                whole = ask(other, query, **more)
        assert texts(first) == texts(whole)
        assert [each.score for each in first.results] == pytest.approx([each.score for each in whole.results], abs=0.02)


def test_second_question(vectored: Store) -> None:
    """From the second question of a process on, the scope is in memory; a doctor says that pgvector is used."""
    with vectored.read() as conn:
        assert nearest.rows_kept(conn) > 1
        assert nearest.described(conn) == "keeps about 7 vectors of 384 numbers by all-MiniLM-L6-v2-int8"
    for _ in range(2):
        assert texts(ask(vectored, "Which medicine must she never be given?"))[0] == ALLERGY


def test_no_extension(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the extension is not there, or may not be made, embedding and recall do without."""
    monkeypatch.setattr(nearest, "FROM_ROWS", 1)
    monkeypatch.setattr(nearest, "_has_extension", lambda _: False)
    assert not nearest.keep_up(store, make=True)
    monkeypatch.setattr(nearest, "_has_extension", lambda _: True)
    monkeypatch.setattr(nearest, "_MAKE", "CREATE TABLE memory_vectors (vector not_a_type({dimension}))")
    assert not nearest.keep_up(store, make=True)
    assert not embed_missing(store, None, MiniLM()).why
    assert texts(ask(store, "Which medicine must she never be given?"))[0] == ALLERGY
