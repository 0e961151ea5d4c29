"""A report as Markdown, for chats and notes. Lists, no tables: chats show those as they are written."""

import re
from collections.abc import Iterator

from consolidator.report import words
from consolidator.report.report import Example, Report, ScopeReport, StepReport

_STALE = 10  # shown of each scope
_MARKUP = re.compile(r"[\\`*_\[\]<|~@#$]|&(?=#?\w+;)|:(?=//)|(?<=\bwww)\.|^[-+>=]", re.IGNORECASE)
_NUMBERED = re.compile(r"^(\d{1,9})([.)])")


def markdown(report: Report, level: str) -> str:
    """The report at a level that has something to say."""
    if level == "errors":
        return plain(words.problem(report))
    if level == "summary":
        return plain(words.summary(report))
    return "\n".join(_detailed(report))


def plain(text: str) -> str:
    """One line of text in which nothing is markup, a link, a mention or a tag."""
    return _NUMBERED.sub(r"\1\\\2", _MARKUP.sub(r"\\\g<0>", text))


def _detailed(report: Report) -> Iterator[str]:
    yield f"# {words.heading(report)}"
    yield ""
    yield plain(words.summary(report))
    if told := words.told(report):
        yield ""
    for name in told:
        usual = ""
        if report.earlier:
            usual = f" ({report.average[name]:,g} on average in {words.nights_before(report)})"
        yield f"- {words.LABELS[name]}: **{report.totals[name]:,}**{usual}"
    for names, scope in words.alike(report.scopes):
        yield ""
        yield f"## {plain(names)}"
        yield ""
        yield from _scope(scope, dry_run=report.dry_run)
    yield ""
    yield from filter(None, [plain(words.worded(report)), words.not_asked(report), words.farewell(report)])
    if command := words.undo_command(report):
        yield f"{words.to_take_back(report)} `{command}`"


def _scope(scope: ScopeReport, *, dry_run: bool) -> Iterator[str]:
    for step in scope.steps:
        if step.because_nothing is None:
            yield f"- **{step.step}**: {plain(words.did(step, dry_run=dry_run))}"
            yield from (f"  - {_example(example)}" for example in step.examples)
            yield from _groups(step, dry_run=dry_run)
            yield from (f"  - {plain(note)}" for note in step.notes)
    for steps, because in words.idle(scope):
        yield f"- **{steps}**: nothing done ({plain(because)})"
    for step in scope.steps:
        if step.because_nothing is not None:
            lines = [*words.asked(step), *step.notes]
            yield from (f"  - {step.step}: {plain(line)}" for line in lines)
    if scope.stale:
        yield "- **Left out as stale**:"
        yield from (f"  - {_example(example)}" for example in scope.stale[:_STALE])
        if len(scope.stale) > _STALE:
            yield "  - and more"
    yield from (f"- {plain(note)}" for note in scope.notes)


def _groups(step: StepReport, *, dry_run: bool) -> Iterator[str]:
    for group in step.groups:
        stays = f" {(group.id or '')[:8]} “{plain(group.text or '')}”" if group.id else ""
        because = f": {plain(why)}" if (why := words.why(group, step)) else ""
        yield f"  - {plain(words.verb(group, dry_run=dry_run))}{stays}{because}"
        yield from (f"    - differs: {plain(line)}" for line in group.guard)
        yield from (f"    - {'from' if group.id else 'of'} {name[:8]} “{plain(text)}”" for name, text in group.members)
    lines = [words.more_groups(step), *words.asked(step)]
    yield from (f"  - {plain(line)}" for line in filter(None, lines))


def _example(example: Example) -> str:
    names = [
        f"{identifier[:8]} “{plain(content or '')}”"
        for identifier, content in ((example.id, example.text), (example.other_id, example.other_text))
        if identifier
    ]
    left_out = f"; left out: {plain(example.why_left_out)}" if example.why_left_out else ""
    return f"{plain(example.verb)} {' + '.join(names)}".rstrip() + f": {plain(example.because)}{left_out}"
