"""Large stores of other systems, in their own formats: made in one go with each system's own library."""

import hashlib
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from consolidator.instants import SECOND, format_instant, parse_instant

BEGAN = parse_instant("2025-12-01T08:00:00Z")
AT_ONCE = 5_000
MODEL = "openai:made-up"  # of the vectors, which mean nothing
SYLLABLES = ("ka", "lo", "mi", "ren", "tu", "sa", "vel", "no", "pi", "dra", "es", "tol", "gu", "shi")


def texts(count: int) -> list[str]:
    """Different from each other, 6 to 30 words long, of a vocabulary as Zipf says."""
    rng = np.random.default_rng(11)
    syllables = np.array(SYLLABLES)
    words = ["".join(syllables[rng.integers(0, len(syllables), rng.integers(2, 5))]) for _ in range(20_000)]
    chance = 1 / (np.arange(len(words)) + 5.0)
    sizes = rng.integers(6, 31, count)
    said = np.split(rng.choice(np.array(words), sizes.sum(), p=chance / chance.sum()), np.cumsum(sizes)[:-1])
    return [f"{' '.join(some)} {number}." for number, some in enumerate(said)]


def portions(count: int, size: int) -> Iterator[tuple[range, NDArray[np.float32]]]:
    """Numbers of records, and a unit vector for each."""
    rng = np.random.default_rng(13)
    for start in range(0, count, AT_ONCE):
        numbers = range(start, min(start + AT_ONCE, count))
        vectors = rng.standard_normal((len(numbers), size), np.float32)
        yield numbers, vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def made_at(number: int) -> int:
    return BEGAN + number * SECOND


def lance(folder: Path, count: int, size: int) -> str:
    """Claw Memory Ultra's table."""
    import lancedb
    import pyarrow as pa

    said = texts(count)
    text, number_type = pa.utf8(), pa.float64()
    fields = {"id": text, "text": text, "vector": pa.list_(pa.float32(), size), "category": text, "scope": text,
              "importance": number_type, "timestamp": number_type, "metadata": text}  # fmt: skip
    table = lancedb.connect(folder).create_table("memories", schema=pa.schema([*fields.items()]))
    for numbers, vectors in portions(count, size):
        columns = {
            "id": [str(UUID(int=number, version=4)) for number in numbers],
            "text": [said[number] for number in numbers],
            "vector": pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), size),
            "category": ["fact" for _ in numbers],
            "scope": [f"agent:{number % 3}" for number in numbers],
            "importance": [0.7 for _ in numbers],
            "timestamp": [made_at(number) / 1000 for number in numbers],
            "metadata": [json.dumps({"accessCount": number % 4}) for number in numbers],
        }
        table.add(pa.table(columns, schema=pa.schema([*fields.items()])))
    return f"claw-memory-ultra:{folder}"


def qdrant(folder: Path, count: int, size: int) -> str:
    """memory-smart's collection, in the local mode of the client."""
    from qdrant_client import QdrantClient, models

    said = texts(count)
    client = QdrantClient(path=str(folder))
    client.create_collection("memory-smart", models.VectorParams(size=size, distance=models.Distance.COSINE))
    kept = client._client.collections["memory-smart"].storage.storage  # type: ignore[union-attr]
    kept.execute("PRAGMA synchronous = OFF")  # it commits each point by itself
    for numbers, vectors in portions(count, size):
        client.upsert(
            "memory-smart",
            models.Batch(
                ids=[str(UUID(int=number, version=4)) for number in numbers],
                vectors=vectors.tolist(),
                payloads=[
                    {"text": said[number], "category": "fact", "importance": 0.8, "sessionKey": "main",
                     "agentId": "main", "createdAt": made_at(number) // 1000, "accessCount": number % 4,
                     "lastAccessed": 0}
                    for number in numbers
                ],
            ),
        )  # fmt: skip
    client.close()
    return f"memory-smart:{folder}"


def memory_new(folder: Path, count: int, _size: int) -> str:
    """memory-new's memories, in files of a session each; it keeps no vectors."""
    said = texts(count)
    there = folder / "memory" / "l1"
    there.mkdir(parents=True)
    for start in range(0, count, 500):
        session = f"agent:main:telegram:{start // 500}"
        with (there / f"{session}.jsonl").open("w") as file:
            for number in range(start, min(start + 500, count)):
                at = made_at(number)
                when = format_instant(at)
                row = {
                    "id": f"l1_{at // 1000}_{number:07}", "content": said[number], "type": "episodic", "priority": 60,
                    "sceneName": "day", "sourceMessageIds": [], "metadata": {}, "timestamps": [when],
                    "createdAt": when, "updatedAt": when, "version": 1, "sessionKey": session, "sessionId": "s",
                    "userId": "ada", "agentId": "main", "status": "active", "kind": "fact", "importance": 0.6,
                }  # fmt: skip
                file.write(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n")
    return f"memory-new:{folder}"


def formative(folder: Path, count: int, size: int) -> str:
    """formative-memory's store, with a link and a rating for each second memory."""
    from tests.formatives import Formative
    from tests.sources.formative_foreign import SEARCH

    said = texts(count)
    ids = [hashlib.sha256(text.encode()).hexdigest() for text in said]
    with Formative(folder / "associations.db") as store:
        conn: sqlite3.Connection = store.conn
        conn.execute(SEARCH)
        provider, _, model = MODEL.partition(":")
        store.state("embedding_provider_id", provider)
        store.state("embedding_model", model)
        conn.execute("BEGIN")
        for numbers, vectors in portions(count, size):
            when = {number: format_instant(made_at(number)) for number in numbers}
            conn.executemany(
                "INSERT INTO memories (id, type, content, temporal_state, created_at, strength, source)"
                " VALUES (?, 'fact', ?, 'none', ?, 1.0, 'agent_tool')",
                [(ids[number], said[number], when[number]) for number in numbers],
            )
            conn.executemany(
                "INSERT INTO memory_fts (id, content, type) VALUES (?, ?, 'fact')",
                [(ids[number], said[number]) for number in numbers],
            )
            conn.executemany(
                "INSERT INTO memory_embeddings VALUES (?, ?)",
                [(ids[number], vector.tobytes()) for number, vector in zip(numbers, vectors, strict=True)],
            )
            pairs = [number for number in numbers if number % 2]
            conn.executemany(
                "INSERT INTO associations VALUES (?, ?, 0.5, ?, NULL)",
                [(*sorted((ids[number - 1], ids[number])), when[number]) for number in pairs],
            )
            conn.executemany(
                "INSERT INTO turn_memory_exposure VALUES ('s', ?, ?, 'auto_injected', 0.5, 'hybrid', 1, ?)",
                [(f"s:{number}:0123456789", ids[number], when[number]) for number in pairs],
            )
            conn.executemany(
                "INSERT INTO message_memory_attribution VALUES (?, ?, 'auto_injected', 0.15, ?, ?, NULL, 0)",
                [(f"m{number}", ids[number], f"s:{number}:0123456789", when[number]) for number in pairs],
            )
        conn.execute("COMMIT")
    return f"formative:{folder / 'associations.db'}"


MAKERS = {"LanceDB": lance, "Qdrant, local": qdrant, "JSONL": memory_new, "SQLite": formative}
