"""
Reading the store of formative-memory, `associations.db`, while its agent goes on using it.

One snapshot, read once and quickly; its main file and its log are left as they are. What it has applied and linked
by its own nights is history here too, the rest is still to be replayed. Facts of the format (schema 5): strengths
and weights are those of its last consolidation, or of the row's creation where that is later; a rating is one row
by message and memory, overwritten by a better one (`updated_at`); links are made of what was shown since the last
consolidation; ratings outlive the memories that they name.
"""

import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import sqlalchemy as sa

from consolidator.errors import BadInput, ConsolidatorError
from consolidator.exchange.fields import Unfit, examine, temporal_text
from consolidator.exchange.records import (
    AssociationLine,
    AttributionLine,
    BadLine,
    MemoryLine,
    Record,
    SourceLine,
)
from consolidator.exchange.shapes import record_of
from consolidator.instants import format_instant, parse_instant
from consolidator.store import sqlite

SCHEMA = "5"
FILE_NAME = "associations.db"
BUSY_TIMEOUT_SECONDS = 10.0

_TURN = re.compile(r"(?P<session>.+):\d+:[0-9a-f]{8,64}")


def read_formative(path: Path) -> Iterator[Record | BadLine]:
    """
    Everything that the store at `path` (or in that folder) holds, with a bad line in the place of a row that cannot
    be taken. BadInput where it is no such store, or of another schema.

    Read again later it tells all again. What its nights have done since it was first taken in does not count then:
    what it has recorded since is replayed by ours.
    """
    path = path / FILE_NAME if os.path.isdir(path) else path
    with _snapshot(path) as conn:
        state = _state(conn, path)
        yield SourceLine(0, None, f"formative {path.resolve()}", state.consolidated_at, _notes(conn))
        yield from _Reader(conn, state, str(path)).records()


@dataclass(frozen=True, slots=True)
class _State:
    """What its table of settings says. consolidated_at: when its strengths were last true."""

    consolidated_at: int | None
    model: str


def _state(conn: sa.Connection, path: Path) -> _State:
    found: dict[str, str | None] = dict(conn.exec_driver_sql("SELECT key, value FROM state").all())
    version = found.get("schema_version")
    if version is None:
        raise BadInput(f"{path}: not a formative-memory store (it names no schema); name its {FILE_NAME}")
    if version != SCHEMA:
        raise BadInput(
            f"{path}: a formative-memory store of schema {version}, and this program reads schema {SCHEMA}; "
            "upgrade the older of the two"
        )
    consolidated = found.get("last_consolidation_at")
    try:
        consolidated_at = _instant(consolidated) if consolidated else None
    except ValueError as error:
        raise BadInput(f"{path}: state: last_consolidation_at: {error}") from None
    return _State(consolidated_at, found.get("embedding_model") or "unknown")


@contextmanager
def _snapshot(path: Path) -> Iterator[sa.Connection]:
    """One read transaction. BadInput says why there can be none."""
    try:
        if sqlite.size_of(path) is None:
            raise BadInput(f"{path}: there is no such file")
        with _readable(path) as file:
            engine = sqlite.reading_engine(file, busy_timeout_seconds=BUSY_TIMEOUT_SECONDS)
            try:
                with engine.connect() as conn, conn.begin():
                    # Half a character in a text is a fault of its row, not of the file.
                    conn.connection.driver_connection.text_factory = _text  # type: ignore[union-attr]
                    yield conn
            finally:
                sqlite.close_reader(file, engine)
    except BadInput:
        raise
    except ConsolidatorError as error:
        raise BadInput(str(error)) from error
    except sa.exc.DBAPIError as error:
        raise BadInput(f"{path}: not a formative-memory store of schema {SCHEMA} ({error.orig})") from error


@contextmanager
def _readable(path: Path) -> Iterator[Path]:
    """
    The file itself, or a copy of it and of a log that was left to it by a crash where nothing may be written.

    SQLite reads a log by an index beside it, which it can make neither there nor elsewhere; nobody uses the file
    then, for whoever does has made one.
    """
    log, index = (path.with_name(f"{path.name}{ending}") for ending in ("-wal", "-shm"))
    if not sqlite.size_of(log) or index.exists() or os.access(path.parent, os.W_OK):
        yield path
        return
    with TemporaryDirectory() as folder:
        for file in (path, log):
            shutil.copy(file, folder)
        yield Path(folder, path.name)


