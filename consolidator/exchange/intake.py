"""
Taking records in: what is new is added, what is known stays as it is, what was forgotten stays away.

Taking the same records in twice changes nothing the second time, and the order of their lines does not matter. All
of a file is written in one transaction, or nothing of it.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import BinaryIO

import sqlalchemy as sa

from consolidator.errors import BadInput
from consolidator.exchange import history, purged, remembered
from consolidator.exchange.desk import Desk, Rehearsal
from consolidator.exchange.lines import read_lines
from consolidator.exchange.records import BadLine, Record
from consolidator.exchange.spool import Spool
from consolidator.exchange.tally import Tally
from consolidator.store.engine import Store

Progress = Callable[[str, int, int], None]  # what is being done, how much of it, of how much


@dataclass(frozen=True, slots=True)
class Intake:
    """
    What became of the records, as counts by kind.

    added: new here. known: here already, left as they are. forgotten: of memories that were forgotten here, left
    out. bad: the bad lines left out (at most 10,000 of them); bad_lines: how many. notes: what a person should
    hear of.
    """

    added: dict[str, int]
    known: dict[str, int]
    forgotten: dict[str, int]
    bad: tuple[BadLine, ...]
    bad_lines: int
    notes: tuple[str, ...]


class BadLines(BadInput):
    """A file that is refused whole, for its bad lines. `bad`: at most 10,000 of them; `bad_lines`: how many."""

    def __init__(self, bad: tuple[BadLine, ...], bad_lines: int) -> None:
        self.bad, self.bad_lines = bad, bad_lines
        others = bad_lines - 1
        more = f" (and {others} more bad line{'s' if others > 1 else ''})" if others else ""
        super().__init__(f"{bad[0]}{more}; mend it, or take in the rest with --skip-bad")


def import_lines(
    store: Store,
    stream: BinaryIO,
    name: str,
    *,
    now: int,
    scope: str | None = None,
    skip_bad: bool = False,
    dry_run: bool = False,
) -> Intake:
    """
    Take a file of lines in; `name` stands for it in messages.

    scope: canonical; fills lines without one, and a line with another is bad. The rest as `take_spool`.
    """
    with Spool(name, scope=scope) as spool:
        return take_spool(store, spool.fill(read_lines(stream, name)), now=now, skip_bad=skip_bad, dry_run=dry_run)


def take_spool(
    store: Store,
    spool: Spool,
    *,
    now: int,
    skip_bad: bool,
    dry_run: bool,
    progress: Progress | None = None,
) -> Intake:
    """
    Write what was put by, in one transaction; the store is not touched where it is refused anyway.

    BadLines where a line is bad and not to be skipped: then nothing was written. now: when what says nothing else is
    taken in. dry_run: write nothing (a store opened for reading will do). progress: hears "writing", how many
    records are done, and of how many.
    """
    _refuse(spool, skip_bad=skip_bad)
    with store.read() if dry_run else store.write() as conn:
        return write_spool(conn, spool, now=now, skip_bad=skip_bad, dry_run=dry_run, progress=progress)


def take_in(
    conn: sa.Connection,
    records: Iterable[Record | BadLine],
    *,
    now: int,
    name: str = "records",
    scope: str | None = None,
    skip_bad: bool = False,
    dry_run: bool = False,
) -> Intake:
    """The same for records at hand, inside the caller's transaction, which BadLines must end."""
    with Spool(name, scope=scope) as spool:
        return write_spool(conn, spool.fill(records), now=now, skip_bad=skip_bad, dry_run=dry_run)


def write_spool(
    conn: sa.Connection,
    spool: Spool,
    *,
    now: int,
    skip_bad: bool,
    dry_run: bool,
    progress: Progress | None = None,
) -> Intake:
    """`take_spool`, inside the caller's transaction, which BadLines must end."""
    _refuse(spool, skip_bad=skip_bad)
    desk = Rehearsal(conn) if dry_run else Desk(conn)
    total = sum(spool.counts.values())
    tally = Tally(spool, (lambda done: progress("writing", done, total)) if progress else None)
    for take in (
        history.take_source,
        remembered.take_scopes,
        remembered.take_tombstones,
        partial(remembered.take_memories, now=now),
        history.take_aliases,
        remembered.take_merge_sources,
        remembered.take_associations,
        remembered.take_verdicts,
        history.wake,
        purged.take_turns,
        history.take_exposures,
        history.take_attributions,
    ):
        take(desk, spool, tally)
    _refuse(spool, skip_bad=skip_bad)
    return Intake(
        added=tally.counts("added"),
        known=tally.counts("known"),
        forgotten=tally.counts("forgotten"),
        bad=tuple(spool.bad),
        bad_lines=spool.bad_lines,
        notes=tuple(tally.notes),
    )


def _refuse(spool: Spool, *, skip_bad: bool) -> None:
    if spool.bad_lines and (not skip_bad or any(bad.whole_file for bad in spool.bad)):
        raise BadLines(tuple(spool.bad), spool.bad_lines)
