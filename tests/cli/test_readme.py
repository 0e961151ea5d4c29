"""README.md says what is."""

import re
from pathlib import Path

from consolidator.cli.main import COMMANDS
from tests.cli.readme import README, followed


def test_followed_literally(tmp_path: Path) -> None:
    """Every command block works when followed, and prints what stands there (python -m tests.cli.readme writes it)."""
    page = README.read_text()
    assert followed(page, tmp_path) == page


def test_every_command() -> None:
    """The table names every command and no other."""
    table = README.read_text().split("## Commands")[1].split("\n## ")[0]
    named = {name for row in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE) for name in re.findall(r"`(\w+)", row)}
    assert named == set(COMMANDS)


def test_links() -> None:
    """Every file that the page leads to is there."""
    for link in re.findall(r"\]\((?!http)([^)#]+)\)", README.read_text()):
        assert (README.parent / link).exists(), link
