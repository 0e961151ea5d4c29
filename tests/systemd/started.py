"""
What a unit's program does when a unit starts it: as nobody, from an empty folder, with the unit's environment alone.

Run as a program, this tries the units of the system that an installed `consolidate` prints: `started.py CONSOLIDATE`.
"""

import ctypes
import os
import re
import shlex
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

NOBODY = 65534
_PATIENCE_SECONDS = 120
_REFUSE_EXEC_GAIN = (65, 1, 0, 0, 0)  # prctl's PR_SET_MDWE: what MemoryDenyWriteExecute= comes to
_SETTINGS = """\
merge: {model: "openai:some", base_url: "http://127.0.0.1:9/v1", api_key_file: "${CREDENTIALS_DIRECTORY:-KEYS}/merge"}
channels: {here: {type: stdout}}
jobs: {consolidate: {level: summary}}
"""
_DAY = """\
{"kind": "header", "format": "consolidator-jsonl", "version": 1}
{"kind": "memory", "content": "Ada is allergic to penicillin.", "type": "fact", "created_at": "2026-06-07T09:00:00Z"}
"""


class Machine:
    """A folder in the place of the machine's: settings, credentials and state in it, and a store to work on."""

    def __init__(self, folder: Path, program: Path) -> None:
        self.folder, self.program = folder, program
        self.settings, self.keys, self.state = folder / "schedules.yaml", folder / "keys", folder / "var" / "lib"
        self.home = self.state / "consolidator"
        for path in (self.keys, self.home, folder / "empty"):
            path.mkdir(parents=True)
        os.chown(self.home, NOBODY, NOBODY)
        self.home.chmod(0o700)
        (self.keys / "merge").write_text("sesame99")
        self.settings.write_text(_SETTINGS.replace("KEYS", str(self.keys)))

    def units(self, *options: str) -> dict[str, str]:
        """The units that the program prints, by name."""
        command = [self.program, "--settings", self.settings, "systemd", "print", *options]
        environ = _bare() | {"HOME": str(self.folder)}  # where nobody has made a store
        told = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environ, cwd=self.folder)
        parts = re.split(r"^# /\S*/(\S+)$", told.stdout, flags=re.MULTILINE)
        return dict(zip(parts[1::2], parts[2::2], strict=True))

    def fill(self, unit: str) -> None:
        """Make the store that the unit works on, and take a day in."""
        day = self.folder / "day.jsonl"
        day.write_text(_DAY)
        for command in (["init"], ["import", "jsonl", str(day)]):
            ended = self._run([str(self.program), *command], unit)
            assert ended.returncode == 0, ended.stdout

    def start(self, unit: str) -> "subprocess.CompletedProcess[str]":
        """Run the unit's command to its end."""
        return self._run(command_of(unit), unit)

    def environment(self, unit: str) -> dict[str, str]:
        """What the unit's program finds in its environment: what the unit says, and what systemd adds."""
        said = {
            name: value.replace("/var/lib", str(self.state))
            for line in re.findall(r"^Environment=(.*)$", unit, re.MULTILINE)
            for name, _, value in (word.partition("=") for word in shlex.split(line))
        }
        assert f"LoadCredential=merge:{self.keys}/merge" in unit
        return _bare() | {"CREDENTIALS_DIRECTORY": str(self.keys), "STATE_DIRECTORY": str(self.home)} | said

    def _run(self, command: list[str], unit: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [*as_nobody(self.program), *command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, check=False, cwd=self.folder / "empty", env=self.environment(unit),
            preexec_fn=no_new_code, timeout=300,
        )  # fmt: skip

    def serve(self) -> str:
        """Start the service of all jobs until it says that it is ready, and end it; what it told systemd."""
        unit = self.units("--daemon")["consolidate-scheduler.service"]
        address = self.folder / "notify"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(str(address))
            address.chmod(0o777)
            manager.settimeout(_PATIENCE_SECONDS)
            watched = {"NOTIFY_SOCKET": str(address), "WATCHDOG_USEC": "300000000"}
            command, environ = [*as_nobody(self.program), *command_of(unit)], self.environment(unit) | watched
            empty = self.folder / "empty"
            with subprocess.Popen(command, cwd=empty, env=environ, preexec_fn=no_new_code) as process:
                try:
                    told = manager.recv(4096).decode()
                finally:
                    process.terminate()
                assert process.wait(_PATIENCE_SECONDS) == 0
        return told


def command_of(unit: str) -> list[str]:
    """The words of ExecStart=."""
    (line,) = re.findall(r"^ExecStart=(.*)$", unit, re.MULTILINE)
    return shlex.split(line.replace("%%", "%").replace("$$", "$"))


def as_nobody(program: Path) -> list[str]:
    """The beginning of a command that then runs as nobody, who gains nothing on the way."""
    rights = "-all"
    command = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--no-new-privs"]
    if not _all_may_enter(program):  # as where Python is root's own: it may look for it, and read it
        rights = "-all,+dac_read_search"
    return [*command, f"--inh-caps={rights}", f"--ambient-caps={rights}", f"--bounding-set={rights}"]


def no_new_code() -> None:
    """From now on no memory becomes code, here and in what is started."""
    assert ctypes.CDLL(None).prctl(*_REFUSE_EXEC_GAIN) == 0


def _all_may_enter(program: Path) -> bool:
    interpreter = Path(program.read_text(errors="replace").splitlines()[0].removeprefix("#!").strip())
    return all(folder.stat().st_mode & 1 for path in (program, interpreter) for folder in path.resolve().parents)


def _bare() -> Mapping[str, str]:
    given = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin", "LANG": "C.UTF-8"}
    return given | {name: value for name, value in os.environ.items() if name == "PYTHONPATH"}  # another checkout


def each_job(machine: Machine) -> Iterator[str]:
    """Start the service of each job; what it said."""
    units = machine.units()
    machine.fill(units["consolidate.service"])
    for name, unit in units.items():
        if name.endswith(".service") and "@" not in name:
            ended = machine.start(unit)
            assert ended.returncode == 0, f"{name}: {ended.stdout}"
            assert "sesame99" not in ended.stdout
            yield f"{name}: {ended.stdout}"
    assert not list((machine.folder / "empty").iterdir())
    assert {path.stat().st_uid for path in machine.home.rglob("*")} == {NOBODY}


@contextmanager
def machine(program: Path) -> Iterator[Machine]:
    """A machine for a while."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Machine(Path(folder), program)


if __name__ == "__main__":
    with machine(Path(sys.argv[1])) as one:
        for said in each_job(one):
            sys.stdout.write(f"{said.partition(':')[0]}: done\n")
        assert "READY=1" in one.serve()
        sys.stdout.write("consolidate-scheduler.service: ready, and ended\n")
