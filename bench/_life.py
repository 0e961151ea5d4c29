"""
A store in mid-life, of any size, and one day in it that is the same in every size.

The first 10,000 memories are known in every store: they have the same 30,000 links, so the same degrees, the same
history and the same day; only their keys differ, scattered over the whole store. The rest of a larger store is other
memories, with three links each among themselves and a history of their own. Popularity is Zipf's: some are hubs.

Of the known ones a night at NIGHT finds 650 memories and 1,500 links that have faded. A night one day later, at WAVE,
finds besides what falls due in a whole store in mid-life: 6.5 % of its memories and 5 % of its links.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from _days import Days, draw_days
from numpy.random import Generator
from numpy.typing import NDArray

from consolidator.instants import NIGHT as ONE_NIGHT
from consolidator.instants import parse_instant
from consolidator.laws.clock import ASSOCIATION, Clock, Rates
from consolidator.laws.fading import DEAD, FADED, fades_age

NIGHT = parse_instant("2026-06-01T03:00:00Z")
WAVE = NIGHT + ONE_NIGHT
FIRST = NIGHT - 400 * ONE_NIGHT
LAST = NIGHT - int(1.2 * ONE_NIGHT)
HOLIDAY = (NIGHT - 120 * ONE_NIGHT, NIGHT - 100 * ONE_NIGHT)
CLOCK = Clock(FIRST, FIRST, LAST, ((FIRST, Rates().slopes),), (HOLIDAY,))

KNOWN, NEW, HUBS = 10_000, 100, 200
LINKS_EACH = 3
DUE_MEMORIES, DUE_LINKS, INFERRED = 650, 1_500, 2_000
WAVE_OF_MEMORIES, WAVE_OF_LINKS = 0.065, 0.05
STRONGEST = float(np.log2(1 / FADED))

Columns = dict[str, Any]  # an array or list of one length, or one value for all
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass
class Life:
    """Memories by index, the known ones first, the most popular of them first; links as pairs of indices."""

    count: int
    key: Integers
    new: NDArray[np.bool_]
    status: NDArray[Any]
    kind: Integers
    strength: Floats
    strength_at: Integers
    fades: Floats
    ends: Integers
    left: Floats
    via: Integers
    days: Days


def draw(count: int) -> Life:
    """A life with so many memories and three times as many links."""
    known, others = np.random.default_rng(1), np.random.default_rng(2)
    popularity = 1 / (np.arange(KNOWN) + 10) ** 0.9
    new = np.zeros(count, bool)
    new[KNOWN - NEW : KNOWN] = True
    status = np.full(count, "active", object)
    due = np.zeros(count, np.int8)  # 1: at NIGHT, 2: with the wave
    for rng, start, end in ((known, HUBS, KNOWN - NEW), (others, KNOWN, count)):
        span = np.arange(start, end)
        status[rng.permutation(span)[: int(0.4 * len(span))]] = "archived"
    days = draw_days(known, popularity, status[:KNOWN] == "active", new[:KNOWN], night=NIGHT)
    living = np.flatnonzero((status == "active") & ~new)
    forgotten = np.setdiff1d(living[living < KNOWN], days.exposures["memory"][days.exposures["is_today"]])
    due[known.permutation(forgotten)[:DUE_MEMORIES]] = 1
    due[others.permutation(living[living >= KNOWN])[: max(0, int(WAVE_OF_MEMORIES * count) - DUE_MEMORIES)]] = 2
    kind = np.concatenate(
        [(rng.random(n) < 0.2).astype(np.int64) for rng, n in ((known, KNOWN), (others, count - KNOWN))]
    )
    remembered = np.concatenate([days.last_rated, np.zeros(count - KNOWN, np.int64)])
    u = np.concatenate([rng.random((n, 2)) for rng, n in ((known, KNOWN), (others, count - KNOWN))])
    strength, strength_at, fades = _heads(kind, status == "archived", due, remembered, u)
    strength[new], fades[new] = 1.0, np.nan
    strength_at[new] = NIGHT - known.integers(ONE_NIGHT // 4, ONE_NIGHT // 2, NEW)
    ends, left, via = _links(known, popularity, status[:KNOWN] == "active", new[:KNOWN])
    if count > KNOWN:
        more, more_left = _other_links(others, count)
        ends, left = np.concatenate([ends, more]), np.concatenate([left, more_left])
        via = np.concatenate([via, np.full(len(more), -1)])
    key = np.random.default_rng(count).permutation(count) + 1
    return Life(count, key, new, status, kind, strength, strength_at, fades, ends, left, via, days)


def _heads(
    kind: Integers, archived: NDArray[np.bool_], due: NDArray[np.int8], rated: Integers, u: Floats
) -> tuple[Floats, Integers, Floats]:
    """Strengths, their times and fading ages such that each fades when it is to. rated: when last, 0: to be drawn."""
    now = CLOCK.age(NIGHT, np.arange(2))[kind]
    step = CLOCK.age(WAVE, np.arange(2))[kind] - now
    left = np.select(
        [archived, due == 1, due == 2],
        [-1.001 * step - 6 * u[:, 0], -step * (0.001 + 0.998 * u[:, 0]), step * (0.001 + 0.998 * u[:, 0])],
        1.001 * step + (4 - 1.001 * step) * u[:, 0],
    )
    least = np.maximum(left + 1.3 * step, 0.01)
    above = least + u[:, 1] * (STRONGEST - least)
    at = np.empty(len(kind), np.int64)
    for one in (0, 1):
        at[kind == one] = CLOCK.when((now - (above - left))[kind == one], one).astype(np.int64)
    at = np.where(rated > 0, rated, at)
    age = CLOCK.age(at, kind)
    strength = np.minimum(FADED * np.exp2(now + left - age), 1.0)
    return strength, at, fades_age(age, strength, floor=FADED)


def _links(
    rng: Generator, popularity: Floats, active: NDArray[np.bool_], new: NDArray[np.bool_]
) -> tuple[Integers, Floats, Integers]:
    """The links among the known: ends [n, 2], what is left of each at NIGHT in half-lives, the middle or -1."""
    chance = np.where(new, 0, popularity)
    direct = LINKS_EACH * KNOWN - INFERRED
    drawn = rng.choice(KNOWN, (2 * direct, 2), p=chance / chance.sum())
    drawn = np.sort(drawn[drawn[:, 0] != drawn[:, 1]], axis=1)
    _, first = np.unique(drawn[:, 0] * KNOWN + drawn[:, 1], return_index=True)
    ends = drawn[np.sort(first)[:direct]]
    left = _left(rng, direct, DUE_LINKS, 0)
    arms: dict[int, list[tuple[int, float]]] = {}
    for (one, other), life in zip(ends.tolist(), left.tolist(), strict=True):
        if life > np.log2(0.2 / DEAD) and active[one] and active[other]:
            arms.setdefault(one, []).append((other, DEAD * 2**life))
            arms.setdefault(other, []).append((one, DEAD * 2**life))
    taken = set(map(tuple, ends.tolist()))
    found: list[tuple[int, int, float, int]] = []
    for middle in rng.permutation(sorted(arms)).tolist():
        for i, (one, weight) in enumerate(arms[middle][:20]):
            for other, another in arms[middle][i + 1 : 20]:
                pair = (min(one, other), max(one, other))
                if weight * another >= 0.1 and pair not in taken:
                    taken.add(pair)
                    found.append((*pair, float(np.log2(weight * another / DEAD)), middle))
    found = found[:INFERRED]
    return (
        np.concatenate([ends, [one[:2] for one in found]]),
        np.concatenate([left, [one[2] for one in found]]),
        np.concatenate([np.full(direct, -1), [one[3] for one in found]]).astype(np.int64),
    )


def _other_links(rng: Generator, count: int) -> tuple[Integers, Floats]:
    others, wanted = count - KNOWN, LINKS_EACH * (count - KNOWN)
    one = (others * rng.random(int(1.2 * wanted)) ** 2).astype(np.int64)  # popular in part
    other = rng.integers(0, others, len(one))
    pairs = np.unique(np.minimum(one, other) * others + np.maximum(one, other))
    pairs = pairs[pairs // others != pairs % others]
    pairs = rng.permutation(pairs)[:wanted]
    ends = np.stack([pairs // others, pairs % others], axis=1) + KNOWN
    return ends, _left(rng, len(ends), 0, int(WAVE_OF_LINKS * LINKS_EACH * count) - DUE_LINKS)


def _left(rng: Generator, count: int, due: int, wave: int) -> Floats:
    """Half-lives until a link is dead: most are weak, one in five is not; `due` at NIGHT, `wave` a night later."""
    step = float(CLOCK.age(WAVE, ASSOCIATION) - CLOCK.age(NIGHT, ASSOCIATION))
    left = np.where(rng.random(count) < 0.8, rng.uniform(1.01 * step, 3.9, count), rng.uniform(3.9, 6.3, count))
    chosen = rng.permutation(count)[: due + wave]
    left[chosen[:due]] = -step * rng.uniform(0.001, 0.999, due)
    left[chosen[due:]] = step * rng.uniform(0.001, 0.999, len(chosen) - due)
    return left
