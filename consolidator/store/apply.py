"""
Apply: recheck a plan against the store as it is now, then write what still holds, its journal and its run.

It decides nothing: no law and no step is needed here.
"""

import json
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

import sqlalchemy as sa

from consolidator.plan import Decision, Plan, ScopeOutcome, ScopePlan
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
    holds = True
    for piece in parts:
        if piece.decisions or piece.memory_schedule or piece.link_schedule:
            with run.writing(store) as conn:
                done, left, holds = _apply(conn, plan, piece, run)
            applied += done
            stale += left
    unlinked = delete_dead(store, part, run) if holds else 0
    notes = (f"archived in {len(parts)} transactions",) if len(parts) > 1 else ()
    return ScopeOutcome(tuple(applied), tuple(stale), unlinked, notes)


def _apply(
    conn: sa.Connection, plan: Plan, part: ScopePlan, run: Run
) -> tuple[list[Decision], list[tuple[Decision, str]], bool]:
    """Returns what was done, what was left out and why, and whether the plan still holds for the scope at all."""
    tokens = stale_tokens(conn, plan, part)
    touches = [touched(decision) for decision in part.decisions]
    if tokens is None:
        return [], [(one, "the scope has changed since the plan was made") for one in part.decisions], False
    gone = {token for token in tokens if isinstance(token, tuple) and token[0] in _TABLES}
    down = fallen(touches, [[(table, row) for table, row, _ in one.reads] for one in part.decisions], tokens)
    done = [decision for i, decision in enumerate(part.decisions) if i not in down]
    stale = [
        (decision, "its row has changed" if touches[i] & gone else "an event or a row it depends on is new or changed")
        for i, decision in enumerate(part.decisions)
        if i in down
    ]
    _write(conn, done)
    _consume(conn, done)
    scheduled = _schedule(conn, part, tokens)
    if done or scheduled:
        _journal(conn, run, part.key, done, scheduled)
    return done, stale, True


def _signature(decision: Decision) -> tuple[str, str, tuple[str, ...]]:
    kind = "insert" if decision.before is None else "delete" if decision.after is None else "update"
    return decision.table, kind, tuple(decision.after or ())


def _write(conn: sa.Connection, done: Iterable[Decision]) -> None:
    for (name, kind, columns), group in groupby((one for one in done if one.table), key=_signature):
        table = _TABLES[name]
        keys = list(table.primary_key.columns.keys())
        stored = [column for column in columns if column in table.c]
        rows = []
        for one in group:
            values = {f"new_{column}": (one.after or {})[column] for column in stored}
            rows.append(
                {
                    **{f"row_{key}": value for key, value in zip(keys, one.row, strict=True)},
                    **values,
                    "now": one.revision,
                }
            )
            if "segments" in columns:
                write_segments(conn, one.row[0], (one.after or {})["segments"])
        row = sa.and_(
            *(table.c[key] == sa.bindparam(f"row_{key}") for key in keys), table.c.revision == sa.bindparam("now")
        )
        values = {column: sa.bindparam(f"new_{column}") for column in stored}
        if kind == "insert":
            whole = {**{key: sa.bindparam(f"row_{key}") for key in keys}, **values, "revision": sa.literal(0)}
            conn.execute(sa.insert(table).values(whole), rows)
        elif kind == "delete":
            conn.execute(sa.delete(table).where(row), rows)
        else:
            conn.execute(sa.update(table).where(row).values({**values, "revision": sa.bindparam("now") + 1}), rows)


def _consume(conn: sa.Connection, done: Sequence[Decision]) -> None:
    rated = {row[0]: row for one in done for row in one.events.attributions}
    shown = {row[0]: row for one in done for row in one.events.exposures}
    counted = [{"row": key, "target": target, "factor": mode} for key, target, mode in rated.values() if target]
    if counted:
        conn.execute(
            sa.update(attributions)
            .where(attributions.c.key == sa.bindparam("row"))
            .values(waiting=False, applied=True, target_key=sa.bindparam("target"))
            .values(mode=sa.func.coalesce(sa.bindparam("factor", type_=sa.Double), attributions.c.mode)),
            counted,
        )
    linked = [{"row": key} for key, counts in shown.values() if counts]
    if linked:
        conn.execute(
            sa.update(exposures).where(exposures.c.key == sa.bindparam("row")).values(waiting=False, linked=True),
            linked,
        )
    for table, keys in (
        (attributions, [key for key, target, _ in rated.values() if not target]),
        (exposures, [key for key, counts in shown.values() if not counts]),
    ):
        if keys:
            conn.execute(
                sa.update(table).where(table.c.key == sa.bindparam("row")).values(waiting=False),
                [{"row": key} for key in keys],
            )


def _schedule(conn: sa.Connection, part: ScopePlan, stale: set[Hashable]) -> dict[str, list[Any]]:
    rows = [row for row in part.memory_schedule if ("memories", (row[0],)) not in stale]
    if rows:
        conn.execute(
            sa.update(memories)
            .where(memories.c.key == sa.bindparam("row"))
            .values({name: sa.bindparam(f"new_{name}") for name in ("fades_age", "shifts_at", "protected_until")}),
            [
                {"row": key, "new_fades_age": age, "new_shifts_at": at, "new_protected_until": until}
                for key, age, at, until in rows
            ],
        )
    links = [row for row in part.link_schedule if ("associations", (row[0], row[1])) not in stale]
    if links:
        conn.execute(
            sa.update(associations)
            .where(associations.c.memory_a == sa.bindparam("a"), associations.c.memory_b == sa.bindparam("b"))
            .values(fades_age=sa.bindparam("age")),
            [{"a": a, "b": b, "age": age} for a, b, age in links],
        )
    noted: dict[str, list[Any]] = {"memories": [row[0] for row in rows], "links": [[a, b] for a, b, _ in links]}
    return noted if rows or links else {}


def _journal(
    conn: sa.Connection, run: Run, scope_key: int, done: Iterable[Decision], scheduled: dict[str, Any]
) -> None:
    run_key = run.stamp(conn)

    def rows() -> Iterator[dict[str, Any]]:
        for one in done:
            yield {
                "run_key": run_key,
                "sequence": run.sequence,
                "scope_key": scope_key,
                "step": one.step,
                "verb": one.verb,
                "table_name": one.table,
                "row_a": one.row[0] if one.row else None,
                "row_b": one.row[1] if len(one.row) > 1 else None,
                "revision": one.revision,
                "before": None if one.before is None else _text(one.before),
                "after": None if one.after is None else _text(one.after),
                "because": one.because,
                "events": _text({"attributions": one.events.attributions, "exposures": one.events.exposures})
                if one.events
                else None,
            }
            run.sequence += 1

    batch = list(rows())
    if scheduled:
        blank = dict.fromkeys(("row_a", "row_b", "revision", "before", "after"))
        noted = {"step": "decay", "verb": "scheduled", "table_name": "", "because": "seen for the first time, or anew"}
        batch.append(
            {
                "run_key": run_key,
                "sequence": run.sequence,
                "scope_key": scope_key,
                **blank,
                **noted,
                "events": _text(scheduled),
            }
        )
        run.sequence += 1
    conn.execute(sa.insert(decisions), batch)


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def finish(store: Store, run: Run, *, finished_at: int, exit_code: int, report: dict[str, Any]) -> None:
    """Write how a run ended."""
    with store.write() as conn:
        run.stamp(conn)
        conn.execute(
            sa.update(runs)
            .where(runs.c.key == run.key)
            .values(finished_at=finished_at, exit_code=exit_code, report=report)
        )
