"""`consolidate rate`: what a memory was worth, from 1 to 5."""

import json as json_text
from dataclasses import asdict
from typing import Annotated

import typer

from consolidator.cli.output import ID_SHOWN, emit, emit_json
from consolidator.cli.session import (
    AgentOption,
    AsOfOption,
    IdArgument,
    JsonOption,
    ScopeOption,
    Session,
    moment,
    scope_text,
)


def rate(
    ctx: typer.Context,
    memory: IdArgument,
    rating: Annotated[int, typer.Argument(metavar="1..5", help="From 1 (it misled) to 5 (it helped).")],
    turn: Annotated[
        str | None,
        typer.Option("--turn", metavar="ID", help="The turn; else the latest that showed it.", show_default=False),
    ] = None,
    session: Annotated[
        str | None, typer.Option("--session", metavar="ID", help="The session of the turn.", show_default=False)
    ] = None,
    scope: ScopeOption = None,
    agent: AgentOption = None,
    as_of: AsOfOption = None,
    json: JsonOption = False,
) -> None:
    """
    Say what a memory was worth, from 1 to 5.

    1 says that it misled, 3 neither, 5 that it helped. The next night reckons with it. Of several ratings in one turn
    the latest counts.

    \b
    Example:
        consolidate rate 3f9a1c22 5
    """
    from consolidator.day.memory import Memory
    from consolidator.store.find import find_identity

    options: Session = ctx.obj
    now, wanted = moment(as_of, ahead=False), scope_text(scope)
    if agent is not None:
        wanted = options.scope_of(agent, wanted)
    with options.open("write") as store:
        with store.read() as conn:
            found = find_identity(conn, memory, wanted)
        rated = Memory.of(store, json_text.loads(found.scope.text), settings=options.settings, clock=lambda: now)
        done = rated.rate(found.id, rating, session=session, turn=turn)
    if json:
        emit_json(asdict(done))
        return
    said = "Already rated" if done.known else "Rated"
    emit(f"{said}: {done.id[:ID_SHOWN]} {rating} in turn {done.turn} of session {done.session}")
