"""The server over HTTP, as a real process: who comes in, and that none disturbs another."""

import json
import logging
import socket
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import anyio
import httpx2
import pytest
from starlette.requests import ClientDisconnect

from consolidator.mcp.http import to_stderr
from tests.mcp.clients import TOKEN, TOO_LONG_SECONDS, command, environ, over_http, run, serving

_PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
_HEADERS = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


@pytest.fixture
def store(sqlite_url: str, made_sqlite: Path, tmp_path: Path) -> str:
    """A store as a file."""
    (tmp_path / "store.db").write_bytes(made_sqlite.read_bytes())
    return sqlite_url


def test_only_who_may_comes_in_and_nobody_disturbs_the_others(store: str, tmp_path: Path) -> None:
    """
    Without the token, from a page elsewhere, for another name, or with too much nobody comes in; whoever vanishes, or
    says nonsense, leaves the others as they are.
    """
    token = tmp_path / "token"
    token.write_text(f"{TOKEN}\n")
    token.chmod(0o600)
    home = tmp_path / ".config" / "consolidator"
    home.mkdir(parents=True)
    (home / "schedules.yaml").write_text(f"mcp: {{token_file: {token}, hosts: [memory.example.org]}}\n")

    async def knock(url: str) -> None:
        good = {**_HEADERS, "Authorization": f"Bearer {TOKEN}"}
        async with httpx2.AsyncClient(timeout=TOO_LONG_SECONDS, trust_env=False) as http:
            for headers, status in (
                (_HEADERS, 401),
                ({**_HEADERS, "Authorization": "Bearer wrong"}, 401),
                ({**good, "Host": "evil.example"}, 421),
                ({**good, "Origin": "https://evil.example"}, 403),
                ({**good, "content-type": "text/plain"}, 400),
            ):
                answer = await http.post(url, json=_PING, headers=headers)
                assert answer.status_code == status, answer.text
                assert ("www-authenticate" in answer.headers) == (status == 401)
                assert TOKEN not in answer.text
            for content, status in ((b"x" * 1_100_000, 413), (b"nonsense", 400), (b"[1]", 400), (b"\xff" * 10, 400)):
                assert (await http.post(url, content=content, headers=good)).status_code == status
            named = {**good, "Host": "memory.example.org", "Origin": "https://memory.example.org"}
            assert (await http.post(url, json=_PING, headers=named)).status_code not in (401, 403, 421)
            assert (await http.get(url.removesuffix("/mcp"), headers=good)).status_code == 404
            assert (await http.get(f"{url.removesuffix('/mcp')}/.well-known/x", headers=_HEADERS)).status_code == 401

    async def vanish(url: str) -> None:
        """Clients that go away in the middle of a request, or of its answer."""
        place = urlsplit(url)
        call = json.dumps(
            {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "memory_stats", "arguments": {}}}
        )
        for sent in (call, call[:20], ""):
            with socket.create_connection((place.hostname, place.port)) as line:
                head = f"POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n"
                more = f"content-type: application/json\r\nContent-Length: {len(call)}\r\n\r\n{sent}"
                line.sendall((head + more).encode())

    async def live(url: str) -> None:
        async with over_http(url, token=TOKEN) as first, over_http(url, token=TOKEN, mode="legacy") as second:
            stored = await first.store("Ada keeps birds.")
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(knock, url)
                tasks.start_soon(vanish, url)
                for _ in range(5):
                    assert (await second.recall("Who keeps birds?"))[0]["id"] == stored
            one, _ = await first.use("memory_search", query="Who keeps birds?")
            two, _ = await second.use("memory_search", query="Who keeps birds?")
            rated = [(await each.use("memory_feedback", id=stored, rating=4))[0] for each in (first, second)]
            assert [each["turn"] for each in rated] == [one["turn"], two["turn"]]
            assert rated[0]["session"] != rated[1]["session"]
        async with over_http(url, token=TOKEN, mode="legacy") as third:
            assert (await third.use("memory_stats"))[0]["active"] == 1

    with serving(tmp_path, "--store", store) as (url, told):
        run(lambda: live(url))
        taken = subprocess.run(
            command("mcp", "--store", store, "--http", urlsplit(url).port), cwd=tmp_path, env=environ(tmp_path),
            capture_output=True, text=True, check=False, timeout=TOO_LONG_SECONDS,
        )  # fmt: skip
        assert (taken.returncode, taken.stdout) == (2, "")
        assert "cannot be used: Address already in use; name another" in taken.stderr
    assert not [line for line in told if not line.startswith("consolidate: ") or TOKEN in line]


def test_what_libraries_say_is_one_line() -> None:
    """An error in a library is one line; a client that has gone is none."""
    handler = to_stderr()
    broken, gone = (
        logging.LogRecord("mcp", logging.ERROR, "", 1, "Error of %s", ("all",), (type(error), error, None))
        for error in (ValueError("one\ntwo"), ClientDisconnect())
    )
    assert handler.filter(broken)
    assert handler.format(broken) == "consolidate: Error of all: ValueError: one two"
    assert not handler.filter(gone)
