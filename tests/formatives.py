"""A store of formative-memory, schema 5, as its agent writes it."""

import hashlib
import sqlite3
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

TABLES = """
CREATE TABLE memories (
    id TEXT PRIMARY KEY, type TEXT NOT NULL, content TEXT NOT NULL DEFAULT '',
    temporal_state TEXT NOT NULL DEFAULT 'past', temporal_anchor TEXT, created_at TEXT NOT NULL,
    strength REAL NOT NULL DEFAULT 1.0, source TEXT NOT NULL, consolidated INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE associations (
    memory_a TEXT NOT NULL, memory_b TEXT NOT NULL, weight REAL NOT NULL DEFAULT 0.0, created_at TEXT NOT NULL,
    last_updated_at TEXT, PRIMARY KEY (memory_a, memory_b), CHECK (memory_a < memory_b)
);
CREATE TABLE memory_embeddings (id TEXT PRIMARY KEY, embedding BLOB NOT NULL);
CREATE VIRTUAL TABLE IF NOT EXISTS memory_fts USING fts5(id UNINDEXED, content, type, prefix = '2 3 4');
CREATE TABLE state (key TEXT PRIMARY KEY, value TEXT);
CREATE TABLE turn_memory_exposure (
    session_id TEXT NOT NULL, turn_id TEXT NOT NULL, memory_id TEXT NOT NULL, mode TEXT NOT NULL, score REAL,
    retrieval_mode TEXT, message_index INTEGER, created_at TEXT NOT NULL,
    PRIMARY KEY (session_id, turn_id, memory_id, mode)
);
CREATE TABLE message_memory_attribution (
    message_id TEXT NOT NULL, memory_id TEXT NOT NULL, evidence TEXT NOT NULL,
    confidence REAL NOT NULL CHECK (confidence >= -1.0 AND confidence <= 1.0), turn_id TEXT NOT NULL,
    created_at TEXT NOT NULL, updated_at TEXT, reinforcement_applied INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (message_id, memory_id)
);
CREATE TABLE memory_aliases (
    old_id TEXT PRIMARY KEY, new_id TEXT NOT NULL, reason TEXT NOT NULL, created_at TEXT NOT NULL
);
CREATE INDEX idx_exposure_memory_id ON turn_memory_exposure(memory_id);
CREATE INDEX idx_attribution_memory_id ON message_memory_attribution(memory_id);
"""


def name(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


class Formative:
    """An `associations.db` and the agent's connection to it. Times are texts; memories are known by their content."""

    @classmethod
    def again(cls, path: Path) -> Self:
        """One that is there already."""
        store = cls.__new__(cls)
        store.path, store.conn = path, sqlite3.connect(path, isolation_level=None)
        return store

    def __init__(self, path: Path, *, schema: str = "5", consolidated_at: str | None = None) -> None:
        self.path = path
        self.conn = sqlite3.connect(path, isolation_level=None)
        self.conn.execute("PRAGMA journal_mode = WAL")
        self.conn.executescript(TABLES)
        self.state("schema_version", schema)
        self.state("embedding_model", "text-embedding-3-small")
        if consolidated_at:
            self.state("last_consolidation_at", consolidated_at)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.conn.close()

    def state(self, key: str, value: str) -> None:
        self.conn.execute("INSERT OR REPLACE INTO state VALUES (?, ?)", (key, value))

    def add(self, table: str, **row: Any) -> None:
        marks = ", ".join("?" * len(row))
        self.conn.execute(f"INSERT OR REPLACE INTO {table} ({', '.join(row)}) VALUES ({marks})", [*row.values()])

    def remember(self, text: str, at: str, strength: float = 1.0, **more: Any) -> None:
        row = {"id": name(text), "type": "fact", "content": text, "temporal_state": "none", "created_at": at,
               "strength": strength, "source": "agent_tool"}  # fmt: skip
        self.add("memories", **row | more)

    def embed(self, text: str, vector: Sequence[float]) -> None:
        self.add("memory_embeddings", id=name(text), embedding=struct.pack(f"<{len(vector)}f", *vector))

    def link(self, one: str, other: str, weight: float, at: str, updated_at: str | None = None) -> None:
        a, b = sorted((name(one), name(other)))
        self.add("associations", memory_a=a, memory_b=b, weight=weight, created_at=at, last_updated_at=updated_at)

    def show(self, turn: str, texts: Sequence[str], at: str, *, session: str = "s", **more: Any) -> None:
        for text in texts:
            row = {"session_id": session, "turn_id": turn, "memory_id": name(text), "mode": "auto_injected",
                   "score": 0.5, "retrieval_mode": "hybrid", "message_index": 1, "created_at": at}  # fmt: skip
            self.add("turn_memory_exposure", **row | more)

    def rate(self, message: str, turn: str, text: str, at: str, evidence: str = "tool_get", **more: Any) -> None:
        confidence = {"auto_injected": 0.15, "tool_get": 0.6, "agent_feedback_positive": 0.95}[evidence]
        row = {"message_id": message, "memory_id": name(text), "evidence": evidence, "confidence": confidence,
               "turn_id": turn, "created_at": at}  # fmt: skip
        self.add("message_memory_attribution", **row | more)

    def rename(self, old: str, new: str, at: str) -> None:
        self.add("memory_aliases", old_id=name(old), new_id=name(new), reason="merged", created_at=at)
