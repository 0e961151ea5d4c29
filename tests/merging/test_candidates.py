"""Candidates: every pair that the definition calls one, and no other, whatever way they are sought."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from consolidator.merging import crowd, nearness, overlap
from consolidator.merging.candidates import Pairs, find_pairs, likeness_of, score_among
from consolidator.merging.crowd import Crowd
from consolidator.merging.features import features
from consolidator.merging.overlap import Overlap

Vectors = NDArray[np.float32]

WORDS = ["the", "a", "of", "in", "tea", "cake", "Ada", "Turku", "train", "night", "7", "12", "never", "咖", "啡"]


@st.composite
def stores(draw: st.DrawFn) -> tuple[list[str], Vectors | None, NDArray[np.bool_], NDArray[np.bool_]]:
    """A few memories that often share words and directions, some without a vector, some unchanged."""
    count = draw(st.integers(0, 25))
    contents = [" ".join(draw(st.lists(st.sampled_from(WORDS), max_size=7))) for _ in range(count)]
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    vectors = (rng.standard_normal((count, 3)) + draw(st.sampled_from([0, 1, 2]))).astype(np.float32)
    for place in range(count):
        vectors[place] = draw(st.sampled_from([vectors[place]] * 6 + [vectors[0], 0 * vectors[0], np.nan * vectors[0]]))
    flags = st.lists(st.booleans(), min_size=count, max_size=count)
    return (
        contents,
        draw(st.sampled_from([vectors, vectors, None])),
        np.array(draw(flags), bool),
        ~np.array(draw(flags), bool),
    )


def by_definition(
    contents: list[str], vectors: Vectors | None, has_vector: NDArray[np.bool_], changed: NDArray[np.bool_]
) -> dict[tuple[int, int], tuple[float, float]]:
    """Each candidate, with its score and its distance from the threshold."""
    bags = [features(content) for content in contents]
    units: list[Any] = [None] * len(contents)
    for place in np.flatnonzero(has_vector).tolist():
        length = 0 if vectors is None else np.linalg.norm(vectors[place].astype(np.float64))
        if 0 < length < np.inf:
            units[place] = vectors[place] / length
    found = {}
    for b in range(len(contents)):
        for a in range(b):
            share = len(bags[a] & bags[b]) / (len(bags[a] | bags[b]) or 1)
            score, threshold = share, 0.6
            if units[a] is not None and units[b] is not None:
                score, threshold = 0.4 * share + 0.6 * float(units[a] @ units[b]), 0.5
            if changed[a] or changed[b]:
                found[a, b] = score, score - threshold
    return found


def as_set(pairs: Pairs) -> set[tuple[int, int]]:
    return set(zip(pairs.a.tolist(), pairs.b.tolist(), strict=True))


@given(stores())
def test_candidates_are_those_of_the_definition(store: Any) -> None:
    """All pairs with a changed member that reach the threshold, with their scores, and no other."""
    expected = by_definition(*store)
    pairs = find_pairs(*store)
    found = as_set(pairs)
    assert found >= {pair for pair, (_, above) in expected.items() if above > 1e-6}
    assert found <= {pair for pair, (_, above) in expected.items() if above > -1e-6}
    assert len(found) == pairs.a.size
    for a, b, score in zip(pairs.a.tolist(), pairs.b.tolist(), pairs.score, strict=True):
        assert score == pytest.approx(expected[a, b][0], abs=1e-6)


@given(stores(), st.randoms())
def test_the_order_of_the_rows_does_not_matter(store: Any, random: Any) -> None:
    """The same candidates are found, with the very same scores, however the rows come."""
    contents, vectors, has_vector, changed = store
    contents = [f"{content} {place}" for place, content in enumerate(contents)]
    order = list(range(len(contents)))
    random.shuffle(order)
    there = find_pairs(contents, vectors, has_vector, changed)
    moved = [contents[place] for place in order]
    here = find_pairs(moved, None if vectors is None else vectors[order], has_vector[order], changed[order])
    named = {
        frozenset((contents[a], contents[b])): s for a, b, s in zip(there.a, there.b, there.score.tolist(), strict=True)
    }
    assert named == {
        frozenset((moved[a], moved[b])): s for a, b, s in zip(here.a, here.b, here.score.tolist(), strict=True)
    }


@given(stores())
def test_among_a_few_every_pair_is_scored(store: Any) -> None:
    """Candidate or not, by the same rule as everywhere."""
    contents, vectors, has_vector, _ = store
    expected = by_definition(contents, vectors, has_vector, np.ones(len(contents), bool))
    pairs = score_among(contents, vectors, has_vector, range(len(contents)))
    likeness = likeness_of(contents, vectors, has_vector)
    assert as_set(pairs) == set(expected)
    rows = zip(pairs.a.tolist(), pairs.b.tolist(), pairs.score, pairs.of_threshold(), strict=True)
    for a, b, score, part in rows:
        assert score == pytest.approx(expected[a, b][0], abs=1e-6)
        assert likeness(b, a) == pytest.approx(part, abs=1e-6)


@given(stores())
def test_the_bits_never_say_less_than_is_shared(store: Any) -> None:
    """What passes over a pair unread passes over none that shares enough."""
    known = Overlap(store[0])
    a, b = np.triu_indices(len(store[0]), 1)
    assert (known.at_most(a, b) >= known.shares(a, b)).all()


def near_and_far(count: int, dimensions: int) -> tuple[list[str], Vectors]:
    """Half strangers, half near one of them, at a cosine from 0.5 to 0.99 and with any part of its words."""
    rng = np.random.default_rng(7)
    often = 1 / np.arange(1, 5001)
    said = rng.choice(5000, (count, 14), p=often / often.sum())
    unit = rng.standard_normal((count, dimensions)).astype(np.float32)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    for place in range(count // 2, count):
        parent = rng.integers(0, count // 2)
        other = rng.random(14) < rng.random()
        said[place] = np.where(other, said[place], said[parent])
        cosine = rng.uniform(0.5, 0.99)
        unit[place] = cosine * unit[parent] + np.sqrt(1 - cosine**2) * unit[place]
    return [" ".join(f"w{word}" for word in row) for row in said], unit


@pytest.mark.parametrize("changed", [4000, 300])
def test_the_large_search_keeps_99_in_100(monkeypatch: pytest.MonkeyPatch, changed: int) -> None:
    """Recall of true pairs by shadows is at least 0.99, here with 4,000 memories; the bench has 100,000."""
    contents, vectors = near_and_far(4000, 384)
    has, is_new = np.ones(4000, bool), np.arange(4000) < changed
    exact = as_set(find_pairs(contents, vectors, has, is_new))
    monkeypatch.setattr(nearness, "FEW_PRODUCTS", 0)
    shadowed = as_set(find_pairs(contents, vectors, has, is_new))
    assert shadowed <= exact
    assert len(shadowed) >= 0.99 * len(exact) > 50


def test_a_shadow_that_spares_nothing_is_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all vectors lie near each other the search is exact."""
    contents, vectors = near_and_far(600, 384)
    vectors += vectors[0]
    has = np.ones(600, bool)
    exact = find_pairs(contents, vectors, has, has)
    monkeypatch.setattr(nearness, "FEW_PRODUCTS", 0)
    assert as_set(find_pairs(contents, vectors, has, has)) == as_set(exact)


