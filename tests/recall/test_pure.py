"""What recall is made of, without a store."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from consolidator.instants import parse_instant
from consolidator.recall.choosing import Budget, diversified, fitting
from consolidator.recall.index import Index
from consolidator.recall.need import no_need
from consolidator.recall.scoring import USUAL, together
from consolidator.recall.spreading import MOST_LINKS, Link, activations
from consolidator.recall.stretches import MOST_ROWS, stretches_of
from consolidator.recall.terms import forms, marked, names_in, terms
from consolidator.recall.times import HALVED_AFTER, nearness, times_in

NOW = parse_instant("2026-05-20T12:00:00Z")
HOUR = 3_600_000_000


@pytest.mark.parametrize(
    "query",
    ["", "hi", "Hello there!", "ok", "thanks a lot", "👍", "🎉🎉", "/clear", "/help me", "你好", "好", "ありがとう"],
)
def test_needs_no_memory(query: str) -> None:
    """Greetings, answers, emoji, commands and next to nothing need no memory."""
    assert no_need(query)


@pytest.mark.parametrize(
    "query", ["Bob", "生日", "hello, where is my car?", "/usr/bin is where?", "ok, last time?", "上次"]
)
def test_needs_memory(query: str) -> None:
    """A question does; Chinese and Japanese ask with fewer letters; "last time" always asks."""
    assert no_need(query) is None


def test_terms() -> None:
    """Endings and stop words do not count; a stretch without spaces is cut in pairs."""
    assert terms("She painted the classes") == terms("paints class")
    assert terms("誕生日") == ["誕生", "生日"]
    assert names_in("Where did Ada go with O'Neil?") == ["ada", "o"]


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("where is the car", "where is the car?"),
        ("Where is the car ", "Where is the car?"),
        ("Where is the car?", "Where is the car?"),
        ("the car's place", "the car's place"),
        ("车在哪里", "车在哪里"),
        ("", ""),
    ],
)
def test_marked(typed: str, read: str) -> None:
    """A question is read as one though its mark was left out; what asks nothing is read as it is."""
    assert marked(typed) == read


@given(st.text(max_size=80))
def test_any_text(text: str) -> None:
    """Every text can be cut and asked."""
    assert all(terms(text))
    no_need(text)
    assert marked(text) in (text, text.strip() + "?")
    times_in(text, now=NOW, zone="UTC")


@pytest.mark.parametrize(
    ("question", "said", "held"),
    [
        ("What happened in March?", "2025-03-09T10:00:00Z", True),
        ("What happened in March 2026?", "2025-03-09T10:00:00Z", False),
        ("What may she like?", "2025-05-09T10:00:00Z", False),
        ("what happened in march?", "2025-03-09T10:00:00Z", True),
        ("did they march on?", "2025-03-09T10:00:00Z", False),
        ("what was on 3 june 2024?", "2024-06-03T10:00:00Z", True),
        ("What did Jan say?", "2025-01-09T10:00:00Z", False),
        ("What was it on 2025-05-09?", "2025-05-09T23:00:00Z", True),
        ("What was it on 2025-05-09?", "2025-05-10T01:00:00Z", False),
        ("What did she begin on 3 June, 2024?", "2024-06-03T10:00:00Z", True),
        ("What did she begin on 3 June, 2024?", "2024-07-03T10:00:00Z", False),
        ("What was said on Aug 15th?", "2023-08-15T10:00:00Z", True),
        ("What was said on December 1,2023?", "2023-12-01T10:00:00Z", True),
        ("What was there on 31 June 2024?", "2024-06-30T10:00:00Z", False),
        ("Was war am 3. März 2024?", "2024-03-03T10:00:00Z", True),
        ("Was war am 3.3.2024?", "2024-03-03T10:00:00Z", True),
        ("2024年3月3日去了哪里?", "2024-03-03T10:00:00Z", True),
        ("2024年3月に何をした?", "2024-03-20T10:00:00Z", True),
        ("昨日は何をした?", "2026-05-19T10:00:00Z", True),
        ("Who came in 2024?", "2024-12-31T10:00:00Z", True),
        ("What did I say yesterday?", "2026-05-19T10:00:00Z", True),
        ("What did I say yesterday?", "2026-05-20T10:00:00Z", False),
        ("What did I say two weeks ago?", "2026-05-06T10:00:00Z", True),
        ("What was last week?", "2026-05-12T10:00:00Z", True),
        ("And last year?", "2025-01-01T00:00:00Z", True),
    ],
)
def test_times(question: str, said: str, held: bool) -> None:
    """A time in a question is that of what was said then."""
    times = times_in(question, now=NOW, zone="UTC")
    near = nearness(times, np.array([parse_instant(said)]), zone="UTC")
    assert (near == 1).tolist() == [held]


def test_near_a_time() -> None:
    """What was said before or after a named time is the nearer the more it counts, whichever of several is nearest."""
    times = times_in("What was on 2026-05-10, in 2024 and in May 2024?", now=NOW, zone="UTC")
    after = parse_instant("2026-05-11T00:00:00Z") - 1
    before = parse_instant("2026-05-10T00:00:00Z")
    later = parse_instant("2025-01-01T00:00:00Z") - 1
    said = np.array([after, after + HALVED_AFTER, before - HALVED_AFTER, after + 2 * HALVED_AFTER, later, 0])
    assert nearness(times, said, zone="UTC").tolist() == pytest.approx([1, 0.5, 0.5, 0.25, 1, 0])


def test_stretches() -> None:
    """What was said together shares in its best; an hour's silence ends it, in whatever order it came."""
    index = Index()
    index.add([1, 2, 3, 4], ["a", "b", "c", "d"], [9 * HOUR, 0, HOUR, 9 * HOUR + 1])
    stretches = index.stretches()
    assert stretches[1] == stretches[2] != stretches[0] == stretches[3]
    scores = together(np.array([0, 0, 1, 0], np.float32), stretches, USUAL)
    assert scores.tolist() == pytest.approx([0, USUAL.stretch, 1 + USUAL.stretch, 0])


