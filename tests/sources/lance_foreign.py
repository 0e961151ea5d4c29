"""
The three systems with a LanceDB table, made with LanceDB itself, and what their programs do to it.

A record is changed as those do it: the row is removed by its id, and another added. `stale` is such a program that
opened the table a while ago.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

import lancedb
import numpy as np
import pyarrow as pa
from lancedb.index import FTS

from consolidator.sources.lance.flavours import FLAVOURS, TABLE
from consolidator.sources.port import Options
from tests.lives import T0
from tests.sources.foreign import Foreign

SIZE = 8
_SPACE = UUID("00000000-0000-5000-8000-000000000000")
_COUNTERS = ("accessCount", "access_count", "lastAccessedAt", "last_accessed_at")


def fields_of(kind: str, size: int = SIZE) -> dict[str, pa.DataType]:
    """The columns as the programs' own library makes them: every number is a float64."""
    text, number = pa.utf8(), pa.float64()
    vector = pa.list_(pa.float32(), size)
    if kind == "memory-lancedb":
        return {"id": text, "text": text, "vector": vector, "importance": number, "category": text,
                "createdAt": number, "agentId": text, "scope": text}  # fmt: skip
    return {"id": text, "text": text, "vector": vector, "category": text, "scope": text, "importance": number,
            "timestamp": number, "metadata": text}  # fmt: skip


def vector_of(text: str, size: int = SIZE) -> list[float]:
    """A unit vector, the same for the same text."""
    numbers = np.random.default_rng(len(text) + sum(map(ord, text))).standard_normal(size)
    return [float(each) for each in (numbers / np.linalg.norm(numbers)).astype(np.float32)]


def vectors_of(texts: Sequence[str]) -> Any:
    """As an embedder gives them."""
    return np.array([vector_of(text) for text in texts], np.float32).reshape(-1, SIZE)


class Agent:
    """A program with a handle on the table, which it opened once and goes on using."""

    def __init__(self, folder: Path) -> None:
        self.table = lancedb.connect(folder).open_table(TABLE)

    def row(self, id: str) -> dict[str, Any] | None:  # noqa: A002 - it is theirs
        rows = self.table.search().where(f"id = '{id}'").to_list()
        return rows[0] if rows else None

    def change(self, id: str, **values: Any) -> None:  # noqa: A002
        """What it last saw of the row, with some of it changed: that row is removed, and this one added."""
        row = self.row(id)
        assert row is not None
        self.table.delete(f"id = '{id}'")
        self.table.add([{**row, **values}])

    def use(self, id: str) -> None:  # noqa: A002
        row = self.row(id)
        assert row is not None
        about = json.loads(row["metadata"])
        count = about.get("accessCount", 0) + 1
        self.change(id, metadata=json.dumps({**about, "accessCount": count, "lastAccessedAt": T0 // 1000 + count}))


class LanceForeign(Foreign):
    """Such a database."""

    def __init__(self, kind: str, folder: Path, **options: Any) -> None:
        self.kind, self.folder = kind, folder
        self.flavour = FLAVOURS[kind]
        self.url = f"{kind}:{folder}"
        self.options = Options(**{"model": "openai:dice", "vectors_of": vectors_of, **options})
        self._made = 0
        self.make(fields_of(kind))

    def make(self, columns: Mapping[str, pa.DataType]) -> None:
        """The table anew, with these columns; as their programs do, with a row that is gone a moment later."""
        table = lancedb.connect(self.folder).create_table(TABLE, schema=pa.schema([*columns.items()]), mode="overwrite")
        empty = {name: "" for name, kind in columns.items() if pa.types.is_string(kind)}
        vector = columns["vector"]
        table.add([{**empty, "vector": [0.0] * vector.list_size, "id": "__schema__"}])
        table.delete("id = '__schema__'")

    def agent(self) -> Agent:
        return Agent(self.folder)

    def index(self) -> None:
        """The index for words, as their programs make it."""
        self.agent().table.create_index("text", config=FTS())

    def add(self, text: str, **about: Any) -> str:
        self._made += 1
        id = str(about.pop("id", uuid5(_SPACE, str(self._made))))  # noqa: A001
        at = T0 // 1000 + self._made
        row: dict[str, Any] = {"id": id, "text": text, "vector": vector_of(text), "category": "fact", "importance": 0.7}
        if self.kind == "memory-lancedb":
            row |= {"createdAt": at, "agentId": "main", "scope": ""}
        else:
            row |= {"scope": "global", "timestamp": at, "metadata": "{}"}
        self.agent().table.add([{**row, **about}])
        return id

    def edit(self, id: str, text: str) -> None:  # noqa: A002
        self.agent().change(id, text=text, vector=vector_of(text))

    def use(self, id: str) -> None:  # noqa: A002
        if self.flavour.metadata:
            self.agent().use(id)

    def remove(self, id: str) -> None:  # noqa: A002
        self.agent().table.delete(f"id = '{id}'")

    def rows(self) -> dict[str, dict[str, Any]]:
        """All rows, whole."""
        return {row["id"]: row for row in self.agent().table.search().to_list()}

    def about(self, id: str) -> dict[str, Any]:  # noqa: A002
        """The metadata of a row."""
        found: dict[str, Any] = json.loads(self.rows()[id]["metadata"])
        return found

    def texts(self) -> dict[str, str]:
        return {key: row["text"] for key, row in self.rows().items() if self._is_active(row)}

    def _is_active(self, row: Mapping[str, Any]) -> bool:
        about = json.loads(row["metadata"]) if self.flavour.states else {}
        return about.get("state", "confirmed") == "confirmed" and not about.get("invalidated_at")

    def rest(self) -> object:
        table = self.agent().table
        return str(table.schema), sorted(each.name for each in table.list_indices())


@contextmanager
def ultra(folder: Path) -> Iterator[LanceForeign]:
    yield LanceForeign("claw-memory-ultra", folder)


@contextmanager
def pro(folder: Path) -> Iterator[LanceForeign]:
    yield LanceForeign("memory-lancedb-pro", folder)


@contextmanager
def official(folder: Path) -> Iterator[LanceForeign]:
    yield LanceForeign("memory-lancedb", folder)
