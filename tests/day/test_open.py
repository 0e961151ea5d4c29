"""Opening: which store, which settings, and what is refused."""

import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from consolidator import Memory
from consolidator.errors import BadInput, StoreUnusable
from consolidator.settings import Settings
from tests.day.conftest import WORDS_ALONE


def test_makes_a_file(tmp_path: Path) -> None:
    """A SQLite file that is not there is made, and found again; closing twice is closing once, and ends it."""
    path = tmp_path / "memories.db"
    with Memory(path, settings=WORDS_ALONE) as memory:
        memory.remember("Bo swims.")
        memory.close()
        for ask in (memory.stats, partial(memory.remember, "Bo sails."), partial(memory.recall, "Who swims?")):
            with pytest.raises(BadInput, match="this memory is closed"):
                ask()
    with Memory(f"sqlite:///{path}", settings=WORDS_ALONE) as memory:
        assert memory.stats().active == 1


def test_makes_no_server_store(postgres_url: str) -> None:
    """An empty database on a server is refused in one line: somebody has to mean it."""
    with pytest.raises(StoreUnusable, match="holds no store yet; make one with `consolidate init`"):
        Memory(postgres_url, settings=WORDS_ALONE)


def test_the_users_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a store it is that of the variable, else of the settings, else the user's own; so are the settings."""
    with Memory(settings=WORDS_ALONE) as memory:
        memory.remember("Bo swims.")
    assert (tmp_path / "data" / "consolidator" / "memories.db").is_file()
    with Memory(settings=Settings(store=str(tmp_path / "named.db"))) as memory:
        assert (tmp_path / "named.db").is_file()
    monkeypatch.setenv("CONSOLIDATOR_STORE", str(tmp_path / "variable.db"))
    folder = tmp_path / "config" / "consolidator"
    folder.mkdir(parents=True)
    (folder / "schedules.yaml").write_text("embedding: {model: none}\n")
    with Memory() as memory:
        assert memory.remember("Bo swims.").because == "embedding.model is none"
    assert (tmp_path / "variable.db").is_file()


@pytest.mark.parametrize("scope", ["user=ada", ["user"], {"user": 1}])
def test_no_scope(tmp_path: Path, scope: Any) -> None:
    """What is no scope is refused before a store is made."""
    with pytest.raises(BadInput, match="scope"):
        Memory(tmp_path / "memories.db", scope, settings=WORDS_ALONE)
    assert not (tmp_path / "memories.db").exists()


@pytest.mark.parametrize("store", ["/nowhere/at/all.db", "mysql://x/y", ""])
def test_unusable(store: str) -> None:
    """What cannot be a store is refused in one line."""
    with pytest.raises(StoreUnusable):
        Memory(store, settings=WORDS_ALONE)


def test_cheap_to_import() -> None:
    """Importing the package imports nothing else of it, and `Memory` is there when it is asked for."""
    code = (
        "import sys, consolidator; "
        "assert not [name for name in sys.modules if name.startswith('consolidator.')]; "
        "assert 'sqlalchemy' not in sys.modules; "
        "from consolidator import Memory; assert Memory.__module__ == 'consolidator.day.memory'; "
        "assert not hasattr(consolidator, 'Nothing')"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
