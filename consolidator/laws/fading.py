"""Fading: when a strength or a weight has become nothing, told in advance as an age."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from consolidator.instants import NIGHT

FADED = 0.05
DEAD = 0.01
PROTECTED_AFTER_ANCHOR = 7 * NIGHT

_LEAST = 1e-300


def fades_age(age: ArrayLike, value: ArrayLike, *, floor: float) -> NDArray[np.float64]:
    """
    The age, in half-lives, at which a value of `value` at `age` has decayed to `floor`.

    A memory (floor FADED) has faded if and only if its clock is at or past it; a link (floor DEAD) is dead if and
    only if its clock is past it. age: float64[n]; value: float64[n] in [0, 1].
    """
    return np.asarray(age, np.float64) + np.log2(np.maximum(np.asarray(value, np.float64), _LEAST) / floor)


def value_at(age: ArrayLike, fades: ArrayLike, *, floor: float) -> NDArray[np.float64]:
    """The value at `age` of what decays to `floor` at `fades`; the inverse of `fades_age`."""
    return floor * np.exp2(np.asarray(fades, np.float64) - np.asarray(age, np.float64))
