"""Pace: how fast a memory ages on its clock, by its importance."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from consolidator.instants import NIGHT
from consolidator.laws.clock import (
    CONSOLIDATED,
    NEVER,
    WORKING,
    Clock,
    Rates,
    from_segments,
    observe,
    rewritten,
    turned,
)
from consolidator.laws.pace import LAWS, OFF, USUAL_HALF_LIFE, Ageing, paces
from consolidator.laws.strength import replay, strength_at
from consolidator.settings.model import Settings
from tests.oracle import OracleClock, memory_of, pace

END = 90 * NIGHT
TIMES = st.integers(0, 89).map(lambda night: night * NIGHT) | st.integers(0, END)
RATIOS = st.floats(0, 1)
LAW = st.sampled_from([OFF, *LAWS])
TYPES = st.sampled_from(["fact", "observation", "hypothesis", "procedure", "pattern", "другое", ""])
KINDS = st.sampled_from([WORKING, CONSOLIDATED])
AGEINGS = st.lists(st.tuples(KINDS, st.none() | RATIOS, TYPES), min_size=1, max_size=6).map(
    lambda given: Ageing(*zip(*given, strict=True))
)
PARTS = st.lists(st.tuples(st.lists(TIMES, max_size=3), LAW, TIMES), min_size=1, max_size=6)


def one(kind: int, importance: float, called: str = "fact") -> Ageing:
    return Ageing([kind], [importance], [called])


def heard(parts: list[tuple[list[int], str, int]]) -> Clock:
    """A clock that has heard of activity, and of laws, in parts."""
    clock = Clock()
    for activity, law, now in parts:
        clock = observe(clock, activity, rates=Rates(by_importance=law), now=now)
    return clock


def of_law(*laws: tuple[int, str], activity: range = range(0, 90 * NIGHT + 1, 5 * NIGHT)) -> Clock:
    """A clock without a pause, under laws from when on."""
    clock = Clock()
    for since, law in laws:
        clock = observe(clock, [at for at in activity if at <= since], rates=Rates(by_importance=law), now=since)
    return observe(clock, list(activity), rates=Rates(by_importance=laws[-1][1]), now=END)


@pytest.mark.parametrize(
    ("law", "importance", "called", "nights"),
    [
        ("memory-new", 0.5, "observation", 13.94),
        ("memory-new", 0.0, "fact", 1.58),
        ("memory-new", 1.0, "fact", 57.68),
        ("memory-new", 1.0, "pattern", 86.53),
        ("memory-new", 0.9, "of no kind of theirs", 50.0),
        ("memory-lancedb-pro", 0.0, "fact", 30.0),
        ("memory-lancedb-pro", 0.7, "fact", 85.73),
        ("memory-lancedb-pro", 1.0, "pattern", 134.45),
        ("twofold", 0.0, "fact", USUAL_HALF_LIFE / 2),
        ("twofold", 0.5, "fact", USUAL_HALF_LIFE),
        ("twofold", 1.0, "fact", 2 * USUAL_HALF_LIFE),
    ],
)
def test_half_is_left_after_the_half_life_that_the_law_tells(
    law: str,
    importance: float,
    called: str,
    nights: float,
) -> None:
    """Of a working memory at the usual rate; of a consolidated one after as many times more as without a law."""
    clock = observe(Clock(), list(range(0, 200 * NIGHT, NIGHT)), rates=Rates(by_importance=law), now=200 * NIGHT)
    at = round(nights * NIGHT)
    assert strength_at(clock, [1.0], [0], at, one(WORKING, importance, called)) == pytest.approx(0.5, abs=1e-3)
    slower = Rates().slopes[CONSOLIDATED] / Rates().slopes[WORKING]
    assert strength_at(clock, [1.0], [0], at, one(CONSOLIDATED, importance, called)) == pytest.approx(
        0.5**slower, abs=1e-3
    )


def test_the_usual_half_life_is_that_of_the_usual_rate() -> None:
    """So that the half-lives of the laws are nights; and the settings offer these laws and no others."""
    assert 1 / Rates().slopes[WORKING] == USUAL_HALF_LIFE
    offered = Settings.model_fields["rates"].annotation.model_fields["by_importance"].annotation  # type: ignore[union-attr]
    assert set(offered.__args__) == {OFF, *LAWS}  # type: ignore[union-attr]


@given(law=LAW, kind=TYPES, importance=st.lists(RATIOS, min_size=2, unique=True).map(sorted))
def test_what_matters_more_fades_no_faster(law: str, kind: str, importance: list[float]) -> None:
    """The pace is above 0 and never rises with the importance; beyond 0 and 1 it is that of 0 and 1."""
    pace = paces(law, Ageing([WORKING] * len(importance), importance, [kind] * len(importance)))
    assert (pace > 0).all()
    assert (np.diff(pace) <= 0).all()
    beyond = paces(law, Ageing([WORKING] * 4, [-3.0, 0.0, 1.0, 7.5], [kind] * 4))
    assert (beyond[0], beyond[3]) == (beyond[1], beyond[2])


@given(parts=PARTS, at=st.lists(TIMES, min_size=1, max_size=6), kind=KINDS, many=TYPES)
def test_where_the_importance_is_not_known_nothing_changes(
    parts: list[tuple[list[int], str, int]], at: list[int], kind: int, many: str
) -> None:
    """Bit by bit what it was without a law, whichever laws came and went; and for all where none ever was."""
    clock = heard(parts)
    unknown = Ageing([kind] * len(at), [None] * len(at), [many] * len(at))
    assert (clock.lived(at, unknown) == clock.age(at, kind)).all()
    assert (clock.age_at(clock.age(at, kind), unknown) == clock.age(at, kind)).all()
    plain = heard([(activity, OFF, now) for activity, _, now in parts])
    known = Ageing([kind] * len(at), [0.9] * len(at), [many] * len(at))
    assert (plain.lived(at, known) == plain.age(at, kind)).all()
    assert plain.laws == ()


@given(parts=PARTS, ageing=AGEINGS, chance=st.data())
def test_lived_through_is_what_one_reading_of_the_law_has(
    parts: list[tuple[list[int], str, int]], ageing: Ageing, chance: st.DataObject
) -> None:
    """Segment by segment: the clock's half-lives at the pace of the segment's law. And `age_at` is the inverse."""
    clock = heard(parts)
    since, at = (np.array(chance.draw(st.lists(TIMES, min_size=len(ageing), max_size=len(ageing)))) for _ in range(2))
    found = clock.lived(at, ageing) - clock.lived(since, ageing)
    segments = clock.segments()
    for i, (begins, ends) in enumerate(zip(since.tolist(), at.tolist(), strict=True)):
        kind, importance = int(ageing.kind[i]), float(ageing.importance[i])
        sign, low, high = (1, begins, ends) if begins <= ends else (-1, ends, begins)
        memory = memory_of(None if np.isnan(importance) else importance, ageing.types[i], consolidated=bool(kind))
        total = 0.0
        for segment, (start, end) in zip(segments, pairwise([*(one.from_at for one in segments), NEVER]), strict=True):
            start = -NEVER if segment is segments[0] else start
            nights = max(0, min(end, high) - max(start, low)) / NIGHT
            slope = 0.0 if segment.paused else segment.slopes[kind]
            total += sign * nights * slope * pace((0, 0, 0, segment.law), memory)
        assert found[i] == pytest.approx(total, abs=1e-9)
    assert clock.age_at(clock.lived(at, ageing), ageing) == pytest.approx(clock.age(at, ageing.kind), abs=1e-9)


@given(parts=PARTS, ageing=AGEINGS, at=TIMES, chance=st.data())
def test_replaying_in_two_halves_equals_replaying_at_once(
    parts: list[tuple[list[int], str, int]], ageing: Ageing, at: int, chance: st.DataObject
) -> None:
    """Wherever the events are parted, whatever the laws."""
    clock = heard(parts)
    count = len(ageing)
    events = sorted(
        chance.draw(st.lists(st.tuples(st.integers(0, count - 1), TIMES, st.floats(-0.7, 0.7)), max_size=12))
    )
    base = np.array(chance.draw(st.lists(RATIOS, min_size=count, max_size=count)))

    def extended(strength: object, since: object, some: list[tuple[int, int, float]]) -> tuple[object, object]:
        who, when, amount = zip(*some, strict=True) if some else ((), (), ())
        return replay(clock, strength, since, ageing, who, when, amount)  # type: ignore[arg-type]

    whole, last = extended(base, np.zeros(count, np.int64), events)
    head = extended(base, np.zeros(count, np.int64), [event for event in events if event[1] <= at])
    halves, also_last = extended(*head, [event for event in events if event[1] > at])
    assert halves == pytest.approx(whole, abs=1e-9)
    assert (last == also_last).all()  # type: ignore[attr-defined]


@pytest.mark.parametrize("law", [*LAWS])
def test_nothing_ages_in_a_pause(law: str) -> None:
    """Whatever it is worth: a pause stops a memory of any importance."""
    clock = observe(Clock(), [0, 40 * NIGHT], rates=Rates(by_importance=law), now=40 * NIGHT)
    lived = [clock.lived(at * NIGHT, one(WORKING, 0.1)) for at in (7, 20, 40)]
    assert lived[0] == lived[1] == lived[2] > 0


@given(first=LAW, second=LAW, ageing=AGEINGS, turn=st.integers(1, 80), at=TIMES)
def test_a_changed_law_holds_from_then_on_and_rewrites_nothing(
    first: str, second: str, ageing: Ageing, turn: int, at: int
) -> None:
    """Up to the turn all is as without it; after it, it grows as it would under the new law alone."""
    turn *= NIGHT
    old, new, clock = of_law((0, first)), of_law((0, second)), of_law((0, first), (turn, second))
    if at <= turn:
        assert clock.lived(at, ageing) == pytest.approx(old.lived(at, ageing), abs=1e-9)
    else:
        grown = clock.lived(at, ageing) - clock.lived(turn, ageing)
        assert grown == pytest.approx(new.lived(at, ageing) - new.lived(turn, ageing), abs=1e-9)


@given(parts=PARTS, chance=st.randoms(use_true_random=False))
def test_rows_tell_the_laws(parts: list[tuple[list[int], str, int]], chance: object) -> None:
    """A clock made of its own rows, in any order, has the same laws, and turns to another from the same night on."""
    clock = heard(parts)
    rows = clock.segments(open_pause=False)
    chance.shuffle(rows)  # type: ignore[attr-defined]
    again = from_segments(rows, epoch=clock.epoch, first=clock.first, last=clock.last)
    assert (again.laws[1:], [law for _, law in again.laws]) == (clock.laws[1:], [law for _, law in clock.laws])
    assert not turned(clock, again)


@given(parts=PARTS, ageing=AGEINGS, at=st.lists(TIMES, min_size=1, max_size=12))
def test_rewritten_and_turned_find_every_change(
    parts: list[tuple[list[int], str, int]], ageing: Ageing, at: list[int]
) -> None:
    """What is lived between two instants that `rewritten` leaves is kept; without `turned`, so is when one fades."""
    clock = heard(parts[:1])
    for activity, law, now in parts[1:]:
        new = observe(clock, activity, rates=Rates(by_importance=law), now=now)
        if clock.first is not None:
            low, high = rewritten(clock, new) or (-NEVER, NEVER)
            kept = [each for each in at if low <= each <= high]
            for since, until in pairwise(sorted(kept)):
                before = clock.lived(until, ageing) - clock.lived(since, ageing)
                assert new.lived(until, ageing) - new.lived(since, ageing) == pytest.approx(before, abs=1e-9)
            if not turned(clock, new):
                for since in kept:
                    fades = [each.age_at(each.lived(since, ageing) + 3.0, ageing) for each in (clock, new)]
                    assert fades[0] == pytest.approx(fades[1], abs=1e-9)
        clock = new


def test_the_oracle_knows_the_laws_of_the_clock() -> None:
    """The second reading has the half-lives as well, from the published formulas."""
    for law in LAWS:
        for importance, kind in [(0.0, "fact"), (0.3, "observation"), (1.0, "pattern")]:
            (found,) = paces(law, one(WORKING, importance, kind))
            assert found == pytest.approx(pace((0.906, 0.977, 0.9, law), memory_of(importance, kind)))
    clock = OracleClock.of([0], [(0, (0.906, 0.977, 0.9, "twofold"))])
    assert clock.lived(7 * NIGHT, memory_of(1.0, "fact")) == pytest.approx(clock.age(7 * NIGHT, WORKING) / 2)
