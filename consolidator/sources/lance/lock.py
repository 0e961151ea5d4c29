"""
The lock under which memory-lancedb-pro writes: that of the library proper-lockfile over `.memory-write.lock`.

It is a folder beside that file, `.memory-write.lock.lock`: who makes it holds the lock, and touches it every few
seconds. One that nobody has touched for ten seconds was left behind by a crash.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic

from consolidator.errors import ConsolidatorError

NAME = ".memory-write.lock"
STALE_SECONDS = 10.0
PATIENCE_SECONDS = 60.0
_LOOK_SECONDS = 0.1


@contextmanager
def held(
    database: Path, *, stale_seconds: float = STALE_SECONDS, patience_seconds: float = PATIENCE_SECONDS
) -> Iterator[None]:
    """Its lock, waited for. ConsolidatorError where another goes on holding it."""
    lock = database / f"{NAME}.lock"
    (database / NAME).touch()  # the library looks for the file that is locked
    _take(lock, stale_seconds, patience_seconds)
    over = threading.Event()
    touching = threading.Thread(target=_touch, args=(lock, over, stale_seconds / 3), daemon=True)
    touching.start()
    try:
        yield
    finally:
        over.set()
        touching.join()
        with suppress(OSError):
            lock.rmdir()


def _take(lock: Path, stale_seconds: float, patience_seconds: float) -> None:
    """No clock is needed: a lock is stale if its time stands still while we look at it."""
    began = seen_since = monotonic()
    seen: int | None = None
    pause = threading.Event()
    while True:
        try:
            lock.mkdir()
        except FileExistsError:
            pass
        else:
            return
        with suppress(FileNotFoundError):
            touched = lock.stat().st_mtime_ns
            if touched != seen:
                seen, seen_since = touched, monotonic()
            elif monotonic() - seen_since >= stale_seconds:
                with suppress(OSError):
                    lock.rmdir()
                seen = None
                continue
        if monotonic() - began >= patience_seconds:
            raise ConsolidatorError(f"{lock}: another program has been writing for {patience_seconds:g} s; try again")
        pause.wait(_LOOK_SECONDS)


def _touch(lock: Path, over: threading.Event, seconds: float) -> None:
    while not over.wait(seconds):
        with suppress(OSError):
            os.utime(lock)
