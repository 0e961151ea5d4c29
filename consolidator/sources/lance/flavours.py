"""The three systems that keep a LanceDB table `memories`: where it lies, its columns, and what they do with it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import pyarrow as pa

from consolidator.errors import BadInput

TABLE = "memories"
SCRATCH = "__schema__"  # the row with which their plugins make a table, gone a moment later


@dataclass(frozen=True, slots=True)
class Flavour:
    """
    One of them. folder: where it keeps its database. at: the column of the time, in milliseconds since 1970. metadata:
    whether it has that column, JSON. states: whether what is archived keeps its row. locks: whether it writes under a
    lock that we take too. cure: what adds a column that is missing.
    """

    kind: str
    folder: str
    at: str
    columns: tuple[str, ...]
    cure: str
    metadata: bool = True
    states: bool = False
    locks: bool = False


_SCOPED = ("id", "text", "vector", "category", "scope", "importance", "timestamp", "metadata")
FLAVOURS = {
    each.kind: each
    for each in (
        Flavour(
            "claw-memory-ultra",
            "~/.openclaw/memory/claw-memory-ultra",
            "timestamp",
            _SCOPED,
            "let Claw Memory Ultra make it",
        ),
        Flavour(
            "memory-lancedb-pro",
            "~/.openclaw/memory/lancedb-pro",
            "timestamp",
            _SCOPED,
            "memory-lancedb-pro adds it when it opens the table",
            states=True,
            locks=True,
        ),
        Flavour(
            "memory-lancedb",
            "~/.openclaw/memory/lancedb",
            "createdAt",
            ("id", "text", "vector", "importance", "category", "createdAt", "agentId"),
            "run `openclaw doctor --fix`, which adds it",
            metadata=False,
        ),
    )
}


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_floating(kind) or pa.types.is_integer(kind))


def _is_vector(kind: pa.DataType) -> bool:
    return bool(pa.types.is_fixed_size_list(kind) and pa.types.is_float32(kind.value_type))


_TEXT = ("text", _is_text)
_NUMBER = ("a number", _is_number)
_KINDS: Mapping[str, tuple[str, Callable[[pa.DataType], bool]]] = MappingProxyType(
    {
        **dict.fromkeys(("id", "text", "category", "scope", "metadata", "agentId"), _TEXT),
        **dict.fromkeys(("importance", "timestamp", "createdAt"), _NUMBER),
        "vector": ("a list of float32, all of one length", _is_vector),
    }
)

# How many numbers the vectors of the models have that these plugins know.
SIZES = MappingProxyType(
    {
        "text-embedding-3-small": 1536,
        "text-embedding-3-large": 3072,
        "text-embedding-ada-002": 1536,
        "gemini-embedding-001": 3072,
        "text-embedding-004": 768,
        "bge-m3": 1024,
        "jina-embeddings-v5-text-small": 1024,
        "nomic-embed-text": 768,
        "all-MiniLM-L6-v2": 384,
        "minilm": 384,
    }
)


def check(flavour: Flavour, schema: pa.Schema, url: str, model: str | None) -> None:
    """BadInput where a table is none of this system, or its vectors cannot be those of the model."""
    have = dict(zip(schema.names, schema.types, strict=True))
    for column in flavour.columns:
        if column not in have:
            raise BadInput(f"{url}: the table {TABLE} has no column {column}; {_cure(flavour, have)}")
    for column, (what, fits) in _KINDS.items():
        if column in have and not fits(have[column]):
            raise BadInput(f"{url}: the table {TABLE}: column {column} is {have[column]}, and not {what}")
    size = SIZES.get((model or "").rpartition(":")[2].rpartition("/")[2])
    if size not in (None, have["vector"].list_size):
        raise BadInput(
            f"{url}: its vectors have {have['vector'].list_size} numbers and those of {model} have {size}; "
            "name the model that made them"
        )


def _cure(flavour: Flavour, have: Mapping[str, pa.DataType]) -> str:
    for other in FLAVOURS.values():
        if other.at != flavour.at and have.keys() >= {*other.columns}:
            return f"it looks like one of {other.kind}: write {other.kind}:PLACE"
    return flavour.cure
