"""The night: each scope decided from one snapshot, then applied. The only place that knows the order."""

from collections.abc import Sequence
from functools import partial

from consolidator.decide import decide_scope
from consolidator.laws.clock import Rates
from consolidator.perform import Describe, Progress, WallClock, perform, scope_keys
from consolidator.plan import STEPS, Plan, Result, ScopeOutcome, ScopePlan
from consolidator.store.engine import Store
from consolidator.store.run import Run


def plan_night(
    store: Store, *, now: int, rates: Rates, scopes: Sequence[str] | None = None, steps: Sequence[str] = STEPS
) -> Result:
    """What a night at `now` would do. Reads one snapshot a scope, writes nothing, holds no lock."""
    plan = Plan(store.store_id, now, tuple(steps), ())
    parts = tuple(_decide(store, plan, rates, key) for key in scope_keys(store, scopes))
    outcomes = {part.key: ScopeOutcome(part.decisions, (), part.unlinked) for part in parts}
    return Result(Plan(plan.store_id, now, plan.steps, parts), outcomes)


def run_night(
    store: Store,
    *,
    now: int,
    rates: Rates,
    wall_clock: WallClock,
    describe: Describe,
    scopes: Sequence[str] | None = None,
    steps: Sequence[str] = STEPS,
    progress: Progress | None = None,
) -> Result:
    """A night at `now`. describe: the report to keep with the run. See `perform` for how it can end."""
    plan = Plan(store.store_id, now, tuple(steps), ())
    parts = [(key, partial(_decide, store, plan, rates, key)) for key in scope_keys(store, scopes)]
    return perform(store, plan, parts, wall_clock=wall_clock, describe=describe, progress=progress)


def _decide(store: Store, plan: Plan, rates: Rates, key: int, run: Run | None = None) -> ScopePlan:
    with store.read() as conn:
        under_way = run.key if run else None
        return decide_scope(conn, key, now=plan.as_of, rates=rates, steps=plan.steps, under_way=under_way)
