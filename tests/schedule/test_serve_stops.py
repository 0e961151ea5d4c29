"""`consolidate serve` as a real process: signals, kills and other settings, at rest and in the middle of a night."""

import os
import signal
import socket

import pytest

from tests.providers.provider import Provider
from tests.schedule.services import Machine, asked_slowly, nights, settings, wait_for_the_middle
from tests.schedule.test_health import ask


def test_stopped_in_the_middle_of_a_night(machine: Machine, store: str, provider: Provider) -> None:
    """The step in flight finishes, the rest waits, it exits with 0; what waits is done at the next start, once."""
    asked = asked_slowly(provider)
    machine.say(settings(merge="model: anthropic"))
    machine.clock.set("2026-06-02T07:00:00Z")
    with machine.running("serve", **provider.anthropic_environ) as service:
        wait_for_the_middle(service, provider)
        service.tell(signal.SIGTERM)
        service.hear("stopping, once consolidate has finished what it is at")
        asked.set()
        service.hear("consolidate: ended")
        assert service.end() == 0
    assert nights(store) == []
    with machine.running("serve", **provider.anthropic_environ) as service:
        service.hear("consolidate: ended", "exit code 0")
        service.looked()
        assert service.stop() == 0
    assert service.said.count("begun") == 1
    assert nights(store) == ["2026-06-02"]
    assert provider.paid_twice() == []


def test_told_twice_to_stop(machine: Machine, store: str, provider: Provider) -> None:
    """The second time it does not wait for what is under way."""
    asked = asked_slowly(provider)
    machine.say(settings(merge="model: anthropic"))
    machine.clock.set("2026-06-02T07:00:00Z")
    with machine.running("serve", **provider.anthropic_environ) as service:
        wait_for_the_middle(service, provider)
        service.tell(signal.SIGINT)
        service.hear("stopping")
        service.tell(signal.SIGTERM)
        service.hear("consolidate: ended", "killed by SIGKILL")
        assert service.end() == 0
    asked.set()
    assert nights(store) == []


def test_a_child_that_is_killed(machine: Machine, store: str, provider: Provider, free_port: int) -> None:
    """Is noticed and said, health fails, and the night is tried again when a minute has passed."""
    asked = asked_slowly(provider)
    machine.say(settings(merge="model: anthropic", more=f"service: {{health_port: {free_port}}}"))
    machine.clock.set("2026-06-02T07:00:00Z")
    with machine.running("serve", **provider.anthropic_environ) as service:
        wait_for_the_middle(service, provider)
        machine.clock.stop_at("2026-06-02T07:00:30Z")
        os.kill(service.child("consolidate"), signal.SIGKILL)
        service.hear("consolidate: ended", "killed by SIGKILL")
        asked.set()
        service.looked()
        assert service.said.count("begun") == 1
        status, document = ask(free_port)
        assert (status, document["problems"]) == (503, ["consolidate failed"])
        assert document["jobs"]["consolidate"]["exit_code"] == -9
        machine.clock.set("2026-06-02T07:02:00Z")
        service.reload()
        service.hear("consolidate: ended", "exit code 0")
        service.looked()
        assert ask(free_port)[0] == 200
        assert service.stop() == 0


def test_a_service_that_is_killed(machine: Machine, store: str, provider: Provider) -> None:
    """Its child does not outlive it for long and holds nothing: the next service does the night, once."""
    asked = asked_slowly(provider)
    machine.say(settings(merge="model: anthropic"))
    machine.clock.set("2026-06-02T07:00:00Z")
    with machine.running("serve", **provider.anthropic_environ) as killed:
        wait_for_the_middle(killed, provider)
        killed.tell(signal.SIGKILL)
        machine.clock.set("2026-06-02T07:02:00Z")
        with machine.running("serve", **provider.anthropic_environ) as service:
            service.hear("consolidate: begun")
            asked.set()
            service.hear("consolidate: ended", "exit code 0")
            service.looked()
            assert service.stop() == 0
        assert killed.end() == -signal.SIGKILL
    assert service.said.count("begun") == 1
    assert nights(store) == ["2026-06-02"]


def test_settings_that_change(machine: Machine, store: str, free_port: int) -> None:
    """Another time holds from then on; bad settings are told whole, change nothing, and make health fail meanwhile."""
    with_health = f"service: {{health_port: {free_port}}}"
    machine.say(settings(more=with_health))
    machine.clock.stop_at("2026-06-02T00:00:00Z")
    with machine.running("serve") as service:
        service.hear("serving: consolidate 2026-06-02 03:30 EEST")
        machine.say(settings(more="rates: {working: 7}\nsevice: {}"))
        service.reload("schedules.yaml: rates.working: 7 is not between 0 and 1")
        service.hear("sevice", "did you mean service?")
        service.hear("the settings cannot be used; those from before are in force")
        service.reload("the settings cannot be used")
        assert ask(free_port)[0] == 503
        machine.say(settings(at="05:00", more=with_health))
        service.reload("consolidate 2026-06-02 05:00 EEST")
        service.looked()
        assert ask(free_port)[0] == 200
        machine.clock.set("2026-06-02T00:31:00Z")
        service.looked()
        assert "begun" not in service.said
        machine.clock.set("2026-06-02T01:59:59Z")
        service.reload()
        service.hear("05:00:", "consolidate: begun")
        service.hear("consolidate: ended", "exit code 0")
        assert service.stop() == 0
    assert nights(store) == ["2026-06-02"]


def test_what_is_under_way_keeps_its_settings(machine: Machine, store: str, provider: Provider) -> None:
    """A night that has begun with a model goes on with it, though none is set meanwhile, and is not begun again."""
    asked = asked_slowly(provider)
    machine.say(settings(merge="model: anthropic"))
    machine.clock.set("2026-06-02T07:00:00Z")
    with machine.running("serve", **provider.anthropic_environ) as service:
        wait_for_the_middle(service, provider)
        machine.say(settings())
        service.looked()
        asked.set()
        service.hear("consolidate: Night of ", "memories superseded 2")
        service.hear("consolidate: ended", "exit code 0")
        assert service.stop() == 0
    assert service.said.count("begun") == 1


def test_another_port_for_health(machine: Machine, store: str, free_port: int) -> None:
    """It moves when the settings are read anew; one that is taken is a bad setting like any other."""
    machine.say(settings(more=f"service: {{health_port: {free_port}}}"))
    machine.clock.stop_at("2026-06-01T20:00:00Z")
    with socket.create_server(("127.0.0.1", 0)) as other, machine.running("serve") as service:
        service.hear("serving")
        port = other.getsockname()[1]
        machine.say(settings(more=f"service: {{health_port: {port}}}"))
        service.reload("service.health_port", "cannot be used")
        service.hear("the settings cannot be used")
        service.reload("the settings cannot be used")
        assert ask(free_port)[0] == 503
        other.close()
        service.looked()
        assert ask(port)[0] == 200
        with pytest.raises(ConnectionRefusedError):
            ask(free_port)
        assert service.stop() == 0
