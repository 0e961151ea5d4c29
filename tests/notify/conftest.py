"""Channels that lead to servers on this machine, and nights to tell of."""

import ssl
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import trustme
from urllib3.util import connection

from consolidator.instants import parse_instant
from tests.notify.servers import Rule, Server, serving

NOW = parse_instant("2026-05-30T03:31:00Z")


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of whoever runs the tests stands between: no proxy, no certificates, no passwords."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NETRC"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.setenv("NO_PROXY", "*")


@pytest.fixture(scope="session")
def authority() -> trustme.CA:
    """Who signs the certificates of the tests' servers."""
    return trustme.CA()


@pytest.fixture
def internet(authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Server]]:
    """
    Puts a server behind a name: `internet("hooks.slack.com", rule)`, with a certificate for it that is trusted.

    Only the name's address is not the real one; all above it, TLS and its checks, is as ever.
    """
    bundle = tmp_path / "authority.pem"
    authority.cert_pem.write_to_path(str(bundle))
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(bundle))
    ports: dict[str, int] = {}
    original = connection.create_connection

    def create(address: tuple[str, int], *arguments: object, **options: object) -> object:
        host, port = address
        return original(("127.0.0.1", ports[host]) if host in ports else (host, port), *arguments, **options)

    monkeypatch.setattr(connection, "create_connection", create)
    with ExitStack() as stack:

        def add(name: str, rule: Rule, *, trusted: bool = True) -> Server:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            (authority if trusted else trustme.CA()).issue_cert(name).configure_cert(context)
            server = stack.enter_context(serving(rule, tls=context))
            ports[name] = server.port
            return server

        yield add


@pytest.fixture
def server() -> Iterator[Callable[..., Server]]:
    """Starts a plain server on this machine."""
    with ExitStack() as stack:
        yield lambda *rules: stack.enter_context(serving(*rules))
