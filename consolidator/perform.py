"""Perform: scope by scope, under its lock, apply what was decided, and keep how it ended. It knows no law."""

import secrets
from collections import Counter, deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from consolidator.asked import Asked
from consolidator.errors import BadInput, ConsolidatorError, ScopeHeld
from consolidator.instants import to_datetime
from consolidator.llm.port import Reply
from consolidator.plan import Decision, Merge, Plan, Result, ScopeOutcome, ScopePlan
from consolidator.store import replies
from consolidator.store.apply import apply_scope, finish
from consolidator.store.apply_merge import apply_merge, finish_pass
from consolidator.store.engine import Store
from consolidator.store.locks import hold_scope
from consolidator.store.run import Run
from consolidator.store.tables import scopes
from consolidator.terms import ANY_TERMS, Terms

WallClock = Callable[[], int]
Describe = Callable[[Result], dict[str, Any]]
Progress = Callable[[int, int], None]
Vector = tuple[str, NDArray[np.float32]]
VectorOf = Callable[[str], Vector | None]
Land = Callable[[Merge], Merge]
Unite = Callable[[Run, ScopePlan, Land], ScopePlan]
PartOf = Callable[[Run], ScopePlan]


@dataclass(frozen=True)
class Tools:
    """
    What performing is handed.

    unite: finds the merges of a part whose other decisions are applied, has each landed, and gives back the part with
    all of them. vector_of: the vector of a text that was written. describe: the report to keep with the run.
    terms: see there.
    """

    unite: Unite
    vector_of: VectorOf
    wall_clock: WallClock
    describe: Describe
    progress: Progress | None = None
    terms: Terms = ANY_TERMS


HELD, FAILED, PARTLY = ScopeHeld.exit_code, ConsolidatorError.exit_code, 3


def apply_plan(
    store: Store,
    plan: Plan,
    *,
    wall_clock: WallClock,
    describe: Describe,
    vector_of: VectorOf = lambda _: None,
    progress: Progress | None = None,
) -> Result:
    """
    A saved plan, and nothing else. What has changed since is left out; BadInput for another store's plan.

    No model is asked: what the plan holds no text for waits for a night.
    """
    if plan.store_id != store.store_id:
        raise BadInput(
            f"the plan is of store {plan.store_id}, this is {store.store_id}; write one with `run --dry-run --out`"
        )
    parts = [(part.key, lambda _run, part=part: part) for part in plan.scopes]
    tools = Tools(partial(_as_planned, store), vector_of, wall_clock, describe, progress)
    return perform(store, plan, parts, tools)


def _as_planned(store: Store, run: Run, part: ScopePlan, land: Land) -> ScopePlan:
    for one in part.paid:
        reply = Reply(one.text, one.input_tokens, one.output_tokens, one.model, one.stop)
        replies.keep(store, one.request, reply, one.members, at=run.as_of)
    merges = tuple(land(one) if one.decisions else _left(one) for one in part.merges)
    waiting = Counter(one.because for one in merges if one.verdict == "waiting")
    then = part.asked
    asked = Asked(clusters=then.clusters, waiting=waiting, held_back=then.held_back, embedder=then.embedder)
    notes = {step: lines for step, lines in part.notes.items() if step != "merge"}  # they were about asking
    return replace(part, merges=merges, asked=asked, notes=notes)


def _left(merge: Merge) -> Merge:
    """What a plan only found: it waits for a night, where a text was still to be asked for."""
    if merge.verdict == "waiting" and merge.how == "written":
        return replace(merge, how="none", because="the plan holds no text for them; the next night asks")
    return merge


def perform(store: Store, plan: Plan, parts: Iterable[tuple[int, PartOf]], tools: Tools) -> Result:
    """
    Apply each scope's part, taken under its lock, then its merges one by one, and keep the run's report.

    A scope that another night holds is left out (exit code 11), or waited for where the terms say so. An error costs
    the scope it happens in (exit code 1), and where the store is gone, all that were to follow: what was applied before
    stays applied, and the next night decides the rest anew. Told to stop, it leaves out what was to follow (exit
    code 3). A run whose turn it is nowhere leaves no trace.
    """
    night = _Night(store, plan, tools, Run(new_run_id(plan.as_of), plan.as_of, tools.wall_clock()))
    night.perform(parts)
    if night.left_out and not (night.done or night.error or night.stopped or night.held):
        return Result(plan)
    return night.result or night.end()


