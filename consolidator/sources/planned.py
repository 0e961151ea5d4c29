"""
What a push has to say, before it has looked over there: which records, and which of them stand or fall together.

Records of a group are those of a merge: that of the text that stays, and those that it takes the place of. The texts
that stay are written first, and where one cannot be, or one of the group was edited over there, all of it is left.

Of several records that say the same one stays, by which their memory is told; the others are *copies*, and go.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import sqlalchemy as sa

from consolidator.store.pushes import makers, removers
from consolidator.store.sourced import ASIDE, NEW, Mapped, Standing, merges_of, read_map, standings

# made: a new record. written: one that is there. returned: one that a push removed. retired: its memory is not active.
# copy: another record of an active memory stays. unmade: a record that a push made of a memory that an undo has taken
# back. forgotten: forgotten here.
Kind = Literal["made", "written", "returned", "retired", "copy", "unmade", "forgotten"]


class Step(NamedTuple):
    """A record of which a push has something to say. id: empty while it is not known what a new one is called."""

    id: str
    key: int | None
    kind: Kind
    group: Hashable = None


@dataclass
class Agenda:
    """
    puts: what is to be there, first. retires: what may go then. checks: records of groups that are as they should be,
    and must be found so. rows: the records as known. records: of each memory, those that live. stays: of each memory,
    the record by which it is told; where none lives, the one to be brought back. heirs: of a superseded memory, the
    active one that it leads to. sources: of a new record's memory, the records that it was written from.
    """

    rows: dict[str, Mapped]
    puts: list[Step] = field(default_factory=list)
    retires: list[Step] = field(default_factory=list)
    checks: list[Step] = field(default_factory=list)
    records: dict[int, list[str]] = field(default_factory=lambda: defaultdict(list))
    stays: dict[int, str] = field(default_factory=dict)
    heirs: dict[int, int] = field(default_factory=dict)
    sources: dict[int, tuple[str, ...]] = field(default_factory=dict)

    def name(self, ids: Mapping[int, str]) -> None:
        """Call the new records of these memories so. One that was there before by this id is not made again."""
        named = [step._replace(id=ids[step.key]) if step.kind == "made" and step.key else step for step in self.puts]
        self.puts = [step for step in named if step.kind != "made" or step.id not in self.rows]
        for key, name in ids.items():
            if name not in self.rows:
                self.records[key].append(name)


def agenda_of(conn: sa.Connection, source_key: int, *, everything: bool) -> Agenda:
    """
    What is to be told of a source's records: of those whose memory has changed since it was last told, or of all.

    A record that is gone over there is left out, and so is a memory all of whose records are.
    """
    rows = read_map(conn, source_key)
    agenda = Agenda(rows)
    memories = standings(conn, {row.memory_key for row in rows.values() if row.memory_key is not None})
    memories |= _heirs(conn, memories)
    agenda.heirs = {key: end for key in memories if (end := _end(key, memories)) is not None and end != key}
    known = {row.memory_key for row in rows.values() if row.memory_key is not None}
    for name, row in sorted(rows.items(), key=_rank):
        if row.memory_key is None or row.gone_at is not None or row.fingerprint == NEW:
            continue
        agenda.stays.setdefault(row.memory_key, name)
        if row.lives:
            agenda.records[row.memory_key].append(name)
    unmade: dict[str, int] = {}
    returned: dict[str, int] = {}
    for name, row in rows.items():
        step = _step(name, row, memories, agenda, everything=everything)
        if step is None:
            continue
        if step.kind == "unmade":
            unmade[name] = step.key or 0
        elif step.kind == "returned":
            returned[name] = step.key or 0
        (agenda.puts if step.kind in ("written", "returned") else agenda.retires).append(step)
    _bind_undone(conn, source_key, agenda, unmade, returned)
    _add_new(conn, agenda, memories, known)
    _bind_heirs(agenda)
    return agenda


def _rank(known: tuple[str, Mapped]) -> tuple[bool, bool, bool, int, str]:
    """Which of a memory's records stays: one that lives, that was told before, that is used most, by its id."""
    name, row = known
    return not row.lives, row.is_copy, row.revision is None, -row.uses, name