def _text(raw: bytes) -> str:
    return raw.decode(errors="surrogateescape")


def _notes(conn: sa.Connection) -> tuple[str, ...]:
    query = "SELECT count(*) FROM associations WHERE memory_a NOT IN (TABLE) OR memory_b NOT IN (TABLE)"
    dangling = conn.exec_driver_sql(query.replace("TABLE", "SELECT id FROM memories")).scalar_one()
    return (f"left out: associations there with a memory that is no more ({dangling})",) if dangling else ()


_MEMORIES = "SELECT m.*, e.embedding FROM memories m LEFT JOIN memory_embeddings e ON e.id = m.id"
_ATTRIBUTIONS = "SELECT * FROM message_memory_attribution ORDER BY coalesce(updated_at, created_at)"
# shown_at: when both ends were last shown in one turn. Its night links what was shown, so a link made later than the
# first import, of what was shown later, is one that our nights make too.
_ASSOCIATIONS = """
SELECT a.*, (
    SELECT max(min(x.created_at, y.created_at))
    FROM turn_memory_exposure x
    JOIN turn_memory_exposure y ON y.session_id = x.session_id AND y.turn_id = x.turn_id
    WHERE x.memory_id = a.memory_a AND y.memory_id = a.memory_b
) AS shown_at
FROM associations a
JOIN memories one ON one.id = a.memory_a
JOIN memories other ON other.id = a.memory_b
"""


