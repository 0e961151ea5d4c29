"""Child: a job at work in a process of its own, so that what becomes of it does not become of the service."""

import os
import signal
import sys
import threading
from multiprocessing import get_context, parent_process
from time import monotonic
from typing import TYPE_CHECKING

from consolidator.settings.jobs import JobName

if TYPE_CHECKING:
    from consolidator.cli.session import Session

_SPAWN = get_context("spawn")


class Child:
    """A job under way, with the settings of the moment in which it began."""

    def __init__(self, session: "Session", name: JobName) -> None:
        self._since = monotonic()
        self._process = _SPAWN.Process(target=_work, args=(session, name), name=name)
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

    def stop(self) -> None:
        """Ask it to end: it finishes the step in flight."""
        self._process.terminate()

    def kill(self) -> None:
        """End it where it stands."""
        self._process.kill()

    def exit_code(self) -> int:
        """How it ended, which it must have: a code, or a signal as a negative number."""
        self._process.join()
        code = self._process.exitcode
        self._process.close()
        return 1 if code is None else code


def _work(session: "Session", name: JobName) -> None:
    """In the child. It does what the service says, also when somebody presses Ctrl-C, and does not outlive it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_service, daemon=True).start()
    from consolidator.cli.ending import ending
    from consolidator.cli.job import do_job

    sys.exit(ending(lambda: do_job(session, name)))


def _end_with_service() -> None:
    service = parent_process()
    if service is not None:
        service.join()
        os.kill(os.getpid(), signal.SIGTERM)
