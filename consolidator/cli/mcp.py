"""`consolidate mcp`: serves the memories of a scope to agents, over the Model Context Protocol."""

import os
import re
import sys
from typing import Annotated

import typer

from consolidator.cli.output import note
from consolidator.cli.session import AgentOption, ScopeOption, Session, scope_text
from consolidator.errors import BadInput

TOKEN_VARIABLE = "CONSOLIDATOR_MCP_TOKEN"


def mcp(
    ctx: typer.Context,
    scope: ScopeOption = None,
    agent: AgentOption = None,
    store: Annotated[
        str | None,
        typer.Option("--store", metavar="URL", help="As before the command.", show_default=False),
    ] = None,
    http: Annotated[
        str | None,
        typer.Option(
            "--http",
            metavar="[HOST:]PORT",
            help="Serve over HTTP at /mcp instead of standard input and output; this machine alone without HOST.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """
    Serve the memories of a scope to agents, as an MCP server.

    Over standard input and output one client that starts this command; with --http many. All reach the one scope that
    is named here, and no other; with --agent one of that agent's. A token is needed where others than this machine can
    come in: $CONSOLIDATOR_MCP_TOKEN, else mcp.token in the settings. Over HTTP, agents of the settings come in by
    tokens of their own, each to its own scope.

    \b
    Example:
        consolidate mcp --scope user=ada
    """
    session: Session = ctx.obj
    if store is not None:
        session = Session(store, session.settings, session.settings_file)
    where = session.scope_of(agent, scope_text(scope))
    from consolidator.mcp.http import address_of, insist_on_token, serve_http
    from consolidator.mcp.serving import serving
    from consolidator.mcp.stdio import serve_stdio

    address = None if http is None else address_of(http)
    hosts = session.settings.mcp.hosts
    tokens: dict[str, str | None] = {}
    if address is not None:
        tokens = _tokens(session, agent)
        insist_on_token(address, tokens, hosts)
    own = {name: session.scope_of(name, None) for name in tokens.values() if name is not None}
    with serving(
        session.url,
        where,
        session.settings,
        salience=lambda: session.salience_file,
        complain=_complain,
        agents=own,
    ) as server:
        if address is None:
            if sys.stdin.isatty():
                _complain("serving on standard input and output, where a client should be; Ctrl-C ends it")
            serve_stdio(server)
        else:
            serve_http(server, address, tokens=tokens, hosts=hosts, say=_complain)


def _tokens(session: Session, agent: str | None) -> dict[str, str | None]:
    """
    What may be sent, and the agent that it is of. agent: it alone is served, known by its own token, if it has one.

    BadInput where nobody could tell two apart.
    """
    agents = session.settings.agents
    secrets = {name: each.token for name, each in agents.items() if each.token and agent in (None, name)}
    own = {token.get_secret_value(): None if name == agent else name for name, token in secrets.items()}
    common = None if agent in secrets else _token(session)
    if common is not None and common in own:
        raise BadInput("--http: an agent has the same token as the server itself; give each its own")
    return own if common is None else {common: None, **own}


def _token(session: Session) -> str | None:
    """What clients have to send: of the variable, else of the settings. BadInput where it can be no token."""
    from consolidator.settings.kinds import TOKEN, WHAT_A_TOKEN_IS

    given = os.environ.get(TOKEN_VARIABLE)
    if given is not None:
        if not re.fullmatch(TOKEN, given.strip()):
            raise BadInput(f"${TOKEN_VARIABLE}: not a token; {WHAT_A_TOKEN_IS}")
        return given.strip()
    secret = session.settings.mcp.token
    return None if secret is None else secret.get_secret_value()


def _complain(line: str) -> None:
    note(f"consolidate: {line}")
