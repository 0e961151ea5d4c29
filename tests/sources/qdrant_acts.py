"""What tests of memory-smart do with its points: read them, tell one something."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from qdrant_client import QdrantClient

from consolidator.sources.port import Item, Options, Ours, Source, Write
from tests.lives import EVE, T0, day
from tests.sources.qdrant_foreign import QdrantForeign, make_collection, plain, upsert

NOW = day(EVE)
POINT = "11111111-2222-4333-8444-555555555555"
OTHER = "99999999-2222-4333-8444-555555555555"
COLD = Options()  # whose vectors they are is not known


@pytest.fixture
def foreign(tmp_path: Path) -> Iterator[QdrantForeign]:
    with plain(tmp_path) as foreign:
        yield foreign


def ours(content: str = "The text.", **about: Any) -> Ours:
    told = {"id": "f" * 64, "scope": "{}", "type": "fact", "created_at": T0, "strength": 0.25, **about}
    return Ours(content=content, **told)


def items(source: Source) -> dict[str, Item]:
    return {each.id: each for each in source.read(None).records if isinstance(each, Item)}


def change(source: Source, key: str, memory: Ours) -> tuple[Write, str | None]:
    """A record is told what we hold: the write, and its conflict."""
    before = source.look([key])[key]
    write = Write(key, before, source.render(memory, before, None, now=NOW))
    return write, source.write([write])[key].conflict


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Of Qdrant's local mode, with two points in it."""
    path = tmp_path / "qdrant"
    client = QdrantClient(path=str(path))
    make_collection(client)
    upsert(client, POINT, "The text.")
    upsert(client, OTHER, "Another 猫.")
    client.close()
    return path
