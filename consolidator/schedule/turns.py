"""Turns: each job once for each date in each scope, as the ledger has it."""

from collections.abc import Callable, Collection
from contextlib import suppress

import sqlalchemy as sa

from consolidator.errors import ScopeHeld
from consolidator.schedule.owed import Day, next_attempt
from consolidator.schedule.stopping import Stopping
from consolidator.settings.jobs import JobName
from consolidator.store import ledger
from consolidator.store.engine import Store
from consolidator.store.locks import hold_scope
from consolidator.store.run import Run
from consolidator.terms import EveryTurn


class JobsTurn:
    """
    A job's, for a date. again: also where it was done. begins: called in each scope in which work begins.

    seen: the scopes that it came to. killed: those of them in which the attempt before was killed.

    An attempt is counted when it begins, so that one that is killed counts too; taken back where it was stopped on
    request. Out of time, a scope under way has had its turn: what it left waits for the next date, as what the budget
    leaves does.
    """

    def __init__(
        self,
        store: Store,
        job: JobName,
        day: Day,
        *,
        wall_clock: Callable[[], int],
        stop: Stopping,
        again: bool,
        begins: Callable[[], None],
    ) -> None:
        self._store, self._job, self._day, self._clock = store, job, day, wall_clock
        self._stop, self._again, self._begins = stop, again, begins
        self.seen: set[int] = set()
        self.killed: set[int] = set()
        with store.read() as conn:
            self.first: Collection[int] = ledger.done_for(conn, job, *day)
            self.last: Collection[int] = ledger.unfinished(conn, job)

    def begin(self, scope_key: int) -> str | None:
        self.seen.add(scope_key)
        with self._store.write() as conn:
            before = ledger.entries(conn, [scope_key], self._job, *self._day)[scope_key]
            if before.done and not self._again:
                return f"done for {self._day.name}"
            if before.killed:
                self.killed.add(scope_key)
            next_at = next_attempt(before.attempts + 1, self._clock())
            ledger.begin(conn, scope_key, self._job, self._day.name, next_at=next_at)
        self._begins()
        return None

    def done(self, conn: sa.Connection, run: Run | None, scope_key: int) -> None:
        run_key = run.stamp(conn) if run else None
        ledger.done(conn, scope_key, self._job, self._day.name, at=self._clock(), run_key=run_key)

    def failed(self, scope_key: int, why: str) -> None:
        with self._store.write() as conn:
            attempts = ledger.entries(conn, [scope_key], self._job, *self._day)[scope_key].attempts
            next_at = next_attempt(attempts, self._clock())
            ledger.failed(conn, scope_key, self._job, self._day.name, reason=why, next_at=next_at)

    def stopped(self, run: Run | None, scope_key: int) -> None:
        if not self._stop.requested:
            with run.writing(self._store) if run else self._store.write() as conn:
                self.done(conn, run, scope_key)
            return
        with self._store.write() as conn:
            ledger.not_begun(conn, scope_key, self._job, self._day.name, now=self._clock())

    def out_of_time(self, scope_keys: Collection[int], why: str) -> None:
        """Scopes to which it did not come have no more of it for this date, but for those where another is at it."""
        for key in sorted(set(scope_keys) - self.seen):
            with suppress(ScopeHeld), hold_scope(self._store, key, wall_clock=self._clock), self._store.write() as conn:
                ledger.failed(conn, key, self._job, self._day.name, reason=why, next_at=None)


class TurnByHand(EveryTurn):
    """A night by hand: never left out, and counted as that of its date."""

    def __init__(self, day: str, *, wall_clock: Callable[[], int]) -> None:
        self._day, self._clock = day, wall_clock

    def done(self, conn: sa.Connection, run: Run, scope_key: int) -> None:
        ledger.done(conn, scope_key, "consolidate", self._day, at=self._clock(), run_key=run.stamp(conn))
