"""Commands that do a night: run, apply."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from consolidator.cli.output import emit, emit_json, note, one_line, progress
from consolidator.cli.session import (
    AsOfOption,
    JsonOption,
    ScopeOption,
    Session,
    clock,
    many_of,
    moment,
    one_of,
    scope_text,
)
from consolidator.errors import BadInput, ConsolidatorError
from consolidator.instants import format_instant
from consolidator.plan import STEPS, Result, load, save

if TYPE_CHECKING:
    from consolidator.report import Report
    from consolidator.store.engine import Store

LEVELS = ("off", "errors", "summary", "detailed")
COMPARED = 7
_ID_SHOWN = 12
_TEXT_SHOWN = 70

LevelOption = Annotated[
    str | None,
    typer.Option("--report", metavar="LEVEL", help="off, errors, summary or detailed.", show_default=False),
]
DecisionsOption = Annotated[bool, typer.Option("--decisions", help="List every decision with its reason.")]


def run(
    ctx: typer.Context,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Change nothing; say what would be done.")] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="PLAN", help="With --dry-run: keep the plan, for `apply`.", show_default=False),
    ] = None,
    as_of: AsOfOption = None,
    scope: ScopeOption = None,
    steps: Annotated[
        str | None,
        typer.Option("--steps", metavar="A,B", help=f"Only these of {', '.join(STEPS)}.", show_default=False),
    ] = None,
    report: LevelOption = None,
    decisions: DecisionsOption = False,
    json: JsonOption = False,
) -> int:
    """
    Run the night, and report what it did.

    It strengthens what helped, links what was recalled together, shifts the future into the past and archives
    what has faded.

    Exit codes: 0 done, 1 failed on the way, 2 bad input, 3 done in part, 11 another night holds a scope.

    \b
    Example:
        consolidate run --dry-run --decisions
        consolidate run
    """
    session: Session = ctx.obj
    now = moment(as_of, ahead=dry_run)
    level = _level(session, report)
    chosen = STEPS if steps is None else many_of("--steps", steps, STEPS)
    wanted = scope_text(scope)
    scopes = None if wanted is None else [wanted]
    if out and not dry_run:
        raise BadInput("--out: only a dry run writes a plan; add --dry-run")
    from consolidator.night import plan_night, run_night
    from consolidator.store.find import find_scopes

    with session.open("read" if dry_run else "write") as store:
        with store.read() as conn:
            find_scopes(conn, wanted)
        earlier = _earlier(store)
        with progress("The night") as advance:
            if dry_run:
                result = plan_night(store, now=now, rates=session.rates, scopes=scopes, steps=chosen)
            else:
                result = run_night(
                    store,
                    now=now,
                    rates=session.rates,
                    wall_clock=clock,
                    describe=lambda result: _as_json(_report(store, result, earlier)),
                    scopes=scopes,
                    steps=chosen,
                    progress=lambda _done, _all: advance(1),
                )
        if out:
            _keep(result, out, store)
        return _tell(store, result, earlier, level=level, decisions=decisions, json=json, out=out)


def apply(
    ctx: typer.Context,
    plan: Annotated[Path, typer.Argument(metavar="PLAN", help="A file that `run --dry-run --out` wrote.")],
    report: LevelOption = None,
    decisions: DecisionsOption = False,
    json: JsonOption = False,
) -> int:
    """
    Do what a saved plan says and nothing else.

    What has changed since is left out and listed (exit 3).

    \b
    Example:
        consolidate run --dry-run --out tonight.json
        consolidate apply tonight.json
    """
    session: Session = ctx.obj
    level = _level(session, report)
    saved = load(plan)
    if saved.as_of > clock():
        raise BadInput(f"{plan}: is for {format_instant(saved.as_of)}, which lies in the future; apply it then")
    from consolidator.perform import apply_plan

    with session.open("write") as store:
        earlier = _earlier(store)
        with progress("Applying", total=len(saved.scopes)) as advance:
            result = apply_plan(
                store,
                saved,
                wall_clock=clock,
                describe=lambda result: _as_json(_report(store, result, earlier)),
                progress=lambda _done, _all: advance(1),
            )
        return _tell(store, result, earlier, level=level, decisions=decisions, json=json)


def _level(session: Session, option: str | None) -> str:
    return session.settings.report if option is None else one_of("--report", option, LEVELS)


def _earlier(store: "Store") -> list[dict[str, int]]:
    from consolidator.store.journal import earlier_totals

    with store.read() as conn:
        return earlier_totals(conn, COMPARED)


def _report(store: "Store", result: Result, earlier: Sequence[dict[str, int]]) -> "Report":
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
    )


def _as_json(report: "Report") -> dict[str, Any]:
    from consolidator.report import as_json

    return as_json(report)


def _keep(result: Result, out: Path, store: "Store") -> None:
    if store.dialect == "sqlite" and os.path.realpath(out) == os.path.realpath(store.url.database or ""):
        raise BadInput(f"{out}: is the store itself; name another file for the plan")
    try:
        save(result.plan, out)
    except OSError as error:
        raise BadInput(f"{out}: the plan cannot be written: {error.strerror}") from None


def _tell(
    store: "Store",
    result: Result,
    earlier: Sequence[dict[str, int]],
    *,
    level: str,
    decisions: bool,
    json: bool,
    out: Path | None = None,
) -> int:
    """Print what a night did, and return its exit code."""
    from consolidator.report import render

    report = _report(store, result, earlier)
    listed = list(_decisions(store, result)) if decisions else []
    if json:
        emit_json(_as_json(report) | ({"decisions": listed} if decisions else {}))
    else:
        for decision in listed:
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


def told(decision: dict[str, Any]) -> str:
    """A decision as a line: what, on which memories, why."""
    ends = zip(decision["ids"], decision["texts"], strict=True)
    names = " <-> ".join(f"{(name or 'gone')[:_ID_SHOWN]} {one_line(text or '', _TEXT_SHOWN)}" for name, text in ends)
    return f"{decision['step']}: {decision['verb']}: {names + ': ' if names else ''}{one_line(decision['because'])}"
