"""The breaker around an embedder that is not on this machine."""

from dataclasses import dataclass

import pytest

from consolidator.embedding.breaker import Breaker
from consolidator.embedding.port import EmbedderFailed
from tests.embedding.models import Lengths


@dataclass
class Ticks:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


def asked(breaker: Breaker) -> bool:
    """Whether a call went through and came back."""
    try:
        return len(breaker.queries(["a text"])) == 1
    except EmbedderFailed:
        return False


def test_opens_and_closes() -> None:
    """Failures in a row open it, nobody is asked meanwhile, and after a while one success closes it again."""
    ticks, inner = Ticks(), Lengths(local=False)
    breaker = Breaker(inner, clock=ticks, failures=2, seconds=30)
    assert (breaker.model, breaker.dimension, breaker.local) == ("lengths", 3, False)
    assert asked(breaker)
    inner.fails_after = 0
    assert not asked(breaker)
    assert not breaker.is_open
    assert not asked(breaker)
    assert breaker.is_open
    calls = []
    inner.before = calls.append
    with pytest.raises(EmbedderFailed, match=r"out of order; tried again in 30 s"):
        breaker.passages(["a text"])
    assert calls == []
    ticks.now = 30
    assert not asked(breaker)  # half open: one is let through, and fails
    assert len(calls) == 1
    assert breaker.is_open
    assert not asked(breaker)
    assert len(calls) == 1
    ticks.now, inner.fails_after = 60, None
    assert asked(breaker)
    assert not breaker.is_open
    assert asked(breaker)


def test_one_at_a_time() -> None:
    """While one call is let through on trial, the others still fail at once."""
    ticks, inner = Ticks(), Lengths(local=False, fails_after=0)
    breaker = Breaker(inner, clock=ticks, failures=1, seconds=30)
    assert not asked(breaker)
    ticks.now, inner.fails_after = 31, None
    beside: list[bool] = []
    inner.before = lambda _: beside.append(asked(breaker)) if not beside else None
    assert asked(breaker)
    assert beside == [False]


def test_successes_between() -> None:
    """Only failures in a row count."""
    inner = Lengths(local=False)
    breaker = Breaker(inner, clock=Ticks(), failures=2, seconds=30)
    for _ in range(3):
        inner.fails_after = 0
        assert not asked(breaker)
        inner.fails_after = None
        assert asked(breaker)
    assert not breaker.is_open
