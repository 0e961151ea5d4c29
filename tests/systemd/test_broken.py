"""A unit that failed is told of, where its job could not do so, and of nothing that it printed."""

import stat
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from consolidator.notify.channels import Channel
from consolidator.notify.message import Message
from consolidator.schedule.broken import is_name_of_a_unit, message_of_failure, state_of
from consolidator.settings import parse_settings
from consolidator.settings.duty import duties
from tests.cli.conftest import Consolidate

CHANNELS = "channels: {chat: {type: stdout}, log: {type: stdout}}\n"
KILLED = {"Result": "oom-kill", "ExecMainCode": "2", "ExecMainStatus": "9", "InvocationID": "abc"}


def exited(code: int, result: str = "exit-code") -> dict[str, str]:
    return {"Result": result, "ExecMainCode": "1", "ExecMainStatus": str(code), "InvocationID": "abc"}


def told(
    state: dict[str, str], *, text: str = "", unit: str = "consolidate.service", own: bool = False
) -> tuple[Message | None, list[str]]:
    settings = parse_settings(CHANNELS + text, "s")
    channels: dict[str, Channel]
    message, channels = message_of_failure(
        unit, state, settings, duties(settings, ZoneInfo("UTC")), own=own, now=7
    )  # fmt: skip
    return message, list(channels)


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (KILLED, "consolidate.service failed: the machine had no memory left for it."),
        (exited(1, "timeout"), "consolidate.service failed: it took too long and was ended."),
        (exited(203), "consolidate.service failed: exit code 203."),
        (exited(243), "consolidate.service failed: exit code 243."),
        ({"Result": "some-new-way"}, "consolidate.service failed: some-new-way."),
        ({}, "consolidate.service failed: systemd does not say how."),
    ],
)
def test_how_it_ended_is_told(state: dict[str, str], said: str) -> None:
    """In a line, with where to look, to everyone whom the job tells."""
    message, channels = told(state)
    assert message
    assert message.text == f"{said}\nWhat it said: journalctl -u consolidate.service"
    assert message.name == f"failure:consolidate.service:{'abc' if 'InvocationID' in state else 7}"
    assert channels == ["chat", "log"]


def test_what_the_job_told_is_not_told_again() -> None:
    """Its own failures it has told; the service that runs all jobs has told nobody of its own end."""
    assert told(exited(1))[0] is None
    assert told(exited(2))[0] is None
    assert told(exited(1), unit="consolidate-scheduler.service")[0] is not None


def test_who_wants_to_hear_is_told() -> None:
    """The channels of the job; nobody where its level is off, or failures are not to be told."""
    text = "jobs: {shift: {channels: [log]}}"
    assert told(KILLED, text=text, unit="consolidate-shift.service")[1] == ["log"]
    assert told(KILLED, text="jobs: {consolidate: {level: 'off'}}")[0] is None
    assert told(KILLED, text="error_notification: false")[0] is None
    message, _ = told(KILLED, own=True)
    assert message
    assert "journalctl --user -u consolidate.service" in message.text


@pytest.mark.parametrize("name", ["", "-x", "a b", "a;b", "../x", "x" * 256, "a\n"])
def test_only_a_unit_is_asked_about(name: str) -> None:
    """A name goes to systemctl as it is."""
    assert is_name_of_a_unit("consolidate-failure@consolidate.service.service")
    assert not is_name_of_a_unit(name)


@pytest.fixture
def systemctl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A systemctl that says what it was asked, and that a unit was killed."""
    program = tmp_path / "systemctl"
    lines = "".join(f"echo {name}={value}\n" for name, value in KILLED.items())
    program.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/asked\n{lines}')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return tmp_path / "asked"


def test_systemd_is_asked(systemctl: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For four facts, of the system's unit or a person's; without it there is nothing to say."""
    assert state_of("consolidate.service", own=True) == KILLED
    asked = "--user show --property=Result,ExecMainCode,ExecMainStatus,InvocationID -- consolidate.service\n"
    assert systemctl.read_text() == asked
    monkeypatch.setenv("PATH", "/nowhere")
    assert state_of("consolidate.service", own=False) == {}


def test_the_command(consolidate: Consolidate, systemctl: Path, tmp_path: Path) -> None:
    """What arrives, and the exit codes: 0 all were told, 3 some, 1 nobody, 2 no unit."""
    settings = tmp_path / "s.yaml"
    log = tmp_path / "log.txt"

    def failure(channels: str, unit: str = "consolidate.service") -> tuple[int, str]:
        settings.write_text(f"channels: {channels}")
        ended = consolidate("--settings", settings, "notify", "failure", unit)
        return ended.code, ended.err

    good, bad = "log: {type: file, path: log.txt}", "lost: {type: file, path: none/log.txt}"
    assert failure(f"{{{good}}}") == (0, "")
    assert "\nThe machine had no memory left for it.\n" in log.read_text()
    code, said = failure(f"{{{good}, {bad}}}")
    assert (code, said.partition(" (")[0]) == (3, "lost")
    assert failure(f"{{{bad}}}")[0] == 1
    assert failure("{}") == (0, "")
    assert failure("{}", "a b")[0] == 2
