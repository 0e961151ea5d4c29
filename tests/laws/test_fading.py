"""Fading: when a strength or a weight has become nothing, told in advance as an age."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from consolidator.instants import NIGHT
from consolidator.laws.clock import ASSOCIATION, WORKING, Clock, Rates, observe
from consolidator.laws.fading import DEAD, FADED, PROTECTED_AFTER_ANCHOR, fades_age, value_at
from consolidator.laws.strength import strength_at

CLOCK = observe(Clock(), [0, 9 * NIGHT, 20 * NIGHT], rates=Rates(), now=20 * NIGHT)
AGES = st.floats(-2000, 2000)
VALUES = st.floats(1e-6, 1)
FLOORS = st.sampled_from([FADED, DEAD])


def test_the_numbers_of_the_law() -> None:
    """A memory fades at 0.05, a link dies below 0.01, an anchor protects 7 nights beyond its end."""
    assert (FADED, DEAD, PROTECTED_AFTER_ANCHOR) == (0.05, 0.01, 7 * NIGHT)


@given(age=AGES, value=VALUES, floor=FLOORS)
def test_fading_is_told_in_advance(age: float, value: float, floor: float) -> None:
    """A value of an age is at its floor log2(value / floor) half-lives later."""
    fades = float(fades_age(age, value, floor=floor))
    assert fades == pytest.approx(age + np.log2(value / floor), abs=1e-9)
    assert float(value_at(fades, fades, floor=floor)) == floor
    assert value * 2 ** -(fades - age) == pytest.approx(floor, rel=1e-9)


@given(age=AGES, value=VALUES, floor=FLOORS, later=st.floats(0, 100))
def test_a_value_is_told_by_when_it_fades(age: float, value: float, floor: float, later: float) -> None:
    """`value_at` inverts `fades_age`: what is known of a link is when it fades, and that is enough."""
    fades = fades_age(age, value, floor=floor)
    assert float(value_at(age, fades, floor=floor)) == pytest.approx(value, rel=1e-9)
    assert float(value_at(age + later, fades, floor=floor)) == pytest.approx(value * 2**-later, rel=1e-9)


@given(value=VALUES, since=st.integers(0, 30 * NIGHT), now=st.integers(0, 40 * NIGHT))
def test_faded_is_a_strength_of_the_floor_or_less(value: float, since: int, now: int) -> None:
    """A clock is at or past the fading age if and only if the strength then is 0.05 or less."""
    now = max(now, since)
    fades = float(fades_age(CLOCK.age(since, WORKING), value, floor=FADED))
    strength = float(strength_at(CLOCK, value, since, now, WORKING))
    if abs(strength - FADED) > 1e-12:
        assert (CLOCK.age(now, WORKING) >= fades) == (strength <= FADED)


@pytest.mark.parametrize("age", [0.0, 0.1, -3.7, 1234.567])
def test_thresholds_are_exact(age: float) -> None:
    """A strength of exactly 0.05 has faded, a weight of exactly 0.01 lives; a trifle more or less decides."""
    assert age >= fades_age(age, 0.05, floor=FADED)
    assert age < fades_age(age, 0.05 + 1e-9, floor=FADED)
    assert not age > fades_age(age, 0.01, floor=DEAD)
    assert age > fades_age(age, 0.01 - 1e-9, floor=DEAD)


@given(age=AGES, floor=FLOORS)
def test_nothing_has_faded_long_ago(age: float, floor: float) -> None:
    """A strength of zero has faded, at an age that can be stored and compared, and is next to nothing at any."""
    fades = float(fades_age(age, 0.0, floor=floor))
    assert np.isfinite(fades)
    assert fades < age - 900
    assert float(value_at(age, fades, floor=floor)) < 1e-200


def test_many_are_told_as_one_by_one() -> None:
    """Fading ages of arrays are those one by one."""
    ages, values = np.array([0.0, 1.0, 2.0]), np.array([1.0, 0.05, 0.0])
    found = fades_age(ages, values, floor=FADED)
    assert found.tolist() == [
        float(fades_age(age, value, floor=FADED)) for age, value in zip(ages, values, strict=True)
    ]
    link = fades_age(CLOCK.age([0, NIGHT], ASSOCIATION), [0.05, 0.15], floor=DEAD)
    assert value_at(CLOCK.age(2 * NIGHT, ASSOCIATION), link, floor=DEAD) == pytest.approx([0.05 * 0.81, 0.15 * 0.9])
