"""The clocks of a scope: they only go forward, rest while nobody is there, and never change their past."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from consolidator.instants import NIGHT
from consolidator.laws.clock import (
    ASSOCIATION,
    CONSOLIDATED,
    NEVER,
    PAUSE_AFTER,
    WORKING,
    Clock,
    Rates,
    from_segments,
    observe,
    rewritten,
)
from tests.oracle import DAY_RATES, OracleClock

KINDS = (WORKING, CONSOLIDATED, ASSOCIATION)
DAY = Rates()
SLOW = Rates(0.95, 0.99, 0.93)
END = 120 * NIGHT

# Whole nights and their neighbours, so that edges are met, and anything between.
times = st.one_of(
    st.builds(lambda night, near: night * NIGHT + near, st.integers(1, 100), st.integers(-1, 1)),
    st.integers(NIGHT, 100 * NIGHT),
)
lives = st.lists(times, min_size=1, max_size=8)


def heard(*parts: Sequence[int], rates: Rates = DAY, now: int = END) -> Clock:
    """A clock that has heard of activity in parts."""
    clock = Clock()
    for part in parts:
        clock = observe(clock, part, rates=rates, now=now)
    return clock


def ages(clock: Clock, instants: Sequence[int] | np.ndarray) -> np.ndarray:
    """What the three clocks read, float64[n, 3]."""
    return clock.age(np.asarray(instants, np.int64)[:, None], np.arange(3))


def edges(*clocks: Clock, until: int = END) -> np.ndarray:
    """Instants among which the clocks are straight lines, with some beyond."""
    known = {segment.from_at for clock in clocks for segment in clock.segments()}
    return np.array(sorted({at for at in known if at <= until} | {-40 * NIGHT, 0, until}), np.int64)


def differ(one: Clock, other: Clock, *, until: int = END) -> bool:
    """Whether any age at or before `until` differs; a microsecond of the slowest clock is 4e-13."""
    points = edges(one, other, until=until)
    return bool((np.abs(ages(one, points) - ages(other, points)) > 2e-13).any())


def closed(clock: Clock, at: int) -> bool:
    """Whether an instant lies inside a pause that is over."""
    return any(start < at < end for start, end in clock.pauses)


def without_the_paused(parts: Sequence[Sequence[int]]) -> list[list[int]]:
    """The parts but for what lies inside a pause that is closed when it is heard."""
    clock, kept = Clock(), []
    for part in parts:
        kept.append([at for at in part if not closed(clock, at)])
        clock = observe(clock, kept[-1], rates=DAY, now=END)
    return kept


@given(life=lives, at=st.lists(st.integers(-10 * NIGHT, END), min_size=2, max_size=20))
def test_clocks_only_go_forward(life: list[int], at: list[int]) -> None:
    """The three ages never go back, and never faster than their rate."""
    at.sort()
    passed = np.diff(ages(heard(life), at), axis=0)
    fastest = np.diff(at)[:, None] / NIGHT * np.array(DAY.slopes)
    assert (passed >= 0).all()
    assert (passed <= fastest + 1e-9).all()


def test_a_night_leaves_what_the_rates_say() -> None:
    """A night of 86,400 s leaves 0.906, 0.977 and 0.9 of what there was; half-lives are 7.0, 29.8 and 6.6 nights."""
    clock = heard([0])
    left = np.exp2(-np.diff(ages(clock, [0, 86_400_000_000]), axis=0))[0]
    assert left == pytest.approx([0.906, 0.977, 0.9], abs=1e-15)
    assert 1 / np.array(DAY.slopes) == pytest.approx([7.0, 29.8, 6.6], abs=0.05)
    assert heard([0], rates=Rates(1, 1, 1)).age(5 * NIGHT, WORKING) == 0


@given(life=lives, at=st.lists(times, min_size=2, max_size=9))
def test_clocks_are_what_a_slow_reading_says(life: list[int], at: list[int]) -> None:
    """Time passes at the rates but in pauses: from 7 nights after an activity to the next."""
    clock, slow = heard(life), OracleClock.of(life, [(0, DAY_RATES)])
    for kind in KINDS:
        expected = [slow.age(one, kind) - slow.age(at[0], kind) for one in at]
        assert clock.age(at, kind) - clock.age(at[0], kind) == pytest.approx(expected, abs=1e-9)


@given(life=lives, kind=st.sampled_from(KINDS))
def test_a_pause_begins_7_nights_after_the_last_activity(life: list[int], kind: int) -> None:
    """A pause begins exactly 7 nights after an activity and ends with the next: not a microsecond sooner or later."""
    clock = heard(life)
    for earlier, later in pairwise([*sorted(set(life)), NEVER]):
        begins = earlier + PAUSE_AFTER
        if begins < later:
            end = min(later, END + 50 * NIGHT)
            assert clock.age(begins, kind) == clock.age(end, kind)
            assert clock.age(begins, kind) - clock.age(begins - NIGHT, kind) == pytest.approx(DAY.slopes[kind])
            assert clock.age(begins - 1, kind) < clock.age(begins, kind)
        if later < NEVER:
            assert clock.age(later, kind) < clock.age(later + 1, kind)


@given(parts=st.lists(st.lists(times, max_size=4), min_size=1, max_size=5))
def test_hearing_in_parts_is_hearing_at_once(parts: list[list[int]]) -> None:
    """Activity heard of in any order and parts gives the same ages, but for what lies inside a closed pause."""
    parts = without_the_paused(parts)
    whole = sorted(at for part in parts for at in part)
    assume(whole)
    clock, at_once = heard(*parts), heard(whole)
    assert (clock.first, clock.last, clock.pauses) == (at_once.first, at_once.last, at_once.pauses)
    points = edges(clock, at_once)
    assert ages(clock, points) - ages(clock, [0]) == pytest.approx(ages(at_once, points) - ages(at_once, [0]), abs=1e-9)


@given(life=lives, part=st.floats(0, 1, exclude_min=True, exclude_max=True), again=lives)
def test_activity_inside_a_closed_pause_does_not_reopen_it(life: list[int], part: float, again: list[int]) -> None:
    """Activity dated inside a closed pause changes nothing, nor does activity that is known."""
    clock = heard(life)
    inside = [start + round((end - start) * part) for start, end in clock.pauses]
    late = [at for at in inside if closed(clock, at)]
    assert observe(clock, [*late, *life], rates=DAY, now=END) == clock
    assert heard(life, again) == heard(life, again, again)


@given(life=lives, ahead=lives, now=times)
def test_what_is_yet_to_come_waits(life: list[int], ahead: list[int], now: int) -> None:
    """Activity later than now is not heard of: a row dated in the future moves no clock."""
    assert heard([*life, *ahead], now=now) == heard([at for at in [*life, *ahead] if at <= now], now=now)


@given(life=lives, nights=st.lists(times, min_size=1, max_size=5), at=st.lists(times, min_size=1, max_size=9))
def test_a_changed_rate_keeps_the_past(life: list[int], nights: list[int], at: list[int]) -> None:
    """A rate holds from the night that first has it on: every age up to then stays as it was."""
    clock = heard(life)
    changes: list[tuple[float, tuple[float, float, float]]] = [(0, DAY_RATES)]
    for number, night in enumerate(sorted(night for night in nights if night > min(life))):
        rates = (SLOW, DAY)[number % 2]
        new = observe(clock, [], rates=rates, now=night)
        past = [one for one in at if one <= night] + [night]
        assert (ages(new, past) == ages(clock, past)).all()
        changes = [one for one in changes if one[0] < night] + [
            (night, (rates.working, rates.consolidated, rates.association))
        ]
        clock = new
    slow = OracleClock.of(life, changes)
    for kind in KINDS:
        expected = [slow.age(one, kind) - slow.age(life[0], kind) for one in at]
        assert clock.age(at, kind) - clock.age(life[0], kind) == pytest.approx(expected, abs=1e-9)


@given(life=lives, change=times, back=times)
def test_a_clock_that_goes_back_changes_no_rate(life: list[int], change: int, back: int) -> None:
    """A night of before the last change, or of no later than the first activity, brings no other rate."""
    assume(back < change and min(life) < change)
    changed = observe(heard(life), [], rates=SLOW, now=change)
    assert observe(changed, [], rates=Rates(0.5, 0.5, 0.5), now=back) == changed
    assert observe(heard(life), [], rates=SLOW, now=min(life)) == heard(life)


def test_a_rate_changed_back_at_once_leaves_no_trace() -> None:
    """A rate tried and taken back at the same moment is as if it had never been."""
    clock = heard([0])
    tried = observe(clock, [], rates=SLOW, now=3 * NIGHT)
    assert tried != clock
    assert observe(tried, [], rates=DAY, now=3 * NIGHT) == clock


@given(life=lives, before=st.integers(1, 60 * NIGHT))
@example(life=[50 * NIGHT], before=PAUSE_AFTER)
@example(life=[50 * NIGHT], before=PAUSE_AFTER + 1)
def test_what_came_before_the_first_activity_moves_no_later_age(life: list[int], before: int) -> None:
    """Hearing of an earlier first activity changes no age from the old first on, and makes a pause between them."""
    clock = heard(life)
    first = min(life)
    new = observe(clock, [first - before], rates=DAY, now=END)
    later = edges(clock, new)[edges(clock, new) >= first]
    assert ages(new, later) == pytest.approx(ages(clock, later), abs=1e-12)
    nights = min(before, PAUSE_AFTER) / NIGHT
    assert new.age(first, WORKING) - new.age(first - before, WORKING) == pytest.approx(nights * DAY.slopes[WORKING])


@given(life=lives, more=lives, at=times, now=times)
@example(life=[10 * NIGHT, 40 * NIGHT], more=[10 * NIGHT], at=17 * NIGHT, now=60 * NIGHT)
@example(life=[10 * NIGHT, 40 * NIGHT], more=[10 * NIGHT], at=17 * NIGHT, now=17 * NIGHT)
@example(life=[10 * NIGHT], more=[10 * NIGHT], at=20 * NIGHT, now=20 * NIGHT)
@example(life=[10 * NIGHT], more=[10 * NIGHT], at=10 * NIGHT + 1, now=17 * NIGHT + 1)
@example(life=[50 * NIGHT], more=[50 * NIGHT], at=43 * NIGHT, now=60 * NIGHT)
@example(life=[50 * NIGHT], more=[50 * NIGHT], at=43 * NIGHT - 1, now=60 * NIGHT)
@example(life=[8 * NIGHT + 1], more=[NIGHT], at=NIGHT + 1, now=NIGHT + 1)
def test_sensitive_is_where_the_unknown_would_change_the_known(
    life: list[int], more: list[int], at: int, now: int
) -> None:
    """The spans are exactly where an activity not known yet would change an age at or before now."""
    assume(at <= now)
    clock = heard(life, more)
    changes = differ(clock, observe(clock, [at], rates=DAY, now=END), until=now)
    assert any(low <= at <= high for low, high in clock.sensitive(now)) == changes
    assert all(low <= high <= now for low, high in clock.sensitive(now))


@given(
    parts=st.lists(st.tuples(st.lists(times, max_size=3), st.booleans(), times), min_size=2, max_size=6),
    at=st.lists(st.integers(-40 * NIGHT, 2 * END), min_size=1, max_size=30),
)
@example(
    parts=[
        ([50 * NIGHT], False, END),
        ([20 * NIGHT], False, END),
        ([25 * NIGHT], False, END),
    ],
    at=[21 * NIGHT, 25 * NIGHT, 29 * NIGHT],
)
def test_rewritten_finds_every_change(parts: list[tuple[list[int], bool, int]], at: list[int]) -> None:
    """Whatever a clock hears, no age from the first instant of `rewritten` to the second has changed."""
    clock = Clock()
    for activity, slower, now in parts:
        new = observe(clock, activity, rates=SLOW if slower else DAY, now=now)
        span = rewritten(clock, new)
        if clock.first is None:
            assert span is None
        else:
            low, high = span or (-NEVER, NEVER)
            kept = np.array([one for one in [*at, *edges(clock, new)] if low <= one <= high], np.int64)
            assert (np.abs(ages(new, kept) - ages(clock, kept)) < 1e-9).all()
            assert span is None or differ(clock, new, until=2 * END)
        clock = new


@given(life=lives, at=times, kind=st.sampled_from(KINDS))
def test_when_inverts_age(life: list[int], at: int, kind: int) -> None:
    """`when` is the first instant at which a clock reads an age: the beginning of the pause, in a pause."""
    clock = heard(life)
    found = float(clock.when(clock.age(at, kind), kind))
    assert found <= at + 1
    assert clock.age(round(found), kind) == pytest.approx(clock.age(at, kind), abs=1e-9)
    paused = [start for start, end in [*clock.pauses, ((clock.last or 0) + PAUSE_AFTER, NEVER)] if start <= at <= end]
    assert found == pytest.approx(paused[0] if paused else at, abs=5)


@given(life=lives, kind=st.sampled_from(KINDS), more=st.floats(1e-6, 100))
def test_what_a_pause_holds_back_never_comes(life: list[int], kind: int, more: float) -> None:
    """An age beyond the beginning of the open pause is never reached, unless somebody comes back."""
    clock = heard(life)
    assert clock.when(clock.age(END + NEVER // 2, kind) + more, kind) == np.inf
    assert Clock().when(more, kind) == np.inf


@given(
    parts=st.lists(st.tuples(st.lists(times, max_size=3), st.booleans(), times), min_size=1, max_size=6),
    chance=st.randoms(use_true_random=False),
)
def test_rows_tell_the_clock(parts: list[tuple[list[int], bool, int]], chance: object) -> None:
    """A clock made of its own rows, in any order, reads the same for ever, and has the same rows."""
    clock = Clock()
    for activity, slower, now in parts:
        clock = observe(clock, activity, rates=SLOW if slower else DAY, now=now)
    for open_pause in (False, True) if not clock.rates[1:] else (False,):
        rows = clock.segments(open_pause=open_pause)
        shuffled = list(rows)
        chance.shuffle(shuffled)  # type: ignore[attr-defined]
        again = from_segments(shuffled, epoch=clock.epoch, first=clock.first, last=clock.last)
        assert again.segments(open_pause=False) == clock.segments(open_pause=False)
        points = edges(clock, again, until=2 * END)
        assert (ages(again, points) == ages(clock, points)).all()
        for kind in KINDS:
            assert observe(again, [END], rates=DAY, now=END).age(2 * END, kind) == pytest.approx(
                observe(clock, [END], rates=DAY, now=END).age(2 * END, kind)
            )


def test_without_activity_nothing_ages() -> None:
    """A scope in which nothing has happened has clocks that stand still, and any activity would start them."""
    clock = heard([])
    assert clock == Clock()
    assert (ages(clock, [-NIGHT, 0, NIGHT]) == 0).all()
    assert clock.segments() == []
    assert clock.sensitive(5) == [(-(2**62), 5)]
    assert rewritten(clock, heard([0])) is None


@given(life=lives, at=st.lists(times, min_size=1), kind=st.lists(st.sampled_from(KINDS), min_size=1))
def test_many_are_read_as_one_by_one(life: list[int], at: list[int], kind: list[int]) -> None:
    """Ages of arrays are the ages one by one; instants and kinds broadcast."""
    clock = heard(life)
    table = clock.age(np.array(at)[:, None], np.array(kind))
    assert table.shape == (len(at), len(kind))
    assert table.tolist() == [[float(clock.age(one, which)) for which in kind] for one in at]
