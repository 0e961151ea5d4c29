"""A child of the service ends with the code of its work, whenever it is told to end."""

import os
import signal
from functools import partial

from consolidator.schedule.child import Child
from consolidator.schedule.stopping import Stopping


def _heed(code: int) -> int:
    with Stopping(60).heeding() as stop:
        asked = stop() is not None
    os.kill(os.getpid(), signal.SIGTERM)
    return code if asked else 70


def test_told_to_end_at_its_very_beginning_and_end() -> None:
    """It is not killed while it starts, hears of it when it can, and what comes after its work changes no code."""
    child = Child(partial(_heed, 3))
    child.stop()
    assert child.exit_code() == 3
    assert signal.SIGTERM not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
