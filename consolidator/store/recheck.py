"""Recheck: which rows and events of a plan are no longer as they were when it was made."""

from collections.abc import Hashable, Mapping

import sqlalchemy as sa

from consolidator.plan import Decision, Plan, Row, ScopePlan
from consolidator.store.aliases import resolve
from consolidator.store.engine import keyed
from consolidator.store.tables import (
    UNSCHEDULED,
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
    tokens: set[Hashable] = set()
    activity: list[int] = []
    late = conn.execute(
        sa.select(attributions.c.key, attributions.c.memory_key, attributions.c.at).where(
            attributions.c.scope_key == part.key, WAITING, attributions.c.at <= plan.as_of
        )
    ).all()
    late = [row for row in late if row.key not in part.known_attributions]
    tokens |= {("memories", (end,)) for end in resolve(conn, {row.memory_key for row in late}).values()}
    shown = conn.execute(
        sa.select(exposures.c.key, exposures.c.turn_key, exposures.c.at).where(
            exposures.c.scope_key == part.key, WAITING, exposures.c.at <= plan.as_of
        )
    ).all()
    shown = [row for row in shown if row.key not in part.known_exposures]
    if shown:
        turn = keyed(conn, key=sorted({row.turn_key for row in shown}))
        for name, table in (("exposure", exposures), ("attribution", attributions)):
            tokens |= {
                (name, key) for key in conn.scalars(sa.select(table.c.key).join(turn, table.c.turn_key == turn.c.key))
            }
    known = {row[0] for row in part.memory_schedule}
    taken_in = conn.execute(
        sa.select(memories.c.key, memories.c.base_at).where(
            memories.c.scope_key == part.key, UNSCHEDULED, memories.c.base_at <= plan.as_of
        )
    ).all()
    activity += [row.at for row in (*late, *shown)] + [row.base_at for row in taken_in if row.key not in known]
    if any(low <= at <= high for at in activity for low, high in part.sensitive):
        return None
    return tokens | _changed_rows(conn, part) | _changed_events(conn, part)


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
        for table, row, revision in (*decision.reads, (decision.table, decision.row, decision.revision)):
            if table in ("memories", "associations"):
                expected.setdefault((table, row), revision)
    current: dict[tuple[str, Row], int] = {}
    keys = [row[0] for table, row in expected if table == "memories"]
    found = keyed(conn, key=keys)
    query = sa.select(memories.c.key, memories.c.revision).join(found, memories.c.key == found.c.key)
    for key, revision in conn.execute(query.with_for_update(of=memories)):
        current["memories", (key,)] = revision
    pairs = [row for table, row in expected if table == "associations"]
    found = keyed(conn, a=[row[0] for row in pairs], b=[row[1] for row in pairs])
    both = sa.and_(associations.c.memory_a == found.c.a, associations.c.memory_b == found.c.b)
    query = sa.select(associations.c.memory_a, associations.c.memory_b, associations.c.revision).join(found, both)
    for row in conn.execute(query.with_for_update(of=associations)):
        current["associations", (row[0], row[1])] = row[2]
    return {token for token, revision in expected.items() if current.get(token) != revision}


def _changed_events(conn: sa.Connection, part: ScopePlan) -> set[Hashable]:
    """The events that no longer wait, or that count for another memory by now: an alias or a memory came or went."""
    rated = {key: target for one in part.decisions for key, target, _ in one.events.attributions}
    shown = {key: counts for one in part.decisions for key, counts in one.events.exposures}
    changed: set[Hashable] = set()
    for name, table, done, keys, effects in (
        ("attribution", attributions, attributions.c.applied, rated.keys(), {k for k, v in rated.items() if v}),
        ("exposure", exposures, exposures.c.linked, shown.keys(), {k for k, v in shown.items() if v}),
    ):
        asked = keyed(conn, key=sorted(keys))
        waiting = {
            row.key: row
            for row in conn.execute(
                sa.select(table.c.key, table.c.memory_key, done.label("done"))
                .join(asked, table.c.key == asked.c.key)
                .where(table.c.waiting)
            )
        }
        ends = resolve(conn, {row.memory_key for row in waiting.values()})
        changed |= {(name, key) for key in keys - waiting.keys()}
        changed |= {
            (name, row.key)
            for row in waiting.values()
            if ends[row.memory_key] != part.ends.get(row.memory_key, row.memory_key)
        }
        strangers = [row for row in waiting.values() if row.key not in effects and not row.done]
        changed |= {(name, key) for key in _no_strangers(conn, table, {r.key: ends[r.memory_key] for r in strangers})}
    return changed


def _no_strangers(conn: sa.Connection, table: sa.Table, events: Mapping[int, int]) -> set[int]:
    """
    Those of these events (with the memories they count for) of which the memory is here.

    They are held until the end of the transaction, so that a memory that comes now makes them wait after it.
    """
    if not events:
        return set()
    asked = keyed(conn, key=sorted(events))
    conn.execute(sa.select(table.c.key).join(asked, table.c.key == asked.c.key).with_for_update(of=table)).all()
    asked = keyed(conn, key=sorted(set(events.values())))
    here = set(conn.scalars(sa.select(memories.c.key).join(asked, memories.c.key == asked.c.key)))
    return {key for key, end in events.items() if end in here}
