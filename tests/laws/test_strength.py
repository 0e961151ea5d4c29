"""Strength: a pure function of a memory's base, its ratings and the clock."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from consolidator.instants import NIGHT
from consolidator.laws.clock import CONSOLIDATED, WORKING, Clock, Rates, observe
from consolidator.laws.strength import (
    CONFIDENCE,
    EXPLICIT,
    LEARNING_RATE,
    effective,
    mode_factor,
    replay,
    strength_at,
)

END = 90 * NIGHT
CLOCK = observe(Clock(), [0, 5 * NIGHT, 30 * NIGHT, 33 * NIGHT, 60 * NIGHT], rates=Rates(), now=END)
TIMES = st.integers(0, 89).map(lambda night: night * NIGHT) | st.integers(0, END)
STRENGTHS = st.floats(0, 1)
AMOUNTS = st.floats(-0.7, 0.7)


@dataclass(frozen=True)
class Rating:
    memory: int
    message: str
    evidence: str
    confidence: float
    at: int
    row: int


ratings = st.lists(
    st.builds(
        Rating,
        st.integers(0, 2),
        st.sampled_from(["m1", "m10", "m2", "消息", "🌿"]),
        st.sampled_from(sorted(CONFIDENCE)),
        st.sampled_from([0.15, 0.3, 0.6, -0.5]),
        st.integers(0, 5).map(lambda night: night * NIGHT),
        st.just(0),
    ),
    max_size=14,
).map(lambda given: [replace(rating, row=number + 1) for number, rating in enumerate(given)])


def counted(given: Sequence[Rating]) -> list[tuple[Rating, int]]:
    """The ratings that count, and when."""
    chosen, at = effective(
        [one.memory for one in given],
        [one.message for one in given],
        [one.evidence in EXPLICIT for one in given],
        [one.confidence for one in given],
        [one.at for one in given],
        [one.row for one in given],
    )
    return [(given[index], when) for index, when in zip(chosen.tolist(), at.tolist(), strict=True)]


def read_slowly(given: Sequence[Rating]) -> list[tuple[Rating, int]]:
    """Group by group, as the law says it."""
    groups: dict[tuple[int, str], list[Rating]] = {}
    for rating in given:
        groups.setdefault((rating.memory, rating.message), []).append(rating)
    found = []
    for group in groups.values():
        told = [one for one in group if one.evidence in EXPLICIT]
        if told:
            counts = max(told, key=lambda one: (one.at, one.row))
        else:
            counts = max(group, key=lambda one: (one.confidence, -one.row))
        found.append((counts, min(one.at for one in group)))
    return sorted(found, key=lambda one: (one[0].memory, one[1], one[0].message))


def headed(
    strength: float, since: int, events: Sequence[tuple[int, float]], *, kind: int = WORKING, clock: Clock = CLOCK
) -> tuple[float, int]:
    """The head of one memory after its events."""
    values, at = replay(
        clock, [strength], [since], kind, [0] * len(events), [at for at, _ in events], [amount for _, amount in events]
    )
    return float(values[0]), int(at[0])


events = st.lists(st.tuples(TIMES, AMOUNTS), max_size=12).map(lambda given: sorted(given, key=lambda one: one[0]))


def test_the_numbers_of_the_law() -> None:
    """Confidences, the learning rate and which ratings are explicit are those of the design."""
    assert CONFIDENCE == {
        "auto_injected": 0.15,
        "tool_search_returned": 0.3,
        "tool_get": 0.6,
        "agent_feedback_neutral": 0.4,
        "agent_feedback_positive": 0.95,
        "agent_feedback_negative": -0.5,
    }
    assert LEARNING_RATE == 0.7
    assert {"agent_feedback_neutral", "agent_feedback_positive", "agent_feedback_negative"} == EXPLICIT


@pytest.mark.parametrize(
    ("modes", "factor"),
    [
        (set(), 1.0),
        ({None}, 1.0),
        ({"hybrid"}, 1.0),
        ({"bm25_only"}, 0.5),
        ({"bm25_only", None}, 0.5),
        ({"bm25_only", "hybrid"}, 1.0),
        ({"bm25_only", "hybrid", None}, 1.0),
    ],
)
def test_words_alone_count_half(modes: set[str | None], factor: float) -> None:
    """A rating counts half where the memory was found in that turn by words and never by meaning too."""
    assert mode_factor(modes) == factor


@given(given=ratings)
def test_one_rating_a_message_counts(given: list[Rating]) -> None:
    """Of a message's ratings of a memory the latest explicit one counts, else the most confident, at the earliest."""
    assert counted(given) == read_slowly(given)


@given(given=ratings, chance=st.randoms(use_true_random=False))
def test_the_order_of_rows_counts_for_nothing(given: list[Rating], chance: object) -> None:
    """Shuffled rows give the same ratings in the same order."""
    shuffled = list(given)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    assert counted(shuffled) == counted(given)


def test_the_latest_correction_counts_from_the_first_moment() -> None:
    """A correction days later counts in place of what it corrects, and when that happened; ties go to the later row."""
    implicit = Rating(0, "m", "tool_get", 0.6, NIGHT, 1)
    good = Rating(0, "m", "agent_feedback_positive", 0.95, 3 * NIGHT, 2)
    bad = Rating(0, "m", "agent_feedback_negative", -0.5, 3 * NIGHT, 3)
    early = Rating(0, "m", "agent_feedback_neutral", 0.4, 2 * NIGHT, 4)
    for rows in permutations([implicit, good, bad, early]):
        assert counted(rows) == [(bad, NIGHT)]
    assert counted([implicit, good, early]) == [(good, NIGHT)]
    assert counted([implicit, replace(implicit, evidence="auto_injected", confidence=0.15, at=0)]) == [(implicit, 0)]
    assert counted([implicit, replace(bad, message="n")]) == [(implicit, NIGHT), (replace(bad, message="n"), 3 * NIGHT)]


