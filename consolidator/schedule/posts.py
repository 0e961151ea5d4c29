"""Posts: who sends the messages of each store. One that fails waits longer each time before it is begun again."""

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

from consolidator.instants import SECOND
from consolidator.schedule.child import Child
from consolidator.schedule.owed import WAITS


@dataclass(slots=True)
class Post:
    """
    Of one store. child: a sender under way. clock: elapsed seconds.
    """

    child: Child | None = None
    clock: Callable[[], float] = monotonic
    _failures: int = 0
    _not_before: float = 0.0

    def may_begin(self) -> bool:
        """Whether none is under way, and no failure is to be waited after."""
        return self.child is None and self.clock() >= self._not_before

    def end(self, code: int, *, told_to: bool) -> str | None:
        """It has ended with this code; what there is to say. told_to: it was asked to."""
        self.child = None
        if code == 0 or told_to:
            self._failures, self._not_before = 0, 0.0
            return "messages: stopped; what was not sent waits" if code else None
        wait = WAITS[min(self._failures, len(WAITS) - 1)] // SECOND
        self._failures, self._not_before = self._failures + 1, self.clock() + wait
        return f"messages: not sent, exit code {code}; tried again in {wait // 60} min"
