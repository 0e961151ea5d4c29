"""What tests of memory-new do with such a folder: read it, tell it something, take that back."""

from pathlib import Path
from typing import Any

import pytest

from consolidator.sources.memory_new import files
from consolidator.sources.port import Item, Ours, Unreadable, Write
from tests.lives import EVE, T0, day
from tests.sources.memory_new_foreign import MemoryNewForeign

NOW = day(EVE)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "REST_SECONDS", 0.001)


@pytest.fixture
def foreign(tmp_path: Path) -> MemoryNewForeign:
    return MemoryNewForeign(tmp_path)


def items(foreign: MemoryNewForeign) -> dict[str, Item]:
    with foreign.source() as source:
        return {each.id: each for each in source.read(None).records if isinstance(each, Item)}


def bad(foreign: MemoryNewForeign) -> list[str]:
    with foreign.source() as source:
        found = [each for each in source.read(None).records if not isinstance(each, Item)]
    return [str(each.bad if isinstance(each, Unreadable) else each).replace(f"{foreign.base}/", "") for each in found]


def ours(content: str = "The text.", **about: Any) -> Ours:
    told = {"id": "f" * 64, "scope": '{"agent":"main"}', "type": "fact", "created_at": T0, "strength": 0.25, **about}
    return Ours(content=content, **told)


def push(foreign: MemoryNewForeign, key: str, memory: Ours) -> Write:
    """One record is told what we hold. Returns what was written."""
    with foreign.source() as source:
        before = source.look([key])[key]
        write = Write(key, before, source.render(memory, before, None, now=NOW))
        assert source.write([write])[key].conflict is None
    return write


def back(foreign: MemoryNewForeign, write: Write) -> None:
    with foreign.source() as source:
        assert source.write([Write(write.id, write.after, write.before)])[write.id].conflict is None
