"""A report as plain text, for terminals, mails and chats that take no markup."""

from collections.abc import Iterator
from itertools import chain

from consolidator.report import words
from consolidator.report.report import Example, Report, ScopeReport, StepReport

_STALE = 10  # shown of each scope


def text(report: Report, level: str) -> str:
    """The report at a level that has something to say."""
    if level == "errors":
        return words.problem(report)
    if level == "summary":
        return words.summary(report)
    return "\n".join(_detailed(report))


def _detailed(report: Report) -> Iterator[str]:
    yield words.heading(report) + (f", run {report.run_id}" if report.run_id else "")
    yield words.summary(report)
    yield from _totals(report)
    for names, scope in words.alike(report.scopes):
        yield ""
        yield names
        yield from _scope(scope, dry_run=report.dry_run)
    yield ""
    yield from filter(None, [words.worded(report), words.not_asked(report), words.farewell(report)])
    if command := words.undo_command(report):
        yield f"{words.to_take_back(report)} {command}"


def _totals(report: Report) -> Iterator[str]:
    told = words.told(report)
    if not told:
        return
    yield ""
    if report.earlier:
        yield f"{'':22}{'now':>8}  average of {words.nights_before(report)}"
    for name in told:
        average = f"  {report.average[name]:,g}" if report.earlier else ""
        yield f"  {words.LABELS[name]:20}{report.totals[name]:8,}{average}"


def _scope(scope: ScopeReport, *, dry_run: bool) -> Iterator[str]:
    for step in scope.steps:
        if step.because_nothing is None:
            yield f"  {step.step}: {words.did(step, dry_run=dry_run)}"
            yield from chain.from_iterable(map(_example, step.examples))
            yield from _groups(step, dry_run=dry_run)
            yield from (f"    {note}" for note in step.notes)
    for steps, because in words.idle(scope):
        yield f"  {steps}: nothing done ({because})"
    for step in scope.steps:
        if step.because_nothing is not None:
            lines = [*words.asked(step), *step.notes]
            yield from (f"    {step.step}: {line}" for line in lines)
    if scope.stale:
        yield "  Left out as stale:"
        yield from chain.from_iterable(map(_example, scope.stale[:_STALE]))
        if len(scope.stale) > _STALE:
            yield "    - and more"
    yield from (f"  {note}" for note in scope.notes)


def _groups(step: StepReport, *, dry_run: bool) -> Iterator[str]:
    for group in step.groups:
        stays = f' {(group.id or "")[:8]} "{group.text}"' if group.id else ""
        yield f"    - {words.verb(group, dry_run=dry_run)}{stays}"
        if why := words.why(group, step):
            yield f"      {why}"
        yield from (f"      differs: {line}" for line in group.guard)
        yield from (f'      {"from" if group.id else "of"} {name[:8]} "{text}"' for name, text in group.members)
    yield from (f"    {line}" for line in filter(None, [words.more_groups(step), *words.asked(step)]))


def _example(example: Example) -> Iterator[str]:
    names = [
        f'{identifier[:8]} "{content}"'
        for identifier, content in ((example.id, example.text), (example.other_id, example.other_text))
        if identifier
    ]
    left_out = f"; left out: {example.why_left_out}" if example.why_left_out else ""
    if names:
        yield f"    - {example.verb} {' + '.join(names)}"
        yield f"      {example.because}{left_out}"
    else:
        yield f"    - {example.verb}: {example.because}{left_out}"
