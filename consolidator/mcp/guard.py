"""
Who may come in over HTTP.

A web page that a person has open can send requests to this machine, also under a name of its own that it makes lead
here (DNS rebinding). So the name that was asked for (Host) and the page that asks (Origin) have to be known. Whoever
may come from another machine has to send the token.
"""

import hashlib
import hmac
import json
from collections.abc import Iterable, Mapping
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

AGENT = "consolidator.agent"
HERE = ("127.0.0.1", "localhost", "::1")
_REALM = 'Bearer realm="consolidator"'


class Guard:
    """
    An ASGI application behind its door. tokens: of which one has to be sent, each with the agent that it is of, None
    for that of none; without any, nothing. hosts: names by which the server may be asked, besides those of this
    machine; addresses that are numbers may always.

    The application hears in its scope, under AGENT, whose token it was.
    """

    def __init__(self, app: ASGIApp, *, tokens: Mapping[str, str | None], hosts: Iterable[str]) -> None:
        self._app = app
        self._tokens = {_digest(token): agent for token, agent in tokens.items()}
        self._hosts = {host.lower().rstrip(".") for host in (*HERE, *hosts)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            refusal = self._refusal(headers)
            if refusal is not None:
                await _refuse(send, *refusal)
                return
            scope[AGENT] = self._tokens.get(_sent(headers)) if self._tokens else None
        await self._app(scope, receive, send)

    def _refusal(self, headers: Headers) -> tuple[int, str, str | None] | None:
        """The status, the reason and the challenge with which a request is refused; None where it may come in."""
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._may_be_asked(hosts[0]):
            return 421, "Host: not a name of this server; settings mcp.hosts may add it", None
        origins = headers.getlist("origin")
        if origins and not (len(origins) == 1 and self._may_ask(origins[0])):
            return 403, "Origin: web pages from elsewhere may not ask", None
        if not self._tokens:
            return None
        sent = headers.getlist("authorization")
        if not sent:
            return 401, "a token is needed: Authorization: Bearer TOKEN", _REALM
        scheme = sent[0].partition(" ")[0]
        good = any(hmac.compare_digest(_sent(headers), each) for each in self._tokens)
        if len(sent) == 1 and scheme.lower() == "bearer" and good:
            return None
        return 401, "the token is not the right one", f'{_REALM}, error="invalid_token"'

    def _may_be_asked(self, host: str) -> bool:
        name = _name(f"//{host}")
        return name is not None and (name in self._hosts or _is_number(name))

    def _may_ask(self, origin: str) -> bool:
        """Pages of this machine and of the server's own names; never one of a bare address somewhere."""
        if not origin.lower().startswith(("http://", "https://")):
            return False
        name = _name(origin)
        return name is not None and (name in self._hosts or (_is_number(name) and ip_address(name).is_loopback))


def is_here(host: str) -> bool:
    """Whether only this machine reaches an address."""
    return host.lower() == "localhost" or (_is_number(host) and ip_address(host).is_loopback)


def _name(url: str) -> str | None:
    """The name of the host in a URL, without port and brackets; None where it has none, or more than that."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return None
    if parts.username is not None or parts.path or parts.query or parts.fragment or not parts.hostname:
        return None
    return parts.hostname.rstrip(".")


def _is_number(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _sent(headers: Headers) -> bytes:
    """The digest of the token that was sent."""
    return _digest(headers.get("authorization", "").partition(" ")[2].strip())


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest()


async def _refuse(send: Send, status: int, reason: str, challenge: str | None) -> None:
    body = json.dumps({"error": reason}).encode()
    headers: list[Any] = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if challenge:
        headers.append((b"www-authenticate", challenge.encode()))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
