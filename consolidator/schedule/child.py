"""Child: a job, or who sends messages, in a process of its own: what becomes of it does not become of the service."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context, parent_process, resource_tracker
from time import monotonic
from typing import TYPE_CHECKING

from consolidator.settings.jobs import JobName

if TYPE_CHECKING:
    from consolidator.cli.session import Session

SENDING_MINUTES = 10  # of messages, between jobs
SPARE_MINUTES = 15  # for the step under way when the deadline comes
_SPAWN = get_context("spawn")


class Child:
    """
    Work under way. act: what `do_job_in` or `send_messages_in` gives; it is done in the child. minutes: after which it
    ends by itself, where nothing holds it up for good.
    """

    def __init__(self, act: Callable[[], int], *, minutes: int) -> None:
        self._since, self._minutes = monotonic(), minutes
        self.told_to_end = False
        self._process = _SPAWN.Process(target=_work, args=(act,))
        with _held_back():
            self._process.start()

    @property
    def process(self) -> int:
        """Its process id."""
        return self._process.pid or 0

    @property
    def has_ended(self) -> bool:
        """Whether it has, without waiting."""
        return not self._process.is_alive()

    @property
    def sentinel(self) -> int:
        """Is ready when it has ended."""
        return self._process.sentinel

    @property
    def seconds(self) -> float:
        """How long it has been at work."""
        return monotonic() - self._since

    @property
    def hangs(self) -> bool:
        """Whether it should have ended by itself, and has not: a server answers no more and says nothing."""
        return self.seconds > 60 * (self._minutes + SPARE_MINUTES)

    def give_up(self) -> None:
        """End it where it stands, for it hangs."""
        self._process.kill()

    def stop(self) -> None:
        """Ask it to end: it finishes the step in flight."""
        self.told_to_end = True
        self._process.terminate()

    def kill(self) -> None:
        """End it where it stands."""
        self.told_to_end = True
        self._process.kill()

    def exit_code(self) -> int:
        """How it ended, which it must have: a code, or a signal as a negative number."""
        self._process.join()
        code = self._process.exitcode
        self._process.close()
        return 1 if code is None else code


@contextmanager
def _held_back() -> Iterator[None]:
    """What is started meanwhile hears of no signal to end before it says that it can."""
    resource_tracker.ensure_running()  # starting it would let the signals through
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def do_job_in(session: "Session", name: JobName) -> Callable[[], int]:
    """A job, with the settings of the moment in which it begins."""
    return partial(_do_job, session, name)


def send_messages_in(session: "Session", url: str, *, watch: bool) -> Callable[[], int]:
    """What is due of the messages of a store is sent. watch: what has stopped happening is told, too."""
    return partial(_send_messages, session, url, watch)


def _do_job(session: "Session", name: JobName) -> int:
    from consolidator.cli.job import do_job
    from consolidator.cli.output import speak_as

    speak_as(name)
    return do_job(session, name, watch=False)  # the service looks, when no job is at work


def _send_messages(session: "Session", url: str, watch: bool) -> int:
    from consolidator.cli.job import send_messages
    from consolidator.cli.output import speak_as

    speak_as("messages")
    return send_messages(session, url, watch=watch)


def _work(act: Callable[[], int]) -> None:
    """
    In the child. It does what the service says, also when somebody presses Ctrl-C, and does not outlive it. Told to end
    before it can heed that, it hears of it when it can.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    threading.Thread(target=_end_with_service, daemon=True).start()
    from consolidator.cli.ending import ending

    sys.exit(ending(act, last=True))


def _end_with_service() -> None:
    service = parent_process()
    if service is not None:
        service.join()
        os.kill(os.getpid(), signal.SIGTERM)
