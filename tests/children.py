"""
Children of this process, forked after it has imported the program: some work beside it, some get a real SIGKILL, at a
moment of chance or at one instant of all that their work passes through.
"""

import gc
import os
import select
import signal
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.pool import Pool

TOO_LONG_SECONDS = 120.0
FAILED = 70


@dataclass(frozen=True)
class Ended:
    """How a child ended: by itself with what it said, or killed. seconds: how long it lived."""

    said: str
    killed: bool
    seconds: float


class Child:
    """
    A child at work. `act` may call `pause`, which says so and waits until it may go on; what it returns, it says.

    No store may be open when it is made: it would share its connections.
    """

    def __init__(self, act: Callable[["Child"], str | None]) -> None:
        self.began = time.perf_counter()
        self._voice, voice = os.pipe()
        self._pausing, self._paused = os.pipe()
        self._going, self._go = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of threads: the child goes on with this one alone
            self.pid = os.fork()
        if not self.pid:
            os.close(self._go)
            self._live(act, voice)
        for end in (voice, self._paused, self._going):
            os.close(end)

    def _live(self, act: Callable[["Child"], str | None], voice: int) -> NoReturn:
        gc.disable()  # nothing inherited is to be tidied up here
        code = FAILED
        try:
            said = (act(self) or "").encode()
            code = 0
        except BaseException:  # noqa: BLE001 - whatever it is, the parent is told
            said = traceback.format_exc().encode()
        while said:
            said = said[os.write(voice, said) :]
        os._exit(code)

    def pause(self) -> None:
        """In the child: wait."""
        os.write(self._paused, b".")
        os.read(self._going, 1)

    def told(self) -> bool:
        """In the child: whether it was told to go on, without waiting for that."""
        return bool(select.select([self._going], [], [], 0)[0])

    def wait_until_paused(self) -> None:
        """AssertionError where it ends before, or does not pause at all."""
        ready, _, _ = select.select([self._pausing, self._voice], [], [], TOO_LONG_SECONDS)
        assert self._pausing in ready, self.wait().said

    def go_on(self) -> None:
        """After a pause, or as a sign that means something to the child."""
        os.write(self._go, b".")

    def wait(self, *, kill_after: float | None = None) -> Ended:
        """Until it ends, or kill it after so many seconds of its life. AssertionError where it fails."""
        said, killed = b"", False
        until = self.began + (TOO_LONG_SECONDS if kill_after is None else kill_after)
        while not killed:
            ready, _, _ = select.select([self._voice], [], [], max(0.0, until - time.perf_counter()))
            heard = os.read(self._voice, 65536) if ready else b""
            if ready and not heard:
                break
            said, killed = said + heard, not ready
        if killed:
            os.kill(self.pid, signal.SIGKILL)
        _, status = os.waitpid(self.pid, 0)
        for end in (self._voice, self._pausing, self._go):
            os.close(end)
        code = os.waitstatus_to_exitcode(status)
        assert kill_after is not None or not killed, f"the child was still at work after {TOO_LONG_SECONDS} s"
        assert code in (0, -signal.SIGKILL), said.decode()
        return Ended(said.decode(), code != 0, time.perf_counter() - self.began)

    def kill(self) -> None:
        """Now."""
        self.wait(kill_after=0)


def in_child(act: Callable[[], str | None], *, kill_after: float | None = None) -> Ended:
    """Do `act` in a child, and kill it after so many seconds if it still lives."""
    return Child(lambda _: act()).wait(kill_after=kill_after)


class Instants:
    """
    The instants of the work of this process: before and after every statement, before every commit, and whenever a
    connection is given back. `boundaries`: those beside the commit of something written. At `kill_at` this process
    sends itself a signal.
    """

    def __init__(self, *, kill_at: int | None = None, by: signal.Signals = signal.SIGKILL) -> None:
        self.kill_at = kill_at
        self.by = by
        self.passed = 0
        self.boundaries: list[int] = []
        self._wrote = self._looks_away = False
        event.listen(sa.Engine, "before_cursor_execute", self._before_statement)
        event.listen(sa.Engine, "after_cursor_execute", self._pass)
        event.listen(sa.Engine, "commit", self._before_commit)
        event.listen(Pool, "checkin", self._given_back)

    @contextmanager
    def looking_away(self) -> Iterator[None]:
        """What is done meanwhile does not count."""
        self._looks_away = True
        yield
        self._looks_away = False

    def _before_statement(self, _conn: Any, _cursor: Any, statement: str, *_: Any) -> None:
        self._wrote |= not statement.lstrip().upper().startswith(("SELECT", "BEGIN", "PRAGMA"))
        self._pass()

    def _before_commit(self, *_: Any) -> None:
        self._pass(boundary=self._wrote)

    def _given_back(self, *_: Any) -> None:
        self._pass(boundary=self._wrote)
        self._wrote = False

    def _pass(self, *_: Any, boundary: bool = False) -> None:
        if self._looks_away:
            return
        if self.passed == self.kill_at:
            os.kill(os.getpid(), self.by)
        if boundary:
            self.boundaries.append(self.passed)
        self.passed += 1