def test_ratings_of_one_moment_act_in_order_of_message() -> None:
    """Events of one time act in the order of their messages, which matters where a strength is clamped."""
    down = Rating(0, "a", "agent_feedback_negative", -0.5, NIGHT, 2)
    up = Rating(0, "b", "agent_feedback_positive", 0.95, NIGHT, 1)
    assert [one.message for one, _ in counted([up, down])] == ["a", "b"]
    assert [one.message for one, _ in counted([replace(up, message="A"), down])] == ["A", "a"]
    at = 5 * NIGHT
    assert headed(0.1, at, [(at, -0.35), (at, 0.665)])[0] == pytest.approx(0.665)
    assert headed(0.1, at, [(at, 0.665), (at, -0.35)])[0] == pytest.approx(0.415)


@given(strength=STRENGTHS, since=TIMES, given=events, at=TIMES, kind=st.sampled_from([WORKING, CONSOLIDATED]))
def test_strength_stays_between_0_and_1(
    strength: float, since: int, given: list[tuple[int, float]], at: int, kind: int
) -> None:
    """A strength is between 0 and 1 after any events and at any moment."""
    value, head = headed(strength, since, given, kind=kind)
    assert 0 <= value <= 1
    assert 0 <= float(strength_at(CLOCK, value, head, at, kind)) <= 1


@given(strength=STRENGTHS, since=TIMES, at=st.lists(TIMES, min_size=2, max_size=9), kind=st.sampled_from([0, 1]))
def test_without_events_strength_never_rises(strength: float, since: int, at: list[int], kind: int) -> None:
    """Without events a strength falls or rests, and before its own time it is as stored."""
    at.sort()
    found = strength_at(CLOCK, strength, since, at, kind)
    assert (np.diff(found) <= 0).all()
    assert found[np.array(at) <= since].tolist() == [strength for one in at if one <= since]
    moved = [float(strength_at(CLOCK, value, max(one, since), END, kind)) for value, one in zip(found, at, strict=True)]
    assert moved == pytest.approx([float(strength_at(CLOCK, strength, since, END, kind))] * len(at), abs=1e-12)


def test_strength_is_the_law() -> None:
    """strength(t) = strength * 2 ** -(age(t) - age(strength_at)): half after 7.03 nights, nothing lost in a pause."""
    clock = observe(Clock(), [0], rates=Rates(), now=0)
    assert float(strength_at(clock, 1, 0, NIGHT, WORKING)) == pytest.approx(0.906)
    assert float(strength_at(clock, 1, 0, 2 * NIGHT, CONSOLIDATED)) == pytest.approx(0.977**2)
    assert float(strength_at(clock, 1, 0, 90 * NIGHT, WORKING)) == pytest.approx(0.906**7)
    assert headed(0.5, 0, [(2 * NIGHT, 0.7 * 0.6)], clock=clock)[0] == pytest.approx(0.5 * 0.906**2 + 0.42)


@given(strength=STRENGTHS, since=TIMES, given=events, part=st.integers(0, 12), kind=st.sampled_from([0, 1]))
def test_replay_in_halves_is_replay_at_once(
    strength: float, since: int, given: list[tuple[int, float]], part: int, kind: int
) -> None:
    """Replaying the first events, and the others from there, gives the head of replaying all."""
    half = headed(strength, since, given[:part], kind=kind)
    whole, parts = headed(strength, since, given, kind=kind), headed(*half, given[part:], kind=kind)
    assert parts == (pytest.approx(whole[0], abs=1e-12), whole[1])


@given(strength=STRENGTHS, since=TIMES, given=events)
def test_an_event_before_the_base_acts_at_the_base(strength: float, since: int, given: list[tuple[int, float]]) -> None:
    """Events earlier than the base act at the base, in their order; without events the head is the base."""
    clamped = [(max(at, since), amount) for at, amount in given]
    assert headed(strength, since, given) == headed(strength, since, clamped)
    assert headed(strength, since, []) == (strength, since)


@given(
    memories=st.lists(st.tuples(STRENGTHS, TIMES, st.sampled_from([WORKING, CONSOLIDATED]), events), max_size=6),
)
def test_many_are_replayed_as_one_by_one(memories: list[tuple[float, int, int, list[tuple[int, float]]]]) -> None:
    """The heads of many memories are the heads of each alone, and of what a slow fold gives."""
    flat = [(number, at, amount) for number, (_, _, _, given) in enumerate(memories) for at, amount in given]
    strength, head = replay(
        CLOCK,
        [one[0] for one in memories],
        [one[1] for one in memories],
        [one[2] for one in memories],
        [number for number, _, _ in flat],
        [at for _, at, _ in flat],
        [amount for _, _, amount in flat],
    )
    for number, (value, since, kind, told) in enumerate(memories):
        assert (strength[number], head[number]) == headed(value, since, told, kind=kind)
        for at, amount in told:
            moment = max(at, since)
            passed = CLOCK.age(moment, kind) - CLOCK.age(since, kind)
            value, since = min(1.0, max(0.0, value * 2.0**-passed + amount)), moment
        assert (strength[number], head[number]) == (pytest.approx(value, abs=1e-12), since)
