"""
Nights with merges, where a test is the author of the answers: no model, no proof, no report.

A night here is one run: its other steps, then each merge in a transaction of its own, then the end of the pass.
"""

import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import sqlalchemy as sa

from consolidator.decide import decide_scope
from consolidator.plan import STEPS, Merge, Plan, ScopePlan, members_hash
from consolidator.store.apply import apply_scope, finish
from consolidator.store.apply_merge import Landed, apply_merge, finish_pass
from consolidator.store.clocks import read_clock
from consolidator.store.engine import Store
from consolidator.store.locks import hold_scope
from consolidator.store.merges import Sight, judged, look, revisions, texts
from consolidator.store.overlay import Overlay
from consolidator.store.run import Run
from consolidator.store.tables import scopes
from consolidator.unite import decide_merge
from tests.lives import RATES, day, name

MAIN = tuple(step for step in STEPS if step != "merge")


@dataclass(frozen=True)
class Answer:
    """What an author says of memories, by their texts. keeps: the text of the member that stays, to absorb."""

    texts: tuple[str, ...]
    verdict: str = "merge"
    text: str = ""
    keeps: str | None = None
    because: str = ""
    tries: int = 0


def one(*told: str, text: str, **more: str) -> Answer:
    """They are one, written so."""
    return Answer(told, text=text, **more)


def absorbed(keeps: str, *others: str) -> Answer:
    """The text of one holds the others."""
    return Answer((keeps, *others), "absorb", keeps=keeps)


@dataclass(frozen=True)
class Night:
    """What a night with merges did. landed: each merge as it ended, and why where it was left out."""

    run_id: str
    plan: Plan
    sight: Sight
    landed: tuple[Landed, ...]

    @property
    def stale(self) -> list[str]:
        return [one.stale for one in self.landed if one.stale]

    @property
    def verdicts(self) -> list[str]:
        return [one.merge.verdict for one in self.landed]


Between = Callable[[int], None]


def scope_key(conn: sa.Connection, scope: str = "{}") -> int:
    return int(conn.scalars(sa.select(scopes.c.key).where(scopes.c.scope == scope)).one())


def decided(store: Store, at: float, *, steps: Sequence[str] = MAIN, scope: str = "{}") -> tuple[Plan, ScopePlan]:
    """The other steps of a night, not applied."""
    now = day(at)
    with store.read() as conn:
        part = decide_scope(conn, scope_key(conn, scope), now=now, rates=RATES, steps=steps)
    return Plan(store.store_id, now, STEPS, (part,)), part


def proposed(rows: Overlay, part: ScopePlan, answers: Iterable[Answer], sight: Sight, *, now: int) -> list[Merge]:
    """The merges that answers make of texts that a pass sees; none of one that it does not see."""
    clock = read_clock(rows.conn, part.key, now=now, rates=RATES)
    seen = {
        text.content: text
        for text in texts(rows, part, {"fact", "plan", *sight.types}, clock=clock, now=now, new=sight.fresh)
    }
    merges = []
    for answer in answers:
        if not seen.keys() >= {*answer.texts}:
            continue
        group = [seen[told] for told in answer.texts]
        known = revisions(rows, [text.key for text in group])
        merges.append(
            Merge(
                tuple(text.key for text in group),
                tuple(text.id for text in group),
                tuple(text.content for text in group),
                tuple(known[text.key] for text in group),
                answer.verdict,
                "contained" if answer.keeps else "written",
                seen[answer.keeps].key if answer.keeps else None,
                answer.text,
                answer.because,
                tries=answer.tries,
            )
        )
    return merges


