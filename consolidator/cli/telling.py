"""How a night is told: its report, its decisions, its exit code."""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from consolidator.cli.output import ID_SHOWN, emit, emit_json, note, one_line
from consolidator.cli.session import Session, one_of
from consolidator.errors import ConsolidatorError
from consolidator.plan import Result

if TYPE_CHECKING:
    from consolidator.report import Report
    from consolidator.store.engine import Store

LEVELS = ("off", "errors", "summary", "detailed")
_TEXT_SHOWN = 70

LevelOption = Annotated[
    str | None,
    typer.Option("--report", metavar="LEVEL", help="off, errors, summary or detailed.", show_default=False),
]
DecisionsOption = Annotated[bool, typer.Option("--decisions", help="List every decision with its reason.")]


def level_of(session: Session, option: str | None) -> str:
    return session.settings.report if option is None else one_of("--report", option, LEVELS)


def earlier_of(store: "Store", steps: Sequence[str]) -> list[dict[str, int]]:
    """The totals of the last runs of the same steps, newest first: what a report is compared with."""
    from consolidator.report.document import steps_of
    from consolidator.report.report import NIGHTS
    from consolidator.store.journal import earlier_reports

    with store.read() as conn:
        reports = (report for report in earlier_reports(conn) if report.get("totals"))
        same = (report for report in reports if set(steps_of(report)) == set(steps))
        return [report["totals"] for report in islice(same, NIGHTS)]


def report_of(store: "Store", result: Result, earlier: Sequence[dict[str, int]], time_zone: str | None) -> "Report":
    from consolidator.report import build
    from consolidator.store.journal import without_forgotten

    with store.read() as conn:
        result = without_forgotten(conn, result)
    return build(
        result.plan,
        result.outcomes,
        run_id=result.run_id,
        dry_run=result.run_id is None,
        exit_code=result.exit_code,
        history=earlier,
        error=result.error,
        time_zone=time_zone or "UTC",
    )


def as_document(report: "Report") -> dict[str, Any]:
    from consolidator.report import as_json

    return as_json(report)


def tell(
    store: "Store",
    result: Result,
    earlier: Sequence[dict[str, int]],
    *,
    time_zone: str | None,
    level: str,
    decisions: bool,
    json: bool,
    out: Path | None = None,
) -> int:
    """Print what a night did, and return its exit code."""
    from consolidator.report import render

    report = report_of(store, result, earlier, time_zone)
    listed = list(_decisions(store, result)) if decisions else []
    left = list(_undecided(result)) if decisions else []
    if json:
        emit_json(as_document(report) | ({"decisions": listed, "undecided": left} if decisions else {}))
    else:
        for decision in (*listed, *left):
            emit(told(decision))
        text = render(report, level)
        if text:
            emit(text)
        if out:
            note(f"The plan is kept: consolidate apply {out}")
    if result.error and (json or level == "off"):
        note(f"consolidate: {one_line(result.error)}")
    return result.exit_code


def _decisions(store: "Store", result: Result) -> Iterator[dict[str, Any]]:
    from consolidator.store.find import find_run
    from consolidator.store.journal import decisions_of_run, planned

    with store.read() as conn:
        if result.run_id is None:
            yield from planned(conn, result.plan)
            return
        found = find_run(conn, result.run_id)
        if found is None:
            raise ConsolidatorError(f"{result.run_id}: kept no journal")
        yield from decisions_of_run(conn, found.key)


def _undecided(result: Result) -> Iterator[dict[str, Any]]:
    """The groups of memories that change nothing, as decisions are told."""
    from consolidator.report.merging import verb_of

    for part in result.plan.scopes:
        for merge in part.merges:
            if not merge.decisions:
                because = "; ".join(filter(None, [merge.because, *merge.guard]))
                yield {
                    "step": "merge",
                    "verb": verb_of(merge),
                    "because": because,
                    "ids": list(merge.ids),
                    "texts": list(merge.texts),
                }


def told(decision: dict[str, Any]) -> str:
    """A decision as a line: what, on which memories, why."""
    ends = zip(decision["ids"], decision["texts"], strict=True)
    names = " <-> ".join(f"{(name or 'gone')[:ID_SHOWN]} {one_line(text or '', _TEXT_SHOWN)}" for name, text in ends)
    return f"{decision['step']}: {decision['verb']}: {names + ': ' if names else ''}{one_line(decision['because'])}"
