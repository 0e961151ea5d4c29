"""OpenClaw gets what its command and its hooks take, and counts alone where its agent trusts the text."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from consolidator.notify.message import message_of
from consolidator.notify.outcome import DELIVERED, Outcome
from consolidator.notify.parts import parcels_of, parts_of
from consolidator.notify.send import send
from tests.notify.conftest import NOW
from tests.notify.kinds import SECRET, openclaw
from tests.notify.nights import NIGHTS
from tests.notify.servers import Answer, Server

COMMAND = """#!/usr/bin/env python3
import json, os, sys
with open(os.environ["OPENCLAW_RECORD"], "a") as file:
    print(json.dumps(sys.argv[1:]), file=file)
print("sent")
print(os.environ.get("OPENCLAW_SAYS", ""), file=sys.stderr)
sys.exit(int(os.environ.get("OPENCLAW_EXIT", "0")))
"""


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[list[str]]]:
    """An `openclaw` on the path; gives what it was called with."""
    folder, record = tmp_path / "bin", tmp_path / "record"
    folder.mkdir()
    (folder / "openclaw").write_text(COMMAND)
    (folder / "openclaw").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("OPENCLAW_RECORD", str(record))
    return lambda: [json.loads(line) for line in record.read_text().splitlines()] if record.exists() else []


def send_all(name: str, level: str, **options: object) -> list[Outcome]:
    channel = openclaw(**options)
    message = message_of(NIGHTS[name](), level=level)
    assert message
    return [
        send(channel, parcel, emit=print)
        for payload in parts_of(message, channel)
        for parcel in parcels_of(payload, channel, key=f"run-7:claw:{payload['part']}", now=NOW, late=False)
    ]


def test_the_command_gets_each_part_as_one_argument(command: Callable[[], list[list[str]]]) -> None:
    """No shell reads it, whatever it holds; target and text come as they are."""
    outcomes = send_all("wild", "detailed", channel="telegram", to=-100123, account="work", thread=7, silent=True)
    assert outcomes == [DELIVERED] * 3
    calls = command()
    for call in calls:
        assert call[:7] == ["message", "send", "--channel", "telegram", "--target", "-100123", "--message"]
        assert call[8:] == ["--account", "work", "--thread-id", "7", "--silent"]
        assert len(call[7]) <= 4_000
    assert calls[0][7].startswith("# Night of 2026-05-30 03:30 UTC\n")
    assert r"\`not code\`" in calls[0][7]


def test_a_command_that_fails_says_why(command: Callable[[], list[list[str]]], monkeypatch: pytest.MonkeyPatch) -> None:
    """Its exit code and its words, in one harmless line."""
    monkeypatch.setenv("OPENCLAW_EXIT", "3")
    monkeypatch.setenv("OPENCLAW_SAYS", "no channel \x1b[31m telegram\nconfigured")
    (outcome,) = send_all("quiet", "summary", channel="telegram", to="1")
    assert outcome.reason == "openclaw ended with exit code 3: no channel ␛[31m telegram configured"
    assert not outcome.for_good


def test_a_command_that_is_not_there_or_hangs_is_said(tmp_path: Path) -> None:
    """What it started ends with it."""
    (outcome,) = send_all("quiet", "summary", channel="telegram", to="1", command=["no-such-openclaw"])
    assert outcome.reason.startswith("there is no command no-such-openclaw")
    mark = tmp_path / "mark"
    script = f"sh -c 'sleep 30; touch {mark}' & wait"
    (outcome,) = send_all(
        "quiet", "summary", channel="telegram", to="1", command=["sh", "-c", script], timeout_seconds=0.3
    )
    assert outcome.reason == "openclaw was not done within 0.3 s and was stopped"


@pytest.mark.parametrize("name", ["wild", "failed"])
def test_a_wake_up_call_is_counts_alone(name: str, server: Callable[..., Server]) -> None:
    """At `detailed` too: its text is trusted by the agent."""
    here = server(lambda _: Answer(200, b'{"ok":true,"mode":"now","eventOutcome":"queued"}'))
    assert send_all(name, "detailed", via="wake", token=SECRET, url=here.url, agent="main") == [DELIVERED]
    (request,) = here.arrived
    message = message_of(NIGHTS[name](), level="detailed")
    assert message
    assert request.path == "/hooks/wake"
    assert request.headers["authorization"] == f"Bearer {SECRET}"
    assert request.json == {"text": message.counts, "mode": "now", "agentId": "main"}
    assert "?" not in request.path


def test_an_agent_gets_a_task_with_the_report_as_data(server: Callable[..., Server]) -> None:
    """Once, by its key; delivered to the channel and target that are set."""
    here = server(lambda _: Answer(200, b'{"ok":true,"runId":"r"}'))
    options = {"via": "agent", "channel": "telegram", "to": "1", "token": SECRET, "url": here.url + "/"}
    assert send_all("wild", "detailed", **options) == [DELIVERED]
    (request,) = here.arrived
    assert request.path == "/hooks/agent"
    assert request.headers["idempotency-key"] == "run-7:claw:1"
    assert len(request.body) < 256 * 1024
    task = request.json
    assert task.pop("message").startswith("Pass the following report of last night on to your person, word for word.")
    assert task == {
        "name": "consolidator",
        "deliver": True,
        "channel": "telegram",
        "to": "1",
        "wakeMode": "now",
    }


@pytest.mark.parametrize(("status", "for_good"), [(401, True), (404, True), (400, True), (409, False), (503, False)])
def test_what_a_hook_refuses_is_told_from_what_passes(
    status: int, for_good: bool, server: Callable[..., Server]
) -> None:
    """A wrong token is to be mended, a busy gateway to be tried again; the token is not repeated."""
    here = server(lambda _: Answer(status, json.dumps({"error": f"no {SECRET}"}).encode()))
    (outcome,) = send_all("quiet", "summary", via="wake", token=SECRET, url=here.url)
    assert (outcome.delivered, outcome.for_good) == (False, for_good)
    assert SECRET not in outcome.reason


def test_a_password_file_of_the_user_does_not_replace_the_token(
    server: Callable[..., Server], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A .netrc that knows the host is not used."""
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login ada password wrong\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    here = server()
    send_all("quiet", "summary", via="wake", token=SECRET, url=here.url)
    assert here.arrived[0].headers["authorization"] == f"Bearer {SECRET}"
