"""Clusters: what is put together is alike throughout, small, never judged before, and as much as may be."""

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from consolidator.merging.candidates import Pairs, find_pairs, likeness_of
from consolidator.merging.clusters import FLOOR, MOST_MEMBERS, find_clusters

Scores = dict[tuple[int, int], float]
Clusters = list[tuple[int, ...]]

COUNT = 14
EVERY_PAIR = list(combinations(range(COUNT), 2))

SCORES = st.lists(
    st.sampled_from([0.1, 0.39, 0.4, 0.45, 0.5, 0.6, 0.8, 1.0]), min_size=len(EVERY_PAIR), max_size=len(EVERY_PAIR)
).map(lambda values: dict(zip(EVERY_PAIR, values, strict=True)))
APART = st.sets(st.sampled_from(EVERY_PAIR), max_size=12)


def clusters_of(scores: Scores, apart: set[tuple[int, int]], ids: list[str] | None = None) -> Clusters:
    likely = [(a, b, score) for (a, b), score in scores.items() if score >= 0.5]
    a, b, score = (np.array(column) for column in zip(*likely, strict=True)) if likely else (np.empty(0, int),) * 3
    pairs = Pairs(a, b, score, np.zeros(score.size), np.zeros(score.size))
    names = ids or [chr(97 + place) for place in range(COUNT)]
    return find_clusters(names, pairs, apart, lambda one, other: scores[one, other] / 0.5)


@given(SCORES, APART)
def test_no_cluster_holds_what_it_must_not(scores: Scores, apart: set[tuple[int, int]]) -> None:
    """Two to seven members, each in one cluster, all alike from the floor on, none judged before."""
    clusters = clusters_of(scores, apart)
    members = [member for cluster in clusters for member in cluster]
    assert len(members) == len(set(members))
    for cluster in clusters:
        assert 2 <= len(cluster) <= MOST_MEMBERS
        for pair in combinations(sorted(cluster), 2):
            assert scores[pair] / 0.5 >= FLOOR
            assert pair not in apart


@given(SCORES, APART)
def test_what_may_be_together_is(scores: Scores, apart: set[tuple[int, int]]) -> None:
    """Two that are candidates are parted only where their clusters could not be one."""
    clusters = clusters_of(scores, apart)
    home = {member: cluster for cluster in clusters for member in cluster}
    for (a, b), score in scores.items():
        one, other = home.get(a, (a,)), home.get(b, (b,))
        if score >= 0.5 and one != other and len(one) + len(other) <= MOST_MEMBERS:
            across = [(min(pair), max(pair)) for pair in [(c, d) for c in one for d in other]]
            assert any(pair in apart or scores[pair] / 0.5 < FLOOR for pair in across)


@given(SCORES, APART)
def test_every_cluster_hangs_together(scores: Scores, apart: set[tuple[int, int]]) -> None:
    """Its members are connected by candidates."""
    for cluster in clusters_of(scores, apart):
        reached = {cluster[0]}
        for _ in cluster:
            reached |= {d for c in reached for d in cluster if scores.get((min(c, d), max(c, d)), 0) >= 0.5}
        assert reached == set(cluster)


@given(SCORES, APART, st.permutations(range(COUNT)))
def test_clusters_do_not_depend_on_the_order_of_rows(
    scores: Scores, apart: set[tuple[int, int]], order: list[int]
) -> None:
    """Equal scores are taken in the order of the ids."""
    there = clusters_of(scores, apart)
    moved = {(min(pair), max(pair)): score for (a, b), score in scores.items() for pair in [(order[a], order[b])]}
    moved = dict(sorted(moved.items()))
    moved_apart = {(min(order[a], order[b]), max(order[a], order[b])) for a, b in apart}
    ids = [""] * COUNT
    for place, target in enumerate(order):
        ids[target] = chr(97 + place)
    here = clusters_of(moved, moved_apart, ids)
    assert [[chr(97 + member) for member in cluster] for cluster in there] == [
        [ids[member] for member in cluster] for cluster in here
    ]


def test_a_chain_does_not_join_strangers() -> None:
    """Each like the next, the ends unlike: the strongest pair stays, what is unlike one of it does not join."""
    scores: Scores = dict.fromkeys(EVERY_PAIR, 0.1) | {(a, a + 1): 0.5 + a / 100 for a in range(COUNT - 1)}
    assert clusters_of(scores, set()) == [(a, a + 1) for a in range(COUNT - 2, -1, -2)]


