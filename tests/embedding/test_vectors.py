"""Vectors in a store: kept, found lacking, read back whole; each with its model."""

import numpy as np
import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st

from consolidator.store import vectors
from consolidator.store.engine import Store, open_store
from consolidator.store.tables import meta, scopes
from consolidator.store.vectors import Pin
from tests.embedding.models import fill_with, key_of, models_of
from tests.exchanged import take
from tests.lives import memory

A = Pin("a", 3)


@pytest.fixture
def store(made_store_url: str) -> Store:
    with open_store(made_store_url, mode="write") as opened:
        yield opened


def scope_key(store: Store) -> int:
    with store.read() as conn:
        return conn.scalars(sa.select(scopes.c.key).where(scopes.c.scope == "{}")).one()


def read(store: Store, pin: Pin = A, texts: list[str] | None = None) -> dict[int, list[float]]:
    with store.read() as conn:
        keys = None if texts is None else [key_of(store, text) for text in texts]
        found, rows = vectors.vectors_of(conn, scope_key(store), pin, keys)
    assert (found.dtype, rows.dtype, rows.shape) == (np.int64, np.float32, (len(found), pin.dimension))
    assert found.tolist() == sorted(found)
    return dict(zip(found.tolist(), rows.tolist(), strict=True))


def write(store: Store, texts: list[str], rows: list[list[float]], model: str = "a") -> int:
    pairs = sorted(zip((key_of(store, text) for text in texts), rows, strict=True))
    with store.write() as conn:
        keys = [key for key, _ in pairs]
        return vectors.write_vectors(conn, model, keys, np.array([row for _, row in pairs], np.float32))


def lacking(store: Store, **how: object) -> list[str]:
    with store.read() as conn:
        found = [each.content for each in vectors.lacking(conn, "a", limit=100, **how)]
        assert vectors.count_lacking(conn, "a", **how) == len(found)
    return found


def test_there_and_back(store: Store) -> None:
    """Vectors are read as they were written, of active memories, in order of their keys, a newer over an older."""
    fill_with(store, "one", "two", "three")
    fill_with(store, "old", status="superseded")
    assert write(store, ["three", "one", "old"], [[1, 0, 0], [0, 1, 0], [0, 0, 1]]) == 3
    one, three, old = (key_of(store, text) for text in ("one", "three", "old"))
    assert read(store) == {one: [0, 1, 0], three: [1, 0, 0]}
    assert write(store, ["one"], [[0, 0, -1]]) == 1
    assert read(store) == {one: [0, 0, -1], three: [1, 0, 0]}
    assert read(store, texts=["old", "one", "two"]) == {one: [0, 0, -1], old: [0, 0, 1]}
    assert read(store, texts=[]) == {}
    assert read(store, Pin("b", 3)) == {}


def test_models_apart(store: Store) -> None:
    """Vectors of different models, or of different dimensions, are never read together."""
    fill_with(store, "one", "two")
    write(store, ["one"], [[1, 0, 0]])
    write(store, ["one"], [[0, 1, 0]], "b")
    write(store, ["two"], [[0, 1]], "a")
    assert list(read(store).values()) == [[1, 0, 0]]
    assert list(read(store, Pin("b", 3)).values()) == [[0, 1, 0]]
    assert list(read(store, Pin("a", 2)).values()) == [[0, 1]]


def test_imported(store: Store) -> None:
    """Imported vectors of any length are read with length 1; one of zeros is as none."""
    made = [[3, 0, 4], [0, 0, 0], [0, 1, 0]]
    take(store, *[memory(str(at), 1, embedding={"model": "a", "vector": each}) for at, each in enumerate(made)])
    assert np.array(list(read(store).values())) == pytest.approx(np.array([[0.6, 0, 0.8], [0, 1, 0]]))
    assert lacking(store) == []


def test_lacking(store: Store) -> None:
    """What lacks a vector of a model is found by scope and status, each once, in order, from any place on."""
    fill_with(store, "one", "two", "three")
    fill_with(store, "old", status="superseded")
    take(store, memory("elsewhere", 1, scope={"user": "bo"}))
    write(store, ["two"], [[1, 0, 0]])
    write(store, ["one"], [[1, 0, 0]], "b")
    here = scope_key(store)
    assert lacking(store) == ["one", "three", "elsewhere"]
    assert lacking(store, scope_key=here) == ["one", "three"]
    assert lacking(store, which="others") == ["old"]
    assert lacking(store, which="all") == ["one", "three", "old", "elsewhere"]
    assert lacking(store, dimension=4) == ["one", "two", "three", "elsewhere"]
    with store.read() as conn:
        some = vectors.lacking(conn, "a", limit=1, after=key_of(store, "one"))
        assert [each.content for each in some] == ["three"]
        assert [each.content for each in vectors.following(conn, key_of(store, "two"), limit=2)] == ["three", "old"]
        assert vectors.count_memories(conn) == 5
        assert vectors.count_memories(conn, after=key_of(store, "two")) == 3


