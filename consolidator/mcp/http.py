"""Serving clients over streamable HTTP, until this process is told to end."""

import logging
import os
import re
import socket
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from types import FrameType
from typing import Any, NamedTuple

import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.requests import ClientDisconnect

from consolidator.errors import BadInput, Terminated
from consolidator.mcp.ending import LAST_SECONDS, end_soon
from consolidator.mcp.guard import Guard, is_here
from consolidator.report.tame import one_line

PATH = "/mcp"
PORT_HELP = "write PORT, or HOST:PORT, e.g. 8765 or [::1]:8765"
_MOST_BYTES = 1024 * 1024  # of a request; a memory has at most 10,000 characters
_IDLE_SECONDS = 86_400.0  # a session is kept that long: many clients cannot begin another one in its place
_ADDRESS = re.compile(r"(?:(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<host>[^:\s\[\]/]+)):)?(?P<port>\d{1,5})", re.ASCII)


class Address(NamedTuple):
    """Where to listen. port 0: one that is free."""

    host: str
    port: int


def address_of(text: str) -> Address:
    """The address that a person wrote; this machine alone where no host is named. BadInput where it is none."""
    match = _ADDRESS.fullmatch(text)
    if not match or int(match["port"]) > 65_535:
        raise BadInput(f"--http: {text!r} is no address; {PORT_HELP}")
    return Address(match["six"] or match["host"] or "127.0.0.1", int(match["port"]))


def insist_on_token(address: Address, tokens: Mapping[str, str | None], hosts: Iterable[str]) -> None:
    """BadInput where others than this machine may come in without a token."""
    if not tokens and (not is_here(address.host) or any(hosts)):
        who = "mcp.hosts names clients from elsewhere" if is_here(address.host) else f"others reach {address.host}"
        raise BadInput(
            f"--http: {who}, so a token is needed; set $CONSOLIDATOR_MCP_TOKEN, or mcp.token_file in the settings"
        )


def to_stderr() -> logging.Handler:
    """Tells what the server's libraries say, each in one line; a client that has gone away is no news."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Line())
    handler.addFilter(lambda record: not isinstance(_error_of(record), ClientDisconnect))
    return handler


class _Line(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        error = _error_of(record)
        why = f": {type(error).__name__}: {error}" if error else ""
        return f"consolidate: {one_line(record.getMessage() + why)}"


def _error_of(record: logging.LogRecord) -> BaseException | None:
    return record.exc_info[1] if record.exc_info else None


class _Running(uvicorn.Server):
    """A server that ends soon when it is told to."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        end_soon()
        super().handle_exit(sig, frame)


def serve_http(
    server: Server[Any], address: Address, *, tokens: Mapping[str, str | None], hosts: Iterable[str],
    say: Callable[[str], object],
) -> None:  # fmt: skip
    """
    Serve until SIGTERM or SIGINT comes; calls under way are ended first. BadInput where it cannot listen there.

    tokens: as `Guard` has them. say: is told where it listens, once it does.
    """
    listening = listening_at(address)
    host = f"[{address.host}]" if ":" in address.host else address.host
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        json_response=True,
        max_request_body_size=_MOST_BYTES,
        session_idle_timeout=_IDLE_SECONDS,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),  # the guard looks
    )
    own = () if address.host in ("0.0.0.0", "::") else (address.host,)
    names = (*own, socket.gethostname(), *hosts)
    config = uvicorn.Config(
        Guard(app, tokens=tokens, hosts=names),
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=int(LAST_SECONDS),
        lifespan="on",
        ws="none",
    )
    logging.basicConfig(handlers=[to_stderr()], level=logging.WARNING)
    running = _Running(config)
    say(f"serving at http://{host}:{listening.getsockname()[1]}{PATH}{' (a token is needed)' if tokens else ''}")
    with suppress(Terminated, KeyboardInterrupt), listening:
        running.run(sockets=[listening])


def listening_at(address: Address) -> socket.socket:
    """A socket on which clients are heard. BadInput where there can be none."""
    try:
        family = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)[0][0]
        made = socket.create_server((address.host, address.port), family=family, backlog=128)
        # Said to be of TCP, for then asyncio lets no answer wait for the client's receipt of its head: 40 ms each.
        return socket.socket(made.family, made.type, socket.IPPROTO_TCP, fileno=made.detach())
    except (OSError, UnicodeError) as error:
        errno = getattr(error, "errno", None)
        what = os.strerror(errno) if errno and errno > 0 else getattr(error, "strerror", None) or error
        raise BadInput(f"--http: {address.host}:{address.port} cannot be used: {what}; name another") from None
