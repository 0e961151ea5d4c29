"""How often and how long a call is tried."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consolidator.llm.trying import Patience, Stuck, Trouble, seconds_to_wait, tried
from tests.llm.models import Watch

BUSY = Trouble("unavailable", "busy", status=429, again=True, begun=False)
BROKEN = Trouble("unavailable", "broken off", again=True)


class Failing:
    """Fails so many times, each try taking so many seconds."""

    def __init__(self, times: int, watch: Watch, takes: float = 0.0) -> None:
        self.left, self.calls, self.watch, self.takes = times, 0, watch, takes

    def __call__(self) -> str:
        self.calls += 1
        self.watch.waits.append(self.takes)
        self.left -= 1
        if self.left >= 0:
            raise OSError
        return "done"


@given(
    times=st.integers(0, 30),
    retries=st.integers(0, 20),
    takes=st.floats(0, 200),
    after=st.none() | st.floats(0, 400),
)
def test_bounded(times: int, retries: int, takes: float, after: float | None) -> None:
    """No more tries than allowed, and none begins after the longest time."""
    watch = Watch()
    call = Failing(times, watch, takes)
    patience = Patience(retries, watch.wait, clock=watch.now)
    try:
        assert tried(call, (OSError,), lambda error: BUSY._replace(after=after), patience) == "done"
    except Stuck:
        assert times > 0
    assert call.calls <= min(times, retries) + 1
    assert watch.now() - takes <= patience.longest_seconds


def test_once_if_begun() -> None:
    """What must not be done twice is tried again only where nothing was done."""
    for trouble, calls in ((BROKEN, 1), (BUSY, 3)):
        watch = Watch()
        call = Failing(2, watch)
        patience = Patience(5, watch.wait, clock=watch.now)
        if calls == 1:
            with pytest.raises(Stuck):
                tried(call, (OSError,), lambda error, trouble=trouble: trouble, patience, repeatable=False)
        else:
            assert tried(call, (OSError,), lambda error, trouble=trouble: trouble, patience, repeatable=False)
        assert call.calls == calls


def test_other_errors() -> None:
    """What is no error of the provider is nobody's to catch."""
    with pytest.raises(ZeroDivisionError):
        tried(lambda: 1 / 0, (OSError,), lambda error: BUSY, Patience(5, Watch().wait))


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "2.5"}, 2.5),
        ({"retry-after": "0"}, 0),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "inf"}, float("inf")),
        ({"retry-after": "Mon, 21 Sep 2026 02:00:30 GMT", "date": "Mon, 21 Sep 2026 02:00:00 GMT"}, 30),
        ({"retry-after": "Mon, 21 Sep 2026 02:00:00 GMT", "date": "Mon, 21 Sep 2026 02:00:30 GMT"}, 0),
        ({"retry-after": "Mon, 21 Sep 2026 02:00:00 GMT"}, None),
        ({"retry-after": "Mon, 21 Sep 2026 02:00:00", "date": "Mon, 21 Sep 2026 02:00:00 GMT"}, None),
    ],
)
def test_seconds_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    """A wait is told in milliseconds, in seconds, or as a date beside the reply's own; nonsense tells nothing."""
    assert seconds_to_wait(headers) == seconds
