"""
Taking in what another system's store holds, and what was done there since.

Their edit wins: a text changed over there takes the place of ours, which stays as history. What is gone over there is
archived here. Nothing of theirs is changed, and of ours everything in one transaction, or nothing. What a push of ours
wrote is known by its fingerprint and never taken for news.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Set
from contextlib import nullcontext
from dataclasses import dataclass

import sqlalchemy as sa

from consolidator.errors import BadInput
from consolidator.exchange.intake import Intake, write_spool
from consolidator.exchange.records import BadLine
from consolidator.exchange.spool import Spool
from consolidator.report.words import counted
from consolidator.sources.port import Options, Source
from consolidator.sources.reading import Expiry, Progress, Sight, take_down
from consolidator.sources.sorting import Sorted, sort_out
from consolidator.store import edits
from consolidator.store.engine import Store
from consolidator.store.locks import Clock, hold_source
from consolidator.store.pushes import rewriters, settle_images, unfinished
from consolidator.store.sourced import (
    ASIDE,
    REMOVED,
    Mapped,
    Standing,
    add_source,
    find_source,
    held_elsewhere,
    names_of,
    note_pulled,
    read_map,
    standings,
    write_map,
)

ENOUGH_TO_JUDGE = 20  # records of which not more than half may be gone unasked

Names = Mapping[tuple[str, str], int]


@dataclass(frozen=True, slots=True)
class Pulled:
    """
    What a pull found: records new here, changed, gone and here as before; uses that count now; other records, by kind,
    that were here already (known) or are new (added); what could not be taken (bad: at most 10,000 of bad_lines).

    conflicts: what a night of ours and an edit over there both did, a line each. notes: what a person should hear of.
    """

    new: int
    changed: int
    gone: int
    unchanged: int
    uses: int
    added: Mapping[str, int]
    known: Mapping[str, int]
    bad: tuple[BadLine, ...]
    bad_lines: int
    conflicts: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def exit_code(self) -> int:
        """3 where something could not be taken."""
        return 3 if self.bad_lines else 0


def pull(
    store: Store,
    source: Source,
    *,
    options: Options,
    now: int,
    wall_clock: Clock,
    dry_run: bool = False,
    allow_gone: bool = False,
    expiry: Expiry = lambda _scope, _now: None,
    progress: Progress | None = None,
) -> Pulled:
    """
    Take a source in, in one transaction.

    BadInput, and nothing written, where none or less than half of its records are there any more, unless that is
    allowed: a folder that is not mounted must not archive a store. ScopeHeld while another pull or push of it is under
    way. dry_run: write nothing (a store opened for reading will do). expiry: when those expire that say nothing of it.
    """
    if dry_run:
        with store.read() as conn:
            found = find_source(conn, source.url)
        key = None if found is None else int(found.key)
    else:
        with store.write() as conn:
            key = add_source(conn, source.url)
    held = nullcontext() if dry_run or key is None else hold_source(store, key, wall_clock=wall_clock)
    with held, Spool(source.url) as spool:
        with store.read() as conn:
            row = find_source(conn, source.url)
            known = {} if key is None else read_map(conn, key)
        reading = source.read(None if row is None else row.since)
        sight = take_down(reading, spool, known, url=source.url, now=now, progress=progress, expiry=expiry)
        if reading.unchanged:
            sight.reads.clear()
            known = {}
        with store.read() if dry_run else store.write() as conn:
            if not reading.unchanged and key is not None:
                known = read_map(conn, key)  # what was forgotten meanwhile
                _insist_on_enough(known, sight, source.url, allowed=allow_gone)
            done, intake = _take(conn, key, spool, sight, known, now=now, dry_run=dry_run, progress=progress)
            if not dry_run and key is not None:
                note_pulled(conn, key, since=reading.since, at=now)
    return _pulled(done, intake, sight, (*reading.notes, *intake.notes))


def _insist_on_enough(known: Mapping[str, Mapped], sight: Sight, url: str, *, allowed: bool) -> None:
    """What is not to be seen may be unmounted, moved or cut off."""
    lived = {name for name, row in known.items() if row.lives and row.expected is None}
    seen = {*sight.reads, *sight.unreadable, *sight.moved}
    there = len(lived & seen)
    if allowed or not lived or there * 2 >= len(lived) or (there and len(lived) < ENOUGH_TO_JUDGE):
        return
    what = "none" if not there else f"only {there}"
    raise BadInput(
        f"{url}: {what} of {counted(len(lived), 'record', 'records')} of the last pull is there any more; look whether "
        "it is the right place, or archive what is gone with --gone"
    )


def _take(
    conn: sa.Connection,
    key: int | None,
    spool: Spool,
    sight: Sight,
    known: Mapping[str, Mapped],
    *,
    now: int,
    dry_run: bool,
    progress: Progress | None,
) -> tuple[Sorted, Intake]:
    """Write what was read, and what it makes of the memories that are here."""
    news = {read.name for read in sight.reads.values() if read.id not in known or read.id in sight.lines}
    before = names_of(conn, news)
    intake = write_spool(conn, spool, now=now, skip_bad=True, dry_run=dry_run, progress=progress)
    names = names_of(conn, news)
    memories = standings(conn, {*names.values(), *(row.memory_key for row in known.values() if row.memory_key)})
    later = edits.said_later(conn, (one.key for one in memories.values() if one.status == "superseded"))
    away = {name for name, row in known.items() if _is_away(memories.get(row.memory_key or 0)) and row.revision}
    rewritten = rewriters(conn, key, away) if key is not None else {}
    done = sort_out(sight, known, names, {*before.values()}, memories, later, {*rewritten}, now=now)
    if dry_run or key is None:
        return done, intake
    concerned = {*done.superseded, *done.archived, *done.gone}
    elsewhere = held_elsewhere(conn, concerned, key)
    put_away = {read.id for read in sight.reads.values() if read.archived}
    said = {row.memory_key for name, row in done.map.items() if row.lives and name not in put_away}
    in_use = elsewhere | said
    edits.bring_back(conn, done.seen_again, now=now, kept=False)
    edits.bring_back(conn, done.said_again, now=now, kept=True)
    edits.supersede(conn, {old: new for old, new in done.superseded.items() if old not in in_use}, now=now)
    edits.retell(conn, done.retold)
    for because in {*done.archived.values()}:
        keys = {one for one, why in done.archived.items() if why == because and one not in in_use}
        edits.archive(conn, keys, because, now=now)
    edits.archive(conn, done.gone - in_use, edits.GONE, now=now)
    gone = {one for one in {*done.gone, *done.superseded} - said if one in memories}
    _take_copies(done, {one for one in gone if memories[one].status == "active"}, now=now)
    spare = {name for name in put_away if done.map[name].memory_key in said}
    write_map(conn, key, known, _with_spare(conn, _with_revisions(conn, done, memories), spare))
    _settle_images(conn, key, known, sight)
    return done, intake


def _is_away(stands: Standing | None) -> bool:
    return stands is not None and stands.status != "active"


def _settle_images(conn: sa.Connection, key: int, known: Mapping[str, Mapped], sight: Sight) -> None:
    """What a push that was killed had written by then, and what it had not."""
    waits = {name: row.expected for name, row in known.items() if row.expected is not None}
    if not waits:
        return
    found = {name: sight.reads[name].fingerprint for name in waits if name in sight.reads}
    done = {name for name, expected in waits.items() if found.get(name, REMOVED) == expected}
    settle_images(conn, unfinished(conn, key), done=done, undone=waits.keys() - done)


def _take_copies(done: Sorted, gone: Set[int], *, now: int) -> None:
    """With the record that stayed its copies are gone, which a push had removed: none of them is brought back."""
    for name, row in done.map.items():
        if row.memory_key in gone and row.removed_at is not None and row.gone_at is None:
            done.map[name] = row._replace(gone_at=now)


def _with_revisions(conn: sa.Connection, done: Sorted, memories: Mapping[int, Standing]) -> dict[str, Mapped]:
    """What a push would tell of these memories now is what was just read: only later changes are to be sent."""
    told = {name: row for name, row in done.map.items() if name in done.told and row.memory_key is not None}
    now = standings(conn, (row.memory_key for row in told.values() if row.memory_key is not None))
    revised = {
        name: row._replace(revision=now[row.memory_key].revision) for name, row in told.items() if row.memory_key in now
    }
    return {**done.map, **revised}


def _with_spare(conn: sa.Connection, rows: Mapping[str, Mapped], spare: Set[str]) -> dict[str, Mapped]:
    """Records that are put away over there, of memories that others there say: nothing is to be told of them."""
    stand = standings(conn, {key for name in spare if (key := rows[name].memory_key) is not None})
    active = {key for key, one in stand.items() if one.status == "active"}
    aside = {name: rows[name]._replace(revision=ASIDE) for name in spare if rows[name].memory_key in active}
    return {**rows, **aside}


def _pulled(done: Sorted, intake: Intake, sight: Sight, notes: Iterable[str]) -> Pulled:
    counts: Counter[str] = done.counts
    if forgotten := intake.forgotten.get("memory"):
        told = counted(forgotten, "record holds what was", "records hold what was")
        notes = (*notes, f"{told} forgotten here, and stayed out")
    return Pulled(
        new=counts["new"],
        changed=counts["changed"],
        gone=counts["gone"],
        unchanged=counts["unchanged"],
        uses=sight.uses,
        added={kind: number for kind, number in intake.added.items() if kind != "memory"},
        known={kind: number for kind, number in intake.known.items() if kind != "memory"},
        bad=intake.bad,
        bad_lines=intake.bad_lines,
        conflicts=tuple(done.conflicts),
        notes=(*notes, *done.notes),
    )
