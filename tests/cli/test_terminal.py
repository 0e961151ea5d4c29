"""What is different where a person sees it: colour, width, bars and questions."""

import fcntl
import os
import pty
import select
import signal
import subprocess
import sys
import termios
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.lives import GONE, HUB, name

On = Callable[..., tuple[int, str]]

PATIENCE_SECONDS = 5.0


@pytest.fixture
def on_terminal(eve_sqlite: Path, tmp_path: Path) -> On:
    """
    Gives a command on a terminal of 80 columns, and what is typed when asked; tells exit code and what is seen.

    Who sees nothing happen types again: Ctrl-C between the question and the reading of its answer goes unheard.
    """
    path = tmp_path / "seen.db"
    path.write_bytes(eve_sqlite.read_bytes())

    def give(*arguments: object, typed: str = "", more: Mapping[str, str] = os.environ) -> tuple[int, str]:
        near, far = pty.openpty()
        command = [sys.executable, "-m", "consolidator", "--store", str(path), *map(str, arguments)]
        variables = {**os.environ, **more, "TERM": "xterm", "COLUMNS": "80"}
        with subprocess.Popen(
            command,
            stdin=far,
            stdout=far,
            stderr=far,
            env=variables,
            start_new_session=True,
            preexec_fn=take_terminal,
        ) as process:
            os.close(far)
            seen, asked = b"", False
            while True:
                if asked and not select.select([near], [], [], PATIENCE_SECONDS)[0]:
                    os.write(near, typed.encode())
                try:
                    part = os.read(near, 4096)
                except OSError:  # the other side has closed
                    break
                if not part:
                    break
                seen += part
                if typed and not asked and b"[y/N]" in seen:
                    os.write(near, typed.encode())
                    asked = True
        os.close(near)
        return process.returncode, seen.decode(errors="replace")

    return give


def take_terminal() -> None:
    """Make the terminal that of this process, which hears Ctrl-C also where whoever started the tests does not."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_colour(on_terminal: On) -> None:
    """Colour only on a terminal, and not where NO_COLOR is set."""
    assert "\x1b[1m" in on_terminal("list")[1]
    assert "\x1b[1m" not in on_terminal("list", more={"NO_COLOR": "1"})[1]


def test_width(on_terminal: On) -> None:
    """On a terminal a memory is one line of its width, cut with a sign."""
    code, seen = on_terminal("list", "--status", "active", "-n", "100")
    assert code == 0
    assert "…" in seen
    assert all(len(line) <= 80 for line in seen.replace("\x1b[1m", "").replace("\x1b[0m", "").splitlines())


def test_bar(on_terminal: On) -> None:
    """A night shows that it is at work, and cleans up behind it."""
    code, seen = on_terminal("run", "--report", "summary")
    assert code == 0
    assert "The night" in seen
    assert "I replayed" in seen.splitlines()[-1]


def test_forget_asks(on_terminal: On) -> None:
    """On a terminal forgetting asks first, and takes no for an answer."""
    code, seen = on_terminal("forget", name(GONE), typed="n\n")
    assert code == 0
    assert GONE in seen
    assert "Nothing was forgotten" in seen
    assert GONE in on_terminal("show", name(GONE))[1]
    code, seen = on_terminal("forget", name(GONE), typed="y\n")
    assert code == 0
    assert f"Forgotten: {name(GONE)[:12]}" in seen
    assert on_terminal("show", name(GONE))[0] == 2
    assert HUB in on_terminal("show", name(HUB))[1]


def test_forget_interrupted(on_terminal: On) -> None:
    """Ctrl-C at the question forgets nothing and ends quietly."""
    code, seen = on_terminal("forget", name(GONE), typed="\x03")
    assert code == 130
    assert "Traceback" not in seen
    assert GONE in on_terminal("show", name(GONE))[1]
