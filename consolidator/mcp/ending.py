"""The end of a server that was told to end: calls under way are finished, but nobody waits for one for long."""

import os
import threading

LAST_SECONDS = 3.0
_CUT_OFF = 143  # as by SIGTERM itself


def end_soon(seconds: float = LAST_SECONDS + 1) -> None:
    """End this process if it has not ended by then. What was not committed is undone."""
    timer = threading.Timer(seconds, os._exit, [_CUT_OFF])
    timer.daemon = True
    timer.start()
