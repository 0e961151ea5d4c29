"""Jobs on a store, on a day of the tests' lives."""

from collections.abc import Callable
from typing import Any
from zoneinfo import ZoneInfo

import sqlalchemy as sa

from consolidator.means import Means
from consolidator.plan import Result
from consolidator.report import Report, build
from consolidator.schedule.calendar import last_due
from consolidator.schedule.jobs import Work
from consolidator.schedule.owed import day_of
from consolidator.schedule.stopping import Stopping
from consolidator.settings import Settings
from consolidator.settings.duty import Duty, duties, duty_of
from consolidator.settings.jobs import JobName
from consolidator.store import ledger
from consolidator.store.engine import Store
from consolidator.store.locks import WHOLE_STORE
from consolidator.store.tables import scopes
from tests.lives import day

NIGHT = "2026-03-31"  # the date of the eve
WORDS_ALONE: dict[str, Any] = {"embedding": {"model": "none"}, "merge": {"model": "none"}}


class StoppedAfter(Stopping):
    """Told to stop when it has looked up so often. waits: what happens while a held scope is waited for."""

    def __init__(self, looks: float = float("inf"), *, waits: Callable[[], object] = lambda: None) -> None:
        super().__init__(60, lambda: 0.0)
        self.looks = 0
        self._most, self._waits = looks, waits

    def __call__(self) -> str | None:
        self.looks += 1
        if self.looks > self._most and not self.requested:
            self.request()
        return super().__call__()

    def wait(self) -> None:
        self._waits()


class OutOfTimeAfter(StoppedAfter):
    """Out of time when it has looked up so often."""

    def __call__(self) -> str | None:
        self.looks += 1
        self._clock = lambda: 3600.0 if self.looks > self._most else 0.0
        return Stopping.__call__(self)


def duty(name: JobName = "consolidate", **settings: Any) -> Duty:
    return duties(Settings.model_validate(WORDS_ALONE | settings), ZoneInfo("UTC"))[name]


def work_on(
    store: Store,
    at: float,
    name: JobName = "consolidate",
    *,
    stop: Stopping | None = None,
    again: bool = False,
    means: Means | None = None,
    **settings: Any,
) -> Work:
    """A job to be done on a day."""
    now = day(at)
    does = duty_of(Settings.model_validate(WORDS_ALONE | {"time_zone": "UTC"} | settings), name)
    assert does is not None
    due = last_due(does.cron, does.zone, now)
    assert due is not None
    return Work(
        store=store,
        duty=does,
        settings=Settings.model_validate(WORDS_ALONE | settings),
        means=means or Means(),
        now=now,
        wall_clock=lambda: now,
        day=day_of(does, due, now),
        again=again,
        stop=stop or StoppedAfter(),
        report=report,
    )


def report(result: Result) -> Report:
    return build(
        result.plan,
        result.outcomes,
        run_id=result.run_id,
        dry_run=False,
        exit_code=result.exit_code,
        error=result.error,
    )


def entries(store: Store, job: str = "consolidate", date: str = NIGHT) -> dict[str, ledger.Entry]:
    """By scope."""
    with store.read() as conn:
        keys = dict(conn.execute(sa.select(scopes.c.key, scopes.c.scope)).all()) | {WHOLE_STORE: ""}
        return {keys[key]: entry for key, entry in ledger.entries(conn, keys, job, date, date).items()}


def done_in(store: Store, job: str = "consolidate") -> set[str]:
    return {scope for scope, entry in entries(store, job).items() if entry.done}