def test_tiles_and_lots_leave_no_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same pairs are found in small pieces as in large ones."""
    contents, vectors = near_and_far(500, 24)
    has, is_new = np.arange(500) % 7 > 0, np.arange(500) % 3 > 0
    whole = find_pairs(contents, vectors, has, is_new)
    for room, name, size in [
        (nearness, "TILE_ROWS", 37),
        (nearness, "TILE_COLUMNS", 53),
        (nearness, "FLOATS_AT_ONCE", 1000),
        (nearness, "PAIRS_AT_ONCE", 10),
        (overlap, "PAIRS_AT_ONCE", 10),
        (overlap, "HASHES_AT_ONCE", 100),
        (overlap, "BYTES_AT_ONCE", 4096),
    ]:
        monkeypatch.setattr(room, name, size)
    assert as_set(find_pairs(contents, vectors, has, is_new)) == as_set(whole)


def test_progress_ends_at_its_end() -> None:
    """It grows from lot to lot, and the last one is the whole."""
    contents, vectors = near_and_far(1500, 8)
    told: list[tuple[int, int]] = []
    has = np.ones(1500, bool)
    find_pairs(contents, vectors, has, has, progress=lambda done, total: told.append((done, total)))
    assert told == sorted(told)
    assert {total for _, total in told} == {1500 * 1501 // 2}
    assert told[-1][0] == told[-1][1]


CROWDS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.sampled_from([0.5, 0.75, 1])), max_size=120)


@given(CROWDS, st.integers(1, 40), st.integers(1, 4))
def test_in_a_crowd_each_keeps_its_best(offers: list[Any], most: int, best: int) -> None:
    """Up to the most all stay; else those among the best of either, of equals the nearest; however they come."""
    scores = {(min(a, b), max(a, b)): score for a, b, score in offers if a != b}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(crowd, "MOST_PAIRS", most)
        patch.setattr(crowd, "BEST_PARTNERS", best)
        found = Crowd(10)
        for a, b, _ in offers:
            if a != b:
                pair = (min(a, b), max(a, b))
                row = [np.array([value]) for value in (*pair, scores[pair], scores[pair], 0.0)]
                found.add(*row)
        a, b, *_ = found.best()
    kept = set(zip(a.tolist(), b.tolist(), strict=True))
    if len(scores) <= most:
        assert kept == set(scores)
        return
    for pair, score in scores.items():
        better = [
            sum(
                (-other, d - c, (c, d)) < (-score, pair[1] - pair[0], pair)
                for (c, d), other in scores.items()
                if end in (c, d)
            )
            for end in pair
        ]
        assert (pair in kept) == (min(better) < best)


def test_thousands_of_equal_texts_do_not_explode() -> None:
    """Each meets some of the others, so that all of them can be put together in groups."""
    contents = [f"Ada likes tea{'!' * place}" for place in range(5000)]
    has = np.ones(5000, bool)
    pairs = find_pairs(contents, None, ~has, has)
    assert pairs.a.size <= 20 * 5000
    assert np.bincount(np.concatenate([pairs.a, pairs.b]), minlength=5000).min() >= 20


def test_a_dense_store_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all are near each other each memory keeps its best partners, and equals do not all choose the same."""
    monkeypatch.setattr(crowd, "MOST_PAIRS", 50_000)
    contents = [f"note {place}" for place in range(1500)]
    vectors = np.ones((1500, 4), np.float32)
    has = np.ones(1500, bool)
    pairs = find_pairs(contents, vectors, has, has)
    partners = np.bincount(np.concatenate([pairs.a, pairs.b]), minlength=1500)
    assert pairs.a.size <= 20 * 1500
    assert partners.min() >= 20
    assert partners.max() <= 60


SAME = {
    "Chinese": ("我喜欢喝咖啡。", "我喜欢喝咖啡"),
    "Japanese": ("明日は東京で会議があります", "明日は東京で会議があります。"),
    "Korean": ("학교에서 친구를 만났다", "학교에서 친구를 만났다!"),
    "Thai": ("วันนี้ไปตลาดน้ำ", "วันนี้ ไปตลาดน้ำ"),
    "Arabic": ("أحب القهوة في الصباح", "أحب القهوة في الصباح."),
    "emoji": ("🎂🎉", "🎂 🎉"),
    "punctuation": ("?!", "? !"),
}


@pytest.mark.parametrize(("one", "other"), SAME.values(), ids=SAME.keys())
def test_equal_facts_meet_in_every_script(one: str, other: str) -> None:
    """Without any vector."""
    has = np.ones(2, bool)
    assert find_pairs([one, other], None, ~has, has).score.tolist() == [1.0]
