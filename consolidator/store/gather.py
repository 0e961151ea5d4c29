"""
Gather: what a night reads, in one snapshot: only what is due or touched. SQL selects, nothing here judges.

Rows come back as the values that the steps take. Aliases are followed here, so that a step sees only the
memory that an event counts for.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import sqlalchemy as sa

from consolidator.laws.association import Pair
from consolidator.laws.clock import CONSOLIDATED, NEVER, WORKING, Clock
from consolidator.laws.strength import mode_factor
from consolidator.steps.associate import Exposure, counted
from consolidator.steps.reinforce import Attribution
from consolidator.steps.rows import Memory
from consolidator.store.aliases import members, resolve
from consolidator.store.engine import keyed
from consolidator.store.tables import (
    ANEW,
    EXPIRING,
    FADABLE,
    REVIVABLE,
    SHIFTING,
    UNSCHEDULED,
    WAITING,
    aliases,
    attributions,
    exposures,
    identities,
    memories,
    runs,
    turns,
)

_MEMORY = [memories.c[name] for name in Memory._fields]


def names_of(conn: sa.Connection, keys: Iterable[int]) -> dict[int, tuple[str, str]]:
    """Content hash and text of memories, by key."""
    table = keyed(conn, key=sorted(set(keys)))
    rows = conn.execute(
        sa.select(memories.c.key, identities.c.hash, memories.c.content)
        .join(table, memories.c.key == table.c.key)
        .join(identities, identities.c.key == memories.c.key)
    )
    return {key: (name, content) for key, name, content in rows}


def ids_of(conn: sa.Connection, keys: Iterable[int]) -> dict[int, str]:
    """Content hashes of memories, by key."""
    table = keyed(conn, key=sorted(set(keys)))
    query = sa.select(identities.c.key, identities.c.hash).join(table, identities.c.key == table.c.key)
    return dict(conn.execute(query).all())


def memories_by_key(conn: sa.Connection, keys: Iterable[int], *, now: int) -> dict[int, Memory]:
    """Memories of these keys whose head is not later than `now`."""
    table = keyed(conn, key=sorted(set(keys)))
    return _memories(conn, sa.select(*_MEMORY).join(table, memories.c.key == table.c.key), now)


def memories_due(conn: sa.Connection, scope_key: int, clock: Clock, *, now: int) -> dict[int, Memory]:
    """Memories that no night has seen, whose pace has changed, or that fade, revive, expire or shift by `now`."""
    of_scope = memories.c.scope_key == scope_key
    unprotected = sa.or_(memories.c.protected_until.is_(None), memories.c.protected_until <= now)
    due = [
        sa.and_(UNSCHEDULED, memories.c.base_at <= now),
        sa.and_(ANEW, memories.c.base_at <= now),
        sa.and_(EXPIRING, memories.c.expires_at <= now),
        sa.and_(SHIFTING, memories.c.shifts_at <= now),
    ]
    for kind in (WORKING, CONSOLIDATED):
        age = float(clock.age(now, kind))
        of_kind = sa.literal_column("consolidated") == bool(kind)
        due.append(sa.and_(FADABLE, of_kind, memories.c.fades_age <= age, unprotected))
        due.append(sa.and_(REVIVABLE, of_kind, memories.c.fades_age > age))
    found: dict[int, Memory] = {}
    for condition in due:
        found |= _memories(conn, sa.select(*_MEMORY).where(of_scope, condition), now)
    return found


def memories_of_importance(conn: sa.Connection, scope_key: int, *, now: int) -> dict[int, Memory]:
    """All memories of a scope whose importance is known: it is read through."""
    known = sa.and_(memories.c.scope_key == scope_key, memories.c.importance.is_not(None))
    return _memories(conn, sa.select(*_MEMORY).where(known), now)


def memories_outside(conn: sa.Connection, scope_key: int, before: int, after: int, *, now: int) -> dict[int, Memory]:
    """Memories whose base lies before one instant or whose head lies after another."""
    of_scope = memories.c.scope_key == scope_key
    return _memories(conn, sa.select(*_MEMORY).where(of_scope, _outside(before, after)), now)


def lies_ahead(conn: sa.Connection, scope_key: int, before: int, after: int, *, now: int) -> bool:
    """Whether a night has left a strength of later than `now` for a memory with its base or head outside of these."""
    ahead = sa.and_(memories.c.scope_key == scope_key, memories.c.fades_age.is_not(None), memories.c.strength_at > now)
    return bool(conn.scalar(sa.select(sa.exists().where(ahead, _outside(before, after)))))


def _outside(before: int, after: int) -> sa.ColumnElement[bool]:
    later = memories.c.strength_at > after
    return later if before == -NEVER else sa.or_(memories.c.base_at < before, later)


def latest_night(conn: sa.Connection, *, other_than: int | None) -> int:
    """
    The latest `now` of a night, also of one undone: none has counted or deleted a thing of later. -NEVER: none.

    other_than: the key of the night under way, where an earlier scope has written its row.
    """
    query = sa.select(sa.func.max(runs.c.as_of))
    latest: int | None = conn.scalar(query if other_than is None else query.where(runs.c.key != other_than))
    return -NEVER if latest is None else latest


def _memories(conn: sa.Connection, query: sa.Select[Any], now: int) -> dict[int, Memory]:
    current = query.where(
        memories.c.strength_at <= now, sa.or_(memories.c.archived_at.is_(None), memories.c.archived_at <= now)
    )
    return {row.key: row for row in (Memory(*row) for row in conn.execute(current))}


_RATED = (
    attributions.c.key,
    attributions.c.memory_key,
    attributions.c.message_id,
    attributions.c.evidence,
    attributions.c.confidence,
    attributions.c.at,
    attributions.c.turn_key,
    attributions.c.mode,
    attributions.c.applied,
    attributions.c.target_key,
)


def attributions_waiting(conn: sa.Connection, scope_key: int, *, now: int) -> Sequence[Any]:
    """Attribution rows that no night has seen, at or before `now`."""
    return conn.execute(
        sa.select(*_RATED).where(attributions.c.scope_key == scope_key, WAITING, attributions.c.at <= now)
    ).all()


def keys_waiting(conn: sa.Connection, events: sa.Table, scope_key: int, *, now: int) -> set[int]:
    """The keys of events that no night has seen, at or before `now`."""
    return set(
        conn.scalars(sa.select(events.c.key).where(events.c.scope_key == scope_key, WAITING, events.c.at <= now))
    )


def corrected(conn: sa.Connection, scope_key: int, *, now: int) -> set[tuple[str, int]]:
    """
    (message, memory that counts it) of which an earlier night counted a rating and another one waits.

    One that was merged after it had counted the rating stands for what it was merged into.
    """
    waiting = (
        sa.select(attributions.c.message_id)
        .where(attributions.c.scope_key == scope_key, WAITING, attributions.c.at <= now)
        .distinct()
        .subquery()
    )
    counted = (
        sa.select(attributions.c.message_id, attributions.c.target_key)
        .join(waiting, waiting.c.message_id == attributions.c.message_id)
        .where(attributions.c.scope_key == scope_key, attributions.c.target_key.is_not(None))
    )
    found = conn.execute(counted).all()
    ends = resolve(conn, {target for _, target in found})
    return {(message, ends[target]) for message, target in found}


def attributions_counted(conn: sa.Connection, targets: Iterable[int], *, now: int) -> list[Attribution]:
    """Every attribution that earlier nights counted for these memories on their present base, at or before `now`."""
    table = keyed(conn, key=sorted(set(targets)))
    rows = conn.execute(
        sa.select(*_RATED)
        .join(table, attributions.c.target_key == table.c.key)
        .where(attributions.c.based_at.is_(None), attributions.c.at <= now)
    )
    return [
        Attribution(
            row.key, row.target_key, row.message_id, row.evidence, row.confidence, row.at, row.mode or 1.0, new=False
        )
        for row in rows
    ]


def mode_factors(conn: sa.Connection, scope_key: int, asked: Iterable[tuple[int, int]]) -> dict[tuple[int, int], float]:
    """The factor of each (turn, memory), by how the memory was found in that turn, whenever recorded."""
    wanted = set(asked)
    table = keyed(conn, key=sorted({turn for turn, _ in wanted}))
    asking = turns.alias("asking")
    same = sa.or_(
        turns.c.key == asking.c.key,
        sa.and_(asking.c.session_id == "", turns.c.scope_key == scope_key, turns.c.turn_id == asking.c.turn_id),
    )
    bare = conn.scalar(
        sa.select(sa.func.count())
        .select_from(asking)
        .join(table, asking.c.key == table.c.key)
        .where(asking.c.session_id == "")
    )
    query = sa.select(asking.c.key, exposures.c.memory_key, exposures.c.retrieval_mode)
    if bare:
        query = (
            query.select_from(asking)
            .join(table, asking.c.key == table.c.key)
            .join(turns, same)
            .join(exposures, exposures.c.turn_key == turns.c.key)
        )
    else:
        query = (
            query.select_from(asking)
            .join(table, asking.c.key == table.c.key)
            .join(exposures, exposures.c.turn_key == asking.c.key)
        )
    rows = [tuple(row) for row in conn.execute(query)]
    told = same if bare else turns.c.key == asking.c.key
    purged = sa.select(asking.c.key, turns.c.found).join(table, asking.c.key == table.c.key).join(turns, told)
    for turn, found in conn.execute(purged.where(turns.c.found.is_not(None))):
        rows += [(turn, memory, mode) for mode, keys in found.items() for memory in keys]
    ends = resolve(conn, {memory for _, memory, _ in rows})
    modes: dict[tuple[int, int], set[str | None]] = {}
    for turn, memory, mode in rows:
        modes.setdefault((turn, ends[memory]), set()).add(mode)
    return {asked: mode_factor(modes.get(asked, set())) for asked in wanted}


def turns_waiting(conn: sa.Connection, scope_key: int, *, now: int) -> tuple[dict[int, list[Exposure]], set[int]]:
    """
    The turns with an exposure that no night has seen: all their exposures at or before `now`, by turn.

    Exposures of unknown memories are left out; the keys of those that wait are the second value.
    """
    waiting = (
        sa.select(exposures.c.turn_key)
        .where(exposures.c.scope_key == scope_key, WAITING, exposures.c.at <= now)
        .distinct()
        .subquery()
    )
    return _turns(conn, sa.select(waiting.c.turn_key), now)


def turns_counted(conn: sa.Connection, pairs: Iterable[Pair], *, now: int) -> dict[Pair, list[list[Exposure]]]:
    """For each pair, the turns in which both memories (or what is aliased to them) were counted by earlier nights."""
    wanted = sorted(set(pairs))
    groups = members(conn, {end for pair in wanted for end in pair})
    spread = [(i, a, b) for i, pair in enumerate(wanted) for a in groups[pair[0]] for b in groups[pair[1]]]
    if not spread:
        return {}
    table = keyed(conn, i=[i for i, _, _ in spread], a=[a for _, a, _ in spread], b=[b for _, _, b in spread])
    one, other = exposures.alias("one"), exposures.alias("other")
    shared = conn.execute(
        sa.select(table.c.i, one.c.turn_key)
        .select_from(table)
        .join(one, one.c.memory_key == table.c.a)
        .join(other, sa.and_(other.c.turn_key == one.c.turn_key, other.c.memory_key == table.c.b))
        .where(one.c.linked, other.c.linked)
        .distinct()
    ).all()
    asked = keyed(conn, key=sorted({turn for _, turn in shared}))
    by_turn, _ = _turns(conn, sa.select(asked.c.key.label("turn_key")), now)
    found: dict[Pair, list[list[Exposure]]] = {pair: [] for pair in wanted}
    for i, turn in shared:
        found[wanted[i]].append(by_turn.get(turn, []))
    return found


def pairs_counted_before(conn: sa.Connection, scope_key: int, before: int, *, now: int) -> set[Pair]:
    """The pairs linked by turns that earlier nights counted and that began before an instant."""
    began = (
        sa.select(exposures.c.turn_key)
        .where(exposures.c.scope_key == scope_key, exposures.c.linked, exposures.c.at < before)
        .distinct()
        .subquery()
    )
    by_turn, _ = _turns(conn, sa.select(began.c.turn_key), now)
    return {pair for turn in by_turn.values() for pair in counted(turn)}


def _turns(conn: sa.Connection, keys: sa.Select[Any], now: int) -> tuple[dict[int, list[Exposure]], set[int]]:
    asked = keys.subquery()
    rows = conn.execute(
        sa.select(
            exposures.c.turn_key,
            exposures.c.key,
            exposures.c.memory_key,
            exposures.c.mode,
            exposures.c.score,
            exposures.c.at,
            exposures.c.linked,
            exposures.c.in_base,
            exposures.c.waiting,
            exposures.c.linked_in,
        )
        .join(asked, exposures.c.turn_key == asked.c.turn_key)
        .where(exposures.c.at <= now)
    ).all()
    ends = resolve(conn, {row.memory_key for row in rows})
    table = keyed(conn, key=sorted(set(ends.values())))
    names = dict(
        conn.execute(
            sa.select(memories.c.key, identities.c.hash)
            .join(table, memories.c.key == table.c.key)
            .join(identities, identities.c.key == memories.c.key)
        ).all()
    )
    by_turn: dict[int, list[Exposure]] = {}
    unknown: set[int] = set()
    for turn, key, memory, mode, score, at, linked, in_base, waits, linked_in in rows:
        end = ends[memory]
        if end in names:
            by_turn.setdefault(turn, []).append(
                Exposure(key, end, names[end], mode, score, at, linked, in_base, waits and not linked, linked_in)
            )
            if waits and linked:
                unknown.add(key)
        elif waits:
            unknown.add(key)
    return by_turn, unknown


def ends_of_waiting(conn: sa.Connection, scope_key: int, *, now: int) -> dict[int, int]:
    """Where the aliases of the memories end that events at or before `now` name, which no night has seen."""
    named: set[int] = set()
    for table in (attributions, exposures):
        named |= set(
            conn.scalars(
                sa.select(table.c.memory_key)
                .join(aliases, aliases.c.old_key == table.c.memory_key)
                .where(table.c.scope_key == scope_key, WAITING, table.c.at <= now)
                .distinct()
            )
        )
    return resolve(conn, named)


def known(conn: sa.Connection, keys: Iterable[int]) -> set[int]:
    """Those of these keys that are memories, not only names."""
    table = keyed(conn, key=sorted(set(keys)))
    return set(conn.scalars(sa.select(memories.c.key).join(table, memories.c.key == table.c.key)))


def fading_soon(
    conn: sa.Connection, scope_key: int, kind: int, span: tuple[float, float], *, now: int, most: int
) -> list[tuple[int, float]]:
    """Unprotected memories of a kind whose fading age lies in a span (after, up to], as (key, age), soonest first."""
    unprotected = sa.or_(memories.c.protected_until.is_(None), memories.c.protected_until <= now)
    query = (
        sa.select(memories.c.key, memories.c.fades_age)
        .where(memories.c.scope_key == scope_key, FADABLE, sa.literal_column("consolidated") == bool(kind))
        .where(memories.c.fades_age > span[0], memories.c.fades_age <= span[1], unprotected)
        .order_by(memories.c.fades_age)
        .limit(most)
    )
    return [(key, age) for key, age in conn.execute(query)]
