"""The server over standard input and output, as a real process."""

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from consolidator.cli import main
from tests.mcp.clients import TOO_LONG_SECONDS, command, environ, over_stdio, run

_CLIENT = {"clientInfo": {"name": "test", "version": "1"}, "capabilities": {}, "protocolVersion": "2025-06-18"}


class Wire:
    """A server, by what goes over its standard input and output."""

    def __init__(self, folder: Path, *arguments: object) -> None:
        self.process = subprocess.Popen(
            command("mcp", *arguments), cwd=folder, env=environ(folder), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )  # fmt: skip

    def say(self, line: bytes) -> None:
        """A line, as it is."""
        assert self.process.stdin
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def ask(self, method: str, number: int | None = 1, **params: Any) -> Any:
        """A request and its answer; without a number a notification."""
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        self.say(json.dumps(message if number is None else {**message, "id": number}).encode())
        return None if number is None else self.hear()

    def hear(self) -> Any:
        """The next message. Every line is one: nothing else reaches standard output."""
        assert self.process.stdout
        return json.loads(self.process.stdout.readline())

    def begin(self) -> str:
        """The handshake; the instructions."""
        instructions: str = self.ask("initialize", **_CLIENT)["result"]["instructions"]
        self.ask("notifications/initialized", None)
        return instructions

    def ended(self) -> tuple[int, str, str]:
        """The exit code, what was still said, and what was complained of."""
        said, complained = self.process.communicate(timeout=TOO_LONG_SECONDS)
        return self.process.returncode, said.decode(), complained.decode()


@pytest.fixture
def store(sqlite_url: str, made_sqlite: Path, tmp_path: Path) -> str:
    """A store as a file."""
    (tmp_path / "store.db").write_bytes(made_sqlite.read_bytes())
    return sqlite_url


def test_only_the_protocol_is_said_and_it_ends_with_its_client(store: str, tmp_path: Path) -> None:
    """Every line of standard output is a message, also when a model is loaded; nonsense is passed over; EOF ends it."""
    (tmp_path / "salience.md").write_text("Names of birds. 鸟")
    wire = Wire(tmp_path, "--store", store)
    assert "  | Names of birds. 鸟" in wire.begin()
    for nonsense in (b"", b"hello?", b"\xff\xfe\x00", b'{"jsonrpc": "2.0"', b"[]", b"null", b"1" * 100_000):
        wire.say(nonsense)
    text = "Ada 🐦 keeps birds. " + "鸟" * 1_500
    stored = wire.ask("tools/call", 2, name="memory_store", arguments={"content": text})
    while stored.get("id") != 2:  # what was nonsense may be answered as such
        assert "error" in stored
        stored = wire.hear()
    found = wire.ask("tools/call", 3, name="memory_search", arguments={"query": "Who keeps birds?"})
    assert found["result"]["structuredContent"]["results"][0]["content"] == text
    assert wire.ask("tools/call", 4, name="memory_get", arguments={"id": 7})["result"]["isError"]
    half = (
        rb'{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "memory_list", "arguments": {"after":'
    )
    wire.say(half + rb'"\\ud83d is no escape, \ud83d\udc26 is a bird, \ud83d is half of one"}}}')
    assert "after: is not the `next` of a page" in wire.hear()["result"]["content"][0]["text"]
    assert wire.ask("nonsense", 5)["error"]["code"] == -32601
    assert wire.ask("ping", 6)["result"] == {}
    code, said, complained = wire.ended()
    assert (code, said) == (0, "")
    assert "Traceback" not in complained


def test_what_was_asked_before_the_end_is_answered(store: str, tmp_path: Path) -> None:
    """A client that closes its end behind its calls is told what became of them."""
    wire = Wire(tmp_path, "--store", store)
    wire.begin()
    for number in range(2, 8):
        call = {"name": "memory_store", "arguments": {"content": f"Ada has {number} birds."}}
        wire.say(json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": call}).encode())
    code, said, _ = wire.ended()
    assert code == 0
    answers = [json.loads(line) for line in said.splitlines()]
    assert sorted(each["id"] for each in answers) == list(range(2, 8))
    assert not any(each["result"]["isError"] for each in answers)


def test_it_ends_when_it_is_told_to(store: str, tmp_path: Path) -> None:
    """SIGTERM and Ctrl-C end it at once with 0 while its client still holds the line; so does one that vanishes."""
    for number in (signal.SIGTERM, signal.SIGINT):
        wire = Wire(tmp_path, "--store", store)
        wire.begin()
        wire.process.send_signal(number)
        assert wire.process.wait(30) == 0
        assert "Traceback" not in wire.ended()[2]
    wire = Wire(tmp_path, "--store", store)
    wire.begin()
    assert wire.process.stdout
    wire.process.stdout.close()
    wire.say(json.dumps({"jsonrpc": "2.0", "method": "ping", "id": 9}).encode())
    assert wire.process.stdin
    wire.process.stdin.close()
    assert wire.process.wait(30) == 0
    assert wire.process.stderr
    with wire.process.stderr as complained:
        assert b"Traceback" not in complained.read()


def test_what_is_wrong_is_said_before_the_protocol_begins(
    store: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A store that is missing, or is none, and wrong options are one line and exit code 2; nothing is made."""
    (tmp_path / "text.db").write_text("no store")
    for arguments, wrong in (
        (("--store", tmp_path / "missing.db"), "there is no store"),
        (("--store", tmp_path / "text.db"), "not a SQLite database"),
        (("--store", store, "--scope", "ada"), "--scope: 'ada' is not a scope"),
        (("--store", store, "--http", "x"), "--http: 'x' is no address"),
        (("--store", store, "--http", "0.0.0.0:0"), "so a token is needed"),
        (("--store", store, "--http", "no-such-host.invalid.:1"), "so a token is needed"),
    ):
        assert main(["mcp", *map(str, arguments)]) == 2
        said = capfd.readouterr()
        (line,) = said.err.splitlines()
        assert wrong in line
        assert said.out == ""
    assert not (tmp_path / "missing.db").exists()


def test_both_protocols_are_spoken(store: str, tmp_path: Path) -> None:
    """A client of the protocol before sessions went away, and one of that after, find the same."""

    async def live() -> None:
        for mode in ("legacy", "2026-07-28"):
            async with over_stdio(tmp_path, "--store", store, mode=mode) as ada:
                stored = await ada.store("Ada keeps birds.")
                found, _ = await ada.use("memory_search", query="Who keeps birds?")
                assert found["results"][0]["id"] == stored
                rated, _ = await ada.use("memory_feedback", id=stored, rating=5)
                assert rated["turn"] == found["turn"]
                assert len((await ada.client.list_tools()).tools) == 9

    run(live)
    assert os.path.getsize(tmp_path / "stderr.txt") == 0
