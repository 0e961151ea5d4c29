"""The clocks of a scope: how old, in half-lives, working memories, consolidated memories and associations are."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from consolidator.instants import NIGHT
from consolidator.laws.pace import LAWS, OFF, Ageing, age_at, lived, paces

WORKING, CONSOLIDATED, ASSOCIATION = 0, 1, 2
PAUSE_AFTER = 7 * NIGHT
NEVER = np.iinfo(np.int64).max

Slopes = tuple[float, float, float]
Span = tuple[int, int]
T = TypeVar("T")


@dataclass(frozen=True)
class Rates:
    """What is left of a strength or weight after a night, each in (0, 1], and the law by importance (see `pace`)."""

    working: float = 0.906
    consolidated: float = 0.977
    association: float = 0.9
    by_importance: str = OFF

    @property
    def slopes(self) -> Slopes:
        """Half-lives a night, by kind."""
        return (-float(np.log2(self.working)), -float(np.log2(self.consolidated)), -float(np.log2(self.association)))


@dataclass(frozen=True)
class Segment:
    """A stretch of the clock from an instant on: slopes in half-lives a night, whether it pauses instead, its law."""

    from_at: int
    slopes: Slopes
    paused: bool = False
    law: str = OFF


@dataclass(frozen=True)
class Clock:
    """
    Three ages that only go forward, piecewise linear in time, zero slope in a pause.

    epoch: where the ages read 0. first, last: the first and last activity known. rates: (from, slopes), the first
    of which holds since ever. pauses: closed ones, (start, end), in order; the open one begins 7 nights after
    `last`. laws: (from, law by importance), as rates; none where there never was one. Without activity (`first` None)
    nothing ages.
    """

    epoch: int | None = None
    first: int | None = None
    last: int | None = None
    rates: tuple[tuple[int, Slopes], ...] = ()
    pauses: tuple[Span, ...] = ()
    laws: tuple[tuple[int, str], ...] = ()

    def age(self, at: ArrayLike, kind: ArrayLike) -> NDArray[np.float64]:
        """Half-lives at `at` (int64 microseconds) on the clock of `kind`; shapes broadcast; float64."""
        instants, kinds = np.asarray(at, np.int64), np.asarray(kind, np.int64)
        if self.first is None:
            return np.zeros(np.broadcast_shapes(instants.shape, kinds.shape))
        return self._elapsed(instants, kinds) - self._elapsed(np.int64(self.epoch or 0), kinds)

    def lived(self, at: ArrayLike, ageing: ArrayLike | Ageing) -> NDArray[np.float64]:
        """
        Half-lives that memories have lived through by `at`, which is their clock's age where no law by importance is.

        Only differences tell something. at: int64[n] or one; ageing: of n memories, or kinds as `age` takes them.
        """
        if not isinstance(ageing, Ageing):
            return self.age(at, ageing)
        age = self.age(at, ageing.kind)
        return lived(age, *self._paces(ageing)) if self.laws else age

    def age_at(self, lives: ArrayLike, ageing: Ageing) -> NDArray[np.float64]:
        """The ages of their clocks at which memories have lived through so many half-lives; float64[n]."""
        lives = np.asarray(lives, np.float64)
        if not self.laws:
            return lives
        pace, turns = self._paces(ageing)
        return np.where((pace == 1.0).all(axis=1), lives, age_at(lives, pace, turns))

    def _paces(self, ageing: Ageing) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        pace = np.stack([paces(law, ageing) for _, law in self.laws], axis=1)
        return pace, self._turns[ageing.kind]

    @cached_property
    def _turns(self) -> NDArray[np.float64]:
        """The age of each clock at each turn of the law, float64[3, turns]."""
        return self.age(np.array([since for since, _ in self.laws[1:]], np.int64), np.arange(3)[:, None])

    def when(self, age: ArrayLike, kind: int) -> NDArray[np.float64]:
        """The first instant at which the clock of `kind` reads `age`; inf where it never will."""
        ages = np.asarray(age, np.float64)
        if self.first is None:
            return np.full(ages.shape, np.inf)
        points, slopes, _ = self._knots
        readings = self.age(points, kind)
        row = np.maximum(np.searchsorted(readings, ages, side="left") - 1, 0)
        slope = slopes[row, kind]
        with np.errstate(divide="ignore", invalid="ignore"):
            at = points[row] + (ages - readings[row]) / slope * NIGHT
        return np.where(slope > 0, at, np.where(ages <= readings[row], points[row].astype(np.float64), np.inf))

    def _elapsed(self, at: Any, kinds: Any) -> NDArray[np.float64]:
        points, slopes, ages = self._knots
        row = np.maximum(np.searchsorted(points, at, side="right") - 1, 0)
        result: NDArray[np.float64] = ages[row, kinds] + (at - points[row]) / NIGHT * slopes[row, kinds]
        return result

    @cached_property
    def _knots(self) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
        segments = self.segments()
        points = np.array([segment.from_at for segment in segments], np.int64)
        slopes = np.array([(0.0, 0.0, 0.0) if segment.paused else segment.slopes for segment in segments])
        ages = np.zeros_like(slopes)
        ages[1:] = np.cumsum(np.diff(points)[:, None] / NIGHT * slopes[:-1], axis=0)
        return points, slopes, ages

    def segments(self, *, open_pause: bool = True) -> list[Segment]:
        """The clock as rows from the first activity on, with or without the pause that is still open."""
        if self.first is None or self.last is None:
            return []
        pauses = [*self.pauses, *([(self.last + PAUSE_AFTER, NEVER)] if open_pause else [])]
        turns = [since for since, _ in (*self.rates[1:], *self.laws[1:])]
        points = {self.first, *turns, *(edge for pause in pauses for edge in pause)}
        return [
            Segment(point, self._slopes(point), any(start <= point < end for start, end in pauses), self.law(point))
            for point in sorted(points - {NEVER})
        ]

    def _slopes(self, at: int) -> Slopes:
        return next((slopes for since, slopes in reversed(self.rates[1:]) if since <= at), self.rates[0][1])

    def law(self, at: int) -> str:
        """The law by importance that is in force at an instant."""
        first = self.laws[0][1] if self.laws else OFF
        return next((law for since, law in reversed(self.laws[1:]) if since <= at), first)

    def sensitive(self, now: int) -> list[Span]:
        """Closed spans up to `now` in which an activity not yet known would change an age at or before `now`."""
        if self.first is None or self.last is None:
            return [(-(2**62), now)]
        spans = [(-(2**62), self.first - PAUSE_AFTER - 1)]
        beyond = max(now, self.epoch or 0)  # a pause before the epoch tells in the ages before it, however early
        spans += [(start - PAUSE_AFTER + 1, start) for start, _ in self.pauses if start < beyond]
        if self.last + PAUSE_AFTER < now:
            spans.append((self.last + 1, now - 1))
        return [(low, min(high, now)) for low, high in spans if low <= now]


def from_segments(segments: Iterable[Segment], *, epoch: int | None, first: int | None, last: int | None) -> Clock:
    """The clock that rows describe, in any order; an open pause among them is told by `last` alone."""
    rates: list[tuple[int, Slopes]] = []
    laws: list[tuple[int, str]] = []
    pauses: list[Span] = []
    opened = None
    for segment in sorted(segments, key=lambda segment: segment.from_at):
        if not rates or rates[-1][1] != segment.slopes:
            rates.append((segment.from_at, segment.slopes))
        if not laws or laws[-1][1] != segment.law:
            laws.append((segment.from_at, segment.law))
        if segment.paused and opened is None:
            opened = segment.from_at
        elif not segment.paused and opened is not None:
            pauses.append((opened, segment.from_at))
            opened = None
    ever = any(law != OFF for _, law in laws)
    return Clock(epoch, first, last, tuple(rates), tuple(pauses), tuple(laws) if ever else ())


def observe(clock: Clock, activity: ArrayLike, *, rates: Rates, now: int) -> Clock:
    """
    The clock after hearing of activity at or before `now`, and of the rates in force at `now`.

    A function of what is known, not of how often it is asked: hearing of activity in parts, in any order, gives
    the clock of hearing all at once, unless a part lies inside a pause that another part had closed.
    activity: int64[n], any order, repeats allowed. A changed rate holds from `now` on, never backwards.
    """
    heard = np.unique(np.asarray(activity, np.int64))
    heard = heard[heard <= now]
    if clock.first is None or clock.last is None:
        if not heard.size:
            return clock
        first = int(heard[0])
        paced = ((first, rates.by_importance),) if rates.by_importance != OFF else ()
        return Clock(first, first, int(heard[-1]), ((first, rates.slopes),), tuple(_gaps(heard)), paced)
    pauses = [*_gaps([*heard[heard < clock.first], clock.first]), *clock.pauses]
    for late in heard[(heard > clock.first) & (heard < clock.last)].tolist():
        pauses = [shrunk for pause in pauses if (shrunk := _begin_after(pause, late)) is not None]
    pauses += _gaps([clock.last, *heard[heard > clock.last]])
    first, last = clock.first, clock.last
    if heard.size:
        first, last = min(first, int(heard[0])), max(last, int(heard[-1]))
    slopes, laws = clock.rates, clock.laws or ((clock.first, OFF),)
    if now > first and all(now >= since for since, _ in (*slopes[1:], *laws[1:])):
        slopes = _turned(slopes, now, rates.slopes)
        laws = _turned(laws, now, rates.by_importance)
    laws = laws if len(laws) > 1 or laws[0][1] != OFF else ()
    return replace(clock, first=first, last=last, rates=slopes, pauses=tuple(pauses), laws=laws)


def _turned(known: tuple[tuple[int, T], ...], now: int, value: T) -> tuple[tuple[int, T], ...]:
    """What holds from when on, with what holds from `now` on."""
    before = (known[0], *(one for one in known[1:] if one[0] < now))
    return before if value == before[-1][1] else (*before, (now, value))


def _gaps(instants: ArrayLike) -> list[Span]:
    known = np.asarray(instants, np.int64)
    wide = np.flatnonzero(np.diff(known) > PAUSE_AFTER)
    return [(int(known[i]) + PAUSE_AFTER, int(known[i + 1])) for i in wide]


def _begin_after(pause: Span, late: int) -> Span | None:
    start, end = pause
    if start - PAUSE_AFTER < late <= start:
        start = late + PAUSE_AFTER
    return (start, end) if start < end else None


def rewritten(old: Clock, new: Clock) -> Span | None:
    """
    Where the past was rewritten: ages differ only before the first or after the second instant; None: nowhere.

    The same of half-lives lived through under a law by importance. An end that did not change is -NEVER or NEVER.
    """
    if old.first is None or old == new:
        return None
    epoch = old.epoch or 0
    points = np.array(sorted({segment.from_at for clock in (old, new) for segment in clock.segments()} | {epoch}))
    differs = (np.abs(_readings(old, points) - _readings(new, points)) > 1e-12).any(axis=1)
    slopes_differ = _slopes_at(old, int(points[-1])) != _slopes_at(new, int(points[-1]))
    later, earlier = np.flatnonzero(differs & (points >= epoch)), np.flatnonzero(differs & (points < epoch))
    first_slopes_differ = old.segments()[0].paused != new.segments()[0].paused
    after = int(points[-1]) if slopes_differ else NEVER
    before = int(points[0]) if first_slopes_differ else -NEVER
    if later.size:
        after = int(points[later[0] - 1])
    if earlier.size:
        before = int(points[earlier[-1] + 1])
    return None if (before, after) == (-NEVER, NEVER) else (before, after)


def turned(old: Clock, new: Clock) -> bool:
    """
    Whether the laws by importance turn at other ages of the clocks: then memories of known importance fade at others.

    What they have lived through is another only where `rewritten` says so.
    """
    if old.first is None or (old.laws, new.laws) == ((), ()):
        return False
    if [law for _, law in old.laws] != [law for _, law in new.laws]:
        return True
    return bool((np.abs(old._turns - new._turns) > 1e-12).any())


def _readings(clock: Clock, points: NDArray[np.int64]) -> NDArray[np.float64]:
    """The ages at each point, and what a memory of each class would have lived that every law gives another pace."""
    ages = clock.age(points[:, None], np.arange(3))
    if not clock.laws:
        return np.concatenate([ages, ages[:, :2]], axis=1)
    pace = np.array([[1.0 + [OFF, *LAWS].index(law) for _, law in clock.laws]])
    probes = [lived(ages[:, kind], pace, clock._turns[[kind]]) for kind in (WORKING, CONSOLIDATED)]
    return np.column_stack([ages, *probes])


def _slopes_at(clock: Clock, at: int) -> tuple[Slopes, str]:
    segment = [segment for segment in clock.segments() if segment.from_at <= at][-1]
    return (0.0, 0.0, 0.0) if segment.paused else segment.slopes, segment.law
