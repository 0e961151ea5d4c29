"""Perform: scope by scope, under its lock, apply what was decided, and keep how it ended. It knows no law."""

import secrets
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from consolidator.errors import BadInput, ConsolidatorError, ScopeHeld
from consolidator.instants import to_datetime
from consolidator.plan import Plan, Result, ScopeOutcome, ScopePlan
from consolidator.store.apply import apply_scope, finish
from consolidator.store.engine import Store
from consolidator.store.locks import hold_scope
from consolidator.store.run import Run
from consolidator.store.tables import scopes

WallClock = Callable[[], int]
Describe = Callable[[Result], dict[str, Any]]
Progress = Callable[[int, int], None]

HELD, FAILED, PARTLY = ScopeHeld.exit_code, ConsolidatorError.exit_code, 3


def apply_plan(
    store: Store, plan: Plan, *, wall_clock: WallClock, describe: Describe, progress: Progress | None = None
) -> Result:
    """A saved plan, and nothing else. What has changed since is left out; BadInput for another store's plan."""
    if plan.store_id != store.store_id:
        raise BadInput(
            f"the plan is of store {plan.store_id}, this is {store.store_id}; write one with `run --dry-run --out`"
        )
    parts = [(part.key, lambda _run, part=part: part) for part in plan.scopes]
    return perform(store, plan, parts, wall_clock=wall_clock, describe=describe, progress=progress)


def perform(
    store: Store,
    plan: Plan,
    parts: Iterable[tuple[int, Callable[[Run], ScopePlan]]],
    *,
    wall_clock: WallClock,
    describe: Describe,
    progress: Progress | None = None,
) -> Result:
    """
    Apply each scope's part, taken under its lock, and keep the run's report.

    A scope that another night holds is left out (exit code 11). An error ends the run (exit code 1): what was
    applied before stays applied, and the next night decides the rest anew.
    """
    run = Run(new_run_id(plan.as_of), plan.as_of, wall_clock())
    outcomes: dict[int, ScopeOutcome] = {}
    done: list[ScopePlan] = []
    held, error = [], None
    todo = list(parts)
    try:
        for number, (key, part_of) in enumerate(todo):
            try:
                with hold_scope(store, key, wall_clock=wall_clock):
                    part = part_of(run)
                    outcomes[key] = apply_scope(store, plan, part, run)
                    done.append(part)
            except ScopeHeld as holding:
                held.append(str(holding))
            if progress:
                progress(number + 1, len(todo))
    except (ConsolidatorError, sa.exc.DBAPIError) as failure:
        error = str(failure).splitlines()[0]
    stale = any(outcome.stale for outcome in outcomes.values())
    result = Result(
        replace(plan, scopes=tuple(done)),
        outcomes,
        run.run_id,
        FAILED if error else HELD if held else PARTLY if stale else 0,
        error or "; ".join(held) or None,
    )
    try:
        finish(store, run, finished_at=wall_clock(), exit_code=result.exit_code, report=describe(result))
    except (ConsolidatorError, sa.exc.DBAPIError) as failure:
        if not error:
            result = replace(result, exit_code=FAILED, error=str(failure).splitlines()[0])
    return result


def new_run_id(as_of: int) -> str:
    """A name for a run that no other run has."""
    return f"run-{to_datetime(as_of):%Y%m%d-%H%M}-{secrets.token_hex(4)}"


def scope_keys(store: Store, texts: Iterable[str] | None) -> list[int]:
    """The keys of scopes given as canonical texts, all where None, in order of text. BadInput for one not there."""
    with store.read() as conn:
        rows: dict[str, int] = dict(conn.execute(sa.select(scopes.c.scope, scopes.c.key)).all())
    wanted = sorted(rows) if texts is None else list(texts)
    for text in wanted:
        if text not in rows:
            raise BadInput(f"there is no scope {text} here; `consolidate stats` lists the scopes")
    return [rows[text] for text in wanted]
