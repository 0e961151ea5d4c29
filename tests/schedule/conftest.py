"""What tests of the service ask for."""

import shutil
import socket
from pathlib import Path

import pytest

from tests.conftest import unavailable
from tests.schedule.services import LIBRARY, Machine, WallClock, filled


@pytest.fixture
def free_port() -> int:
    """A port on which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine on which the program runs under a clock of the test's own."""
    if LIBRARY is None:
        unavailable("no libfaketime: apt-get install faketime")
    return Machine(tmp_path, WallClock(tmp_path))


@pytest.fixture
def store(tmp_path: Path, made_sqlite: Path) -> str:
    """The URL of a store with two memories, where the settings look for it."""
    shutil.copy(made_sqlite, tmp_path / "memories.db")
    return filled(f"sqlite:///{tmp_path / 'memories.db'}")
