"""The door of the HTTP server: who may come in, and what those are told who may not."""

import asyncio
import socket
from collections.abc import Mapping
from typing import Any

import pytest

from consolidator.errors import BadInput
from consolidator.mcp.guard import AGENT, Guard, is_here
from consolidator.mcp.http import Address, address_of, insist_on_token, listening_at

TOKEN = "0123456789abcdef0123456789abcdef"


def asked(headers: list[tuple[str, str]], *, token: str | None = None) -> tuple[int, Mapping[str, str]]:
    """The status and the headers with which a request is answered; 200 by the application behind the door."""
    sent: list[dict[str, Any]] = []

    async def application(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def send(message: Any) -> None:
        sent.append(message)

    raw = [(name.encode(), value.encode("latin-1")) for name, value in headers]
    tokens = {} if token is None else {token: None}
    guard = Guard(application, tokens=tokens, hosts=["memory.example.org"])
    asyncio.run(guard({"type": "http", "headers": raw}, None, send))  # type: ignore[arg-type]
    return sent[0]["status"], {name.decode(): value.decode() for name, value in sent[0]["headers"]}


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:8765", 200),
        ("localhost", 200),
        ("LOCALHOST.:8765", 200),
        ("[::1]:8765", 200),
        ("192.168.1.20:8765", 200),
        ("memory.example.org", 200),
        ("evil.example", 421),
        ("localhost.evil.example", 421),
        ("127.0.0.1.evil.example:8765", 421),
        ("memory.example.org@evil.example", 421),
        ("127.0.0.1:8765:x", 421),
        ("localhost/evil.example", 421),
        ("", 421),
        ("[::1", 421),
    ],
)
def test_only_a_known_name_or_a_number_may_be_asked(host: str, status: int) -> None:
    """A name that somebody else made lead here is refused; a bare address is nobody's name."""
    assert asked([("host", host)])[0] == status


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://localhost:6274", 200),
        ("http://127.0.0.1", 200),
        ("https://memory.example.org", 200),
        ("https://evil.example", 403),
        ("http://203.0.113.9", 403),
        ("http://localhost.evil.example", 403),
        ("null", 403),
        ("file://", 403),
        ("", 403),
    ],
)
def test_only_a_page_of_this_machine_or_of_the_server_may_ask(origin: str, status: int) -> None:
    """A page from elsewhere is refused, wherever it has the request sent; a program sends no Origin."""
    assert asked([("host", "localhost"), ("origin", origin)])[0] == status


def test_each_of_these_headers_stands_once() -> None:
    """Two hosts, or two origins, are none: what is before this server may have looked at the other one."""
    assert asked([("host", "localhost"), ("host", "localhost")])[0] == 421
    assert asked([("host", "localhost"), *[("origin", "http://localhost")] * 2])[0] == 403
    assert asked([("host", "localhost"), *[("authorization", f"Bearer {TOKEN}")] * 2], token=TOKEN)[0] == 401


@pytest.mark.parametrize(
    ("sent", "status", "challenge"),
    [
        (f"Bearer {TOKEN}", 200, ""),
        (f"bearer  {TOKEN} ", 200, ""),
        (None, 401, 'Bearer realm="consolidator"'),
        ("", 401, 'Bearer realm="consolidator", error="invalid_token"'),
        (f"Bearer {TOKEN}x", 401, 'Bearer realm="consolidator", error="invalid_token"'),
        (f"Bearer {TOKEN[:-1]}", 401, 'Bearer realm="consolidator", error="invalid_token"'),
        ("Bearer \xff\xfe", 401, 'Bearer realm="consolidator", error="invalid_token"'),
        (f"Basic {TOKEN}", 401, 'Bearer realm="consolidator", error="invalid_token"'),
        (TOKEN, 401, 'Bearer realm="consolidator", error="invalid_token"'),
    ],
)
def test_without_the_token_nobody_comes_in_and_the_answer_says_how(
    sent: str | None, status: int, challenge: str
) -> None:
    """The right token, as RFC 6750 has it sent, opens; all else is 401 with the challenge of that page."""
    headers = [("host", "localhost"), *([] if sent is None else [("authorization", sent)])]
    found, answer = asked(headers, token=TOKEN)
    assert (found, answer.get("www-authenticate", "")) == (status, challenge)


def test_an_address_is_this_machine_unless_a_host_is_named() -> None:
    """PORT listens on this machine alone; HOST:PORT there; anything else is refused, with what to write."""
    assert address_of("8765") == Address("127.0.0.1", 8765)
    assert address_of("0.0.0.0:80") == Address("0.0.0.0", 80)
    assert address_of("[::1]:0") == Address("::1", 0)
    for wrong in ("", "x", "65536", "::1:80", "localhost:", ":80", "http://localhost:80", "localhost:80/mcp", "-1"):
        with pytest.raises(BadInput, match=r"is no address; write PORT, or HOST:PORT"):
            address_of(wrong)


def test_whoever_others_can_reach_needs_a_token() -> None:
    """Without a token only this machine is served, and only by its own names."""
    assert [is_here(host) for host in ("127.0.0.1", "127.9.9.9", "::1", "LocalHost")] == [True] * 4
    assert not any(is_here(host) for host in ("0.0.0.0", "::", "192.168.1.2", "localhost.example", "memory"))
    insist_on_token(address_of("8765"), {}, [])
    insist_on_token(address_of("0.0.0.0:8765"), {TOKEN: None}, ["memory.example.org"])
    with pytest.raises(BadInput, match=r"--http: others reach 0\.0\.0\.0, so a token is needed; set"):
        insist_on_token(address_of("0.0.0.0:8765"), {}, [])
    with pytest.raises(BadInput, match=r"mcp\.hosts names clients from elsewhere, so a token is needed"):
        insist_on_token(address_of("8765"), {}, ["memory.example.org"])


def test_a_token_tells_whose_it_is() -> None:
    """The application behind the door hears which agent has sent it; of the server's own token, none."""
    heard: list[object] = []

    async def application(scope: Any, receive: Any, send: Any) -> None:
        heard.append(scope[AGENT])

    tokens = {TOKEN: None, TOKEN.upper(): "nurse"}
    guard = Guard(application, tokens=tokens, hosts=[])
    for token in tokens:
        headers = [(b"host", b"localhost"), (b"authorization", f"Bearer {token}".encode())]
        asyncio.run(guard({"type": "http", "headers": headers}, None, None))  # type: ignore[arg-type]
    assert heard == [None, "nurse"]


def test_no_answer_waits_for_the_receipt_of_its_head() -> None:
    """The sockets of clients are those of TCP, by which asyncio sends at once what is written: else 40 ms go by."""
    with listening_at(Address("127.0.0.1", 0)) as listening, socket.create_connection(listening.getsockname()):
        accepted, _ = listening.accept()
        with accepted:
            assert accepted.proto == socket.IPPROTO_TCP
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(BadInput, match=r"in use; name another$"):
        listening_at(Address("127.0.0.1", taken.getsockname()[1]))
