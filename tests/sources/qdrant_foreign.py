"""memory-smart's collection on a server, with its points as its plugin makes and counts them."""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_OID, uuid5

import numpy as np
from numpy.typing import NDArray
from qdrant_client import QdrantClient, models

from consolidator.sources.port import Options
from tests.lives import T0
from tests.sources.foreign import Foreign
from tests.sources.qdrant_server import Server, serving

COLLECTION = "memory-smart"
SIZE = 8
MODEL = "openai:letters"


class QdrantForeign(Foreign):
    """Such a collection, and what its agents do to it."""

    def __init__(self, server: Server) -> None:
        self.server, self._next = server, 0
        self.url = f"memory-smart:{server.url}/{COLLECTION}"
        self.options = Options(model=MODEL, vectors_of=vectors_of)
        make_collection(server.client)

    def add(self, text: str, **about: Any) -> str:
        self._next += 1
        key = str(uuid5(NAMESPACE_OID, f"point {self._next}"))
        with self.server.lock:
            upsert(self.server.client, key, text, **{"createdAt": T0 // 1000 + self._next, **about})
        return key

    def edit(self, id: str, text: str) -> None:  # noqa: A002
        payload = {**self.payload(id), "text": text}
        point = models.PointStruct(id=id, vector=vectors_of([text])[0].tolist(), payload=payload)
        with self.server.lock:
            self.server.client.upsert(COLLECTION, [point])

    def use(self, id: str) -> None:  # noqa: A002
        """Read, then set: two recalls at once count as one."""
        count = self.payload(id)["accessCount"] + 1
        with self.server.lock:
            self.server.client.set_payload(
                COLLECTION, {"accessCount": count, "lastAccessed": T0 // 1000 + count}, points=[id]
            )

    def remove(self, id: str) -> None:  # noqa: A002
        with self.server.lock:
            self.server.client.delete(COLLECTION, points_selector=models.PointIdsList(points=[id]))

    def texts(self) -> dict[str, str]:
        return {str(point.id): (point.payload or {})["text"] for point in self.points()}

    def rest(self) -> object:
        """How its collection is made."""
        with self.server.lock:
            return self.server.client.get_collection(COLLECTION).config.model_dump()

    def payload(self, id: str) -> dict[str, Any]:  # noqa: A002
        with self.server.lock:
            return self.server.client.retrieve(COLLECTION, [id], with_payload=True)[0].payload or {}

    def points(self) -> list[models.Record]:
        with self.server.lock:
            return self.server.client.scroll(COLLECTION, limit=10_000, with_vectors=True)[0]


def make_collection(client: QdrantClient, name: str = COLLECTION, size: int = SIZE) -> None:
    client.create_collection(name, models.VectorParams(size=size, distance=models.Distance.COSINE))


def upsert(client: QdrantClient, key: str, text: str, **about: Any) -> None:
    payload = {
        "text": text, "category": "fact", "importance": 0.8, "sessionKey": "agent:main:telegram:ada",
        "agentId": "main", "createdAt": T0 // 1000, "accessCount": 0, "lastAccessed": 0, **about,
    }  # fmt: skip
    payload = {name: value for name, value in payload.items() if value is not None}
    client.upsert(COLLECTION, [models.PointStruct(id=key, vector=vectors_of([text])[0].tolist(), payload=payload)])


def vectors_of(texts: Sequence[str]) -> NDArray[np.float32]:
    """Four halves each: vectors that are exactly of length 1, so that making them so again changes no bit."""
    vectors = np.zeros((len(texts), SIZE), np.float32)
    for vector, text in zip(vectors, texts, strict=True):
        digest = hashlib.sha256(text.encode()).digest()
        for place in range(0, SIZE, 2):
            vector[place + digest[place] % 2] = 0.5 if digest[place + 1] % 2 else -0.5
    return vectors


@contextmanager
def plain(_folder: Path) -> Iterator[QdrantForeign]:
    with serving() as server:
        yield QdrantForeign(server)
