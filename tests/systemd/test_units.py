"""The units are sound, shut in, and as the repository shows them."""

import os
import re
import subprocess
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from consolidator.instants import parse_instant
from consolidator.schedule.units import Host, units
from consolidator.settings import parse_settings
from tests.systemd.example import FOLDER, example
from tests.systemd.machine import needs

TRUE = ("/bin/true",)
ALL_JOBS = "jobs: {backup: {enabled: true, folder: /b}}\nmerge: {mode: batch}\n"
HOSTS = {
    "of its own account": Host(TRUE, environment="/etc/consolidator/environment"),
    "of someone": Host(TRUE, account="daemon", writes=("/home/ada/memories", "/srv/a b%c"), in_homes=True),
    "with secrets": Host(TRUE, credentials=(("merge", "/etc/consolidator/keys/merge"),)),
    "that starts programs": Host(TRUE, programs="/usr/bin:/home/ada/my programs"),
    "of a person": Host(TRUE, own=True, environment="/home/ada/.config/consolidator/environment"),
}


def made(host: Host, text: str = ALL_JOBS, zone: str = "Europe/Helsinki", *, daemon: bool = False) -> dict[str, str]:
    settings = parse_settings(text, "s", environ={})
    now = parse_instant("2026-01-01T00:00:00Z")
    return units(settings, host, local=ZoneInfo(zone), now=now, daemon=daemon)


def analyze(folder: Path, *arguments: str | Path) -> str:
    """What systemd has to say, errors too."""
    needs("systemd-analyze")
    asked = ["systemd-analyze", "--no-pager", *map(str, arguments)]
    environ = {"PATH": os.defpath, "XDG_RUNTIME_DIR": str(folder), "HOME": str(folder), "LC_ALL": "C.UTF-8"}
    done = subprocess.run(asked, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environ, check=False)
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_the_repository_shows_what_is_written() -> None:
    """`python -m tests.systemd.example` writes them again."""
    assert {path.name: path.read_text() for path in FOLDER.iterdir()} == example()


@pytest.mark.parametrize("daemon", [False, True], ids=["timers", "service"])
@pytest.mark.parametrize("host", HOSTS.values(), ids=HOSTS)
def test_systemd_finds_nothing_to_say(host: Host, daemon: bool, tmp_path: Path) -> None:
    """Of all the units of a machine together, of the system or of a person."""
    found = made(host, daemon=daemon)
    for name, text in found.items():
        (tmp_path / name).write_text(text)
    # A template is looked at as one of those that are made of it.
    paths = [tmp_path / name.replace("@.", "@consolidate.service.") for name in found]
    assert analyze(tmp_path, *(["--user"] if host.own else []), "verify", *paths) == ""


@pytest.mark.parametrize("name", [name for name in HOSTS if not HOSTS[name].own])
def test_what_the_system_runs_is_shut_in(name: str, tmp_path: Path) -> None:
    """An exposure of at most 2.5 of 10, as systemd counts it."""
    found = {**made(HOSTS[name]), **made(HOSTS[name], daemon=True)}
    services = [each for each in found if each.endswith(".service")]
    for each in services:
        (tmp_path / each.replace("@", "")).write_text(found[each])
    paths = [tmp_path / each.replace("@", "") for each in services]
    told = analyze(tmp_path, "security", "--offline=true", "--threshold=25", *paths)
    assert len(re.findall("Overall exposure level", told)) == len(services) == 8


def test_each_job_that_is_on_has_its_timer() -> None:
    """And one that can have nothing to do has none."""
    jobs = ("", "-shift", "-collect", "-report", "-purge", "-backup")
    ends = (".service", ".timer")
    assert set(made(HOSTS["of a person"])) == {f"consolidate{job}{end}" for job in jobs for end in ends} | {
        "consolidate-failure@.service"
    }
    text = "jobs: {shift: {enabled: false}, report: {enabled: false}, purge: {enabled: false}}"
    assert set(made(HOSTS["of a person"], text)) == {
        "consolidate.service", "consolidate.timer", "consolidate-failure@.service"
    }  # fmt: skip
    assert set(made(HOSTS["of a person"], daemon=True)) == {
        "consolidate-scheduler.service", "consolidate-failure@.service"
    }  # fmt: skip


def test_times_are_those_of_the_settings() -> None:
    """Of the zone that is named, else of the machine's; with the end of a gap, the jitter and the deadline."""
    text = "jobs: {consolidate: {at: '02:30', time_zone: America/New_York, jitter_seconds: 0, deadline_minutes: 5}}"
    found = made(HOSTS["of a person"], text)
    assert re.findall("OnCalendar=(.*)", found["consolidate.timer"]) == [
        "*-*-* 02:30:00 America/New_York", "*-*-* 03:00:00 America/New_York"
    ]  # fmt: skip
    assert "RandomizedDelaySec" not in found["consolidate.timer"]
    assert "TimeoutStartSec=20min" in found["consolidate.service"]
    assert re.findall("OnCalendar=(.*)", found["consolidate-shift.timer"]) == ["*-*-* 15:00:00"]
    assert re.findall("OnCalendar=(.*)", made(HOSTS["of a person"], "time_zone: UTC")["consolidate.timer"]) == [
        "*-*-* 03:30:00 UTC"
    ]
    assert "RandomizedDelaySec=300s" in made(HOSTS["of a person"], "")["consolidate.timer"]


def test_a_person_s_units_ask_for_nothing_that_only_the_system_has() -> None:
    """No account, no state folder, no file systems of their own, and no credentials."""
    host = HOSTS["of a person"]._replace(credentials=(("merge", "/k"),))
    for text in (*made(host).values(), *made(host, daemon=True).values()):
        assert not re.search(
            "^(User|DynamicUser|StateDirectory|Protect|Private|LoadCredential|Capab|After)", text, re.M
        )


def test_units_survive_odd_names(tmp_path: Path) -> None:
    """Spaces, quotes, percent and dollar signs in paths are what they are."""
    program = tmp_path / "a b %n $HOME"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    host = Host((str(program), "--settings", "/x y/$A %h.yaml"), writes=("/srv/a 'b' %h",), environment="/x y/%h")
    service = made(host, "")["consolidate.service"]
    assert r"""--settings "/x y/$$A %%h.yaml" job consolidate""" in service
    (tmp_path / "odd.service").write_text(service.replace("OnFailure=", "# "))
    assert analyze(tmp_path, "verify", tmp_path / "odd.service") == ""
