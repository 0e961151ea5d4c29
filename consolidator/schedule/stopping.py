"""Stopping: a job ends cleanly when it is told to, and when it has taken too long."""

import os
import select
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from consolidator.errors import Terminated

TRIED_AGAIN_SECONDS = 5.0  # a scope that another night holds


class Stopping:
    """
    Whether a job is to stop. minutes: how long it may take. clock: seconds, only ever growing.

    requested: it was told to. out_of_time: it has taken too long.
    """

    def __init__(self, minutes: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._minutes, self._clock, self._began = minutes, clock, clock()
        self._woken, self._wake = os.pipe()
        self.requested = False

    @property
    def out_of_time(self) -> bool:
        return self._clock() - self._began >= 60 * self._minutes

    def __call__(self) -> str | None:
        """Why to stop; None where there is no reason."""
        if self.requested:
            return "stopped on request"
        return f"out of time: it took {self._minutes} minutes" if self.out_of_time else None

    def request(self) -> None:
        """From now on it is to stop."""
        self.requested = True
        os.write(self._wake, b".")

    def wait(self) -> None:
        """A few seconds; less where it is told to stop."""
        select.select([self._woken], [], [], TRIED_AGAIN_SECONDS)

    @contextmanager
    def heeding(self) -> Iterator["Stopping"]:
        """
        Meanwhile SIGTERM is a request, and a second one ends the work where it is. One that was held back until now is
        heard; afterwards there is only the end to come, which none disturbs.
        """

        def heed() -> None:
            if self.requested:
                raise Terminated
            self.request()

        try:
            with on_sigterm(heed, afterwards=signal.SIG_IGN):
                signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
                yield self
        finally:
            os.close(self._woken)
            os.close(self._wake)


@contextmanager
def on_sigterm(heed: Callable[[], object], *, afterwards: signal.Handlers | None = None) -> Iterator[None]:
    """
    Meanwhile SIGTERM calls this, where this thread is the one that hears of signals. afterwards: what it does then;
    None: what it did before.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def handler(_number: int, _frame: FrameType | None) -> None:
        heed()

    before = signal.signal(signal.SIGTERM, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before if afterwards is None else afterwards)
