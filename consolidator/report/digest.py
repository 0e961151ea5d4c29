"""The digest: the nights of a week, or of any span, added up as if they were one. Counts only, no memory's text."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from consolidator.asked import NOTHING_ASKED, Asked
from consolidator.instants import NIGHT
from consolidator.plan import STEPS, TOTALS
from consolidator.report.report import NO_WORK, Report, ScopeReport, StepReport
from consolidator.scopes import canonical

SPANS = 4  # before, to compare with
FAILED = (1, 2)  # exit codes


@dataclass(frozen=True, slots=True)
class Attendance:
    """How often the night was done in a scope, and the local dates on which it was not."""

    done: int = 0
    missed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Digest:
    """
    The last `nights`, up to `until`. added: its runs as one report, `earlier` being the spans before, the newest first.

    attendance: by canonical scope. failed: how many runs failed.
    """

    nights: int
    until: int
    added: Report
    attendance: Mapping[str, Attendance]
    failed: int = 0

    @property
    def missed(self) -> tuple[str, ...]:
        """The dates on which the night was missed in some scope."""
        return tuple(sorted({day for each in self.attendance.values() for day in each.missed}))

    @property
    def done(self) -> int:
        """How many nights were done, in the scope that had most."""
        return max((each.done for each in self.attendance.values()), default=0)


def digest(
    reports: Iterable[Report],
    *,
    nights: int,
    until: int,
    attendance: Mapping[str, Attendance],
    scopes: Sequence[str],
    time_zone: str = "UTC",
) -> Digest:
    """
    The digest of reports that reach back over this span and, to compare with, some before it.

    scopes: canonical; what reports say of others is left out. What waits is not added up: the last night says it.
    """
    reports = sorted(reports, key=lambda report: report.as_of)
    spans: dict[int, list[Report]] = {}
    for report in reports:
        back = (until - report.as_of) // (nights * NIGHT)
        if 0 <= back <= SPANS:
            spans.setdefault(back, []).append(report)
    mine = spans.pop(0, [])
    earlier = [_totals(_of(spans[back], scopes)) for back in sorted(spans)]
    parts = _of(mine, scopes)
    by_scope = {text: [part for part in parts if canonical(part.scope) == text] for text in scopes}
    added = Report(
        run_id=None,
        as_of=until,
        dry_run=False,
        exit_code=0,
        totals=_totals(parts),
        scopes=tuple(_added(of_scope) for of_scope in by_scope.values() if of_scope),
        earlier=tuple(earlier),
        time_zone=time_zone,
        worded=reduce(Asked.plus, (report.worded for report in mine), NOTHING_ASKED),
    )
    return Digest(nights, until, added, attendance, sum(report.exit_code in FAILED for report in mine))


def _of(reports: Iterable[Report], scopes: Sequence[str]) -> list[ScopeReport]:
    wanted = set(scopes)
    return [part for report in reports for part in report.scopes if canonical(part.scope) in wanted]


def _totals(parts: Iterable[ScopeReport]) -> dict[str, int]:
    totals = dict.fromkeys(TOTALS, 0)
    by_scope: dict[str, list[ScopeReport]] = {}
    for part in parts:
        by_scope.setdefault(canonical(part.scope), []).append(part)
    for of_scope in by_scope.values():
        totals["stale"] += sum(len(part.stale) for part in of_scope)
        for step in _added(of_scope).steps:
            for verb in totals.keys() & step.counts.keys():
                totals[verb] += step.counts[verb]
    return totals


def _added(parts: Sequence[ScopeReport]) -> ScopeReport:
    """The nights of one scope as one."""
    steps: dict[str, StepReport] = {}
    for step in (step for part in parts for step in part.steps):
        before = steps.get(step.step, StepReport(step.step, {}))
        counts = dict(before.counts)
        for verb, count in step.counts.items():
            counts[verb] = count if verb in NO_WORK else counts.get(verb, 0) + count
        asked = step.asked and (before.asked or NOTHING_ASKED).plus(step.asked)
        steps[step.step] = replace(before, counts=counts, seen=before.seen + step.seen, asked=asked)
    in_turn = sorted(steps.values(), key=lambda step: STEPS.index(step.step) if step.step in STEPS else len(STEPS))
    return ScopeReport(parts[0].scope, tuple(in_turn))
