"""
The report of one night as one frozen value, built from a plan and from what became of it. It decides nothing.

Every text in it is one harmless line of bounded length, so each rendering only adds the escapes of its form.
"""

import json
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from consolidator.plan import STEPS, TOTALS, Decision, Plan, Row, ScopeOutcome, ScopePlan
from consolidator.report.tame import NAME_LENGTH, TEXT_LENGTH, one_line, short

EXAMPLES = 5  # of each step
NOTES = 20  # of each step
STALE = 100  # listed of each scope; the totals count all
NIGHTS = 7  # compared with
SEEN = "seen"
VERBS = {
    "reinforce": ("reinforced",),
    "decay": ("clock",),
    "associate": ("linked", "inferred"),
    "shift": ("shifted",),
    "prune": ("archived", "revived", "unlinked"),
    "merge": ("merged",),
}


@dataclass(frozen=True, slots=True)
class Example:
    """
    One decision: its verb, its memory (two of them for a link, none for a clock), and why.

    why_left_out: where it was stale.
    """

    verb: str
    because: str
    id: str | None = None
    text: str | None = None
    other_id: str | None = None
    other_text: str | None = None
    why_left_out: str | None = None


@dataclass(frozen=True, slots=True)
class StepReport:
    """
    What one step did in one scope.

    counts: distinct rows by verb, zeros too. seen: events read without effect. because_nothing: given if and
    only if all counts are zero.
    """

    step: str
    counts: Mapping[str, int]
    seen: int = 0
    examples: tuple[Example, ...] = ()
    because_nothing: str | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ScopeReport:
    """What the night did in one scope. stale: the first decisions that were left out."""

    scope: Mapping[str, str]
    steps: tuple[StepReport, ...] = ()
    stale: tuple[Example, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def quiet(self) -> bool:
        """Whether nothing was done and nothing left out."""
        return not self.stale and not any(any(step.counts.values()) for step in self.steps)


@dataclass(frozen=True, slots=True)
class Report:
    """
    One night. run_id: None in a dry run. totals: exactly the names of `plan.TOTALS`.

    earlier: the totals of up to seven nights before, the newest first. error: what ended the night.
    """

    run_id: str | None
    as_of: int
    dry_run: bool
    exit_code: int
    totals: Mapping[str, int]
    scopes: tuple[ScopeReport, ...] = ()
    earlier: tuple[Mapping[str, int], ...] = ()
    error: str | None = None

    @property
    def average(self) -> Mapping[str, float]:
        """The mean of each total over the earlier nights, to one digit; empty where there are none."""
        nights = len(self.earlier)
        return {name: round(sum(night[name] for night in self.earlier) / nights, 1) for name in TOTALS if nights}

    @property
    def stopped(self) -> bool:
        """Whether this is the seventh night in a row without any work, after one with some: true only once."""
        if self.dry_run or len(self.earlier) < NIGHTS:
            return False
        *silent, before = (self.totals, *self.earlier)
        return any(before.values()) and not any(any(night.values()) for night in silent)

    @property
    def undoable(self) -> bool:
        """Whether the night wrote something that `undo` takes back."""
        return bool(self.run_id) and any(
            step.seen or any(count for verb, count in step.counts.items() if verb != "unlinked")
            for scope in self.scopes
            for step in scope.steps
        )


def build(
    plan: Plan,
    outcomes: Mapping[int, ScopeOutcome],
    *,
    run_id: str | None,
    dry_run: bool,
    exit_code: int,
    history: Sequence[Mapping[str, int]] = (),
    error: str | None = None,
) -> Report:
    """
    The report of a night: one pass over its decisions.

    outcomes: by scope key; in a dry run a missing one means that all counts as applied, else that what was
    decided for the scope was not reached. history: totals of earlier nights, newest first. error: one line
    without memory text.
    """
    scopes = tuple(_scope(scope, _outcome(scope, outcomes, dry_run), plan.steps) for scope in plan.scopes)
    totals = dict.fromkeys(TOTALS, 0)
    for scope in scopes:
        for step in scope.steps:
            for verb, count in step.counts.items():
                if verb in totals:
                    totals[verb] += count
    totals["stale"] = sum(len(outcome.stale) for outcome in outcomes.values())
    return Report(
        run_id=None if dry_run else run_id,
        as_of=plan.as_of,
        dry_run=dry_run,
        exit_code=exit_code,
        totals=totals,
        scopes=scopes,
        earlier=tuple(whole_totals(night) for night in history[:NIGHTS]),
        error=short(error),
    )


def whole_totals(totals: Mapping[str, int]) -> dict[str, int]:
    """Totals with exactly the names of `plan.TOTALS`, whichever version wrote them."""
    return {name: int(totals.get(name, 0)) for name in TOTALS}


def _outcome(scope: ScopePlan, outcomes: Mapping[int, ScopeOutcome], dry_run: bool) -> ScopeOutcome | None:
    if dry_run and scope.key not in outcomes:
        return ScopeOutcome(applied=scope.decisions, unlinked=scope.unlinked)
    return outcomes.get(scope.key, None if scope.decisions else ScopeOutcome())


def _scope(scope: ScopePlan, outcome: ScopeOutcome | None, asked: Sequence[str]) -> ScopeReport:
    reached = outcome is not None
    outcome = outcome or ScopeOutcome()
    steps = {step: _Tally(step, scope.names) for step in asked}
    for decision in outcome.applied:
        try:
            tally = steps[decision.step]
        except KeyError:
            tally = steps[decision.step] = _Tally(decision.step, scope.names)
        tally.count(decision)
    if outcome.unlinked:
        steps.setdefault("prune", _Tally("prune", scope.names)).unlinked = outcome.unlinked
    left_out = dict.fromkeys(steps, 0)
    for decision, _ in outcome.stale:
        left_out[decision.step] = left_out.get(decision.step, 0) + 1
    unreached = None if reached else "not reached: the night ended before"
    return ScopeReport(
        scope=json.loads(scope.scope),
        steps=tuple(
            steps[step].report(scope, left_out[step], unreached)
            for step in sorted(steps, key=lambda step: STEPS.index(step) if step in STEPS else len(STEPS))
        ),
        stale=tuple(_example(scope, decision, why) for decision, why in outcome.stale[:STALE]),
        notes=tuple(map(one_line, _scope_notes(scope, outcome, steps))),
    )


def _scope_notes(scope: ScopePlan, outcome: ScopeOutcome, steps: Mapping[str, Any]) -> Iterator[str]:
    yield from outcome.notes
    for step, lines in scope.notes.items():
        if step not in steps:
            yield from lines


@dataclass(slots=True)
class _Tally:
    """
    Counts one step's decisions: distinct rows of each verb, of which the first few are kept as examples.

    names: rows that a person can be told; one without a name is an example only where too few have one.
    """

    step: str
    names: Container[int]
    rows: dict[str, set[Row]] = field(default_factory=dict)
    kept: dict[str, list[Decision]] = field(default_factory=dict)
    spare: dict[str, list[Decision]] = field(default_factory=dict)
    seen: int = 0
    unlinked: int = 0

    def count(self, decision: Decision) -> None:
        if not decision.table:
            self.seen += len(decision.events.attributions) + len(decision.events.exposures)
            kept = self.kept.setdefault(SEEN, [])
            if len(kept) < EXAMPLES:
                kept.append(decision)
            return
        try:
            rows, kept = self.rows[decision.verb], self.kept[decision.verb]
        except KeyError:
            rows, kept = self.rows[decision.verb], self.kept[decision.verb] = set(), []
            self.spare[decision.verb] = []
        if len(kept) < EXAMPLES and decision.row not in rows:
            if not all(map(self.names.__contains__, decision.row)):
                kept = self.spare[decision.verb]
            if len(kept) < EXAMPLES:
                kept.append(decision)
        rows.add(decision.row)

    def report(self, scope: ScopePlan, left_out: int, unreached: str | None) -> StepReport:
        counts = dict.fromkeys(VERBS.get(self.step, ()), 0)
        counts.update((one_line(verb, NAME_LENGTH), len(rows)) for verb, rows in self.rows.items())
        if self.unlinked:
            counts["unlinked"] = self.unlinked
        because = None if any(counts.values()) else self._because_nothing(scope, left_out, unreached)
        return StepReport(
            step=one_line(self.step, NAME_LENGTH),
            counts=counts,
            seen=self.seen,
            examples=tuple(_example(scope, decision) for decision in self._examples()),
            because_nothing=because,
            notes=tuple(map(one_line, scope.notes.get(self.step, ())[:NOTES])),
        )

    def _because_nothing(self, scope: ScopePlan, left_out: int, unreached: str | None) -> str:
        if unreached:
            return unreached
        if left_out == 1:
            return "its one decision was left out as stale"
        if left_out:
            return f"its {left_out:,} decisions were left out as stale"
        otherwise = "what it read changes nothing" if self.seen else "nothing was due"
        return one_line(scope.because_nothing.get(self.step, "")) or otherwise

    def _examples(self) -> list[Decision]:
        """Five at most, of every verb its share; events without effect only where nothing else was done."""
        found = {verb: [*kept, *self.spare.get(verb, ())][:EXAMPLES] for verb, kept in self.kept.items()}
        verbs = [verb for verb in found if verb != SEEN] or list(found)
        turns = sorted((rank, order) for order, verb in enumerate(verbs) for rank in range(len(found[verb])))
        chosen = sorted((order, rank) for rank, order in turns[:EXAMPLES])
        return [found[verbs[order]][rank] for order, rank in chosen]


def _example(scope: ScopePlan, decision: Decision, why: str | None = None) -> Example:
    keys = decision.row if decision.table in ("memories", "associations") else ()
    named = [scope.names[key] for key in keys if key in scope.names]
    (first_id, first_text), (other_id, other_text) = [*named, (None, None), (None, None)][:2]
    return Example(
        verb=one_line(decision.verb, NAME_LENGTH) or SEEN,
        because=one_line(decision.because),
        id=short(first_id, NAME_LENGTH),
        text=short(first_text, TEXT_LENGTH),
        other_id=short(other_id, NAME_LENGTH),
        other_text=short(other_text, TEXT_LENGTH),
        why_left_out=short(why),
    )
