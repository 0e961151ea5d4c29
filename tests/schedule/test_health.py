"""How the service is doing, for whoever asks on this machine."""

import http.client
import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from consolidator.errors import BadInput
from consolidator.schedule import health as health_module
from consolidator.schedule.health import HUNG_SECONDS, Health


@pytest.fixture
def health(free_port: int) -> Iterator[Health]:
    """One that listens."""
    health = Health(free_port)
    yield health
    health.close()


def ask(port: int, path: str = "/health", **headers: str) -> tuple[int, Any]:
    """The status and the document of an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    document = json.loads(answer.read())
    connection.close()
    return answer.status, document


def test_what_is_shown_is_answered(health: Health) -> None:
    """200 where all is well, 503 where not, and before anything is known."""
    assert ask(health.port) == (503, {})
    health.show({"status": "ok", "problems": []})
    assert ask(health.port) == (200, {"status": "ok", "problems": []})
    health.show({"status": "failing", "problems": ["consolidate failed"]})
    assert ask(health.port) == (503, {"status": "failing", "problems": ["consolidate failed"]})


def test_a_service_that_hangs(health: Health, monkeypatch: pytest.MonkeyPatch) -> None:
    """What no longer shows anything is not well, whatever it showed last."""
    health.show({"status": "ok", "problems": []})
    later = health_module.monotonic() + HUNG_SECONDS + 1
    monkeypatch.setattr(health_module, "monotonic", lambda: later)
    status, document = ask(health.port)
    assert (status, document["status"]) == (503, "failing")
    assert document["problems"] == ["the scheduler has not come round for 301 seconds"]


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "", "[::1]:80", "127.0.0.1.evil.example"])
def test_a_page_that_leads_its_name_here_learns_nothing(health: Health, host: str) -> None:
    """Who asks for another host than this one is refused."""
    health.show({"status": "ok"})
    status, document = ask(health.port, Host=host)
    assert (status, list(document)) == (403, ["error"])


@pytest.mark.parametrize("host", ["localhost", "localhost:1", "127.0.0.1", "127.0.0.1:8790"])
def test_names_of_this_machine(health: Health, host: str) -> None:
    """At any port: one may be led to ours."""
    health.show({"status": "ok"})
    assert ask(health.port, Host=host) == (200, {"status": "ok"})


def test_nothing_else_is_there(health: Health) -> None:
    """Other paths are not found."""
    assert ask(health.port, "/")[0] == 404


def test_nobody_else_is_answered(health: Health) -> None:
    """It listens on this machine's own address alone."""
    with socket.socket() as other, pytest.raises(ConnectionRefusedError):
        other.connect(("127.0.0.2", health.port))


def test_a_port_that_is_taken(free_port: int) -> None:
    """Is refused in one line, with its setting."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", free_port))
        other.listen()
        with pytest.raises(BadInput, match=r"service\.health_port: 127\.0\.0\.1:\d+ cannot be used: .*in use"):
            Health(free_port)


def test_a_port_is_free_again(free_port: int) -> None:
    """As soon as it is closed, so that settings can be read anew."""
    Health(free_port).close()
    Health(free_port).close()
