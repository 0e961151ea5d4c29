"""
Apply: recheck a plan against the store as it is now, then write what still holds, its journal and its run.

It decides nothing: no law and no step is needed here.
"""

import json
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from consolidator.plan import Decision, Plan, Row, ScopeOutcome, ScopePlan
from consolidator.store.bulk import for_each
from consolidator.store.chains import fallen
from consolidator.store.dead import ROWS_A_TRANSACTION, delete_dead
from consolidator.store.engine import Store
from consolidator.store.recheck import stale_tokens, touched
from consolidator.store.run import Run
from consolidator.store.segments import write_segments
from consolidator.store.tables import (
    associations,
    attributions,
    decisions,
    exposures,
    memories,
    runs,
    scopes,
)

_TABLES = {"memories": memories, "associations": associations, "scopes": scopes}


def apply_scope(store: Store, plan: Plan, part: ScopePlan, run: Run) -> ScopeOutcome:
    """
    One scope's part of a plan, in one transaction; archives beyond 20,000 and dead links in further ones.

    Killed at any instant, each transaction is there whole or not at all, and the next run decides the rest anew.
    """
    archives = [decision for decision in part.decisions if decision.verb == "archived"]
    later = {id(decision) for decision in archives[ROWS_A_TRANSACTION:]}
    first = tuple(decision for decision in part.decisions if id(decision) not in later)
    rest = archives[ROWS_A_TRANSACTION:]
    parts = [replace(part, decisions=first)] + [
        replace(part, decisions=tuple(rest[i : i + ROWS_A_TRANSACTION]), memory_schedule=(), link_schedule=())
        for i in range(0, len(rest), ROWS_A_TRANSACTION)
    ]
    applied: list[Decision] = []
    stale: list[tuple[Decision, str]] = []
    fails = ""
    for piece in parts:
        if fails:
            stale += [(one, fails) for one in piece.decisions]
        elif piece.decisions or piece.memory_schedule or piece.link_schedule:
            with run.writing(store) as conn:
                done, left, fails = _apply(conn, plan, piece, run)
            applied += done
            stale += left
    unlinked = 0 if fails else delete_dead(store, part, run)
    notes = (f"archived in {len(parts)} transactions",) if len(parts) > 1 else ()
    return ScopeOutcome(tuple(applied), tuple(stale), unlinked, notes)


def _apply(
    conn: sa.Connection, plan: Plan, part: ScopePlan, run: Run
) -> tuple[list[Decision], list[tuple[Decision, str]], str]:
    """Returns what was done, what was left out and why, and why the plan holds no more for the scope, else nothing."""
    tokens = stale_tokens(conn, plan, part)
    if tokens is None:
        fails = "the scope has changed since the plan was made"
        return [], [(one, fails) for one in part.decisions], fails
    done, stale = _sort_out(part.decisions, tokens) if tokens else (list(part.decisions), [])
    moved: set[Hashable] = {("memories", (row[0],)) for row in part.memory_schedule}
    moved |= {("associations", (row[0], row[1])) for row in part.link_schedule}
    if part.whole and (stale or moved & tokens):
        fails = "a part of it has changed, and it changes the past of the clock for all"
        return [], [(one, fails) for one in part.decisions], fails
    _write(conn, done)
    _consume(conn, done, run)
    scheduled = _schedule(conn, part, tokens)
    if done or scheduled:
        _journal(conn, run, part.key, done, scheduled)
    return done, stale, ""


def _sort_out(planned: Sequence[Decision], tokens: set[Hashable]) -> tuple[list[Decision], list[tuple[Decision, str]]]:
    touches = [touched(decision) for decision in planned]
    gone = {token for token in tokens if isinstance(token, tuple) and token[0] in _TABLES}
    down = fallen(touches, [[(table, row) for table, row, _ in one.reads] for one in planned], tokens)
    done = [decision for i, decision in enumerate(planned) if i not in down]
    stale = [
        (decision, "its row has changed" if touches[i] & gone else "an event or a row it depends on is new or changed")
        for i, decision in enumerate(planned)
        if i in down
    ]
    return done, stale


def _write(conn: sa.Connection, done: Iterable[Decision]) -> None:
    """What changes rows alike goes to the database as one; decisions on one row keep their order."""
    alike: dict[tuple[str, str, tuple[str, ...]], list[Decision]] = {}
    met: set[tuple[str, Row]] = set()
    for one in done:
        if not one.table:
            continue
        if (one.table, one.row) in met:
            _write_alike(conn, alike)
            alike, met = {}, set()
        met.add((one.table, one.row))
        kind = "insert" if one.before is None else "delete" if one.after is None else "update"
        alike.setdefault((one.table, kind, tuple(one.after or ())), []).append(one)
    _write_alike(conn, alike)


