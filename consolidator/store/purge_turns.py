"""
What a purge reads and takes away of turns: exposures that were counted long ago.

It is read in a snapshot, and taken away in a short transaction where it is still as it was read.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from consolidator.laws.association import Pair
from consolidator.laws.clock import ASSOCIATION, Clock
from consolidator.laws.fading import DEAD, fades_age
from consolidator.steps.associate import Exposure, Head
from consolidator.steps.purge import OldTurn, pairs_of
from consolidator.steps.rows import Link
from consolidator.store.aliases import resolve
from consolidator.store.bulk import for_each
from consolidator.store.engine import keyed
from consolidator.store.legs import links_of, pasts_of
from consolidator.store.tables import COUNTED, WAITING, exposures, identities, memories, pasts, runs, turns

_SHOWN = [exposures.c[name] for name in ("key", "turn_key", "memory_key", "mode", "retrieval_mode", "score", "at")]
_MARKS = [exposures.c[name] for name in ("linked", "in_base", "waiting", "linked_in")]

Found = dict[str, set[int]]  # memories by retrieval mode


class Counted(NamedTuple):
    """A turn with something counted of before a horizon: when the first of it was shown, and how much there is."""

    first_at: int
    key: int
    rows: int


class Read(NamedTuple):
    """
    Turns, and what their pairs and memories are.

    rows: of each turn, the keys of its exposures, counted or not. found: of each turn, the memories of its counted
    exposures by retrieval mode. ends: where the aliases of memories end; names: the ids of those.
    """

    turns: list[OldTurn]
    rows: dict[int, set[int]]
    found: dict[int, Found]
    links: dict[Pair, Link]
    pasts: dict[Pair, Head]
    ends: dict[int, int]
    names: dict[int, str]


def turns_counted_before(conn: sa.Connection, scope_key: int, horizon: int) -> list[Counted]:
    """
    The turns of a scope with an exposure that was counted, of before an instant, in order of time.

    By an index of what is counted, from its oldest end: as that goes every night, a night's worth is there.
    """
    first, rows = sa.func.min(exposures.c.at), sa.func.count()
    query = (
        sa.select(first, exposures.c.turn_key, rows)
        .where(exposures.c.scope_key == scope_key, COUNTED, exposures.c.at < horizon)
        .group_by(exposures.c.turn_key)
    )
    return sorted(Counted(*row) for row in conn.execute(query))


def first_waiting(conn: sa.Connection, scope_key: int, *, before: int) -> int:
    """The time of the earliest exposure of a scope that waits, where that is before an instant; else that."""
    query = sa.select(sa.func.min(exposures.c.at)).where(exposures.c.scope_key == scope_key, WAITING)
    earliest = conn.scalar(query)
    return before if earliest is None else min(before, earliest)


def read_turns(conn: sa.Connection, keys: Iterable[int], *, horizon: int, before: int) -> Read:
    """
    Turns with what was counted of them.

    Ripe is one of which nothing waits, and of which all that is counted is of before `before`, and was counted by runs
    of before `horizon`: nights since can be taken back whole.
    """
    asked = keyed(conn, key=sorted(set(keys)))
    query = (
        sa.select(*_SHOWN, *_MARKS, runs.c.started_at)
        .join(asked, asked.c.key == exposures.c.turn_key)
        .outerjoin(runs, runs.c.key == exposures.c.linked_in)
        .order_by(exposures.c.key)
    )
    rows: dict[int, set[int]] = {}
    counted: dict[int, list[Exposure]] = {}
    found: dict[int, Found] = {}
    unripe: set[int] = set()
    for row in conn.execute(query):
        turn = row.turn_key
        rows.setdefault(turn, set()).add(row.key)
        recent = row.linked and (row.at >= before or (row.started_at is not None and row.started_at >= horizon))
        if row.waiting or recent:
            unripe.add(turn)
        if row.linked:
            counted.setdefault(turn, []).append(
                Exposure(row.key, row.memory_key, "", row.mode, row.score, row.at, True, row.in_base, False,
                         row.linked_in)
            )  # fmt: skip
            if row.retrieval_mode is not None:
                found.setdefault(turn, {}).setdefault(row.retrieval_mode, set()).add(row.memory_key)
    old_turns = [OldTurn(turn, given, turn not in unripe) for turn, given in counted.items()]
    ends = resolve(conn, {one.memory for given in counted.values() for one in given})
    names = _names(conn, set(ends.values()))
    pairs = pairs_of(old_turns, ends, names)
    return Read(old_turns, rows, found, links_of(conn, pairs), pasts_of(conn, pairs), ends, names)


def _names(conn: sa.Connection, keys: Collection[int]) -> dict[int, str]:
    table = keyed(conn, key=sorted(keys))
    query = (
        sa.select(memories.c.key, identities.c.hash)
        .join(table, table.c.key == memories.c.key)
        .join(identities, identities.c.key == memories.c.key)
    )
    return dict(conn.execute(query).all())


def delete_exposures(
    conn: sa.Connection, scope_key: int, read: Read, going: Collection[int], heads: Mapping[Pair, Head], clock: Clock
) -> int | None:
    """
    Delete what is counted of these turns. None, and nothing done, where something was added to them since.

    What is left: the weight of each pair after them; of each turn, up to when it was purged, and how its memories were
    found, where one was by words alone.
    """
    table = keyed(conn, key=sorted(going))
    there: dict[int, set[int]] = {}
    query = sa.select(exposures.c.turn_key, exposures.c.key).join(table, table.c.key == exposures.c.turn_key)
    for turn, key in conn.execute(query):
        there.setdefault(turn, set()).add(key)
    if any(there.get(turn) != read.rows[turn] for turn in going):
        return None
    gone = [turn for turn in read.turns if turn.key in going]
    rows = [(one.key,) for turn in gone for one in turn.exposures]
    _write_pasts(conn, scope_key, heads, clock)
    _write_turns(conn, gone, read.found)
    for_each(conn, sa.delete(exposures).where(exposures.c.key == sa.bindparam("row")), ("row",), rows)
    return len(rows)


def _write_pasts(conn: sa.Connection, scope_key: int, heads: Mapping[Pair, Head], clock: Clock) -> None:
    if not heads:
        return
    ages = clock.age([head.at for head in heads.values()], ASSOCIATION)
    fades = fades_age(ages, [head.value for head in heads.values()], floor=DEAD).tolist()
    insert = postgresql.insert if conn.dialect.name == "postgresql" else sqlite.insert
    statement = insert(pasts)
    new = {name: statement.excluded[name] for name in ("weight", "at", "fades_age")}
    conn.execute(
        statement.on_conflict_do_update(index_elements=["memory_a", "memory_b"], set_=new),
        [
            {"memory_a": a, "memory_b": b, "scope_key": scope_key, "weight": head.value, "at": head.at,
             "fades_age": age}
            for ((a, b), head), age in zip(heads.items(), fades, strict=True)
        ],
    )  # fmt: skip


def _write_turns(conn: sa.Connection, gone: Sequence[OldTurn], found: Mapping[int, Found]) -> None:
    table = keyed(conn, key=[turn.key for turn in gone])
    columns = (turns.c.key, turns.c.shown_until, turns.c.found)
    before = {row.key: row for row in conn.execute(sa.select(*columns).join(table, table.c.key == turns.c.key))}
    told = []
    for turn in gone:
        earlier = before[turn.key]
        modes = {mode: set(keys) for mode, keys in (earlier.found or {}).items()}
        for mode, keys in found.get(turn.key, {}).items():
            modes[mode] = modes.get(mode, set()) | keys
        kept = {mode: sorted(keys) for mode, keys in sorted(modes.items())} if "bm25_only" in modes else None
        times = [one.at for one in turn.exposures]
        until = max(times if earlier.shown_until is None else [earlier.shown_until, *times])
        told.append({"row": turn.key, "until": until, "kept": kept})
    this = sa.update(turns).where(turns.c.key == sa.bindparam("row"))
    found_as = sa.bindparam("kept", type_=turns.c.found.type)
    conn.execute(this.values(shown_until=sa.bindparam("until"), found=found_as), told)


def first_counted(conn: sa.Connection, left: Collection[int], *, before: int) -> int:
    """The time of the first counted exposure of these turns, where that is before an instant; else that."""
    table = keyed(conn, key=sorted(left))
    query = sa.select(sa.func.min(exposures.c.at)).join(table, table.c.key == exposures.c.turn_key)
    earliest = conn.scalar(query.where(COUNTED))
    return before if earliest is None else min(before, earliest)


def delete_faded_pasts(conn: sa.Connection, scope_key: int, *, age: float) -> None:
    """Delete what purged turns had left of links, where it has faded to nothing by an age of their clock."""
    conn.execute(sa.delete(pasts).where(pasts.c.scope_key == scope_key, pasts.c.fades_age < age))
