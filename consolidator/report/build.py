"""The report of a night, built from a plan and from what became of it. It decides nothing."""

import json
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from consolidator.asked import NOTHING_ASKED
from consolidator.plan import STEPS, TOTALS, Decision, Merge, Plan, Row, ScopeOutcome, ScopePlan
from consolidator.report.merging import STEP, merge_report
from consolidator.report.report import (
    EXAMPLES,
    NIGHTS,
    NOTES,
    SEEN,
    STALE,
    VERBS,
    Example,
    Report,
    ScopeReport,
    StepReport,
    whole_totals,
)
from consolidator.report.tame import NAME_LENGTH, TEXT_LENGTH, one_line, short


def build(
    plan: Plan,
    outcomes: Mapping[int, ScopeOutcome],
    *,
    run_id: str | None,
    dry_run: bool,
    exit_code: int,
    history: Sequence[Mapping[str, int]] = (),
    error: str | None = None,
    time_zone: str = "UTC",
) -> Report:
    """
    The report of a night: one pass over its decisions.

    outcomes: by scope key; in a dry run a missing one means that all counts as applied, else that what was
    decided for the scope was not reached. history: totals of earlier runs of these steps, newest first. error: one line
    without memory text. time_zone: in which times are told.
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
        steps=tuple(plan.steps),
        time_zone=time_zone,
    )


def _outcome(scope: ScopePlan, outcomes: Mapping[int, ScopeOutcome], dry_run: bool) -> ScopeOutcome | None:
    if dry_run and scope.key not in outcomes:
        return ScopeOutcome(applied=scope.decisions, unlinked=scope.unlinked, merges=scope.merges)
    return outcomes.get(scope.key, None if scope.decisions else ScopeOutcome())


def _scope(scope: ScopePlan, outcome: ScopeOutcome | None, asked: Sequence[str]) -> ScopeReport:
    reached = outcome is not None
    outcome = outcome or ScopeOutcome()
    steps = {step: _Tally(step, scope.names) for step in asked}
    for decision in outcome.applied:
        if decision.step == STEP:
            continue  # its merges tell it
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
            steps[step].report(scope, left_out[step], unreached, scope.merges or outcome.merges if reached else ())
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

    def report(self, scope: ScopePlan, left_out: int, unreached: str | None, merges: Sequence[Merge]) -> StepReport:
        notes = tuple(map(one_line, scope.notes.get(self.step, ())[:NOTES]))
        if self.step == STEP:
            asked = NOTHING_ASKED if unreached else scope.asked
            return merge_report(merges, asked, self._because_nothing(scope, left_out, unreached), notes)
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
            notes=notes,
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
