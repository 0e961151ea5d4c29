"""Recheck: which rows and events of a plan are no longer as they were when it was made."""

from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

import sqlalchemy as sa

from consolidator.plan import Decision, Plan, Row, ScopePlan
from consolidator.store.aliases import resolve
from consolidator.store.arrivals import arrivals
from consolidator.store.engine import keyed
from consolidator.store.tables import (
    WAITING,
    associations,
    attributions,
    exposures,
    memories,
    scopes,
)


def touched(decision: Decision) -> frozenset[Hashable]:
    rows: list[Hashable] = [(decision.table, decision.row)] if decision.table else []
    rows += [("attribution", key) for key, _, _ in decision.events.attributions]
    rows += [("exposure", key) for key, _ in decision.events.exposures]
    return frozenset(rows)


def stale_tokens(conn: sa.Connection, plan: Plan, part: ScopePlan) -> set[Hashable] | None:
    """The rows and events that are not as planned; None where the whole scope is not."""
    revision = revision_of_scope(conn, part)
    clocks = [decision for decision in part.decisions if decision.table == "scopes"]
    if revision is None or any(decision.revision != revision for decision in clocks):
        return None
    rated = _waiting(conn, attributions, attributions.c.applied, part.key, plan.as_of)
    shown = _waiting(conn, exposures, exposures.c.linked, part.key, plan.as_of)
    late = [rated[key] for key in rated.keys() - part.known_attributions]
    tokens: set[Hashable] = {("memories", (end,)) for end in resolve(conn, {one.memory for one in late}).values()}
    beside = [shown[key] for key in shown.keys() - part.known_exposures]
    if beside:
        turn = keyed(conn, key=sorted({one.turn for one in beside}))
        for name, table in (("exposure", exposures), ("attribution", attributions)):
            tokens |= {
                (name, key) for key in conn.scalars(sa.select(table.c.key).join(turn, table.c.turn_key == turn.c.key))
            }
        tokens |= _pairs_shown(conn, part, turn)
    known = {row[0] for row in part.memory_schedule}
    taken_in = arrivals(conn, part.key, now=plan.as_of)
    activity = [one.at for one in (*late, *beside)] + [at for key, at in taken_in.items() if key not in known]
    if any(low <= at <= high for at in activity for low, high in part.sensitive):
        return None
    consumed = {key: target for one in part.decisions for key, target, _ in one.events.attributions}
    linked = {key: counts for one in part.decisions for key, counts in one.events.exposures}
    tokens |= _changed_rows(conn, part)
    tokens |= _changed_events(conn, part, "attribution", attributions, consumed, rated)
    return tokens | _changed_events(conn, part, "exposure", exposures, linked, shown)


def _pairs_shown(conn: sa.Connection, part: ScopePlan, turns: sa.Subquery) -> set[Hashable]:
    """The planned links between memories that were shown together in one of these turns."""
    shown = conn.execute(
        sa.select(exposures.c.turn_key, exposures.c.memory_key).join(turns, exposures.c.turn_key == turns.c.key)
    ).all()
    ends = resolve(conn, {memory for _, memory in shown})
    together: dict[int, set[int]] = {}
    for turn, memory in shown:
        together.setdefault(turn, set()).add(ends[memory])
    planned = {one.row for one in part.decisions if one.verb == "linked"}
    return {("associations", row) for row in planned for turn in together.values() if turn.issuperset(row)}


class _Event(NamedTuple):
    memory: int
    turn: int
    at: int
    done: bool


def _waiting(
    conn: sa.Connection, table: sa.Table, done: sa.ColumnElement[bool], scope_key: int, as_of: int
) -> dict[int, _Event]:
    """The events of a scope at or before an instant that no night has seen, by key."""
    rows = conn.execute(
        sa.select(table.c.key, table.c.memory_key, table.c.turn_key, table.c.at, done).where(
            table.c.scope_key == scope_key, WAITING, table.c.at <= as_of
        )
    )
    return {key: _Event(*event) for key, *event in rows}


def revision_of_scope(conn: sa.Connection, part: ScopePlan) -> int | None:
    """The revision of a plan's scope; None where it is another scope, in another zone, or a run was undone since."""
    scope = conn.execute(
        sa.select(scopes.c.scope, scopes.c.undos, scopes.c.time_zone, scopes.c.revision).where(scopes.c.key == part.key)
    ).one_or_none()
    same = scope and (scope.scope, scope.undos, scope.time_zone) == (part.scope, part.undos, part.time_zone)
    return scope.revision if scope and same else None


def _changed_rows(conn: sa.Connection, part: ScopePlan) -> set[Hashable]:
    expected: dict[tuple[str, Row], int | None] = {}
    for decision in part.decisions:
        for table, row, revision in decision.reads:
            expected.setdefault((table, row), revision)
        if decision.table in ("memories", "associations"):
            expected.setdefault((decision.table, decision.row), decision.revision)
    for key, revision in part.paced.items():
        expected.setdefault(("memories", (key,)), revision)
    current: dict[tuple[str, Row], int] = {}
    keys = [row[0] for table, row in expected if table == "memories"]
    found = keyed(conn, key=keys)
    query = sa.select(memories.c.key, memories.c.revision).join(found, memories.c.key == found.c.key)
    for key, revision in conn.execute(query.with_for_update(of=memories, key_share=True)):
        current["memories", (key,)] = revision
    pairs = [row for table, row in expected if table == "associations"]
    found = keyed(conn, a=[row[0] for row in pairs], b=[row[1] for row in pairs])
    both = sa.and_(associations.c.memory_a == found.c.a, associations.c.memory_b == found.c.b)
    query = sa.select(associations.c.memory_a, associations.c.memory_b, associations.c.revision).join(found, both)
    for row in conn.execute(query.with_for_update(of=associations, key_share=True)):
        current["associations", (row[0], row[1])] = row[2]
    return {token for token, revision in expected.items() if current.get(token) != revision}


def _changed_events(
    conn: sa.Connection,
    part: ScopePlan,
    name: str,
    table: sa.Table,
    consumed: Mapping[int, Any],
    waiting: Mapping[int, _Event],
) -> set[Hashable]:
    """
    The events that no longer wait, or that count for another memory by now: an alias or a memory came or went.

    consumed: what the plan made of each, nothing where it counts for no memory.
    """
    there = {key: waiting[key] for key in consumed if key in waiting}
    ends = resolve(conn, {one.memory for one in there.values()})
    moved = {memory for memory, end in ends.items() if end != part.ends.get(memory, memory)}
    changed: set[Hashable] = {(name, key) for key in consumed.keys() - there.keys()}
    changed |= {(name, key) for key, one in there.items() if one.memory in moved}
    strangers = {key: ends[one.memory] for key, one in there.items() if not consumed[key] and not one.done}
    return changed | {(name, key) for key in _no_strangers(conn, table, strangers)}


def _no_strangers(conn: sa.Connection, table: sa.Table, events: Mapping[int, int]) -> set[int]:
    """
    Those of these events (with the memories they count for) of which the memory is here.

    They are held until the end of the transaction, so that a memory that comes now makes them wait after it.
    """
    if not events:
        return set()
    asked = keyed(conn, key=sorted(events))
    conn.execute(
        sa.select(table.c.key).join(asked, table.c.key == asked.c.key).with_for_update(of=table, key_share=True)
    ).all()
    asked = keyed(conn, key=sorted(set(events.values())))
    here = set(conn.scalars(sa.select(memories.c.key).join(asked, memories.c.key == asked.c.key)))
    return {key for key, end in events.items() if end in here}
