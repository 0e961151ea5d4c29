"""A digest in words, as text and as Markdown."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from consolidator.instants import format_instant, when
from consolidator.report import words
from consolidator.report.digest import Attendance, Digest
from consolidator.report.markdown import plain
from consolidator.report.report import NO_WORK
from consolidator.report.tame import one_line
from consolidator.scopes import canonical, parse_scope

_WEEK = 7
_DATES = 3  # named of those missed
_MORE, _LESS = 1.25, 0.8  # times the usual


class Line(NamedTuple):
    """A line of a digest. kind: heading, scope, text, item or gap."""

    kind: str
    text: str = ""


def heading(digest: Digest) -> str:
    """Which nights these are."""
    return f"{_span(digest)} up to {when(digest.until, digest.added.zone, '%Y-%m-%d')}"


def problem(digest: Digest) -> str:
    """One sentence on nights that were missed or failed; empty where none was."""
    parts = [
        f"{words.counted(len(digest.missed), 'night was', 'nights were')} missed ({_dates(digest.missed)})"
        if digest.missed
        else "",
        f"{words.counted(digest.failed, 'run', 'runs')} failed" if digest.failed else "",
    ]
    return f"{words.listed(list(filter(None, parts)))}." if any(parts) else ""


def work(digest: Digest) -> str:
    """Up to two sentences on what was done; empty where nothing was."""
    return words.work(digest.added)


def after(digest: Digest) -> str:
    """One sentence on how that compares, what it cost, and what was missed; empty where there is nothing to say."""
    compared = _compared(digest) if work(digest) else ""
    cost = _cost(digest)
    said = [f"That is {compared}" if compared else "", f"{'it' if compared else 'It'} cost {cost}" if cost else ""]
    sentence = " and ".join(filter(None, said))
    return "; ".join(filter(None, [sentence, problem(digest).rstrip(".")])) + (
        "." if sentence or problem(digest) else ""
    )


def summary(digest: Digest) -> str:
    """One to three sentences; a quiet week is one short line."""
    quiet = "" if work(digest) else f"{'A quiet week' if digest.nights == _WEEK else 'Quiet nights'}: nothing was due."
    return " ".join(filter(None, [quiet or work(digest), after(digest)]))


def counts(digest: Digest) -> str:
    """Numbers alone, on one line."""
    totals = digest.added.totals
    done = [f"{words.LABELS[name]} {totals[name]:,}" for name in words.LABELS if totals[name]] or ["nothing was due"]
    missed = [f"nights missed {len(digest.missed):,}"] if digest.missed else []
    return f"{heading(digest)}: {', '.join([*done, *missed])}."


def text(digest: Digest, level: str) -> str:
    """The digest at a level, as plain text; empty where the level has nothing to say."""
    indents = {"scope": "", "item": "  "}
    return "\n".join(indents.get(line.kind, "") + line.text for line in _lines(digest, level))


def markdown(digest: Digest, level: str) -> str:
    """The same as Markdown."""
    signs = {"heading": "# ", "scope": "## ", "item": "- "}
    return "\n".join(signs.get(line.kind, "") + plain(line.text) for line in _lines(digest, level))


def as_document(digest: Digest) -> dict[str, Any]:
    """The digest as JSON: counts and dates."""
    return {
        "nights": digest.nights,
        "until": format_instant(digest.until),
        "totals": dict(digest.added.totals),
        "average_before": dict(digest.added.average),
        "failed": digest.failed,
        "scopes": [
            {"scope": dict(scope), "done": each.done, "missed": list(each.missed)} for scope, each in _attended(digest)
        ],
        "usd": digest.added.asked.usd,
    }


def _lines(digest: Digest, level: str) -> Iterator[Line]:
    if level == "errors":
        yield from [Line("text", f"{heading(digest)}: {problem(digest)}")] if problem(digest) else []
    elif level == "summary":
        yield Line("text", f"{heading(digest)}. {summary(digest)}")
    elif level == "detailed":
        yield from _detailed(digest)


def _detailed(digest: Digest) -> Iterator[Line]:
    yield Line("heading", heading(digest))
    yield Line("gap")
    yield Line("text", summary(digest))
    told = words.told(digest.added)
    if told:
        yield Line("gap")
    for name in told:
        usual = f" ({digest.added.average[name]:,g} on average in {_before(digest)})" if digest.added.earlier else ""
        yield Line("item", f"{words.LABELS[name]}: {digest.added.totals[name]:,}{usual}")
    if asked := words.cost(digest.added.asked):
        yield Line("item", asked)
    parts = {canonical(part.scope): part for part in digest.added.scopes}
    silent: list[str] = []
    for scope, each in _attended(digest):
        part = parts.get(canonical(scope))
        did = list(filter(None, (words.did(step, dry_run=False) for step in part.steps))) if part else []
        if not did and not each.missed:
            silent.append(words.scope_name(scope))
            continue
        yield Line("gap")
        yield Line("scope", f"Scope {words.scope_name(scope)}")
        yield Line("gap")
        yield Line("item", _attendance(each))
        yield from (Line("item", one_line(line)) for line in did)
    if silent:
        yield Line("gap")
        yield Line("text", f"Nothing was due in {words.some(silent)}.")


def _attended(digest: Digest) -> Iterator[tuple[Mapping[str, str], Attendance]]:
    for scope, each in sorted(digest.attendance.items()):
        yield parse_scope(scope), each


def _attendance(each: Attendance) -> str:
    done = words.counted(each.done, "night", "nights")
    return f"{done} done" + (f", {len(each.missed):,} missed ({_dates(each.missed)})" if each.missed else "")


def _span(digest: Digest) -> str:
    return "The last night" if digest.nights == 1 else f"The last {digest.nights:,} nights"


def _before(digest: Digest) -> str:
    """`the 4 weeks before`."""
    count = len(digest.added.earlier)
    if digest.nights == _WEEK:
        return "the week before" if count == 1 else f"the {count} weeks before"
    return "as many nights before" if count == 1 else f"{count} times as many nights before"


def _compared(digest: Digest) -> str:
    if not digest.added.earlier:
        return ""
    counted = [name for name in words.LABELS if name not in (*NO_WORK, "stale")]
    now = sum(digest.added.totals[name] for name in counted)
    usual = sum(digest.added.average[name] for name in counted)
    much = "more than" if now > _MORE * usual else "less than" if now < _LESS * usual else "about as much as"
    return f"{much} in {_before(digest)}"


def _cost(digest: Digest) -> str:
    asked = digest.added.asked
    return words.money(asked.usd) if asked.calls and asked.usd else ""


def _dates(days: tuple[str, ...]) -> str:
    more = f" and {len(days) - _DATES:,} more" if len(days) > _DATES else ""
    return ", ".join(days[:_DATES]) + more
