"""A reading of a source taken down: what must be written goes into a spool, of the rest only what tells it apart."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from consolidator.exchange.records import AttributionLine, BadLine, MemoryLine
from consolidator.exchange.spool import BATCH, Spool
from consolidator.laws.strength import CONFIDENCE
from consolidator.scopes import EMPTY
from consolidator.sources.port import MOST_USES, Item, Reading, Unreadable
from consolidator.store.sourced import REMOVED, Mapped

Progress = Callable[[str, int, int], None]
Expiry = Callable[[str, int], int | None]  # of a canonical scope, at a time: when what is taken in then expires
_LONGEST_NAME = 900  # bytes; the exchange takes 1,000
_MOST_COUNTED = 2**53  # beyond that no counter of JSON counts, and no column of ours holds it


class Read(NamedTuple):
    """
    A record as it was read. name: its memory's, as (scope, id). archived: why its system says that it is put away.
    """

    id: str
    name: tuple[str, str]
    fingerprint: str
    uses: int
    created_at: int
    archived: str | None = None


@dataclass
class Sight:
    """
    What a reading showed. lines: what the records that were changed over there say now, without their texts. moves:
    ids that are new, by the ids that these records had before. unreadable: what is there and cannot be taken.
    """

    reads: dict[str, Read] = field(default_factory=dict)
    lines: dict[str, MemoryLine] = field(default_factory=dict)
    moves: dict[str, str] = field(default_factory=dict)
    unreadable: set[str] = field(default_factory=set)
    uses: int = 0

    @property
    def moved(self) -> dict[str, str]:
        """By its former id, the new one of each record that was moved; one that is still at its place was copied."""
        return {before: now for now, before in self.moves.items() if before not in self.reads}


def take_down(
    reading: Reading, spool: Spool, known: Mapping[str, Mapped], *, url: str, now: int, progress: Progress | None,
    expiry: Expiry,
) -> Sight:  # fmt: skip
    """Read everything. `known`: the records as they were by now; only what differs is put into the spool."""
    sight = Sight()
    told: BadLine | None = None
    for number, record in enumerate(reading.records, 1):
        if isinstance(record, Item):
            _take_item(_expiring(record, expiry, now), sight, spool, known, url=url, now=now)
        elif isinstance(record, Unreadable):
            sight.unreadable.add(record.id)
            if record.bad is not told:  # what keeps all records of a page from being read is said once
                spool.refuse(record.bad)
            told = record.bad
        elif isinstance(record, BadLine):
            spool.refuse(record)
        else:
            spool.add(record)
        if progress and number % BATCH == 0:
            progress("reading", number, 0)
    return sight


def _expiring(item: Item, expiry: Expiry, now: int) -> Item:
    """A record with the end that one without an end of its own is given here."""
    line = item.memory
    if line.expires_at is not None or line.pinned:
        return item
    end = expiry(line.scope or EMPTY, now)
    return item if end is None else replace(item, memory=replace(line, expires_at=end))


def _take_item(item: Item, sight: Sight, spool: Spool, known: Mapping[str, Mapped], *, url: str, now: int) -> None:
    if item.id in sight.reads:
        spool.refuse(BadLine(url, 0, item.id, "is the id of a second record"))
        return
    item = replace(item, uses=min(item.uses, _MOST_COUNTED))
    line = item.memory
    if line.status != "active" and line.archived_at is None:
        line = replace(line, archived_at=now)
    name = (line.scope or EMPTY, line.id)
    archived = None if line.status == "active" else line.archived_because or "user"
    sight.reads[item.id] = Read(item.id, name, item.fingerprint, item.uses, line.created_at, archived)
    if item.id not in known and _is_there(known.get(item.moved_from or "")):
        sight.moves[item.id] = str(item.moved_from)
    row = known.get(sight.moves.get(item.id, item.id))
    if row is None or item.fingerprint not in (row.fingerprint, row.expected):
        spool.add(line)
        if row is not None:
            sight.lines[item.id] = replace(line, content="", model=None, vector=None)
    if row is not None and row.memory_key is not None:
        for use in _uses(item, row, name, url=url, now=now):
            spool.add(use)
            sight.uses += 1


def _is_there(row: Mapped | None) -> bool:
    """Whether a record may have been moved: what a push of ours has removed is at no other place."""
    return row is not None and row.removed_at is None and row.expected != REMOVED


def _uses(item: Item, row: Mapped, name: tuple[str, str], *, url: str, now: int) -> Iterator[AttributionLine]:
    """The last of the uses that came on top; each has a name of its own, the same in every reading."""
    at = now if item.used_at is None else min(item.used_at, now)
    for number in range(max(row.uses, item.uses - MOST_USES) + 1, item.uses + 1):
        turn = _short(f"{url} {item.id} use {number}")
        yield AttributionLine(
            0, name[0], turn, turn, name[1], item.evidence, CONFIDENCE[item.evidence], at, session_id=_short(url)
        )


def _short(name: str) -> str:
    return name if len(name.encode()) <= _LONGEST_NAME else hashlib.sha256(name.encode()).hexdigest()
