"""
Gather: what a night reads, in one snapshot: only what is due or touched. SQL selects, nothing here judges.

Rows come back as the values that the steps take. Aliases are followed here, so that a step sees only the
memory that an event counts for.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import networkx as nx
import sqlalchemy as sa

from consolidator.laws.association import Pair
from consolidator.laws.clock import CONSOLIDATED, WORKING, Clock
from consolidator.laws.strength import mode_factor
from consolidator.steps.associate import Exposure
from consolidator.steps.reinforce import Attribution
from consolidator.steps.rows import Link, Memory
from consolidator.store.engine import keyed
from consolidator.store.tables import (
    DIRECT,
    EXPIRING,
    FADABLE,
    INFERRED,
    REVIVABLE,
    SHIFTING,
    UNSCHEDULED,
    WAITING,
    aliases,
    associations,
    attributions,
    exposures,
    identities,
    memories,
    turns,
)

_MEMORY = [memories.c[name] for name in Memory.__slots__]
_LINK = [associations.c[name] for name in Link.__slots__]


def resolve(conn: sa.Connection, keys: Iterable[int]) -> dict[int, int]:
    """Each key and where its aliases end; a circle ends where it began."""
    step: dict[int, int] = {}
    asked: set[int] = set()
    while ask := (set(keys) if not asked else set(step.values())) - asked:
        asked |= ask
        table = keyed(conn, old=sorted(ask))
        step |= dict(conn.execute(sa.select(aliases.c.old_key, aliases.c.new_key).join(table, aliases.c.old_key == table.c.old)).tuples())  # fmt: skip
    ends = {}
    for key in keys:
        end, seen = key, {key}
        while end in step and step[end] not in seen:
            end = step[end]
            seen.add(end)
        ends[key] = end if step.get(end) is None else key
    return ends


def members(conn: sa.Connection, keys: Iterable[int]) -> dict[int, set[int]]:
    """Each memory and every key whose aliases end in it, itself included."""
    groups = {key: {key} for key in keys}
    owner = {key: key for key in groups}
    ask = set(groups)
    while ask:
        table = keyed(conn, new=sorted(ask))
        found = conn.execute(
            sa.select(aliases.c.old_key, aliases.c.new_key).join(table, aliases.c.new_key == table.c.new)
        ).tuples()
        ask = set()
        for old, new in found:
            if old not in owner:
                owner[old] = owner[new]
                groups[owner[new]].add(old)
                ask.add(old)
    return groups


def names_of(conn: sa.Connection, keys: Iterable[int]) -> dict[int, tuple[str, str]]:
    """Content hash and text of memories, by key."""
    table = keyed(conn, key=sorted(set(keys)))
    rows = conn.execute(
        sa.select(memories.c.key, identities.c.hash, memories.c.content)
        .join(table, memories.c.key == table.c.key)
        .join(identities, identities.c.key == memories.c.key)
    )
    return {key: (name, content) for key, name, content in rows}


def memories_by_key(conn: sa.Connection, keys: Iterable[int], *, now: int) -> dict[int, Memory]:
    """Memories of these keys whose head is not later than `now`."""
    table = keyed(conn, key=sorted(set(keys)))
    return _memories(conn, sa.select(*_MEMORY).join(table, memories.c.key == table.c.key), now)


def memories_due(conn: sa.Connection, scope_key: int, clock: Clock, *, now: int) -> dict[int, Memory]:
    """Memories that no night has seen, or that fade, revive, expire or shift by `now`."""
    of_scope = memories.c.scope_key == scope_key
    unprotected = sa.or_(memories.c.protected_until.is_(None), memories.c.protected_until <= now)
    due = [
        sa.and_(UNSCHEDULED, memories.c.base_at <= now),
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


def memories_with_head_after(conn: sa.Connection, scope_key: int, after: int, *, now: int) -> dict[int, Memory]:
    """Memories whose head lies after an instant."""
    return _memories(
        conn, sa.select(*_MEMORY).where(memories.c.scope_key == scope_key, memories.c.strength_at > after), now
    )


def latest_head(conn: sa.Connection, scope_key: int) -> int | None:
    """The latest time of a strength in the scope."""
    head: int | None = conn.scalar(
        sa.select(sa.func.max(memories.c.strength_at)).where(
            memories.c.scope_key == scope_key, memories.c.fades_age.is_not(None)
        )
    )
    return head


def _memories(conn: sa.Connection, query: sa.Select[Any], now: int) -> dict[int, Memory]:
    current = query.where(
        memories.c.strength_at <= now, sa.or_(memories.c.archived_at.is_(None), memories.c.archived_at <= now)
    )
    return {row.key: row for row in (Memory(*row) for row in conn.execute(current))}


_RATED = (
    attributions.c.key, attributions.c.memory_key, attributions.c.message_id, attributions.c.evidence,
    attributions.c.confidence, attributions.c.at, attributions.c.turn_key, attributions.c.mode,
    attributions.c.applied, attributions.c.target_key,
)  # fmt: skip


def attributions_waiting(conn: sa.Connection, scope_key: int, *, now: int) -> Sequence[sa.Row[Any]]:
    """Attribution rows that no night has seen, at or before `now`."""
    return conn.execute(
        sa.select(*_RATED).where(attributions.c.scope_key == scope_key, WAITING, attributions.c.at <= now)
    ).all()


def corrected(conn: sa.Connection, scope_key: int, *, now: int) -> set[tuple[str, int]]:
    """(message, memory that counts it) of which an earlier night counted a rating and another one waits."""
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
    return {(message, target) for message, target in conn.execute(counted).tuples()}


def attributions_counted(conn: sa.Connection, targets: Iterable[int], *, now: int) -> list[Attribution]:
    """Every attribution that earlier nights counted for these memories, at or before `now`."""
    table = keyed(conn, key=sorted(set(targets)))
    rows = conn.execute(
        sa.select(*_RATED).join(table, attributions.c.target_key == table.c.key).where(attributions.c.at <= now)
    )
    return [
        Attribution(
            row.key, row.target_key, row.message_id, row.evidence, row.confidence, row.at, row.mode or 1.0, new=False
        )
        for row in rows
    ]


def mode_factors(
    conn: sa.Connection, scope_key: int, asked: Iterable[tuple[int, int]]
) -> dict[tuple[int, int], float]:
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
    rows = conn.execute(query).all()
    ends = resolve(conn, {row.memory_key for row in rows})
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
    by_turn, _ = _turns(conn, sa.select(asked.c.key), now)
    found: dict[Pair, list[list[Exposure]]] = {pair: [] for pair in wanted}
    for i, turn in shared:
        found[wanted[i]].append(by_turn.get(turn, []))
    return found


def _turns(conn: sa.Connection, keys: sa.Select[Any], now: int) -> tuple[dict[int, list[Exposure]], set[int]]:
    asked = keys.subquery()
    rows = conn.execute(
        sa.select(
            exposures.c.turn_key, exposures.c.key, exposures.c.memory_key, exposures.c.mode, exposures.c.score,
            exposures.c.at, exposures.c.linked, exposures.c.in_base, exposures.c.waiting,
        )  # fmt: skip
        .join(asked, exposures.c.turn_key == list(asked.c)[0])
        .where(exposures.c.at <= now)
    ).all()
    ends = resolve(conn, {row.memory_key for row in rows})
    table = keyed(conn, key=sorted(set(ends.values())))
    names = dict(
        conn.execute(
            sa.select(memories.c.key, identities.c.hash)
            .join(table, memories.c.key == table.c.key)
            .join(identities, identities.c.key == memories.c.key)
        ).tuples()
    )
    by_turn: dict[int, list[Exposure]] = {}
    unknown: set[int] = set()
    for turn, key, memory, mode, score, at, linked, in_base, waits in rows:
        end = ends[memory]
        if end in names:
            by_turn.setdefault(turn, []).append(
                Exposure(key, end, names[end], mode, score, at, linked, in_base, waits and not linked)
            )
            if waits and linked:
                unknown.add(key)
        elif waits:
            unknown.add(key)
    return by_turn, unknown


def links_of(conn: sa.Connection, pairs: Iterable[Pair]) -> dict[Pair, Link]:
    """The association rows of these pairs."""
    wanted = sorted(set(pairs))
    table = keyed(conn, a=[a for a, _ in wanted], b=[b for _, b in wanted])
    both = sa.and_(associations.c.memory_a == table.c.a, associations.c.memory_b == table.c.b)
    return _links(conn, sa.select(associations.c.memory_a, associations.c.memory_b, *_LINK).join(table, both))


def links_unscheduled(conn: sa.Connection, scope_key: int, *, now: int) -> dict[Pair, Link]:
    """Association rows that no night has seen, with a weight of at or before `now`."""
    return _links(
        conn,
        sa.select(associations.c.memory_a, associations.c.memory_b, *_LINK).where(
            associations.c.scope_key == scope_key, UNSCHEDULED, associations.c.weight_at <= now
        ),
    )


def links_outside(
    conn: sa.Connection, scope_key: int, before: int, after: int, *, now: int
) -> dict[Pair, Link]:  # fmt: skip
    """Association rows with a weight of before one instant or after another, at or before `now`."""
    return _links(
        conn,
        sa.select(associations.c.memory_a, associations.c.memory_b, *_LINK).where(
            associations.c.scope_key == scope_key,
            sa.or_(associations.c.weight_at < before, associations.c.weight_at > after),
            associations.c.weight_at <= now,
        ),
    )


def inferred_touching(conn: sa.Connection, keys: Iterable[int]) -> dict[Pair, Link]:
    """Inferred links of which one of these memories is an end or the middle."""
    table = keyed(conn, key=sorted(set(keys)))
    found: dict[Pair, Link] = {}
    for column in (associations.c.via, associations.c.memory_a, associations.c.memory_b):
        query = sa.select(associations.c.memory_a, associations.c.memory_b, *_LINK)
        found |= _links(conn, query.join(table, column == table.c.key).where(INFERRED))
    return found


def _links(conn: sa.Connection, query: sa.Select[Any]) -> dict[Pair, Link]:
    return {(row[0], row[1]): Link(*row[2:]) for row in conn.execute(query)}


def legs_of(
    conn: sa.Connection, legs: nx.Graph, middles: Iterable[int], *, fades_from: float, weights: Mapping[Pair, Link]
) -> dict[Pair, int | None]:  # fmt: skip
    """
    Add to `legs` the direct links of `middles` that fade at or after an age, with `fades_age` and `loaded` nodes.

    weights: links that this night changes, which count instead of their rows. Returns the revisions as stored.
    """
    asked = sorted({middle for middle in middles if not legs.nodes.get(middle, {}).get("loaded")})
    table = keyed(conn, key=asked)
    legs.add_nodes_from(asked, loaded=True)
    revisions: dict[Pair, int | None] = {}
    for column in (associations.c.memory_a, associations.c.memory_b):
        rows = conn.execute(
            sa.select(
                associations.c.memory_a, associations.c.memory_b, associations.c.fades_age, associations.c.revision
            )
            .join(table, column == table.c.key)
            .where(DIRECT, associations.c.fades_age >= fades_from)
        ).tuples()
        for a, b, fades, revision in rows:
            revisions[a, b] = revision
            if (a, b) not in weights:
                legs.add_edge(a, b, fades_age=fades)
    return revisions


def not_active(conn: sa.Connection, keys: Iterable[int]) -> set[int]:
    """Those of these memories that are not active."""
    table = keyed(conn, key=sorted(set(keys)))
    return set(conn.scalars(sa.select(memories.c.key).join(table, memories.c.key == table.c.key).where(memories.c.status != "active")))  # fmt: skip


def count_dead(conn: sa.Connection, scope_key: int, age: float) -> int:
    """How many direct links have faded to nothing at an age of the association clock."""
    return conn.scalar(
        sa.select(sa.func.count())
        .select_from(associations)
        .where(associations.c.scope_key == scope_key, associations.c.fades_age < age, DIRECT)
    ) or 0  # fmt: skip