def test_equals_fill_their_clusters() -> None:
    """Of fourteen that are all the same, seven and seven."""
    assert [len(cluster) for cluster in clusters_of(dict.fromkeys(EVERY_PAIR, 1.0), set())] == [7, 7]


def test_what_was_judged_is_not_asked_again() -> None:
    """A cluster judged as a whole does not come back, nor any two of it."""
    scores: Scores = dict.fromkeys(EVERY_PAIR, 0.1) | dict.fromkeys([(0, 1), (0, 2), (1, 2)], 0.9)
    assert clusters_of(scores, set()) == [(0, 1, 2)]
    assert clusters_of(scores, {(0, 1), (0, 2), (1, 2)}) == []


def test_thousands_of_equals_all_find_a_cluster() -> None:
    """Of 3,000 texts that differ in punctuation alone nearly all are put together, seven by seven."""
    contents = [f"Ada likes tea{'!' * place}" for place in range(3000)]
    has = np.ones(3000, bool)
    pairs = find_pairs(contents, None, ~has, has)
    clusters = find_clusters(contents, pairs, set(), likeness_of(contents, None, ~has))
    assert sum(map(len, clusters)) >= 2990


SIX = {
    "peanuts": [
        "Ada is allergic to peanuts",
        "Ada has a peanut allergy",
        "Peanuts make Ada ill; she is allergic to them",
        "Ada can't eat peanuts because of an allergy",
        "Ada must avoid peanuts due to her allergy",
        "An allergy stops Ada from eating peanuts",
    ],
    "editor": [
        "User prefers dark mode in the editor",
        "The user likes dark mode in their editor",
        "The user's editor preference is dark mode",
        "Dark mode is what the user prefers in the editor",
        "User wants the editor in dark mode",
        "The user always sets the editor to dark mode",
    ],
    "database": [
        "The production database runs Postgres 16",
        "Postgres 16 is used for the production database",
        "Our production DB is Postgres 16",
        "In production we run Postgres 16 as the database",
        "The prod database is PostgreSQL 16",
        "Production uses a Postgres 16 database",
    ],
    "move": [
        "Ben moved to Lisbon in March",
        "In March, Ben relocated to Lisbon",
        "Ben has been living in Lisbon since March",
        "Ben's move to Lisbon happened in March",
        "Ben left for Lisbon in March to live there",
        "It was March when Ben moved to Lisbon",
    ],
}
DAILY = [
    "Ann drank coffee on Monday",
    "Bob drank tea on Monday",
    "Carl went running on Tuesday",
    "Dora went swimming on Tuesday",
    "Emil called his mother on Wednesday",
    "Fay called her brother on Thursday",
    "Ann had lunch with Bob",
    "Carl had dinner with Dora",
    "Emil bought a bicycle",
    "Fay bought a car",
]


@pytest.fixture(scope="module")
def known() -> dict[str, Any]:
    """The vectors of all these texts, by the local model."""
    from consolidator.embedding.minilm import MiniLM

    texts = [text for six in SIX.values() for text in six] + DAILY
    return dict(zip(texts, MiniLM().passages(texts), strict=True))


def in_one_night(contents: list[str], known: dict[str, Any]) -> list[set[str]]:
    vectors, has = np.array([known[text] for text in contents]), np.ones(len(contents), bool)
    pairs = find_pairs(contents, vectors, has, has)
    clusters = find_clusters(contents, pairs, set(), likeness_of(contents, vectors, has))
    return [{contents[member] for member in cluster} for cluster in clusters]


def test_six_wordings_of_one_fact_are_one_cluster(known: dict[str, Any]) -> None:
    """Each fact's six come together in one night, also with other facts around them."""
    clusters = in_one_night([text for six in SIX.values() for text in six] + DAILY, known)
    assert sorted(map(sorted, clusters)) == sorted(map(sorted, SIX.values()))


def test_daily_facts_of_different_people_do_not_chain(known: dict[str, Any]) -> None:
    """Sentences of one make about different people and days stay apart."""
    assert in_one_night(DAILY, known) == []
