"""
Writing what was planned, so that a kill at any instant leaves nothing unknown.

Images and what is expected are committed before anything is written over there; while that is done no transaction of
ours is open; what was done is noted after each portion.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import sqlalchemy as sa

from consolidator.sources.images import kept_of
from consolidator.sources.planned import Step
from consolidator.sources.port import Done, Image, Source, Write
from consolidator.store import pushes
from consolidator.store.engine import Store
from consolidator.store.locks import Clock
from consolidator.store.sourced import NEW, REMOVED, Mapped, read_map, standings, write_map


class Planned(NamedTuple):
    """A write, for what it is made, and the revision of the memory that it tells (a copy: ASIDE); None: of none."""

    step: Step
    before: Image | None
    after: Image | None
    revision: int | None


@dataclass
class Carrier:
    """
    Carries a push out, portion by portion. push: its key, once anything was to be written.

    conflicts: what was left alone, a line each. failed: the groups in which something was.
    """

    store: Store
    source: Source
    source_key: int
    push_id: str
    now: int
    wall_clock: Clock
    push: int | None = None
    conflicts: list[str] = field(default_factory=list)
    failed: set[Hashable] = field(default_factory=set)
    counts: dict[str, int] = field(default_factory=lambda: {"made": 0, "written": 0, "removed": 0})
    notes: list[str] = field(default_factory=list)

    def carry(self, planned: Sequence[Planned]) -> None:
        """Write a portion."""
        if not planned:
            return
        version = self._begin() if self.push is None else None
        with self.store.write() as conn:
            planned = self._still_here(conn, planned)
            push = self.push or pushes.begin_push(
                conn, self.source_key, self.push_id, as_of=self.now, started_at=self.wall_clock(), version=version
            )
            kept = [one for one in planned if one.step.kind != "forgotten"]
            pushes.keep_images(conn, push, [kept_of(self.source, one.step, one.before, one.after) for one in kept])
            self._expect(conn, planned)
        self.push = push
        done = self.source.write([Write(one.step.id, one.before, one.after) for one in planned])
        with self.store.write() as conn:
            self._note(conn, planned, done)

    def finish(self) -> None:
        """Note that all was written."""
        version = self.source.version() if self.push is not None else None
        with self.store.write() as conn:
            if self.push is not None:
                pushes.finish_push(conn, self.push, at=self.wall_clock(), version=version)
            pushes.note_pushed(conn, self.source_key, at=self.wall_clock())

    def leave(self, step: Step, why: str) -> None:
        """Note what is left alone, and with it all that stands or falls with it; nothing does with a copy."""
        self.conflicts.append(f"{step.id}: {why}")
        if step.group is not None and step.kind != "copy":
            self.failed.add(step.group)

    def _begin(self) -> str | None:
        with self.store.read() as conn:
            is_first = not pushes.was_pushed(conn, self.source_key)
        if is_first:
            self.notes += self.source.prepare()
        return self.source.version()

    def _still_here(self, conn: sa.Connection, planned: Sequence[Planned]) -> list[Planned]:
        """But for what was forgotten meanwhile; nobody forgets the others before this transaction is at its end."""
        told = {one.step.key for one in planned if one.revision is not None and one.step.key is not None}
        here = standings(conn, told, hold=True)
        left = [one for one in planned if one.revision is None or one.step.key in here]
        self.failed |= {one.step.group for one in planned if one not in left and one.step.group is not None}
        return left

    def _expect(self, conn: sa.Connection, planned: Sequence[Planned]) -> None:
        rows = read_map(conn, self.source_key, [one.step.id for one in planned])
        expected = dict(rows)
        for one in planned:
            row = rows.get(one.step.id) or Mapped(one.step.key, NEW)
            expected[one.step.id] = row._replace(expected=self._fingerprint(one.after) or REMOVED)
        write_map(conn, self.source_key, rows, expected)

    def _note(self, conn: sa.Connection, planned: Sequence[Planned], done: Mapping[str, Done]) -> None:
        assert self.push is not None
        rows = read_map(conn, self.source_key, [one.step.id for one in planned])
        known = dict(rows)
        left = set()
        for one in planned:
            step, row = one.step, rows[one.step.id]
            result = done.get(step.id, Done(conflict="was not written"))
            if result.conflict or (one.after is None and result.fingerprint is not None):
                self.leave(step, result.conflict or "is there again")
                left.add(step.id)
                if row.fingerprint == NEW:
                    del known[step.id]
                else:
                    known[step.id] = row._replace(expected=None)
                continue
            expected = self._fingerprint(one.after)
            told = one.revision if row.memory_key == step.key else row.revision
            if expected is None:
                told = told if step.kind == "copy" else row.revision
                known[step.id] = row._replace(expected=None, removed_at=self.wall_clock(), revision=told)
            else:
                settled = row._replace(fingerprint=expected, expected=None, revision=told)
                known[step.id] = settled._replace(removed_at=None, gone_at=None)
                if result.fingerprint != expected:
                    self.leave(step, "was edited over there as it was written")
            self.counts["removed" if expected is None else "made" if one.before is None else "written"] += 1
        write_map(conn, self.source_key, rows, known)
        settled_ids = {one.step.id for one in planned} - left
        pushes.settle_images(conn, [self.push], done=settled_ids, undone=left)

    def _fingerprint(self, image: Image | None) -> str | None:
        return None if image is None else self.source.fingerprint(image)