def test_long_text(store: Store) -> None:
    """Of a text without end, only as much is read as a model may read."""
    fill_with(store, "山" * 150_000)
    with store.read() as conn:
        assert [each.content for each in vectors.lacking(conn, "a", limit=9)] == ["山" * vectors.LONGEST_TEXT]


def test_gone(store: Store) -> None:
    """A memory that is not there any more gets no vector, and those beside it get theirs."""
    fill_with(store, "one", "two")
    keys = [key_of(store, "one"), key_of(store, "two"), 987_654]
    with store.write() as conn:
        assert vectors.write_vectors(conn, "a", keys, np.eye(3, dtype=np.float32)) == 2
        assert vectors.write_vectors(conn, "a", [987_654], np.eye(1, 3, dtype=np.float32)) == 0
        assert vectors.write_vectors(conn, "a", [], np.zeros((0, 3), np.float32)) == 0
    assert models_of(store) == {"a": {"one", "two"}}


def test_pin(store: Store) -> None:
    """A store is pinned once, to a model and its dimension; only `pin_anew` pins it to another."""
    with store.write() as conn:
        assert vectors.pin_of(conn) is None
        assert vectors.usual_pin(conn, "a") is None
        assert vectors.pin(conn, A) == A
        assert vectors.pin(conn, Pin("b", 2)) == A
        assert vectors.pin_of(conn) == A
        assert vectors.usual_pin(conn, "a") == A
        assert vectors.usual_pin(conn, "b") is None
        noted = {row.name: row.value for row in conn.execute(sa.select(meta))}
        assert (noted["embedding_model"], noted["embedding_dimension"]) == ("a", "3")
        vectors.pin_anew(conn, Pin("b", 2))
        assert vectors.pin_of(conn) == Pin("b", 2)
        vectors.pin_anew(conn, None)
        assert vectors.pin_of(conn) is None


def test_usual_pin(store: Store) -> None:
    """While a store is not pinned, a model's imported vectors are read by the dimension that most of them have."""
    made = [[3, 0], [1, 0, 0], [0, 1, 0]]
    take(store, *[memory(str(at), 1, embedding={"model": "a", "vector": each}) for at, each in enumerate(made)])
    with store.read() as conn:
        assert vectors.usual_pin(conn, "a") == A
        assert vectors.usual_pin(conn, "b") is None
        assert vectors.pin_of(conn) is None


def test_left(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The vectors of the model before are deleted in steps, and those of no other."""
    monkeypatch.setattr(vectors, "DELETED_AT_ONCE", 2)
    texts = ["one", "two", "three", "four", "five"]
    fill_with(store, *texts)
    for model in ("a", "b", "c"):
        write(store, texts, [[1, 0, 0]] * 5, model)
    with store.write() as conn:
        vectors.pin(conn, A)
        assert vectors.delete_left(conn) == 0
        vectors.pin_anew(conn, Pin("b", 3))
        assert [vectors.delete_left(conn) for _ in range(5)] == [2, 2, 1, 0, 0]
    assert models_of(store) == {"b": set(texts), "c": set(texts)}


def test_place(store: Store) -> None:
    """How far all was embedded anew is kept for its model, whatever that is called."""
    with store.write() as conn:
        assert vectors.place_of(conn, "a b") == 0
        vectors.keep_place(conn, "a b", 7)
        assert (vectors.place_of(conn, "a b"), vectors.place_of(conn, "a")) == (7, 0)
        vectors.keep_place(conn, "a b", None)
        assert vectors.place_of(conn, "a b") == 0


@settings(max_examples=30)
@given(st.lists(st.lists(st.floats(-(2.0**100), 2.0**100, width=32), min_size=4, max_size=4), max_size=8))
def test_length_one(rows: list[list[float]]) -> None:
    """Whatever is stored, what is read is of length 1, and points where it pointed."""
    given_rows = np.array(rows, np.float32).reshape(-1, 4)
    keys, read_rows = vectors._of_length_one(np.arange(len(rows)), given_rows.copy())
    assert keys.tolist() == np.flatnonzero(given_rows.any(axis=1)).tolist()
    for key, row in zip(keys, read_rows, strict=True):
        exact = given_rows[key].astype(np.float64)
        assert row == pytest.approx(exact / np.linalg.norm(exact), abs=2e-4)
