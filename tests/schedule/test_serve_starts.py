"""`consolidate serve` at its start and in trouble: refused with what to do next, or up and trying."""

import re
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from consolidator.cli import main
from tests.schedule.services import Machine, Running, settings
from tests.schedule.test_health import ask

Serve = Callable[[str], str]


@pytest.fixture
def refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Serve:
    """What the service says on standard error where settings stop it: nothing was begun, nothing written."""

    def serve(text: str) -> str:
        (tmp_path / "schedules.yaml").write_text(text)
        before = sorted(tmp_path.iterdir())
        assert main(["--settings", str(tmp_path / "schedules.yaml"), "serve"]) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert sorted(tmp_path.iterdir()) == before
        return printed.err

    return serve


def test_bad_settings(refused: Serve) -> None:
    """All that is wrong is listed, a line each."""
    said = refused("rates: {working: 7}\njobs: {consolidate: {at: '25:00'}}\nsevice: {}\n")
    assert said.count("\n") == 3
    assert all(word in said for word in ("rates.working", "jobs.consolidate.at", "service"))


def test_nothing_to_do(refused: Serve) -> None:
    """One line says that no job is on, and how to turn one on."""
    names = ("consolidate", "shift", "collect", "report", "purge")
    said = refused("jobs: {" + ", ".join(f"{name}: {{enabled: false}}" for name in names) + "}")
    assert said.startswith("consolidate: no job is on; turn one on")
    assert said.count("\n") == 1


def test_no_store(refused: Serve) -> None:
    """One line says where there is none, and how to make it."""
    said = refused("store: none.db\ntime_zone: UTC\n")
    assert re.search(r"none\.db: .*`consolidate init`", said)
    assert said.count("\n") == 1


def test_a_port_that_is_taken(refused: Serve, store: str, free_port: int) -> None:
    """One line, before anything is begun."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", free_port))
        other.listen()
        said = refused(settings(more=f"service: {{health_port: {free_port}}}"))
    assert said.startswith(f"consolidate: service.health_port: 127.0.0.1:{free_port} cannot be used")
    assert said.count("\n") == 1


def test_a_server_that_is_down(machine: Machine, store: str, free_port: int) -> None:
    """It stays up, tries each minute, and says so once; a job begins at its time, so that its failure is told."""
    down = f"postgresql://ada@127.0.0.1:{free_port + 1 if free_port < 65_535 else 1024}/memories"
    with_health = f"service: {{health_port: {free_port}}}"
    machine.say(settings(store=down, more=with_health))
    machine.clock.stop_at("2026-06-02T00:29:59Z")
    with machine.running("serve") as service:
        service.hear("what is owed cannot be seen, and is looked for each minute", "cannot be reached")
        service.looked()
        status, document = ask(free_port)
        assert (status, document["status"]) == (503, "failing")
        assert "cannot be reached" in document["problems"][0]
        machine.clock.set("2026-06-02T00:29:59Z")
        service.reload()
        service.hear("consolidate: begun")
        service.hear("consolidate: ended", "exit code 2")
        service.looked()
        assert "\nconsolidate: postgresql://ada@" in service.said
        assert "consolidate: consolidate: " not in service.said
        assert service.said.count("begun") == 1
        machine.say(settings(more=with_health))
        service.reload()
        service.hear("consolidate: ended", "exit code 0")
        service.looked()
        assert ask(free_port)[0] == 200
        assert service.stop() == 0
    assert service.said.count("what is owed cannot be seen") == 1


def test_a_store_that_is_away_for_a_while(machine: Machine, store: str) -> None:
    """What is owed is begun as soon as that can be seen again."""
    machine.say(settings())
    machine.clock.set("2026-06-01T20:00:00Z")
    file, elsewhere = machine.folder / "memories.db", machine.folder / "elsewhere.db"
    with machine.running("serve") as service:
        service.hear("serving")
        service.looked()
        file.rename(elsewhere)
        service.reload("what is owed cannot be seen")
        machine.clock.set("2026-06-02T00:40:00Z")
        service.looked()
        elsewhere.rename(file)
        service.reload("what is owed can be seen again")
        service.hear("consolidate: ended", "exit code 0")
        assert service.stop() == 0


def test_a_channel_that_can_never_work(machine: Machine, store: str) -> None:
    """It is said once, at the start, and again where the settings are read anew; nothing is held up by it."""
    machine.say(settings(more="channels: {phone: {type: apprise, url: 'telegramm://s3cr3ttoken/1'}}"))
    machine.clock.set("2026-06-02T00:40:00Z")
    wrong = "consolidate: channels.phone: its URL means nothing to Apprise"
    with machine.running("serve") as service:
        service.hear("consolidate: ended", "exit code 0")
        assert service.said.count(wrong) == 1
        assert service.said.index(wrong) < service.said.index("serving")
        service.reload(wrong)
        assert service.stop() == 0
    assert "s3cr3ttoken" not in service.said


def test_a_supervisor(machine: Machine, store: str, tmp_path: Path) -> None:
    """It hears that the service is ready, alive, reading anew, and stopping, in systemd's words."""
    machine.say(settings())
    machine.clock.stop_at("2026-06-01T20:00:00Z")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
        notify.bind(str(tmp_path / "notify"))
        notify.settimeout(60)
        variables = {"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "1000000"}
        with machine.running("serve", **variables) as service:
            assert told(notify) == ["READY=1", "STATUS=next: consolidate 2026-06-02 03:30 EEST"]
            assert [told(notify) for _ in range(3)] == 3 * [["WATCHDOG=1"]]
            machine.say(settings(at="05:00"))
            reading, ready = reloaded(service, notify)
            assert re.fullmatch(r"RELOADING=1\nMONOTONIC_USEC=\d+", "\n".join(reading))
            assert ready == ["READY=1", "STATUS=next: consolidate 2026-06-02 05:00 EEST"]
            assert service.stop() == 0
            while (last := told(notify)) == ["WATCHDOG=1"]:
                pass
            assert last == ["STOPPING=1"]


def told(notify: socket.socket) -> list[str]:
    """The next message."""
    return notify.recv(9999).decode().split("\n")


def reloaded(service: Running, notify: socket.socket) -> list[list[str]]:
    """The two messages of settings that are read anew."""
    service.reload()
    messages = [told(notify)]
    while len(messages) < 2 or messages[-1][0] != "READY=1":
        messages.append(told(notify))
    return [each for each in messages if each != ["WATCHDOG=1"]]
