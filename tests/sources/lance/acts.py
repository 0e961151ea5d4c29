"""What tests do to the LanceDB tables of OpenClaw's plugins."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from consolidator.errors import BadInput
from consolidator.sources.choose import open_source
from consolidator.sources.lance.table import Table
from consolidator.sources.port import Image, Options, Ours, Write
from tests.lives import EVE, T0, day
from tests.sources.lance_foreign import LanceForeign, vector_of
from tests.sources.test_port import items_of, ours_of

ULTRA, PRO, OFFICIAL = "claw-memory-ultra", "memory-lancedb-pro", "memory-lancedb"
STRANGE = "it's \"so\"; 你好 🦉 \\n \\' -- /* %_ \u2028\n\te\u0301"


def told(foreign: LanceForeign, key: str, **more: object) -> tuple[Image, Image | None]:
    """The image of a record, and the one that a push makes of it."""
    with foreign.source() as source:
        before = source.look([key])[key]
        ours = ours_of(source, items_of(source)[key], **more)
        return before, source.render(ours, before, None, now=day(EVE))


def written(foreign: LanceForeign, key: str, before: Image | None, after: Image | None) -> str | None:
    """Write one record, and tell the conflict."""
    with foreign.source() as source:
        return source.write([Write(key, before, after)])[key].conflict


def refusal(url: str, **options: Any) -> str:
    with pytest.raises(BadInput) as refused, open_source(url, Options(**options)) as source:
        list(source.read(None).records)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def merged(*keys: str, **more: Any) -> Ours:
    told = {"id": "f" * 64, "scope": "{}", "content": f"All in one. {STRANGE}", "type": "fact", "created_at": day(2),
            "strength": 0.9, "consolidated": True, "observed_at": T0, "merged_from": keys,
            "vector": np.array(vector_of("All"), "<f4").tobytes()}  # fmt: skip
    return Ours(**{**told, **more})


def while_looking(monkeypatch: pytest.MonkeyPatch, act: Callable[[int], object]) -> None:
    """Have something done over there each time after a write has looked, told how often that was."""
    look, times = Table.look, iter(range(1_000_000))

    def looked(self: Table, ids: Any) -> Any:
        found = look(self, ids)
        act(next(times))
        return found

    monkeypatch.setattr(Table, "look", looked)
