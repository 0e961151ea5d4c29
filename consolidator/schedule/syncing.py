"""
Syncing: the sources of a night, pulled before it and pushed after it.

Each has a row of its own in the ledger, of the whole store, which is done when it is pushed. So a push that failed, or
was killed with the night done already, is made up for by the next attempt, without a second night; and what is done is
not done again with the rest.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from consolidator.errors import ConsolidatorError, ScopeHeld
from consolidator.perform import FAILED, PARTLY
from consolidator.schedule.owed import next_attempt, source_row
from consolidator.sources.named import named_source, opened
from consolidator.sources.pull import pull
from consolidator.sources.push import push
from consolidator.sources.telling import pulled_line, pushed_line
from consolidator.store import ledger
from consolidator.store.locks import WHOLE_STORE

if TYPE_CHECKING:
    from consolidator.schedule.jobs import Ended, Work


def with_sources(work: "Work", names: Sequence[str], night: Callable[[], "Ended"]) -> "Ended":
    """The night, with these sources before and after it. One that cannot be read or written keeps none of the rest."""
    todo = [sync for sync in (_Sync(work, name) for name in names) if sync.begin()]
    for sync in todo:
        sync.pull()
    ended = night()
    for sync in todo:
        sync.push(ended)
    lines = [line for sync in todo for line in sync.lines]
    troubles = [sync.trouble for sync in todo if sync.trouble]
    return replace(
        ended,
        exit_code=ended.exit_code or (PARTLY if troubles else 0),
        lines=(*ended.lines, *lines),
        synced=tuple(line for sync in todo for line in sync.news),
        trouble="; ".join(troubles) or None,
        before=ended.before and not todo,
    )


class _Sync:
    """One source. lines: what was done. news: those of them that tell of a change. trouble: why not all was done."""

    def __init__(self, work: "Work", name: str) -> None:
        self._work, self._name, self._row = work, name, source_row(name)
        self.lines: list[str] = []
        self.news: list[str] = []
        self.trouble: str | None = None
        self._attempts = 0

    def begin(self) -> bool:
        """Count an attempt; False where it was done for the date."""
        work = self._work
        with work.store.write() as conn:
            before = ledger.entries(conn, [WHOLE_STORE], self._row, *work.day)[WHOLE_STORE]
            if before.done and not work.again:
                return False
            self._attempts = before.attempts + 1
            next_at = next_attempt(self._attempts, work.wall_clock())
            ledger.begin(conn, WHOLE_STORE, self._row, work.day.name, next_at=next_at)
        return True

    def pull(self) -> None:
        self._try("pulled", self._pull)

    def push(self, ended: "Ended") -> None:
        """What the night changed, unless there is a reason not to; and how it ended, in the ledger."""
        work = self._work
        if not self.trouble and not work.stop():
            self._try("pushed", self._push)
        with work.store.write() as conn:
            if work.stop.requested:
                ledger.not_begun(conn, WHOLE_STORE, self._row, work.day.name, now=work.wall_clock())
            elif why := self.trouble or work.stop() or (ended.failure if ended.exit_code == FAILED else None):
                next_at = next_attempt(self._attempts, work.wall_clock())
                ledger.failed(conn, WHOLE_STORE, self._row, work.day.name, reason=why, next_at=next_at)
            else:
                ledger.done(conn, WHOLE_STORE, self._row, work.day.name, at=work.wall_clock())

    def _try(self, what: str, act: Callable[[], None]) -> None:
        """Do it; one that another process is at is waited for."""
        work = self._work
        while not work.stop():
            try:
                return act()
            except ScopeHeld:
                work.stop.wait()
            except ConsolidatorError as failure:
                self.trouble = f"source {self._name} was not {what}: {failure}"
                return None
            except Exception as fault:  # noqa: BLE001 - whatever is wrong over there, the rest has its night
                said = f"a fault of this program ({type(fault).__name__}); `consolidate sync {self._name}` shows it"
                self.trouble = f"source {self._name} was not {what}: {said}"
                return None
        return None

    def _pull(self) -> None:
        work = self._work
        named = named_source(work.settings, self._name)
        with opened(named, work.store, work.settings.embedding, os.environ) as (source, options):
            done = pull(
                work.store,
                source,
                options=options,
                now=work.now,
                wall_clock=work.wall_clock,
                expiry=work.settings.day.expiry,
            )
        self._tell(pulled_line(self._name, done), news=bool(done.new or done.changed or done.gone or done.bad_lines))

    def _push(self) -> None:
        work = self._work
        named = named_source(work.settings, self._name)
        with opened(named, work.store, work.settings.embedding, os.environ) as (source, options):
            if source.ways == "read":
                return
            done = push(work.store, source, options=options, now=work.now, wall_clock=work.wall_clock, rates=work.rates)
        self._tell(
            pushed_line(self._name, done), news=bool(done.written or done.made or done.removed or done.conflicts)
        )

    def _tell(self, line: str, *, news: bool) -> None:
        self.lines.append(line)
        if news:
            self.news.append(line)
