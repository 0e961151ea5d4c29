"""formative-memory's store as its plugin makes it, with full-text search beside the memories, and its own reader."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from consolidator.sources.port import Options
from tests.formatives import Formative, name
from tests.sources.foreign import Foreign

SEARCH = """
CREATE VIRTUAL TABLE IF NOT EXISTS memory_fts USING fts5(
    id UNINDEXED, content, type, tokenize='unicode61 remove_diacritics 2', prefix='2,3,4'
)
"""
MODEL = "openai:text-embedding-3-small"
AT = "2026-03-01T09:00:00.000Z"
NOT_OURS = ("turn_memory_exposure", "message_memory_attribution")


class FormativeForeign(Foreign):
    """
    Such a store. An edit is what its agent does when a text is corrected: the old one goes, the new one is stored,
    under the name that its content gives it, and an alias leads there.
    """

    def __init__(self, folder: Path) -> None:
        self.theirs = Formative(folder / "associations.db", consolidated_at="2026-02-28T03:00:00.000Z")
        self.conn = self.theirs.conn
        self.conn.execute(SEARCH)
        self.theirs.state("embedding_provider_id", "openai")
        self.theirs.state("migration_completed_at", AT)
        (folder / "salience.md").write_text("What matters: boats.\n")
        self.path = self.theirs.path
        self.url = f"formative:{self.path}"
        self.options = Options(model=MODEL, vectors_of=letters)

    def add(self, text: str, **about: Any) -> str:
        known = self.conn.execute("SELECT 1 FROM memories WHERE id = ?", (name(text),)).fetchone()
        if not known:
            self.conn.execute("BEGIN IMMEDIATE")
            self.theirs.remember(text, about.pop("at", AT), **about)
            self.conn.execute("INSERT INTO memory_fts VALUES (?, ?, 'fact')", (name(text), text))
            self.theirs.embed(text, letters([text])[0].tolist())
            self.conn.execute("COMMIT")
        return name(text)

    def edit(self, id: str, text: str) -> None:  # noqa: A002
        self.remove(id)
        new = self.add(text)
        self.theirs.add("memory_aliases", old_id=id, new_id=new, reason="merged", created_at=AT)

    def use(self, id: str) -> None:  # noqa: A002
        """It counts none: what is used is shown and rated."""

    def remove(self, id: str) -> None:  # noqa: A002
        for table in ("memories", "memory_embeddings", "memory_fts"):
            self.conn.execute(f"DELETE FROM {table} WHERE id = ?", (id,))
        self.conn.execute("DELETE FROM associations WHERE ? IN (memory_a, memory_b)", (id,))

    def texts(self) -> dict[str, str]:
        """What is found by words and is there, each with the vector that its text has."""
        found = dict(
            self.conn.execute(
                "SELECT m.id, m.content FROM memory_fts f JOIN memories m ON m.id = f.id AND m.content = f.content"
            )
        )
        for key, blob in self.conn.execute("SELECT id, embedding FROM memory_embeddings"):
            assert np.frombuffer(blob, "<f4").tolist() == letters([found[key]])[0].tolist()
        return found

    def search(self, words: str) -> list[str]:
        """The texts that its full-text search finds."""
        query = "SELECT content FROM memory_fts WHERE memory_fts MATCH ? ORDER BY rank"
        return [text for (text,) in self.conn.execute(query, (words,))]

    def rest(self) -> object:
        return {table: self.table(table) for table in NOT_OURS} | {
            "state": [row for row in self.table("state") if row[0] != "last_consolidation_at"],
            "salience": (self.path.parent / "salience.md").read_bytes(),
        }

    def table(self, table: str) -> list[tuple[Any, ...]]:
        return sorted(self.conn.execute(f"SELECT * FROM {table}"), key=repr)

    def insist_whole(self) -> None:
        """By SQLite's own checks, of the file and of the search."""
        assert self.conn.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        self.conn.execute("INSERT INTO memory_fts (memory_fts) VALUES ('integrity-check')")
        ids = {key for (key,) in self.conn.execute("SELECT id FROM memories")}
        assert sorted(ids) == sorted(key for (key,) in self.conn.execute("SELECT id FROM memory_fts"))
        assert ids >= {key for (key,) in self.conn.execute("SELECT id FROM memory_embeddings")}
        for pair in self.conn.execute("SELECT memory_a, memory_b FROM associations"):
            assert ids >= {*pair}


def letters(texts: Sequence[str]) -> Any:
    """A vector of each text."""
    return np.array([[text.lower().count(letter) for letter in "aeio"] for text in texts], np.float32).reshape(-1, 4)


@contextmanager
def formative(folder: Path) -> Iterator[FormativeForeign]:
    foreign = FormativeForeign(folder)
    try:
        yield foreign
    finally:
        foreign.conn.close()


def again(path: Path) -> sqlite3.Connection:
    """Another connection of its agent."""
    return sqlite3.connect(path, isolation_level=None, check_same_thread=False)
