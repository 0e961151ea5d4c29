"""A SQLite store, to be made and made."""

from pathlib import Path

import pytest

from consolidator.store.engine import open_store
from tests.opening.stores import add_scope


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def made(path: Path) -> Path:
    """A closed store that holds one scope."""
    with open_store(str(path), mode="create") as store:
        add_scope(store, "{}")
    return path