class _Reader:
    """What it holds, as records."""

    def __init__(self, conn: sa.Connection, state: _State, name: str) -> None:
        self.conn, self.state, self.name = conn, state, name
        self.sessions = self._sessions()
        self.applied_until = self._applied_until()

    def records(self) -> Iterator[Record | BadLine]:
        """Every row, memories first; a bad line in the place of each that cannot be taken."""
        tables: tuple[tuple[str, str, Callable[[Mapping[str, Any]], Record]], ...] = (
            ("memories", _MEMORIES, self._memory),
            ("memory_aliases", "SELECT * FROM memory_aliases", self._alias),
            ("associations", _ASSOCIATIONS, self._association),
            ("turn_memory_exposure", "SELECT * FROM turn_memory_exposure", self._exposure),
            ("message_memory_attribution", _ATTRIBUTIONS, self._attribution),
        )
        for table, query, record in tables:
            for row in self.conn.exec_driver_sql(query).mappings():
                try:
                    yield record(dict(row))
                except ValueError as error:
                    key = next(str(value)[:12] for name, value in row.items() if name.endswith(("id", "memory_a")))
                    field = f"{table} {key}: {getattr(error, 'below', '') or 'row'}"
                    yield BadLine(self.name, 0, field, str(error))

    def _memory(self, row: Mapping[str, Any]) -> Record:
        anchor = _anchor(row["temporal_anchor"])
        record = _record(
            "memory",
            **{name: row[name] for name in ("id", "content", "type", "source", "strength", "temporal_state")},
            created_at=_utc(row, "created_at"),
            strength_at=self._true_at(row["created_at"], self.applied_until.get(row["id"])),
            consolidated=bool(row["consolidated"]),
            temporal_anchor=anchor,
            metadata={"temporal_anchor": row["temporal_anchor"]} if row["temporal_anchor"] and not anchor else None,
        )
        assert isinstance(record, MemoryLine)
        if row["embedding"] is None:
            return record
        return replace(record, model=self.state.model, vector=_vector(row["embedding"]))

    def _alias(self, row: Mapping[str, Any]) -> Record:
        return _record("alias", **{n: row[n] for n in ("old_id", "new_id", "reason")}, at=_utc(row, "created_at"))

    def _association(self, row: Mapping[str, Any]) -> Record:
        weight_at = self._true_at(row["last_updated_at"] or row["created_at"])
        names = ("memory_a", "memory_b", "weight")
        record = _record("association", **{name: row[name] for name in names}, weight_at=weight_at)
        assert isinstance(record, AssociationLine)
        if row["shown_at"] is None:
            return record
        return replace(record, remade_after=min(_instant(row["created_at"]), _instant(row["shown_at"])))

    def _exposure(self, row: Mapping[str, Any]) -> Record:
        names = ("session_id", "turn_id", "memory_id", "mode", "score", "retrieval_mode")
        last = self.state.consolidated_at
        linked = last is not None and _instant(row["created_at"]) <= last
        return _record("exposure", **{n: row[n] for n in names}, at=_utc(row, "created_at"), linked=linked)

    def _attribution(self, row: Mapping[str, Any]) -> Record:
        record = _record(
            "attribution",
            **{name: row[name] for name in ("message_id", "turn_id", "memory_id", "evidence", "confidence")},
            session_id=self._session(row["turn_id"], row["memory_id"]),
            at=_utc(row, "created_at"),
            applied=bool(row["reinforcement_applied"]) and not self._is_later(row["updated_at"]),
        )
        assert isinstance(record, AttributionLine)
        return replace(record, changed_at=_instant(row["updated_at"]) if row["updated_at"] else None)

    def _true_at(self, *times: str | None) -> str:
        """When a strength or weight was last true: at the last consolidation, or at a later time of its row."""
        at = max(_instant(time) for time in times if time)
        return format_instant(max(at, self.state.consolidated_at) if self.state.consolidated_at is not None else at)

    def _is_later(self, updated_at: str | None) -> bool:
        """Whether a rating was changed after the last consolidation, which has applied what it was before."""
        last = self.state.consolidated_at
        return bool(updated_at) and last is not None and _instant(str(updated_at)) > last

    def _session(self, turn_id: str, memory_id: str) -> str | None:
        """The session of a turn: the one that showed something in it, else the one in its name."""
        known = self.sessions.get(turn_id, ())
        if len(known) == 1:
            return known[0]
        named = _TURN.fullmatch(turn_id)
        if named and (not known or named["session"] in known):
            return named["session"]
        query = "SELECT min(session_id) FROM turn_memory_exposure WHERE turn_id = ? AND memory_id = ?"
        return self.conn.exec_driver_sql(query, (turn_id, memory_id)).scalar() if known else None

    def _sessions(self) -> dict[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        for turn, session in self.conn.exec_driver_sql("SELECT DISTINCT turn_id, session_id FROM turn_memory_exposure"):
            found[turn] = (*found.get(turn, ()), session)
        return found

    def _applied_until(self) -> dict[str, str]:
        """By memory, the last of the ratings that came while a consolidation was at work and were applied by it."""
        if self.state.consolidated_at is None:
            return {}
        query = (
            "SELECT memory_id, max(created_at) FROM message_memory_attribution"
            " WHERE reinforcement_applied = 1 AND updated_at IS NULL AND created_at > ? GROUP BY memory_id"
        )
        return dict(self.conn.exec_driver_sql(query, (format_instant(self.state.consolidated_at),)).all())


def _record(kind: str, **fields: Any) -> Record:
    for name, value in fields.items():
        if isinstance(value, str):
            examine(value, name)
    return record_of({"kind": kind, **fields}, 0)


def _utc(row: Mapping[str, Any], column: str) -> str:
    try:
        return format_instant(_instant(row[column]))
    except ValueError as error:
        raise Unfit(str(error), column) from None


def _instant(time: str) -> int:
    """Its times are UTC, whether they say so or not."""
    try:
        return parse_instant(time)
    except ValueError:
        return parse_instant(f"{time}Z")


def _anchor(text: str | None) -> str | None:
    """An anchor that can be read; what cannot, formative-memory ignores too."""
    for spelling in (text, f"{text}Z"):
        try:
            return temporal_text(spelling)
        except ValueError:
            continue
    return None


def _vector(blob: Any) -> bytes:
    if not isinstance(blob, bytes) or not blob or len(blob) % 4 or not np.isfinite(np.frombuffer(blob, "<f4")).all():
        raise Unfit("is not a vector of float32", "embedding")
    return blob
