"""The night: each scope decided from one snapshot, then applied, then merged. The only place that knows the order."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from consolidator.decide import decide_scope
from consolidator.laws.clock import Rates
from consolidator.means import Means
from consolidator.merge_pass import Pass, preview_pass, run_pass
from consolidator.perform import Describe, Land, Progress, Tools, WallClock, in_order, perform, scope_keys
from consolidator.plan import STEPS, Plan, Result, ScopeOutcome, ScopePlan
from consolidator.store.batches import scopes_with_batches
from consolidator.store.engine import Store
from consolidator.store.merges import waiting_since
from consolidator.store.run import Run
from consolidator.terms import ANY_TERMS, Terms


def plan_night(
    store: Store,
    *,
    now: int,
    rates: Rates,
    scopes: Sequence[str] | None = None,
    steps: Sequence[str] = STEPS,
    means: Means | None = None,
    writes: bool = False,
) -> Result:
    """
    What a night at `now` would do. Reads one snapshot a scope, writes nothing, holds no lock.

    means: what it would merge with; None: words alone. writes: the model is asked, so that the plan holds its texts.
    """
    plan = Plan(store.store_id, now, tuple(steps), ())
    by = Pass(store, means or Means(), rates, now, lambda: now)
    parts = []
    for key in _in_turn(store, scope_keys(store, scopes)):
        part = _decide(store, plan, rates, key)
        parts.append(preview_pass(by, part, writes=writes) if "merge" in steps else part)
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
    means: Means | None = None,
    progress: Progress | None = None,
    terms: Terms = ANY_TERMS,
) -> Result:
    """
    A night at `now`. describe: the report to keep with the run. See `perform` for how it can end.

    means: what it merges with; None: words alone.
    """
    plan = Plan(store.store_id, now, tuple(steps), ())
    by = Pass(store, means or Means(), rates, now, wall_clock, stop=terms.stop)
    keys = _in_turn(store, scope_keys(store, scopes))
    return _run(plan, by, keys, describe, progress, terms)


def collect_batches(
    store: Store,
    *,
    now: int,
    rates: Rates,
    wall_clock: WallClock,
    describe: Describe,
    means: Means,
    scopes: Sequence[str] | None = None,
    terms: Terms = ANY_TERMS,
) -> Result | None:
    """
    Take in the answers of batches, and merge by them; nothing else is looked at. None where no batch is under way.
    """
    with store.read() as conn:
        waiting = set(scopes_with_batches(conn))
    keys = [key for key in _in_turn(store, scope_keys(store, scopes)) if key in waiting]
    plan = Plan(store.store_id, now, ("merge",), ())
    by = Pass(store, means, rates, now, wall_clock, collects=True, stop=terms.stop)
    return _run(plan, by, keys, describe, None, terms) if keys else None


def _run(
    plan: Plan, by: Pass, keys: Sequence[int], describe: Describe, progress: Progress | None, terms: Terms
) -> Result:
    def unite(run: Run, part: ScopePlan, land: Land) -> ScopePlan:
        return run_pass(by, run, part, land) if "merge" in plan.steps else part

    tools = Tools(unite, by.means.comparing.vector, by.wall_clock, describe, progress, terms)
    return perform(by.store, plan, [(key, partial(_decide, by.store, plan, by.rates, key)) for key in keys], tools)


def _in_turn(store: Store, keys: Sequence[int]) -> list[int]:
    """Scopes in which something waits first, the longest waiting before the others: the budget is one for all."""
    with store.read() as conn:
        since = waiting_since(conn)
    return sorted(keys, key=lambda key: since.get(key, float("inf")))


def _decide(store: Store, plan: Plan, rates: Rates, key: int, run: Run | None = None) -> ScopePlan:
    with store.read() as conn:
        under_way = run.key if run else None
        return decide_scope(conn, key, now=plan.as_of, rates=rates, steps=plan.steps, under_way=under_way)
