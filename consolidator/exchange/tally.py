"""What becomes of records while they are taken in."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import groupby
from typing import Any, TypeVar

from consolidator.exchange.desk import Desk
from consolidator.exchange.records import KINDS, BadLine, Record
from consolidator.exchange.spool import Spool

R = TypeVar("R", bound=Record)

_NAMES = {kind: name for name, kind in KINDS.items()}


class Tally:
    """
    Counts by kind, notes, and what later kinds need to know of earlier ones.

    arrived: keys of the memories that were added. late: those of them that were known by name before. since: where
    records of the same source were taken in before, up to when its nights count; None else. remade: whether its
    nights went on after that. purged: keys of turns that the file itself says were purged; what it tells of them beside
    that was not.
    """

    def __init__(self, spool: Spool, progress: Callable[[int], None] | None) -> None:
        self.notes: list[str] = []
        self.arrived: set[int] = set()
        self.late: set[int] = set()
        self.since: int | None = None
        self.remade = False
        self.purged: set[int] = set()
        self._spool, self._progress = spool, progress
        self._counts: dict[str, Counter[str]] = {"added": Counter(), "known": Counter(), "forgotten": Counter()}
        self._done = 0

    def count(self, kind: type[Record], *, added: int, of: int) -> None:
        """`added` of `of` records are new, the rest is known."""
        self._counts["added"][_NAMES[kind]] += added
        self._counts["known"][_NAMES[kind]] += of - added

    def leave_out(self, kind: type[Any], number: int) -> None:
        """So many records name a memory that was forgotten."""
        self._counts["forgotten"][_NAMES[kind]] += number

    def counts(self, what: str) -> dict[str, int]:
        """How many of each kind, those of none left out."""
        return {kind: self._counts[what][kind] for kind in KINDS if self._counts[what][kind]}

    def refuse(self, line: int, field: str, reason: str) -> None:
        """A record turns out to be bad now that the store is asked."""
        self._spool.refuse(BadLine(self._spool.name, line, field, reason))

    def batches(self, desk: Desk, kind: type[R], *names: str) -> Iterator[tuple[int, Sequence[R]]]:
        """
        The records of a kind in batches of one scope, with the key of it, in the order of the file.

        names: the fields that name a memory; records that name a forgotten one are counted and left out.
        """
        for batch in self._spool.batches(kind):
            for scope, group in groupby(sorted(batch, key=lambda each: each.scope or ""), lambda each: each.scope):
                key = desk.scope_key(scope or "{}")
                lines = list(group)
                gone = desk.forgotten(key) if names else frozenset()
                yield key, self._without(gone, lines, names) if gone else lines
            self._done += len(batch)
            if self._progress:
                self._progress(self._done)

    def _without(self, gone: Collection[str], lines: list[R], names: Sequence[str]) -> list[R]:
        kept = [line for line in lines if not any(getattr(line, name) in gone for name in names)]
        self.leave_out(type(lines[0]), len(lines) - len(kept))
        return kept
