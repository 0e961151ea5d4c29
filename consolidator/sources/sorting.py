"""
What a reading says of each record that is known, and what that makes of the memories here. Pure.

A record is ours as we know it, written by a push of ours, changed by somebody, new, or no more there.
"""

from collections import Counter
from collections.abc import Mapping, Set
from dataclasses import dataclass, field, replace

from consolidator.exchange.records import MemoryLine
from consolidator.report.words import counted
from consolidator.sources.reading import Read, Sight
from consolidator.store.edits import GONE
from consolidator.store.sourced import ASIDE, NEW, REMOVED, Mapped, Standing

_NEVER = 2**62


@dataclass
class Sorted:
    """
    What is to be written. map: the records as they are known from now on. told: those whose memory is as they say.

    Of memories, by key: superseded, by which; retold, what is said of them beside their text; archived over there, and
    why; gone, where nobody else holds them; seen_again, that were archived for being gone; said_again, that are to be
    active because somebody says them now.
    """

    map: dict[str, Mapped] = field(default_factory=dict)
    told: set[str] = field(default_factory=set)
    superseded: dict[int, int] = field(default_factory=dict)
    retold: dict[int, MemoryLine] = field(default_factory=dict)
    archived: dict[int, str] = field(default_factory=dict)
    gone: set[int] = field(default_factory=set)
    seen_again: set[int] = field(default_factory=set)
    said_again: set[int] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)
    conflicts: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def sort_out(
    sight: Sight,
    known: Mapping[str, Mapped],
    names: Mapping[tuple[str, str], int],
    before: Set[int],
    memories: Mapping[int, Standing],
    led_at: Mapping[int, int],
    rewritten: Set[str] = frozenset(),
    *,
    now: int,
) -> Sorted:
    """
    names: keys of the memories that new and changed records hold, by scope and id; what was forgotten has none.
    before: those of them that were here before. memories: how all of them stand. led_at: when superseded ones were.
    rewritten: records that a push has written over.
    """
    done = Sorted()
    rows = {sight.moved.get(name, name): row for name, row in known.items()}
    sorter = _Sorter(done, sight, names, before, memories, led_at, rewritten)
    for read in sight.reads.values():
        row = rows.get(read.id)
        if row is None:
            sorter.new(read)
        elif read.fingerprint in (row.fingerprint, row.expected):
            sorter.as_known(read, row)
        else:
            sorter.changed(read, row)
    for name, row in rows.items():
        if name in sight.unreadable:
            done.map[name] = row
        elif name not in sight.reads:
            sorter.missing(name, row, now=now)
    if again := done.counts["again"]:
        told = counted(again, "record that a push had removed is", "records that a push had removed are")
        done.notes.append(f"{told} there again, unchanged; the next push removes what is not active here")
    return done


@dataclass(frozen=True)
class _Sorter:
    done: Sorted
    sight: Sight
    names: Mapping[tuple[str, str], int]
    before: Set[int]
    memories: Mapping[int, Standing]
    led_at: Mapping[int, int]
    rewritten: Set[str]

    def new(self, read: Read) -> None:
        key = self.names.get(read.name)
        self.done.counts["new"] += 1
        self.done.map[read.id] = Mapped(key, read.fingerprint, uses=read.uses)
        if key is None:
            return
        if key not in self.before:
            self.done.told.add(read.id)
            if not read.archived and self.memories[key].status == "archived":
                self.done.seen_again.add(key)  # another record of the same text, read before, is put away
        elif not read.archived and self._is_said_since(key, read.created_at):
            self._revive(key)

    def as_known(self, read: Read, row: Mapped) -> None:
        self.done.counts["unchanged"] += 1
        seen = row._replace(fingerprint=read.fingerprint, expected=None, uses=read.uses, gone_at=None, removed_at=None)
        if (row.removed_at is not None and row.expected != read.fingerprint) or self._is_back(read, row):
            self.done.counts["again"] += 1
            seen = seen._replace(revision=None)
        if row.gone_at is not None and row.memory_key is not None and self._is_gone(row.memory_key):
            self.done.seen_again.add(row.memory_key)
        self.done.map[read.id] = seen

    def _is_back(self, read: Read, row: Mapped) -> bool:
        """
        Whether what a push told as put away is not: an old handle of the agent's has written what it was before.

        What no push has ever written over is as it was left: its system has no way of putting it away.
        """
        if row.revision == ASIDE:
            return not read.archived
        told = self.memories.get(row.memory_key or 0)
        return (
            read.id in self.rewritten
            and told is not None
            and told.status != "active"
            and row.revision == told.revision
            and row.expected is None
            and not read.archived
        )

    def changed(self, read: Read, row: Mapped) -> None:
        """Somebody has decided of it: what that makes of the memory that it was, and of the one that it is."""
        self.done.counts["changed"] += 1
        old, key = row.memory_key, self.names.get(read.name)
        told = None if row.is_copy else row.revision
        self.done.map[read.id] = Mapped(key, read.fingerprint, uses=read.uses, revision=told)
        if key is None:
            self.done.map[read.id] = self.done.map[read.id]._replace(unwanted=row.unwanted)
            if old is not None:
                self.done.gone.add(old)
            return
        line = self.sight.lines.get(read.id)
        was = None if old is None or old == key else self.memories.get(old)
        if was is not None:
            self._replace(read.id, was, key)
        if key not in self.before:
            self.done.told.add(read.id)
            if was is not None and was.pinned and line is not None:
                self.done.retold[key] = replace(line, pinned=True)
            return
        if line is not None:
            self.done.retold[key] = line
        stands = self.memories[key]
        if old == key and row.revision == stands.revision:
            self.done.told.add(read.id)
        if read.archived and stands.status == "active":
            self.done.archived[key] = read.archived
        elif not read.archived:
            self._revive(key)

    def missing(self, name: str, row: Mapped, *, now: int) -> None:
        if row.fingerprint == NEW:
            return  # the push that was to make it was killed before
        if not row.lives:
            self.done.map[name] = row._replace(expected=None)
        elif row.expected == REMOVED:
            self.done.map[name] = row._replace(expected=None, removed_at=now)
        else:
            self.done.counts["gone"] += 1
            self.done.map[name] = row._replace(expected=None, gone_at=now)
            if row.memory_key is not None:
                self.done.gone.add(row.memory_key)

    def _replace(self, record: str, was: Standing, key: int) -> None:
        if was.scope_key != self.memories[key].scope_key:
            self.done.gone.add(was.key)  # nothing leads from one scope into another
        elif was.status != "superseded":
            self.done.superseded[was.key] = key
        elif was.superseded_by != key:
            self.done.conflicts.append(
                f"{record}: was edited over there after it was superseded here; the new text is a memory of its own"
            )

    def _revive(self, key: int) -> None:
        if self._is_gone(key):
            self.done.seen_again.add(key)
        elif self.memories[key].status != "active":
            self.done.said_again.add(key)

    def _is_gone(self, key: int) -> bool:
        stands = self.memories.get(key)
        return stands is not None and stands.status == "archived" and stands.archived_because == GONE

    def _is_said_since(self, key: int, created_at: int) -> bool:
        """Whether a record was made after its memory here was put away: somebody says it again."""
        stands = self.memories[key]
        if stands.status == "superseded":
            return created_at > self.led_at.get(key, _NEVER)
        return self._is_gone(key) or created_at > (stands.archived_at or _NEVER)
