"""Traces of a memory in what was written about it, and in the bytes of the file once its rows are gone."""

from dataclasses import dataclass

import sqlalchemy as sa

from consolidator.store.engine import Store

_SHORTEST_ID = 8
_TELLING_LENGTH = 12


@dataclass(frozen=True, slots=True)
class Traces:
    """How a memory shows in other texts: by its id or a beginning of it, by its content or a beginning of that."""

    id: str
    content: str

    def in_text(self, text: str) -> bool:
        """Whether a text names the memory or quotes it."""
        if self.id[:_SHORTEST_ID] in text:
            return True
        words, line = " ".join(self.content.split()), " ".join(text.split())
        telling = words[:_TELLING_LENGTH]
        return telling in line if len(words) >= _TELLING_LENGTH else words == line


def wipe(store: Store) -> bool:
    """
    Take the bytes of deleted rows out of the store's files; False where another reader keeps them alive.

    SQLite: rewritten without free pages, the write-ahead log emptied. Postgres: vacuumed; its own write-ahead log
    and backups are the server's.
    """
    with store.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as conn:
        if store.dialect == "postgresql":
            conn.exec_driver_sql("VACUUM memories, embeddings, decisions, runs, kept_replies")
            return True
        conn.exec_driver_sql("VACUUM")
        busy, _, _ = conn.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").one()
        return not busy