class _Night:
    """
    A run under way. done: parts that were applied. held: scopes that another night holds. left_out: of how many it was
    not the turn. error: what failed first. stopped: why it ended early. result: once it has ended.
    """

    def __init__(self, store: Store, plan: Plan, tools: Tools, run: Run) -> None:
        self.store, self.plan, self.tools, self.run = store, plan, tools, run
        self.outcomes: dict[int, ScopeOutcome] = {}
        self.done: list[ScopePlan] = []
        self.held: dict[int, str] = {}
        self.left_out = 0
        self.error: str | None = None
        self.stopped: str | None = None
        self.result: Result | None = None

    def end(self, done: int | None = None) -> Result:
        """
        Keep how it ended and what is to be told of it. done: the scope that was the last, in the same transaction: who
        is killed before it has that scope still to do, and who is killed after it has told.
        """
        self.result, turn = self._result(), self.tools.terms.turn
        try:
            messages = self.tools.terms.messages(self.result)  # what they cost is in the report
            finish(
                self.store,
                self.run,
                report=self.tools.describe(self.result),
                messages=messages,
                finished_at=self.tools.wall_clock(),
                exit_code=self.result.exit_code,
                also=lambda conn: None if done is None else turn.done(conn, self.run, done),
            )
        except (ConsolidatorError, sa.exc.DBAPIError) as failure:
            if not self.error:
                self.result = replace(self.result, exit_code=FAILED, error=_first_line(failure))
        return self.result

    def _result(self) -> Result:
        stale = any(outcome.stale for outcome in self.outcomes.values())
        codes = ((FAILED, self.error), (PARTLY, self.stopped), (HELD, self.held), (PARTLY, stale))
        return Result(
            replace(self.plan, scopes=in_order(self.done)),
            self.outcomes,
            self.run.run_id,
            next((code for code, applies in codes if applies), 0),
            self.error or "; ".join(filter(None, [self.stopped, *self.held.values()])) or None,
        )

    def perform(self, parts: Iterable[tuple[int, PartOf]]) -> None:
        """Scope by scope; those that another night holds after all others."""
        terms, progress = self.tools.terms, self.tools.progress
        first, last = terms.turn.first, terms.turn.last
        todo = deque(sorted(parts, key=lambda part: (part[0] not in first, part[0] in last)))
        count = len(todo)
        while todo and not self.stopped and not (why := terms.stop()):
            key, part_of = todo.popleft()
            try:
                self._perform(key, part_of, last=not todo)
            except ScopeHeld as holding:
                self.held[key] = str(holding)
                if terms.wait:
                    todo.append((key, part_of))
                    if len(todo) == len(self.held):
                        terms.wait()
                    continue
            except (ConsolidatorError, sa.exc.DBAPIError) as failure:
                self.error = self.error or _first_line(failure)
                if not _answers(self.store):
                    return
            if progress:
                progress(count - len(todo), count)
        if todo:
            self.stopped = self.stopped or why

    def _perform(self, key: int, part_of: PartOf, *, last: bool) -> None:
        turn = self.tools.terms.turn
        with hold_scope(self.store, key, wall_clock=self.tools.wall_clock):
            self.held.pop(key, None)
            if turn.begin(key):
                self.left_out += 1
                return
            try:
                self._apply(key, part_of)
            except Exception as failure:
                with suppress(ConsolidatorError, sa.exc.DBAPIError):
                    turn.failed(key, _first_line(failure))
                raise
            if why := self.tools.terms.stop():
                self.stopped = why
                turn.stopped(self.run, key)
            elif last:
                self.end(done=key)
            else:
                with self.run.writing(self.store) as conn:
                    turn.done(conn, self.run, key)

    def _apply(self, key: int, part_of: PartOf) -> None:
        store, plan, run = self.store, self.plan, self.run
        part = part_of(run)
        self.outcomes[key] = apply_scope(store, plan, part, run)
        self.done.append(replace(part, merges=()))  # until they have landed
        landing = _Landing(store, plan, part, run, self.tools.vector_of)
        try:
            self.done[-1] = part = self.tools.unite(run, part, landing.land)
            finish_pass(store, plan, part, filter(_is_news, part.merges), run)
        finally:
            self.outcomes[key] = landing.added_to(self.outcomes[key])


def _answers(store: Store) -> bool:
    """Whether a store in which something failed can still be read."""
    try:
        with store.read() as conn:
            conn.execute(sa.select(scopes.c.key).limit(1))
    except (ConsolidatorError, sa.exc.DBAPIError):
        return False
    return True


def _first_line(failure: Exception) -> str:
    return str(failure).split("\n", 1)[0]


def _is_news(merge: Merge) -> bool:
    """Whether a verdict without decisions is to be written: one that waits for another try is there already."""
    return not merge.decisions and not (merge.verdict == "waiting" and merge.tries)


class _Landing:
    """Where the merges of a scope arrive, and what became of each."""

    def __init__(self, store: Store, plan: Plan, part: ScopePlan, run: Run, vector_of: VectorOf) -> None:
        self._place = store, plan, part, run
        self._vector_of = vector_of
        self._keys: dict[int, int] = {}
        self._merges: list[Merge] = []
        self._stale: list[tuple[Decision, str]] = []

    def land(self, merge: Merge) -> Merge:
        """Apply a merge: as it was written, or waiting where it holds no more."""
        store, plan, part, run = self._place
        why = merge.because
        if merge.decisions:
            new = merge.target is not None and merge.target < 0
            vector = self._vector_of(merge.text) if new else None
            landed = apply_merge(store, plan, part, merge, run, keys=self._keys, vector=vector)
            if not landed.stale:
                self._merges.append(landed.merge)
                return landed.merge
            why = landed.stale
        left_out = Decision("merge", "merge", "memories", merge.members[:1], None, None, None, merge.because)
        self._stale.append((left_out, why))
        return replace(merge, verdict="waiting", how="none", because=why, target=None, decisions=())

    def added_to(self, outcome: ScopeOutcome) -> ScopeOutcome:
        """What became of the scope, with its merges."""
        applied = [decision for merge in self._merges for decision in merge.decisions]
        return replace(
            outcome,
            applied=(*outcome.applied, *applied),
            stale=(*outcome.stale, *self._stale),
            merges=tuple(self._merges),
        )


def in_order(parts: Iterable[ScopePlan]) -> tuple[ScopePlan, ...]:
    """Parts as reports tell them: in order of their scopes, whichever came first."""
    return tuple(sorted(parts, key=lambda part: part.scope))


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
