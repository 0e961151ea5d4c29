"""Commands as a person gives them, under a clock that stands still."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from consolidator.cli import main, session
from consolidator.instants import format_instant, to_datetime
from tests.lives import EVE, day
from tests.providers.provider import Provider

if TYPE_CHECKING:
    from tests.cli.life import Life

EVE_NIGHT = format_instant(day(EVE))
KEYS = [f"{who}_{what}" for who in ("ANTHROPIC", "OPENAI") for what in ("API_KEY", "AUTH_TOKEN", "BASE_URL")]


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit code, and what it printed."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The one JSON document on standard output."""
        return json.loads(self.out)

    def refused(self, *words: str, code: int = 2) -> None:
        """It ended with this code and one clear line that holds these words."""
        assert self.code == code, self
        assert self.out == "", self
        assert self.err.startswith("consolidate: "), self
        assert self.err.count("\n") == 1, self
        assert "Traceback" not in self.err, self
        for word in words:
            assert word in self.err, self


Consolidate = Callable[..., Ended]


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees the store, settings or variables of whoever runs it."""
    for name in ("DATA", "CONFIG", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    for name in ("CONSOLIDATOR_STORE", "STATE_DIRECTORY", "CONSOLIDATOR_TRACEBACK", "NO_COLOR", "FORCE_COLOR", *KEYS):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(autouse=True)
def wall(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Sets the clock on the wall; it stands at the eve of the busy life."""
    now = day(EVE)

    class Standing(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:
            return to_datetime(now)

    def put(instant: int) -> None:
        nonlocal now
        now = instant

    monkeypatch.setattr(session, "datetime", Standing)
    return put


@pytest.fixture
def consolidate(capsys: pytest.CaptureFixture[str]) -> Consolidate:
    """Gives a command and says how it ended."""

    def give(*arguments: object) -> Ended:
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return Ended(code, printed.out, printed.err)

    return give


@pytest.fixture
def eve(eve_url: str, consolidate: Consolidate) -> Consolidate:
    """Gives commands to a store with the busy life, once on each kind."""

    def give(*arguments: object) -> Ended:
        return consolidate("--store", eve_url, *arguments)

    return give


@pytest.fixture
def write_lines(tmp_path: Path) -> Callable[..., Path]:
    """Writes a file of exchange lines."""

    def write(*lines: dict[str, Any], name: str = "lines.jsonl") -> Path:
        header = {"kind": "header", "format": "consolidator-jsonl", "version": 1}
        path = tmp_path / name
        path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in (header, *lines)))
        return path

    return write


@pytest.fixture
def life(
    made_store_url: str,
    consolidate: Consolidate,
    write_lines: Callable[..., Path],
    wall: Callable[[int], None],
    tmp_path: Path,
) -> "Life":
    """An empty store of each kind in which words alone are compared."""
    from tests.cli.life import WORDS_ALONE, Life

    settings = tmp_path / "schedules.yaml"
    settings.write_text(WORDS_ALONE)
    wall(day(1))
    return Life(made_store_url, consolidate, write_lines, wall, settings)


@pytest.fixture
def anthropic(provider: Provider, monkeypatch: pytest.MonkeyPatch) -> Provider:
    """The provider, with the key of Anthropic in the environment."""
    for variable, value in provider.anthropic_environ.items():
        monkeypatch.setenv(variable, value)
    return provider
