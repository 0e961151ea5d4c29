"""Commands about nights that have been: undo, runs."""

import os
from typing import Annotated, Any

import typer

from consolidator.cli.output import emit, emit_json, emit_table, one_line, progress
from consolidator.cli.session import JsonOption, Session, clock
from consolidator.errors import BadInput

PUSH = "push-"  # what the id of a push begins with, as that of a run with `run-`


def undo(
    ctx: typer.Context,
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run_id, `last`, or a push_id.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Change nothing; say what would be given back.")] = False,
    json: JsonOption = False,
) -> int:
    """
    Take a night back, or a push.

    What was changed since is refused and listed (exit 3). `last` is the last night; a push has its own id.

    \b
    Example:
        consolidate undo last
        consolidate undo push-20261201-0330-5d3c8a10
    """
    from consolidator.store.find import find_run
    from consolidator.store.undo import undo_run

    if run.startswith(PUSH):
        return _undo_push(ctx.obj, run, dry_run=dry_run, json=json)
    with ctx.obj.open("read" if dry_run else "write") as store:
        with store.read() as conn:
            found = None if run == "last" else find_run(conn, run)
        with progress("Undoing"):
            undone = undo_run(store, found.run_id if found else run, wall_clock=clock, dry_run=dry_run)
    if json:
        emit_json(
            {
                "run_id": undone.run_id,
                "dry_run": dry_run,
                "exit": undone.exit_code,
                "restored": undone.restored,
                "events": undone.events,
                "refused": list(undone.refused),
            }
        )
        return undone.exit_code
    would = "would be " if dry_run else ""
    emit(
        f"{undone.run_id}: {_counted(undone.restored, 'row')} {would}given back, "
        f"{_counted(undone.events, 'event')} {would}waiting again."
    )
    for refused in undone.refused:
        emit(f"Refused: {one_line(refused)}")
    return undone.exit_code


def _undo_push(session: Session, push_id: str, *, dry_run: bool, json: bool) -> int:
    from consolidator.sources.named import named_by_url, opened
    from consolidator.sources.undo import undo_push
    from consolidator.store.pushes import url_of_push

    if dry_run:
        raise BadInput("--dry-run: what a push wrote is looked at only when it is taken back; leave it out")
    with session.open("write") as store:
        with store.read() as conn:
            url = url_of_push(conn, push_id)
        named = named_by_url(session.settings, url)
        with progress("Undoing"), opened(named, store, session.settings.embedding, os.environ) as (source, _):
            undone = undo_push(store, source, push_id, wall_clock=clock)
    if json:
        document = {"push_id": undone.push_id, "source": named.name, "url": url, "exit": undone.exit_code}
        emit_json({**document, "restored": undone.restored, "refused": list(undone.refused)})
        return undone.exit_code
    if undone.restored or undone.refused:
        emit(f"{undone.push_id}: {_counted(undone.restored, 'record')} of {named.name} given back.")
    else:  # no image is kept of what is forgotten
        emit(f"{undone.push_id}: nothing of {named.name} to give back; what was forgotten here stays away.")
    for refused in undone.refused:
        emit(f"Refused: {one_line(refused)}")
    return undone.exit_code


def runs(
    ctx: typer.Context,
    count: Annotated[int, typer.Option("-n", metavar="N", min=1, help="How many, the newest first.")] = 10,
    json: JsonOption = False,
) -> None:
    """
    List the last nights.

    \b
    Example:
        consolidate runs -n 3
    """
    from consolidator.store.journal import last_runs

    with ctx.obj.open("read") as store, store.read() as conn:
        found = last_runs(conn, count)
    if json:
        emit_json({"runs": found})
    elif not found:
        emit("No night has run yet.")
    else:
        emit_table(("run", "as of", "ended", "what it did"), [_row(each) for each in found])


def _row(run: dict[str, Any]) -> tuple[str, str, str, str]:
    if run["undone_at"]:
        ended = "undone"
    elif run["finished_at"]:
        ended = f"exit {run['exit']}"
    else:
        ended = "unfinished"
    totals = [f"{count} {name}" for name, count in (run["totals"] or {}).items() if count]
    return run["run_id"], run["as_of"], ended, ", ".join(totals) or "nothing"


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