def _write_alike(conn: sa.Connection, alike: Mapping[tuple[str, str, tuple[str, ...]], Sequence[Decision]]) -> None:
    for (name, kind, columns), group in alike.items():
        table = _TABLES[name]
        keys = [column.name for column in table.primary_key.columns]
        stored = [column for column in columns if column in table.c]
        values = [[(one.after or {})[column] for column in stored] for one in group]
        row = sa.and_(
            *(table.c[key] == sa.bindparam(f"row_{key}") for key in keys), table.c.revision == sa.bindparam("now")
        )
        names = [*(f"new_{column}" for column in stored), *(f"row_{key}" for key in keys)]
        bound: dict[str, sa.ColumnElement[Any]] = {column: sa.bindparam(f"new_{column}") for column in stored}
        if kind == "insert":
            whole = {**{key: sa.bindparam(f"row_{key}") for key in keys}, **bound, "revision": sa.literal_column("0")}
            insert = sa.insert(table).values(whole)
            for_each(conn, insert, names, [(*new, *one.row) for new, one in zip(values, group, strict=True)])
        else:
            revised = {**bound, "revision": table.c.revision + 1}
            change = sa.delete(table) if kind == "delete" else sa.update(table).values(revised)
            rows = [(*new, *one.row, one.revision) for new, one in zip(values, group, strict=True)]
            for_each(conn, change.where(row), [*names, "now"], rows)
        for one in group:
            if "segments" in columns:
                write_segments(conn, one.row[0], (one.after or {})["segments"])


def _consume(conn: sa.Connection, done: Sequence[Decision], run: Run) -> None:
    rated = {row[0]: row for one in done for row in one.events.attributions}
    shown = dict(exposure for one in done for exposure in one.events.exposures)
    counted = (
        sa.update(attributions)
        .where(attributions.c.key == sa.bindparam("row"))
        .values(waiting=sa.false(), applied=sa.true(), target_key=sa.bindparam("target"))
        .values(mode=sa.func.coalesce(sa.bindparam("factor", type_=sa.Double), attributions.c.mode))
    )
    for_each(conn, counted, ("row", "target", "factor"), [row for row in rated.values() if row[1]])
    linked = sa.update(exposures).where(exposures.c.key == sa.bindparam("row"))
    linked = linked.values(waiting=sa.false(), linked=sa.true(), linked_in=sa.bindparam("run"))
    counts_here = [key for key, counts in shown.items() if counts]
    run_key = run.stamp(conn) if counts_here else None
    for_each(conn, linked, ("row", "run"), [(key, run_key) for key in counts_here])
    for table, keys in (
        (attributions, [key for key, target, _ in rated.values() if not target]),
        (exposures, [key for key, counts in shown.items() if not counts]),
    ):
        seen = sa.update(table).where(table.c.key == sa.bindparam("row")).values(waiting=sa.false())
        for_each(conn, seen, ("row",), [(key,) for key in keys])


def _schedule(conn: sa.Connection, part: ScopePlan, stale: set[Hashable]) -> dict[str, list[Any]]:
    rows = [row for row in part.memory_schedule if ("memories", (row[0],)) not in stale]
    new = ("fades_age", "shifts_at", "protected_until")
    update = sa.update(memories).where(memories.c.key == sa.bindparam("row"))
    update = update.values({name: sa.bindparam(f"new_{name}") for name in new})
    for_each(conn, update, ("row", *(f"new_{name}" for name in new)), rows)
    links = [row for row in part.link_schedule if ("associations", (row[0], row[1])) not in stale]
    ends = sa.and_(associations.c.memory_a == sa.bindparam("a"), associations.c.memory_b == sa.bindparam("b"))
    for_each(conn, sa.update(associations).where(ends).values(fades_age=sa.bindparam("age")), ("a", "b", "age"), links)
    noted: dict[str, list[Any]] = {"memories": [row[0] for row in rows], "links": [[a, b] for a, b, _ in links]}
    return noted if rows or links else {}


def _journal(
    conn: sa.Connection, run: Run, scope_key: int, done: Iterable[Decision], scheduled: dict[str, Any]
) -> None:
    run_key = run.stamp(conn)
    rows = [
        (
            run_key,
            sequence,
            scope_key,
            one.step,
            one.verb,
            one.table,
            one.row[0] if one.row else None,
            one.row[1] if len(one.row) > 1 else None,
            one.revision,
            None if one.before is None else _text(one.before),
            None if one.after is None else _text(one.after),
            one.because,
            _text({"attributions": one.events.attributions, "exposures": one.events.exposures}) if one.events else None,
        )
        for sequence, one in enumerate(done, run.sequence)
    ]
    run.sequence += len(rows)
    if scheduled:
        noted = ("decay", "scheduled", "", None, None, None, None, None, "seen for the first time, or anew")
        rows.append((run_key, run.sequence, scope_key, *noted, _text(scheduled)))
        run.sequence += 1
    kept = sa.insert(decisions).values({name: sa.bindparam(f"new_{name}") for name in _KEPT})
    for_each(conn, kept, [f"new_{name}" for name in _KEPT], rows)


_KEPT = (
    "run_key", "sequence", "scope_key", "step", "verb", "table_name", "row_a", "row_b", "revision", "before", "after",
    "because", "events",
)  # fmt: skip
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def _text(value: Any) -> str:
    return _encode(value)


def finish(store: Store, run: Run, *, finished_at: int, exit_code: int, report: dict[str, Any]) -> None:
    """Write how a run ended."""
    with store.write() as conn:
        run.stamp(conn)
        conn.execute(
            sa.update(runs)
            .where(runs.c.key == run.key)
            .values(finished_at=finished_at, exit_code=exit_code, report=report)
        )
