"""What systemd is told, on a socket of our own."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from consolidator.schedule.supervisor import Supervisor


@pytest.fixture(params=["path", "abstract"])
def listening(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, socket.socket]]:
    """What NOTIFY_SOCKET says, and the end that hears it."""
    name = str(tmp_path / "n") if request.param == "path" else f"@consolidator-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as heard:
        heard.bind(name.replace("@", "\0", 1))
        heard.settimeout(10)
        yield name, heard


def test_it_hears_one_message_a_time(listening: tuple[str, socket.socket]) -> None:
    """At a path or an abstract name, with a line for each word; what we start hears nothing of it."""
    name, heard = listening
    environ = {"NOTIFY_SOCKET": name, "WATCHDOG_USEC": "2000000", "WATCHDOG_PID": "7", "HOME": "/"}
    supervisor = Supervisor(environ, process=7)
    supervisor.tell("READY=1", "STATUS=next: consolidate")
    supervisor.beat()
    assert heard.recv(999) == b"READY=1\nSTATUS=next: consolidate"
    assert heard.recv(999) == b"WATCHDOG=1"
    assert supervisor.watchdog_seconds == 2.0
    assert environ == {"HOME": "/"}


@pytest.mark.parametrize(
    ("variables", "seconds"),
    [
        ({}, None),
        ({"WATCHDOG_USEC": "30000000"}, 30.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "8"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
    ],
)
def test_whether_it_watches(variables: dict[str, str], seconds: float | None) -> None:
    """Only where it says how often it wants to hear of this process."""
    assert Supervisor(variables, process=7).watchdog_seconds == seconds


@pytest.mark.parametrize("address", ["", "/nowhere/at/all", "@nobody-listens-here", "vsock:2:1234"])
def test_a_supervisor_that_is_not_there(address: str) -> None:
    """Nothing is told, and nothing fails."""
    Supervisor({"NOTIFY_SOCKET": address}, process=7).tell("READY=1")
