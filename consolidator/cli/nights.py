"""Commands that do a night: run, apply."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from consolidator.cli.output import progress
from consolidator.cli.session import (
    AsOfOption,
    JsonOption,
    ScopeOption,
    Session,
    clock,
    many_of,
    moment,
    scope_text,
)
from consolidator.cli.telling import (
    DecisionsOption,
    LevelOption,
    as_document,
    earlier_of,
    level_of,
    report_of,
    tell,
)
from consolidator.errors import BadInput
from consolidator.instants import format_instant
from consolidator.plan import STEPS, Result, load, save

if TYPE_CHECKING:
    from consolidator.store.engine import Store
    from consolidator.terms import Turn


def run(
    ctx: typer.Context,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Change nothing; say what would be done.")] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="PLAN", help="With --dry-run: keep the plan, for `apply`.", show_default=False),
    ] = None,
    write: Annotated[
        bool,
        typer.Option("--write", help="With --dry-run: ask the language model now, so that the plan holds its texts."),
    ] = False,
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

    It strengthens what helped, links what was recalled together, shifts the future into the past, archives what has
    faded, and merges what says the same. What needs a language model waits for one; `merge` in the settings says which,
    and what a night may cost.

    Exit codes: 0 done, 1 failed on the way, 2 bad input, 3 done in part, 11 another night holds a scope.

    \b
    Example:
        consolidate run --dry-run --decisions
        consolidate run
    """
    session: Session = ctx.obj
    now = moment(as_of, ahead=dry_run)
    level, zone = level_of(session, report), session.settings.time_zone
    chosen = STEPS if steps is None else many_of("--steps", steps, STEPS)
    wanted = scope_text(scope)
    scopes = None if wanted is None else [wanted]
    for name, given in (("--out", out), ("--write", write)):
        if given and not dry_run:
            raise BadInput(f"{name}: only a dry run writes a plan; add --dry-run")
    from consolidator.night import plan_night, run_night
    from consolidator.store.find import find_scopes
    from consolidator.terms import EVERY_TURN, Terms

    with session.open("read" if dry_run else "write") as store, session.means() as means:
        with store.read() as conn:
            find_scopes(conn, wanted)
        if out:
            _insist_on_plan(out, store)
        if "merge" in chosen:
            means.insist(store)
        earlier = earlier_of(store, chosen)
        with progress("The night") as advance:
            means.comparing.advance = lambda texts: advance.say(f"The night: {texts:,} texts embedded")
            if dry_run:
                result = plan_night(
                    store, now=now, rates=session.rates, scopes=scopes, steps=chosen, means=means, writes=write
                )
            else:
                result = run_night(
                    store,
                    now=now,
                    rates=session.rates,
                    wall_clock=clock,
                    describe=lambda result: as_document(report_of(store, result, earlier, zone)),
                    scopes=scopes,
                    steps=chosen,
                    means=means,
                    progress=lambda _done, _all: advance(1),
                    terms=Terms(turn_of(session, now) if as_of is None and chosen == STEPS else EVERY_TURN),
                )
        if out:
            _keep(result, out)
        return tell(store, result, earlier, time_zone=zone, level=level, decisions=decisions, json=json, out=out)


def apply(
    ctx: typer.Context,
    plan: Annotated[Path, typer.Argument(metavar="PLAN", help="A file that `run --dry-run --out` wrote.")],
    report: LevelOption = None,
    decisions: DecisionsOption = False,
    json: JsonOption = False,
) -> int:
    """
    Do what a saved plan says and nothing else.

    What has changed since is left out and listed (exit 3). No language model is asked: merges that the plan holds no
    text for wait for a night.

    \b
    Example:
        consolidate run --dry-run --write --out tonight.json
        consolidate apply tonight.json
    """
    session: Session = ctx.obj
    level, zone = level_of(session, report), session.settings.time_zone
    saved = load(plan)
    if saved.as_of > clock():
        raise BadInput(f"{plan}: is for {format_instant(saved.as_of)}, which lies in the future; apply it then")
    from consolidator.perform import apply_plan

    with session.open("write") as store, session.means() as means:
        earlier = earlier_of(store, saved.steps)
        with progress("Applying", total=len(saved.scopes)) as advance:
            result = apply_plan(
                store,
                saved,
                vector_of=means.local_vector_of(store),
                wall_clock=clock,
                describe=lambda result: as_document(report_of(store, result, earlier, zone)),
                progress=lambda _done, _all: advance(1),
            )
        return tell(store, result, earlier, time_zone=zone, level=level, decisions=decisions, json=json)


def turn_of(session: Session, now: int) -> "Turn":
    """A whole night counts as that of its date, where there is a job for it."""
    from consolidator.schedule.owed import today
    from consolidator.schedule.turns import TurnByHand
    from consolidator.settings.duty import duty_of
    from consolidator.terms import EVERY_TURN

    try:
        duty = duty_of(session.settings, "consolidate")
    except BadInput:  # where the date is not known there is no job either
        return EVERY_TURN
    day = today(duty, now) if duty else None
    return TurnByHand(day, wall_clock=clock) if day else EVERY_TURN


def _insist_on_plan(out: Path, store: "Store") -> None:
    """Nothing, where a plan can be written there, which is known before anything is asked for it."""
    if store.dialect == "sqlite" and os.path.realpath(out) == os.path.realpath(store.url.database or ""):
        raise BadInput(f"{out}: is the store itself; name another file for the plan")
    if not out.parent.is_dir() or not os.access(out.parent, os.W_OK) or out.is_dir():
        raise BadInput(f"{out}: the plan cannot be written there; name a file in a folder of yours")


def _keep(result: Result, out: Path) -> None:
    try:
        save(result.plan, out)
    except OSError as error:
        raise BadInput(f"{out}: the plan cannot be written: {error.strerror}") from None
