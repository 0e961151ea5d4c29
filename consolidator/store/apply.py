"""
Apply: recheck a plan against the store as it is now, then write what still holds, its journal and its run.

It decides nothing: no law and no step is needed here.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from consolidator.plan import Decision, Plan, ScopeOutcome, ScopePlan
from consolidator.store import outbox
from consolidator.store.bulk import for_each
from consolidator.store.chains import fallen
from consolidator.store.dead import ROWS_A_TRANSACTION, delete_dead
from consolidator.store.engine import Store
from consolidator.store.outbox import Entry
from consolidator.store.recheck import stale_tokens, touched
from consolidator.store.run import Run
from consolidator.store.tables import associations, attributions, exposures, memories, runs
from consolidator.store.writing import SCHEDULED, TABLES, write_journal, write_rows


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
    run.left_out |= {(one.table, one.row) for one, _ in stale if one.table}
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
    write_rows(conn, done)
    _consume(conn, done, run)
    scheduled = _schedule(conn, part, tokens)
    if done or scheduled:
        write_journal(conn, run, part.key, done, notes=[(SCHEDULED, scheduled)] if scheduled else ())
    return done, stale, ""


def _sort_out(planned: Sequence[Decision], tokens: set[Hashable]) -> tuple[list[Decision], list[tuple[Decision, str]]]:
    touches = [touched(decision) for decision in planned]
    gone = {token for token in tokens if isinstance(token, tuple) and token[0] in TABLES}
    down = fallen(touches, [[(table, row) for table, row, _ in one.reads] for one in planned], tokens)
    done = [decision for i, decision in enumerate(planned) if i not in down]
    stale = [
        (decision, "its row has changed" if touches[i] & gone else "an event or a row it depends on is new or changed")
        for i, decision in enumerate(planned)
        if i in down
    ]
    return done, stale


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


def finish(
    store: Store,
    run: Run,
    *,
    finished_at: int,
    exit_code: int,
    report: dict[str, Any],
    messages: Sequence[Entry] = (),
    also: Callable[[sa.Connection], None] = lambda _: None,
) -> None:
    """Write how a run ended, what is to be told of it, and what `also` writes: all or nothing."""
    with run.writing(store) as conn:
        also(conn)
        run.stamp(conn)
        conn.execute(
            sa.update(runs)
            .where(runs.c.key == run.key)
            .values(finished_at=finished_at, exit_code=exit_code, report=report)
        )
        outbox.put(conn, messages, run_key=run.key, now=finished_at)
