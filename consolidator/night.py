"""
The night: each scope decided from one snapshot, then applied, then merged. The only place that knows the order.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from consolidator.decide import decide_scope
from consolidator.laws.clock import Rates
from consolidator.perform import Describe, Land, Progress, Tools, WallClock, in_order, perform, scope_keys
from consolidator.plan import STEPS, Plan, Result, ScopeOutcome, ScopePlan
from consolidator.store.engine import Store
from consolidator.store.merges import waiting_since
from consolidator.store.run import Run


def plan_night(
    store: Store,
    *,
    now: int,
    rates: Rates,
    scopes: Sequence[str] | None = None,
    steps: Sequence[str] = STEPS,
    means: object = None,
    writes: bool = False,
) -> Result:
    """
    What a night at `now` would do. Reads, writes nothing, holds no lock.

    means: what it would merge with; None: words alone. writes: the model is asked, so that the plan holds its texts.
    """
    plan = Plan(store.store_id, now, tuple(steps), ())
    parts = []
    for key in _in_turn(store, scope_keys(store, scopes)):
        part = _decide(store, plan, rates, key)
        parts.append(part)
    outcomes = {part.key: ScopeOutcome(part.decisions, (), part.unlinked, merges=part.merges) for part in parts}
    return Result(replace(plan, scopes=in_order(parts)), outcomes)


def run_night(
    store: Store,
    *,
    now: int,
    rates: Rates,
    wall_clock: WallClock,
    describe: Describe,
    scopes: Sequence[str] | None = None,
    steps: Sequence[str] = STEPS,
    means: object = None,
    writes: bool = False,
    progress: Progress | None = None,
) -> Result:
    """
    A night at `now`. describe: the report to keep with the run. See `perform` for how it can end.

    means: what it merges with; None: words alone.
    """
    plan = Plan(store.store_id, now, tuple(steps), ())

    def unite(_run: Run, part: ScopePlan, land: Land) -> ScopePlan:
        return part

    parts = [(key, partial(_decide, store, plan, rates, key)) for key in _in_turn(store, scope_keys(store, scopes))]
    return perform(store, plan, parts, Tools(unite, lambda _: None, wall_clock, describe, progress))


def _in_turn(store: Store, keys: Sequence[int]) -> list[int]:
    """Scopes in which something waits first, the longest waiting before the others: the budget is one for all."""
    with store.read() as conn:
        since = waiting_since(conn)
    return sorted(keys, key=lambda key: since.get(key, float("inf")))


def _decide(store: Store, plan: Plan, rates: Rates, key: int, run: Run | None = None) -> ScopePlan:
    with store.read() as conn:
        under_way = run.key if run else None
        return decide_scope(conn, key, now=plan.as_of, rates=rates, steps=plan.steps, under_way=under_way)