def night(
    store: Store, at: float, *answers: Answer, between: Between | None = None, vector: bool = False,
    steps: Sequence[str] = MAIN, scope: str = "{}",
) -> Night:  # fmt: skip
    """A night with these answers. between: told the number of each merge, before it is written."""
    plan, part = decided(store, at, steps=steps, scope=scope)
    run = new_run(plan)
    with hold_scope(store, part.key, wall_clock=lambda: plan.as_of):
        apply_scope(store, plan, part, run)
        with store.read() as conn:
            rows = Overlay(conn)
            sight = look(rows, part, now=plan.as_of)
            merges = proposed(rows, part, answers, sight, now=plan.as_of)
        landed, keys = [], dict[int, int]()
        for number, merge in enumerate(merges, 1):
            if between:
                between(number)
            with store.read() as conn:
                clock = read_clock(conn, part.key, now=plan.as_of, rates=RATES)
                settled = decide_merge(Overlay(conn), part, merge, key=-number, clock=clock, now=plan.as_of)
            landed.append(_land(store, plan, part, settled, run, keys, vector=vector))
        finish_pass(store, plan, seen_by(part, sight, merges), [left(each) for each in landed], run)
        finish(store, run, finished_at=plan.as_of, exit_code=0, report={})
    return Night(run.run_id, plan, sight, tuple(landed))


def planned(store: Store, at: float, *answers: Answer, steps: Sequence[str] = MAIN, scope: str = "{}") -> Plan:
    """The same as a plan: each merge on what the steps and the merges before it will have left."""
    plan, part = decided(store, at, steps=steps, scope=scope)
    with store.read() as conn:
        rows = Overlay(conn, part)
        sight = look(rows, part, now=plan.as_of)
        clock = read_clock(conn, part.key, now=plan.as_of, rates=RATES)
        merges = []
        for number, merge in enumerate(proposed(rows, part, answers, sight, now=plan.as_of), 1):
            merges.append(decide_merge(rows, part, merge, key=-number, clock=clock, now=plan.as_of))
            rows.take(merges[-1].decisions)
    return replace(plan, scopes=(replace(seen_by(part, sight, merges), merges=tuple(merges)),))


def applied(store: Store, plan: Plan) -> Night:
    """A plan with merges, and nothing else."""
    (part,) = plan.scopes
    run = new_run(plan)
    with hold_scope(store, part.key, wall_clock=lambda: plan.as_of):
        apply_scope(store, plan, part, run)
        keys: dict[int, int] = {}
        landed = tuple(_land(store, plan, part, merge, run, keys) for merge in part.merges)
        finish_pass(store, plan, part, [left(each) for each in landed], run)
        finish(store, run, finished_at=plan.as_of, exit_code=0, report={})
    return Night(run.run_id, plan, Sight((), frozenset(), (), (), frozenset()), landed)


def _land(
    store: Store, plan: Plan, part: ScopePlan, merge: Merge, run: Run, keys: dict[int, int], *, vector: bool = False
) -> Landed:
    if not merge.decisions:
        return Landed(merge)
    given = ("of the test", np.array([0.6, 0.8], np.float32)) if vector else None
    return apply_merge(store, plan, part, merge, run, keys=keys, vector=given)


def left(landed: Landed) -> Merge:
    """A merge as the end of the pass is told of it: one that was left out waits."""
    if not landed.stale:
        return landed.merge
    return replace(landed.merge, verdict="waiting", because=landed.stale, decisions=())


def seen_by(part: ScopePlan, sight: Sight, merges: Iterable[Merge]) -> ScopePlan:
    """As a real pass closes: what waited and does not any more, in other groups or none, is settled."""
    still = {members_hash(merge.ids) for merge in merges}
    settled = {members_hash(one.ids) for one in sight.open} - still
    return replace(part, looked_at=sight.fresh, settled=tuple(sorted({*sight.gone, *settled})))


def new_run(plan: Plan) -> Run:
    return Run(f"run-of-a-test-{secrets.token_hex(8)}", plan.as_of, plan.as_of)


def apart(store: Store) -> set[frozenset[str]]:
    """The pairs of ids that are settled."""
    with store.read() as conn:
        part = ScopePlan(scope_key(conn), "{}", 0)
        rows = Overlay(conn)
        pairs = judged(rows, part)
        names = rows.ids_of({key for pair in pairs for key in pair})
    return {frozenset(names[key] for key in pair) for pair in pairs}


def pair(a: str, b: str) -> frozenset[str]:
    return frozenset((name(a), name(b)))
