"""
What the night did, in words, by rule: sentences and phrases that every rendering shares.

Zeros are passed over, one memory is not "1 memories", and no sentence holds memory text.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import floor, log10

from consolidator.asked import Asked
from consolidator.instants import when
from consolidator.plan import STEPS
from consolidator.report.merging import TO_ASK, WAITING
from consolidator.report.report import NIGHTS, SEEN, Example, Report, ScopeReport, StepReport
from consolidator.report.tame import one_line
from consolidator.scopes import canonical, spell

_FAILED = {
    1: "failed on the way",
    2: "could not run",
    3: "was done in part",
    11: "left out what another one holds",
}

# verb: what one and what many rows are called, and what happened to them
_DONE = {
    "reinforced": ("memory", "memories", "reinforced"),
    "clock": ("clock", "clocks", "set"),
    "linked": ("pair", "pairs", "linked"),
    "inferred": ("inferred link", "inferred links", "added, changed or removed"),
    "shifted": ("memory", "memories", "shifted in time"),
    "archived": ("memory", "memories", "archived"),
    "revived": ("memory", "memories", "revived"),
    "unlinked": ("faded link", "faded links", "removed"),
    "merged": ("group", "groups", "merged"),
    "updated": ("group", "groups", "brought up to date"),
    "absorbed": ("group", "groups", "absorbed"),
    "superseded": ("memory", "memories", "superseded"),
    "distinct": ("group", "groups", "found distinct"),
    "rejected": ("answer", "answers", "rejected"),
    TO_ASK: ("group", "groups", "asked about"),
    "carried_over": ("group", "groups", "carried over"),
    "held_back": ("memory", "memories", "held back for a secret"),
    SEEN: ("event", "events", "read without effect"),
}

LABELS = {
    "reinforced": "reinforced",
    "shifted": "shifted in time",
    "archived": "archived",
    "revived": "revived",
    "linked": "pairs linked",
    "inferred": "inferred links",
    "unlinked": "faded links removed",
    "merged": "groups merged",
    "absorbed": "groups absorbed",
    "updated": "groups updated",
    "superseded": "memories superseded",
    "distinct": "groups distinct",
    "rejected": "answers rejected",
    "carried_over": "groups carried over",
    "held_back": "held back (secrets)",
    "stale": "left out as stale",
}


def summary(report: Report) -> str:
    """One to three friendly sentences that speak of what matters; a quiet night is one short line."""
    told = [failure(report), work(report), concern(report)]
    if not any(told):
        told[0] = _quiet(report)
    told[2] = told[2] or left(report)
    if failure(report) and told[2]:
        told[1] = _memories(report)
    return " ".join(filter(None, told))


def _quiet(report: Report) -> str:
    if not report.scopes:
        said = "there is nothing to look after yet."
    else:
        said = "nothing is due." if report.dry_run else "nothing was due."
    return f"A quiet night: {said}" if report.whole else said.capitalize()


def work(report: Report) -> str:
    """Up to two sentences on what was done; empty where nothing was."""
    return " ".join(filter(None, [_memories(report), _links(report)]))


def left(report: Report) -> str:
    """One sentence on what merging left for later; empty where it left nothing."""
    to_ask = sum(step.counts.get(TO_ASK, 0) for scope in report.scopes for step in scope.steps)
    if to_ask:
        groups = counted(to_ask, "group of memories that may", "groups of memories that may")
        return f"I would ask {report.asked.model} about {groups} say the same."
    count = report.asked.carried_over
    waits = "would wait" if report.dry_run else "waits" if count == 1 else "wait"
    groups = counted(count, "group of memories that may say the same", "groups of memories that may say the same")
    return f"{groups} {waits}." if count else ""


def problem(report: Report) -> str:
    """What went wrong or stopped happening; empty where nothing did."""
    return " ".join(filter(None, [failure(report), concern(report)]))


def failure(report: Report) -> str:
    """One sentence on what ended the night; empty where it came to its end, if only in part."""
    if report.error is None and (report.exit_code == 0 or (report.exit_code == 3 and report.totals["stale"])):
        return ""
    failed = how_it_failed(report)
    return f"{': '.join(filter(None, [f'{failed[0].upper()}{failed[1:]}', (report.error or '').rstrip('.')]))}."


def how_it_failed(report: Report) -> str:
    """`the night failed on the way`: of a run that has a `failure`."""
    return f"{subject(report)} {_FAILED.get(report.exit_code, f'ended with exit code {report.exit_code}')}"


def concern(report: Report) -> str:
    """One sentence on what was left out or stopped happening; empty where there is nothing of the kind."""
    failures = "; ".join(report.asked.failures)
    hindered = f"merging was hindered: {failures.rstrip('.')}" if failures else ""
    if stale := report.totals["stale"]:
        left = counted(
            stale, "decision was left out because what it rests", "decisions were left out because what they rest"
        )
        also = f"; {hindered}" if hindered else ""
        return f"{left} on changed meanwhile; the next night looks again{also}."
    if hindered:
        return f"{hindered[0].upper()}{hindered[1:]}."
    if report.stopped:
        return f"The last {NIGHTS} nights found nothing to do: do your agent's memories still arrive here?"
    return ""


def _memories(report: Report) -> str:
    totals = report.totals
    stay = totals["merged"] + totals["updated"] + totals["absorbed"]
    says = "says" if stay == 1 else "say"
    clauses = [
        (totals["reinforced"], "replay", "replayed", "the use of {}", "memory", "memories"),
        (totals["shifted"], "move", "moved", "{} on in time", "dated memory", "dated memories"),
        (totals["archived"], "send", "sent", "{} to the archive", "memory", "memories"),
        (totals["revived"], "bring", "brought", "{} back", "archived memory", "archived memories"),
        (totals["superseded"], "merge", "merged", f"{{}} into {stay:,} that {says} the same", "memory", "memories"),
    ]
    busy = sum(any(step.counts.get(name) for step in scope.steps for name in totals) for scope in report.scopes)
    return _sentence(report, clauses, "", f", across {busy} scopes" if busy > 1 else "")


def _links(report: Report) -> str:
    totals = report.totals
    clauses = [
        (totals["linked"], "link", "linked", "{} that came up together", "pair of memories", "pairs of memories"),
        (totals["unlinked"], "let", "let", "{} go", "faded link", "faded links"),
    ]
    if not any(count for count, *_ in clauses):
        clauses = [(totals["inferred"], "bring", "brought", "{} up to date", "inferred link", "inferred links")]
    return _sentence(report, clauses, " also" if _memories(report) else "", "")


def _sentence(report: Report, clauses: Iterable[tuple[int, str, str, str, str, str]], also: str, where: str) -> str:
    parts = [
        f"{plain if report.dry_run else past} {rest.format(counted(count, one, many))}"
        for count, plain, past, rest, one, many in clauses
        if count
    ]
    if not parts:
        return ""
    would = " would" if report.dry_run else ""
    return f"I{would}{also} {listed(parts)}{where}."


def subject(report: Report) -> str:
    """What a run is: `the night`, `the shift`, `this part of the night`."""
    if report.whole:
        return "the night"
    return f"the {report.steps[0]}" if len(report.steps) == 1 else "this part of the night"


def heading(report: Report) -> str:
    """Which night this is, or which part of one."""
    return f"{kind(report)} {when(report.as_of, report.zone)}"


def kind(report: Report) -> str:
    """`Night of`, `Preview of the night of`, `Shift of`: what a moment follows."""
    what = subject(report).replace("this part", "part")
    return f"{f'Preview of {what}' if report.dry_run else what.removeprefix('the ').capitalize()} of"


def did(step: StepReport, *, dry_run: bool) -> str:
    """What a step did, as one phrase: `3 memories archived, 1 memory revived`; empty where nothing."""
    counts = {**step.counts, SEEN: step.seen}
    return ", ".join(_done(verb, count, dry_run) for verb, count in counts.items() if count)


def _done(verb: str, count: int, dry_run: bool) -> str:
    one, many, done = _DONE.get(verb, ("row", "rows", verb))
    return f"{counted(count, one, many)} {'to be ' if dry_run and verb != SEEN else ''}{done}"


def asked(step: StepReport) -> list[str]:
    """What merging compared with, took and left, a line each."""
    taken = step.asked
    if taken is None or step.because_nothing is not None:
        return []
    lines = []
    if taken.embedder:
        made = f", {counted(taken.embedded, 'vector', 'vectors')} made" if taken.embedded else ""
        lines.append(f"compared by words and by vectors of {taken.embedder}{made}")
    elif taken.clusters:
        lines.append("compared by words alone")
    if taken.calls or taken.kept:
        lines.append(cost(taken))
    lines += [
        f"{counted(count, 'group waits', 'groups wait')}: {reason}" for reason, count in taken.waiting.items() if reason
    ]
    return lines


def cost(taken: Asked) -> str:
    parts = []
    if taken.calls:
        usd = "at a price that is not known: set merge.prices" if taken.usd is None else money(taken.usd)
        tokens = f"{taken.input_tokens:,} tokens in, {taken.output_tokens:,} out, {usd}"
        times = counted(taken.calls, "time", "times")
        is_asked, most = ("would be", "at most ") if taken.expected else ("was", "")
        parts.append(f"{taken.model} {is_asked} asked {times}: {most}{tokens}")
    if taken.kept:
        parts.append(f"{counted(taken.kept, 'answer', 'answers')} had been paid for before")
    return "; ".join(parts)


def worded(report: Report) -> str:
    """What putting its message into words took; empty where a rule did."""
    return f"Words of its message: {cost(report.worded)}." if report.worded.calls else ""


def money(usd: float) -> str:
    """Dollars to the cent, less than that to two digits that say something."""
    if not usd:
        return "no cost"
    if usd >= 0.1:
        return f"${usd:,.2f}"
    return f"${usd:.{1 - floor(log10(usd))}f}"


_VERBS = {
    "merged": ("to be merged into", "merged into"),
    "updated": ("to be brought up to date as", "brought up to date as"),
    "absorbed": ("to be absorbed into", "absorbed into"),
    TO_ASK: ("to be asked about", "to be asked about"),
    "waiting": ("carried over", "carried over"),
}


def verb(group: Example, *, dry_run: bool) -> str:
    """What becomes, or became, of a group of memories."""
    plain, past = _VERBS.get(group.verb, (group.verb, group.verb))
    return plain if dry_run else past


def why(group: Example, step: StepReport) -> str:
    """Why that became of a group; empty where one reason, told below, is that of all of its kind."""
    alike = {each.because for each in step.groups if each.verb == group.verb}
    return "" if group.verb in (TO_ASK, WAITING) and len(alike) == 1 else group.because


def more_groups(step: StepReport) -> str:
    """That there are more than are shown; empty where there are not."""
    more = step.all_groups - len(step.groups)
    return f"and {counted(more, 'group', 'groups')} more; --decisions lists all" if more > 0 else ""


def idle(scope: ScopeReport) -> list[tuple[str, str]]:
    """(steps, why they did nothing): steps with the same reason together, in their order."""
    reasons: dict[str, list[str]] = {}
    for step in scope.steps:
        if step.because_nothing is not None:
            reasons.setdefault(step.because_nothing, []).append(step.step)
    return [(", ".join(steps), because) for because, steps in reasons.items()]


def alike(scopes: Iterable[ScopeReport]) -> list[tuple[str, ScopeReport]]:
    """(names, scope): scopes of which the report says exactly the same, told together."""
    groups: list[tuple[list[str], ScopeReport]] = []
    for scope in scopes:
        for names, first in groups[-1:]:
            if scope.quiet and (scope.steps, scope.notes) == (first.steps, first.notes):
                names.append(scope_name(scope.scope))
                break
        else:
            groups.append(([scope_name(scope.scope)], scope))
    return [(_names(names), scope) for names, scope in groups]


def _names(names: Sequence[str]) -> str:
    return f"Scope{'s' if len(names) > 1 else ''} {some(names)}"


def some(names: Sequence[str]) -> str:
    """The first three of them, and how many there are more."""
    return "; ".join(names[:3]) + (f"; and {len(names) - 3:,} more" if len(names) > 3 else "")


def scope_name(scope: Mapping[str, str]) -> str:
    """A scope as `--scope` takes it: `project=atlas,user=ada`; the empty one is `{}`."""
    return one_line(spell(canonical(scope)))


def not_asked(report: Report) -> str:
    """The steps that `--steps` left out, as one line; empty where all ran."""
    ran = {step.step for scope in report.scopes for step in scope.steps}
    left = [step for step in STEPS if step not in ran]
    return f"Not asked for: {', '.join(left)}." if left and ran else ""


def told(report: Report) -> list[str]:
    """The totals worth a line: those that are not zero tonight or were not in the nights before."""
    return [name for name in LABELS if report.totals[name] or report.average.get(name)]


def nights_before(report: Report) -> str:
    """`the last 7 nights`, `the last night`; `the last 7 times` of a part of it."""
    count, what = len(report.earlier), "night" if report.whole else "time"
    return f"the last {what}" if count == 1 else f"the last {count} {what}s"


def to_take_back(report: Report) -> str:
    """What stands before the undo command."""
    return f"To take {'this night' if report.whole else 'this'} back:"


def farewell(report: Report) -> str:
    """What the reader may do next, before the undo command; empty where there is none."""
    if report.dry_run:
        return "This is a preview: nothing was changed."
    if report.undoable:
        return ""
    if report.totals["unlinked"]:
        return "Only faded links were removed; there is nothing to undo."
    return "Nothing was changed; there is nothing to undo."


def undo_command(report: Report) -> str:
    """The command that takes the night back; empty where there is nothing to take back."""
    return f"consolidate undo {report.run_id}" if report.undoable else ""


def counted(count: int, one: str, many: str) -> str:
    """`1 memory`, `2,400 memories`."""
    return f"{count:,} {one if count == 1 else many}"


def listed(parts: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))
