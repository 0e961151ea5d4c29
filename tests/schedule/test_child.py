"""A child of the service ends with the code of its work, whenever it is told to end."""

import os
import signal
from functools import partial
from time import monotonic

import pytest

from consolidator.schedule.child import SPARE_MINUTES, Child
from consolidator.schedule.stopping import Stopping


def _heed(code: int) -> int:
    with Stopping(60).heeding() as stop:
        asked = stop() is not None
    os.kill(os.getpid(), signal.SIGTERM)
    return code if asked else 70


def test_told_to_end_at_its_very_beginning_and_end() -> None:
    """It is not killed while it starts, hears of it when it can, and what comes after its work changes no code."""
    child = Child(partial(_heed, 3), minutes=60)
    child.stop()
    assert child.exit_code() == 3
    assert signal.SIGTERM not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def _hang() -> int:
    with Stopping(60).heeding():
        while True:
            signal.pause()


def test_what_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Long after it should have ended by itself, and not before; it was not told to."""
    child = Child(_hang, minutes=60)
    assert not child.hangs
    monkeypatch.setattr("consolidator.schedule.child.monotonic", lambda: monotonic() + 60 * (60 + SPARE_MINUTES) + 1)
    assert child.hangs
    child.give_up()
    assert (child.exit_code(), child.told_to_end) == (-signal.SIGKILL, False)
