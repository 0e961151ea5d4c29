"""A store with its settings, to which commands are given from day to day."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cli.conftest import Consolidate, Ended
from tests.lives import day

WORDS_ALONE = "embedding: {model: none}\nmerge: {retries: 0}\n"


@dataclass
class Life:
    """A store, its settings, and the clock: memories are taken in and nights are run on it."""

    url: str
    give: Consolidate
    write_lines: Callable[..., Path]
    wall: Callable[[int], None]
    settings: Path

    def say(self, settings: str) -> None:
        """Other settings."""
        self.settings.write_text(settings)

    def __call__(self, *arguments: object) -> Ended:
        return self.give("--store", self.url, "--settings", self.settings, *arguments)

    def take(self, *lines: dict[str, Any]) -> None:
        """Take lines in."""
        assert self("import", "jsonl", self.write_lines(*lines)).code == 0

    def night(self, at: float, *options: object, code: int = 0) -> dict[str, Any]:
        """The report of a night on a day."""
        self.wall(day(at))
        ended = self("run", "--json", *options)
        assert ended.code == code, ended
        return ended.document

    def active(self) -> set[str]:
        """What the active memories say."""
        listed = self("list", "--json", "-n", "1000").document["memories"]
        return {each["content"] for each in listed if each["status"] == "active"}


def totals(report: dict[str, Any]) -> dict[str, int]:
    """Those that are not zero."""
    return {verb: count for verb, count in report["totals"].items() if count}


def step(report: dict[str, Any], scope: int = 0) -> dict[str, Any]:
    """What the merge step says of a scope."""
    return report["scopes"][scope]["steps"]["merge"]
