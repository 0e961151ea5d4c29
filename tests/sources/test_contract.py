"""One contract over every source: what is pulled, changed over there, gone, and written back."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from consolidator.sources.pull import Pulled, pull
from consolidator.store.engine import Store, open_store
from consolidator.store.tables import memories
from tests.lives import day, exported
from tests.sources.foreign import Foreign
from tests.sources.foreigns import FOREIGNS, made
from tests.sources.test_port import TEXTS, filled


@pytest.fixture(params=FOREIGNS)
def foreign(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Foreign]:
    folder = tmp_path / "theirs"
    folder.mkdir()
    with made(request.param, folder) as foreign:
        yield foreign


@pytest.fixture
def store(tmp_path: Path, made_sqlite: Path) -> Iterator[Store]:
    path = tmp_path / "store.db"
    path.write_bytes(made_sqlite.read_bytes())
    with open_store(f"sqlite:///{path}", mode="write") as store:
        yield store


def pulled(store: Store, foreign: Foreign, at: float, **how: bool) -> Pulled:
    """A pull, on a day."""
    with foreign.source() as source:
        return pull(store, source, options=foreign.options, now=day(at), wall_clock=lambda: day(at), **how)


def standing(store: Store) -> dict[str, str]:
    """By text, how each memory stands: its status, or why it is archived."""
    with store.read() as conn:
        rows = conn.execute(sa.select(memories.c.content, memories.c.status, memories.c.archived_because)).all()
    return {row.content: row.archived_because or row.status for row in rows}


def test_a_pull_takes_every_record_in(store: Store, foreign: Foreign) -> None:
    """A second one finds nothing new, and changes nothing."""
    filled(foreign)
    rest = foreign.rest()
    assert pulled(store, foreign, 1).new == len(TEXTS)
    assert standing(store) == dict.fromkeys(TEXTS, "active")
    before = exported(store, 2)
    again = pulled(store, foreign, 2)
    assert (again.new, again.changed, again.gone) == (0, 0, 0)
    assert exported(store, 2) == before
    assert foreign.rest() == rest