def _step(name: str, row: Mapped, memories: Mapping[int, Standing], agenda: Agenda, *, everything: bool) -> Step | None:
    if row.gone_at is not None or row.fingerprint == NEW:
        return None
    if row.memory_key is None:
        return Step(name, None, "forgotten") if row.unwanted and row.lives else None
    stands = memories.get(row.memory_key)
    if stands is None:
        return Step(name, row.memory_key, "unmade") if row.lives else None
    if not row.lives:
        lacks = stands.status == "active" and agenda.stays[stands.key] == name
        return Step(name, stands.key, "returned") if lacks else None
    if stands.status == "active" and (stays := agenda.stays[stands.key]) != name:
        told = row.is_copy and not agenda.rows[stays].is_copy
        return None if told else Step(name, stands.key, "copy", stands.key)
    if row.revision == ASIDE and stands.status != "active":
        return None
    if not everything and stands.revision == row.revision:
        return None
    if stands.status == "active":
        return Step(name, stands.key, "written")
    return Step(name, stands.key, "retired", agenda.heirs.get(stands.key))


def _heirs(conn: sa.Connection, memories: Mapping[int, Standing]) -> dict[int, Standing]:
    """The memories that superseded ones lead to, and that are not known yet."""
    found: dict[int, Standing] = {}
    edge = {one.superseded_by for one in memories.values() if one.superseded_by is not None} - memories.keys()
    while edge:
        met = standings(conn, edge)
        found |= met
        edge = {one.superseded_by for one in met.values() if one.superseded_by is not None}
        edge -= memories.keys() | found.keys()
    return found


def _end(key: int, memories: Mapping[int, Standing]) -> int | None:
    """The active memory that one leads to; None where it leads to none."""
    seen: set[int] = set()
    while key in memories and key not in seen:
        seen.add(key)
        stands = memories[key]
        if stands.status == "active":
            return key
        if stands.status != "superseded" or stands.superseded_by is None:
            return None
        key = stands.superseded_by
    return None


def _add_new(conn: sa.Connection, agenda: Agenda, memories: Mapping[int, Standing], known: set[int]) -> None:
    """Active memories without a record that took the place of memories with one."""
    made_of = merges_of(conn, known)
    for old, one in memories.items():
        if one.status == "superseded" and one.superseded_by is not None:
            made_of.setdefault(one.superseded_by, set()).add(old)
    by_memory: dict[int, list[str]] = defaultdict(list)
    for name, row in sorted(agenda.rows.items()):
        if row.memory_key is None or row.gone_at is not None or row.fingerprint == NEW:
            continue
        if row.revision != ASIDE or agenda.stays[row.memory_key] == name:
            by_memory[row.memory_key].append(name)
    active = {key for key, one in standings(conn, made_of).items() if one.status == "active"}
    for key in sorted(made_of):
        sources = [name for one in sorted(_all_of(key, made_of)) for name in by_memory.get(one, ())]
        agenda.sources[key] = tuple(sorted(sources, key=lambda name: not agenda.rows[name].lives))
        if key in active and key not in known and sources:
            agenda.puts.append(Step("", key, "made", key))


def _all_of(key: int, made_of: Mapping[int, Iterable[int]]) -> set[int]:
    found: set[int] = set()
    edge = set(made_of.get(key, ()))
    while edge:
        found |= edge
        edge = {one for each in edge for one in made_of.get(each, ())} - found
    return found - {key}


def _bind_undone(
    conn: sa.Connection, source_key: int, agenda: Agenda, unmade: Mapping[str, int], returned: Mapping[str, int]
) -> None:
    """A record that is unmade goes when those are back that the same push had removed for it."""
    made_by = makers(conn, source_key, unmade)
    removed_by = removers(conn, source_key, returned) if made_by else {}
    of_those = {*made_by.values()}
    told = (*made_by.items(), *removed_by.items())
    groups = {name: ("push", push) for name, push in told if push in of_those}
    agenda.puts = [step._replace(group=groups.get(step.id, step.group)) for step in agenda.puts]
    agenda.retires = [step._replace(group=groups.get(step.id, step.group)) for step in agenda.retires]


def _bind_heirs(agenda: Agenda) -> None:
    """The record of the text that stays belongs to the group of those that go for it."""
    groups = {step.group for step in agenda.retires if isinstance(step.group, int)}
    agenda.puts = [
        step._replace(group=step.key) if step.group is None and step.key in groups else step for step in agenda.puts
    ]
    told = {step.id for step in agenda.puts}
    for key in groups:
        for name in agenda.records.get(key, ())[:1]:
            if name not in told:
                agenda.checks.append(Step(name, key, "written", key))
