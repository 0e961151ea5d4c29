"""A store of a few lives, embedded with the real local model, once on each kind."""

from collections.abc import Iterator

import pytest

from consolidator.embedding.fill import embed_missing
from consolidator.embedding.minilm import MiniLM
from consolidator.store.engine import Store, open_store
from tests.cli.conftest import consolidate, own_folders, wall
from tests.lives import take
from tests.recall.lives import LINES

__all__ = ["consolidate", "own_folders", "wall"]


@pytest.fixture
def store(made_store_url: str) -> Iterator[Store]:
    with open_store(made_store_url, mode="write") as opened:
        take(opened, LINES, at=40)
        embed_missing(opened, None, MiniLM(), which="all")
        yield opened
