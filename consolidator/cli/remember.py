"""`consolidate remember`: take a text in, as an agent does by day."""

import json as json_text
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from consolidator.cli.output import ID_SHOWN, emit, emit_json, note
from consolidator.cli.session import AgentOption, AsOfOption, JsonOption, ScopeOption, Session, moment, scope_text
from consolidator.errors import BadInput

if TYPE_CHECKING:
    from consolidator.day.values import Remembered

_FLAGS = {
    "noise": "it says little",
    "instructions": "it reads like orders to the agent, and is marked so",
    "secret": "it holds a secret, which goes to no model",
    "forgotten_before": "it had been forgotten, and is remembered again",
}


def remember(
    ctx: typer.Context,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What to remember; - reads standard input.")],
    kind: Annotated[str, typer.Option("--type", metavar="TYPE", help="fact, preference, decision, plan, ...")] = "fact",
    anchor: Annotated[
        str | None,
        typer.Option("--anchor", metavar="T", help="The date or time that it is about.", show_default=False),
    ] = None,
    end: Annotated[str | None, typer.Option("--end", metavar="T", help="When that ends.", show_default=False)] = None,
    recurrence: Annotated[
        str | None, typer.Option("--recurrence", metavar="RRULE", help="How it comes again.", show_default=False)
    ] = None,
    importance: Annotated[
        float | None, typer.Option("--importance", metavar="N", help="From 0 to 1.", show_default=False)
    ] = None,
    topics: Annotated[
        list[str] | None, typer.Option("--topic", metavar="WORD", help="A topic; may be repeated.", show_default=False)
    ] = None,
    pinned: Annotated[bool, typer.Option("--pinned", help="Do not archive it when it fades.")] = False,
    expires: Annotated[
        str | None,
        typer.Option("--expires", metavar="T", help="When it is archived in any case.", show_default=False),
    ] = None,
    scope: ScopeOption = None,
    agent: AgentOption = None,
    as_of: AsOfOption = None,
    json: JsonOption = False,
) -> None:
    """
    Remember a text.

    The same text is one memory: said again it counts as seen again, and what was archived comes back. Without --scope,
    in the empty scope.

    \b
    Example:
        consolidate remember "Ada is allergic to penicillin." --type fact
    """
    from consolidator.day.memory import Memory

    session: Session = ctx.obj
    now = moment(as_of, ahead=False)
    pairs = json_text.loads(session.scope_of(agent, scope_text(scope)))
    said = _standard_input() if text == "-" else text
    with session.open("write") as store:
        done = Memory.of(store, pairs, settings=session.settings, clock=lambda: now).remember(
            said,
            type=kind,
            anchor=anchor,
            end=end,
            recurrence=recurrence,
            importance=importance,
            topics=topics or (),
            pinned=pinned,
            expires_at=expires,
            seek_near=True,
        )
    if json:
        emit_json(asdict(done))
        return
    emit(_told(done))
    for flag in done.flags:
        if flag in _FLAGS:
            note(f"consolidate: {_FLAGS[flag]}")
    if done.because is not None and session.settings.embedding.model != "none":
        note(f"consolidate: it is found by its words only, for now: {done.because}")
    if done.near is not None:
        note(f"consolidate: {done.near[:ID_SHOWN]} says nearly the same; the night looks at both")


def _standard_input() -> str:
    try:
        return sys.stdin.buffer.read().decode().removesuffix("\n")
    except UnicodeDecodeError as error:
        raise BadInput(f"standard input: is not valid UTF-8 (byte {error.start + 1})") from None


def _told(done: "Remembered") -> str:
    what = "Remembered"
    if "brought_back" in done.flags:
        what = "Brought back"
    elif "merged" in done.flags:
        what = "Known, in a merged memory"
    elif done.known:
        what = "Known already"
    return f"{what}: {done.id[:ID_SHOWN]}"
