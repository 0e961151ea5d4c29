"""What the tests of embeddings share: embedders, stores of short lives, and what these hold."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import sqlalchemy as sa

from consolidator.embedding.openai import OpenAI
from consolidator.embedding.port import EmbedderFailed, Vectors
from consolidator.llm.client import Access
from consolidator.llm.trying import Patience
from consolidator.store.engine import Store
from consolidator.store.tables import embeddings, identities, memories
from tests.lives import memory, name, take
from tests.llm.models import Watch
from tests.providers.behaviours import Behaviour
from tests.providers.provider import Provider

SMALL = "text-embedding-3-small"


def embedder_at(provider: Provider, model: str = SMALL, *, watch: Watch | None = None, **more: Any) -> OpenAI:
    """An embedder at the test's provider, which never really waits."""
    watch = watch or Watch()
    access = Access(provider.openai_url, provider.key or "any", timeout_seconds=more.pop("timeout_seconds", 20))
    return OpenAI(model, access, patience=Patience(more.pop("retries", 5), watch.wait, clock=watch.now))


def answering(*vectors: Any, indexes: Sequence[Any] | None = None) -> Behaviour:
    """An answer with these vectors, whatever was asked."""
    places = range(len(vectors)) if indexes is None else indexes
    data = [{"object": "embedding", "index": at, "embedding": each} for at, each in zip(places, vectors, strict=True)]
    body = {"object": "list", "data": data, "model": SMALL, "usage": {"prompt_tokens": 1, "total_tokens": 1}}
    return Behaviour("made up", raw=(200, "application/json", json.dumps(body).encode()))


@dataclass
class Lengths:
    """An embedder that knows how many letters and words a text has. before: is called with every batch."""

    model: str = "lengths"
    dimension: int | None = 3
    local: bool = True
    before: Callable[[Sequence[str]], object] | None = None
    seen: list[str] = field(default_factory=list)
    fails_after: int | None = None

    def passages(self, texts: Sequence[str]) -> Vectors:
        if self.before:
            self.before(texts)
        if self.fails_after is not None and len(self.seen) + len(texts) > self.fails_after:
            raise EmbedderFailed("lengths is out of order")
        self.seen += texts
        made = [[1.0, len(text), text.count(" ")][: self.dimension] for text in texts]
        rows = np.array(made, np.float32).reshape(len(texts), self.dimension or 3)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def queries(self, texts: Sequence[str]) -> Vectors:
        return self.passages(texts)


def fill_with(store: Store, *texts: str, **more: Any) -> None:
    """Memories of the empty scope, in this order of their keys."""
    for text in texts:
        take(store, [memory(text, 1, **more)], at=2)


def stored(store: Store) -> dict[tuple[str, str], list[float]]:
    """The vectors of a store, by text and model."""
    query = sa.select(memories.c.content, embeddings.c.model, embeddings.c.dimension, embeddings.c.vector)
    with store.read() as conn:
        rows = conn.execute(query.join(memories, memories.c.key == embeddings.c.memory_key)).all()
    assert all(len(row.vector) == 4 * row.dimension for row in rows)
    return {(row.content, row.model): np.frombuffer(row.vector, "<f4").tolist() for row in rows}


def models_of(store: Store) -> dict[str, set[str]]:
    """The texts with a vector, by model."""
    found: dict[str, set[str]] = {}
    for text, model in stored(store):
        found.setdefault(model, set()).add(text)
    return found


def key_of(store: Store, text: str) -> int:
    with store.read() as conn:
        return conn.scalars(sa.select(identities.c.key).where(identities.c.hash == name(text))).one()
