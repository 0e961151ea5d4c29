"""Commands given to a life, and servers that hear what is told of it."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import make_url

from tests.cli.conftest import anthropic, consolidate, life, own_folders, wall, write_lines
from tests.cli.life import Life
from tests.lives import day
from tests.notify.conftest import authority, internet, no_proxies, server
from tests.telling.town import Town

__all__ = [
    "anthropic", "authority", "consolidate", "internet", "life", "no_proxies", "own_folders", "server", "wall",
    "write_lines",
]  # fmt: skip


@pytest.fixture
def made_store_url(sqlite_url: str, made_sqlite: Path) -> str:
    """An empty store: what is told does not hang on its kind, but for what test_outage.py tries on both."""
    shutil.copy(made_sqlite, str(make_url(sqlite_url).database))
    return sqlite_url


@pytest.fixture
def town(life: Life, server: Callable[..., object]) -> Town:
    """A life whose nights are told to a webhook, by day 1."""
    town = Town(life, server())
    town.say()
    life.wall(day(1))
    return town
