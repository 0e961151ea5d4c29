"""What is kept in memory to search a scope, against a plain reading, and kept up with what others write."""

from collections import Counter

import numpy as np
import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from consolidator.embedding.fill import embed_missing
from consolidator.embedding.minilm import MiniLM
from consolidator.recall import postings as counted
from consolidator.recall.block import Block
from consolidator.recall.postings import Postings
from consolidator.recall.terms import terms
from consolidator.store.engine import Store, open_store
from consolidator.store.find import find_memory
from consolidator.store.forget import forget
from consolidator.store.tables import memories
from tests.lives import day, memory, name, take
from tests.recall.lives import CAR, KEYS, TEA, ask, texts

TEXTS = st.lists(st.lists(st.sampled_from(["pa", "Painted!", "the", "x9", "café", "東京駅", "\0", "🍵"]), max_size=8))


@given(TEXTS, st.integers(0, 40), st.integers(1, 9))
def test_postings(given_texts: list[list[str]], loose: int, at_once: int) -> None:
    """Each term is held by the texts that have it, as often as they do, however they came and whether sorted yet."""
    texts = [" ".join(words) for words in given_texts]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counted, "_LOOSE_TERMS", loose)
        found, first = Postings(), []
        for start in range(0, len(texts), at_once):
            first += found.add(texts[start : start + at_once]).tolist()
            found.holding("paint")
        for term in {"nothing"}.union(*map(terms, texts)):
            places, counts = found.holding(term)
            wanted = {place: count for place, text in enumerate(texts) if (count := Counter(terms(text))[term])}
            assert dict(zip(places.tolist(), counts.tolist(), strict=True)) == wanted
            assert places.tolist() == sorted(wanted)
        assert found.lengths().tolist() == [len(terms(text)) for text in texts]
        assert first == [found.number(terms(text)[0]) if terms(text) else -1 for text in texts]


@given(st.lists(st.integers(0, 1_500), min_size=1, max_size=5), st.integers(0, 99))
def test_block(sizes: list[int], seed: int) -> None:
    """Vectors put in at any time are those that were put in, and their cosines those of plain arithmetic."""
    rng = np.random.default_rng(seed)
    block, count = Block(4), 0
    plain = np.zeros((sum(sizes), 4), np.float32)
    for size in sizes:
        block.reserve(count + size)
        places = rng.permutation(count + size)[: (count + size) // 2]
        vectors = rng.standard_normal((len(places), 4)).astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        block.put(places, vectors)
        plain[places] = vectors
        count += size
    query = rng.standard_normal(4).astype(np.float32)
    found = block.cosines(query)
    seen, asked = plain - block.mean, (query - block.mean) / np.linalg.norm(query - block.mean)
    wanted = np.where(plain.any(axis=1), seen @ asked / np.maximum(np.linalg.norm(seen, axis=1), 1e-3), 0)
    np.testing.assert_allclose(found, wanted, atol=1e-4)
    some = rng.integers(0, max(count, 1), 9)[: count * 9]
    np.testing.assert_array_equal(block.vectors(some), plain[some])
    np.testing.assert_allclose(block.cosines(query, some), found[some], atol=1e-5)


def test_what_another_process_writes(store: Store, made_store_url: str) -> None:
    """What another process takes in, embeds, archives, brings back or forgets is seen by the next recall."""
    bicycle = "The bicycle is locked at the station."
    asked = "Where is the bicycle locked?"
    assert bicycle not in texts(ask(store, asked))
    with open_store(made_store_url, mode="write") as other:
        take(other, [memory(bicycle, 39)], at=40)
        assert texts(ask(store, asked))[0] == bicycle
        embed_missing(other, None, MiniLM())
        (best, *_) = ask(store, asked, explain=True).results
        assert best.parts is not None
        assert best.parts["meaning"] > 0.1
        for text, status in ((CAR, "archived"), (KEYS, "active"), (CAR, "active")):
            with other.write() as conn:
                conn.execute(sa.update(memories).where(memories.c.content == text).values(status=status))
            assert (text in texts(ask(store, f"Where? {text}"))) == (status == "active")
        with other.read() as conn:
            found = find_memory(conn, name(TEA))
        forget(other, [found], now=day(40), wall_clock=lambda: day(40))
    assert TEA not in texts(ask(store, TEA, deep=True))


def test_kept_up_as_made_anew(store: Store, made_store_url: str) -> None:
    """What was brought up to date step by step ranks as what is read whole."""
    lines = [memory(f"Note {number}: {word} by the {other}.", 30 + number / 9) for number, (word, other) in enumerate(
        [("tea", "sea"), ("boat", "lake"), ("train", "sea"), ("garden", "lake"), ("keys", "boat"), ("car", "train")]
    )]  # fmt: skip
    for line in lines:
        take(store, [line], at=40)
        embed_missing(store, None, MiniLM())
        ask(store, "What is by the sea?")
    with open_store(made_store_url, mode="read") as other:
        for query in ("What is by the lake?", "Where is the boat?", "Ada's sister and the car"):
            kept_up, anew = (ask(each, query, explain=True).results for each in (store, other))
            assert [each.content for each in kept_up] == [each.content for each in anew]
            np.testing.assert_allclose([each.score for each in kept_up], [each.score for each in anew], atol=0.02)