@given(st.lists(st.integers(0, 3), max_size=80))
def test_long_stretches(gaps: list[int]) -> None:
    """No stretch has more rows than it may, each is a run in order of time, and a silence is in none."""
    said_at = np.cumsum(np.array(gaps, np.int64) // 3 * 2 * HOUR)
    found = stretches_of(said_at)
    assert len(found) == len(gaps)
    assert (np.diff(found) >= 0).all()
    assert (np.diff(found)[np.diff(said_at) > HOUR] > 0).all()
    sizes = np.unique(found, return_counts=True)[1]
    assert sizes.max(initial=0) <= MOST_ROWS
    if not any(gap == 3 for gap in gaps[1:]) and len(gaps):
        assert sizes.max() - sizes.min() <= 1


def test_a_long_text_does_not_win_by_length() -> None:
    """Of two texts with the same word the shorter scores higher."""
    index = Index()
    index.add([1, 2], ["tea house", "tea " + "garden letter river " * 20], [0, 0])
    scores, _ = index.words(terms("tea"))
    assert scores[0] > scores[1] > 0


@given(st.integers(1, 40), st.integers(0, 2**32 - 1))
def test_vectors_in_parts(count: int, seed: int) -> None:
    """Meaning is near the same whether vectors came at once or one by one."""
    rng = np.random.default_rng(seed)
    vectors = rng.standard_normal((count, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    keys = np.arange(count)
    whole, parted = Index(8), Index(8)
    for index in (whole, parted):
        index.add(keys.tolist(), ["x"] * count, [0] * count)
    whole.add_vectors(keys, vectors)
    for key in rng.permutation(count):
        parted.add_vectors(keys[[key]], vectors[[key]])
    assert np.allclose(whole.meaning(vectors[0]), parted.meaning(vectors[0]), atol=0.1)
    assert np.array_equal(whole.vectors(keys), parted.vectors(keys))
    assert whole.meaning(vectors[0]).argmax() == 0
    assert np.allclose(whole.meaning_of(keys, vectors[0]), whole.meaning(vectors[0]), atol=1e-5)


@given(st.lists(st.text("ab ", min_size=1, max_size=30)), st.integers(1, 9), st.integers(0, 30), st.integers(0, 30))
def test_budget(contents: list[str], limit: int, words: int, tokens: int) -> None:
    """What is given fits every budget, in order; what is left out would not have fitted."""
    chosen = fitting(contents, Budget(limit, words, tokens))
    assert chosen == sorted(chosen)
    assert len(chosen) <= limit
    assert sum(len(contents[place].split()) for place in chosen) <= words
    assert sum(-(-len(contents[place].encode()) // 4) for place in chosen) <= tokens


def test_near_identical() -> None:
    """Of two that say nearly the same the second steps back behind what says something else."""
    vectors = np.array([[1, 0], [0.995, 0.0999], [0, 1]], np.float32)
    order = diversified(np.array([0.9, 0.89, 0.8]), vectors, most=3)
    assert [place for place, _ in order] == [0, 2, 1]
    assert [score for _, score in order] == sorted((score for _, score in order), reverse=True)


def test_spreading() -> None:
    """Only strong seeds pass something on, over their strongest links; several paths add up without exceeding 1."""
    links = [Link(1, 10, 0.5), Link(2, 10, 0.5), Link(1, 11, 0.1), Link(3, 12, 0.9)]
    found = activations({1: 0.5, 2: 0.5, 3: 0.2}, links)
    assert found == {10: pytest.approx(1 - 0.85 * 0.85)}
    many = activations({1: 1.0}, [Link(1, other, 0.5 + other / 100) for other in range(10, 20)])
    assert sorted(many) == list(range(20 - MOST_LINKS, 20))


@pytest.mark.parametrize(
    "said",
    ["painted", "paints", "painting", "parties", "party", "stopped", "liked", "like", "glasses", "likely", "car"],
)
def test_forms(said: str) -> None:
    """Every form of a word is among those of its term."""
    (term,) = terms(said)
    assert said in forms(term)
    assert {terms(form)[0] for form in forms(term)} == {term}
