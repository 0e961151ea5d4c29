"""
The service as a real process, under a clock of the test's own.

Debian's `faketime` gives every process that is started with it the time that a file says, its children too.
"""

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event

import sqlalchemy as sa

from consolidator.instants import SECOND, parse_instant, to_datetime
from consolidator.store.engine import open_store
from consolidator.store.tables import ledger, runs
from tests.lives import memory, take
from tests.providers.behaviours import slow
from tests.providers.provider import Provider

ROOT = Path(__file__).parents[2]
LIBRARY = next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None)
TOO_LONG_SECONDS = 120.0

_OTHERS = "collect: {enabled: false}, report: {enabled: false}, purge: {enabled: false}"
_TAKEN_IN = 92.2  # 1 June 2026, after half past three in Helsinki: no night is owed before the next day
_SAME = ["Ada works at the bakery in Turku.", "Ada works at the bakery in Turku every day now."]


def settings(
    at: str = "03:30",
    *,
    zone: str = "Europe/Helsinki",
    shift: str = "enabled: false",
    store: str = "memories.db",
    merge: str = "model: none",
    more: str = "",
) -> str:
    """A night at a time of day, in Helsinki unless elsewhere, and nothing else."""
    jobs = f"consolidate: {{at: '{at}', jitter_seconds: 0}}, shift: {{{shift}}}, {_OTHERS}"
    return f"""
time_zone: {zone}
store: {store}
embedding: {{model: none}}
merge: {{{merge}}}
jobs: {{{jobs}}}
{more}
"""


def filled(url: str) -> str:
    """The URL of a store, after two memories were taken in that a model is asked about."""
    with open_store(url, mode="write") as opened:
        take(opened, [memory(text, _TAKEN_IN) for text in _SAME], at=_TAKEN_IN)
    return url


class WallClock:
    """The clock on the wall of the processes started with its variables, also of those that run already."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "clock"
        self.variables = {
            "LD_PRELOAD": f"{LIBRARY}",
            "FAKETIME_TIMESTAMP_FILE": f"{self._file}",
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DISABLE_SHM": "1",
            "TZ": "UTC",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }

    def stop_at(self, text: str) -> None:
        """It shows this, until it is set."""
        self._write(f"{to_datetime(parse_instant(text)):%Y-%m-%d %H:%M:%S}")

    def set(self, text: str) -> None:
        """It goes on from there."""
        away = parse_instant(text) / SECOND - time.time()  # noqa: TID251 - how far it is from the machine's own
        self._write(f"{away:+.6f}")

    def _write(self, shown: str) -> None:
        new = self._file.with_suffix(".new")
        new.write_text(shown)
        new.replace(self._file)


@dataclass
class Running:
    """A process of the program, and what it prints."""

    process: subprocess.Popen[bytes]
    said: str = ""
    _left: bytes = field(default=b"", repr=False)

    def hear(self, *words: str) -> str:
        """The next line that holds all these words. AssertionError where it ends, or says nothing more, before."""
        while True:
            line = self._line()
            assert line is not None, f"ended without {words}:\n{self.said}"
            if all(word in line for word in words):
                return line

    def _line(self) -> str | None:
        assert self.process.stdout
        while b"\n" not in self._left:
            ready, _, _ = select.select([self.process.stdout], [], [], TOO_LONG_SECONDS)
            assert ready, f"nothing more after:\n{self.said}"
            heard = os.read(self.process.stdout.fileno(), 65536)
            if not heard:
                return None
            self._left += heard
        line, _, self._left = self._left.partition(b"\n")
        self.said += line.decode() + "\n"
        return line.decode()

    def tell(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self.process.send_signal(number)

    def reload(self, *words: str) -> str:
        """Have it read the settings anew, and look what is owed; what it says then."""
        self.tell(signal.SIGHUP)
        return self.hear(*words or ("read the settings anew",))

    def looked(self) -> None:
        """It has looked what is owed by now, and has begun that."""
        self.reload()
        self.reload()  # it hears this one after the look that the first one led to

    def idle(self) -> None:
        """All that it has begun has ended."""
        self.looked()
        while self.said.count(": begun, ") > self.said.count(": ended after "):
            self.hear(": ended after ")

    def end(self) -> int:
        """Its exit code, once it has ended and all is heard."""
        while self._line() is not None:
            pass
        return self.process.wait(TOO_LONG_SECONDS)

    def stop(self) -> int:
        """Told to stop; its exit code."""
        self.tell(signal.SIGTERM)
        return self.end()

    def child(self, name: str) -> int:
        """The process of a job that it has begun, as it says itself."""
        line = next(line for line in reversed(self.said.splitlines()) if f"{name}: begun" in line)
        return int(line.rpartition(" ")[2])


@dataclass(frozen=True)
class Machine:
    """A machine with a store, settings and a clock, on which the program is started."""

    folder: Path
    clock: WallClock

    @property
    def settings(self) -> Path:
        return self.folder / "schedules.yaml"

    def say(self, text: str) -> None:
        """Write the settings."""
        self.settings.write_text(text)

    @contextmanager
    def running(self, *arguments: object, **variables: str) -> Iterator[Running]:
        """A process of the program within the block; killed where it is not ended by then."""
        command = [sys.executable, "-m", "consolidator", "--settings", self.settings, *arguments]
        environ = {
            "PATH": os.defpath, "HOME": f"{self.folder}", "PYTHONPATH": f"{ROOT}", "LC_ALL": "C.UTF-8",
            **self.clock.variables, **variables,
        }  # fmt: skip
        process = subprocess.Popen(
            [f"{each}" for each in command], cwd=self.folder, env=environ, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        with process:
            running = Running(process)
            try:
                yield running
            finally:
                process.kill()


def nights(url: str) -> Sequence[str]:
    """The dates for which a night was done, by the ledger."""
    done = sa.select(ledger.c.day).where(ledger.c.job == "consolidate", ledger.c.done_at.is_not(None))
    with open_store(url, mode="read") as opened, opened.read() as conn:
        return conn.scalars(done.order_by(ledger.c.day)).all()


def asked_slowly(provider: Provider) -> Event:
    """The model thinks about the first question until this is set."""
    asked = Event()
    provider.then(slow(asked, at_most_seconds=TOO_LONG_SECONDS))
    return asked


def wait_for_the_middle(service: Running, provider: Provider) -> None:
    """Until the night of a service asks the model."""
    service.hear("consolidate: begun")
    provider.wait_for_calls(1, at_most_seconds=TOO_LONG_SECONDS)


def runs_of(url: str) -> int:
    """How often a night left something."""
    with open_store(url, mode="read") as opened, opened.read() as conn:
        return conn.scalar(sa.select(sa.func.count()).select_from(runs))
