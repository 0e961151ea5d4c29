"""Record: what became of a job since the service began."""

import signal
from dataclasses import dataclass
from datetime import timedelta

from consolidator.schedule.child import Child
from consolidator.schedule.owed import WAITS

WELL = (0, 3)  # done; done in part


@dataclass(slots=True)
class Record:
    """
    When a job last began and ended, and how.

    due: the time for which it was begun; None where that could not be seen. child: it is under way. exit_code: a code,
    or a signal as a negative number.
    """

    due: int | None = None
    begun: int | None = None
    ended: int | None = None
    exit_code: int | None = None
    child: Child | None = None
    _times: int = 0
    _not_before: int = 0

    @property
    def failed(self) -> bool:
        """Whether it last ended badly."""
        return self.exit_code is not None and self.exit_code not in WELL

    def may_begin(self, due: int, now: int) -> bool:
        """
        Whether it need not wait before it is begun again for the same time.

        The ledger says so too, but not where it was the ledger that could not be written.
        """
        return due != self.due or now >= self._not_before

    def begin(self, child: Child, *, due: int | None, now: int) -> None:
        """It is under way."""
        if due != self.due:
            self._times, self._not_before = 0, 0
        self.due, self.begun, self.child = due, now, child

    def end(self, child: Child, *, now: int) -> str:
        """It has ended; how, in words."""
        code = child.exit_code()
        self.ended, self.exit_code, self.child = now, code, None
        self._not_before = now + WAITS[min(self._times, len(WAITS) - 1)]
        self._times += 1
        how = f"exit code {code}" if code >= 0 else f"killed by {signal.Signals(-code).name}"
        return f"ended after {timedelta(seconds=round(child.seconds))}, {how}"
