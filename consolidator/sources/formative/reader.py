"""
Reading the store of formative-memory, `associations.db`, while its agent goes on using it.

One snapshot, read once and quickly; its main file and its log are left as they are. What it has applied and linked
by its own nights is history here too, the rest is still to be replayed. Facts of the format (schema 5): strengths
and weights are those of its last consolidation, or of the row's creation where that is later; a rating is one row
by message and memory, overwritten by a better one (`updated_at`); links are made of what was shown since the last
consolidation; ratings outlive the memories that they name.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa

from consolidator.exchange.fields import Unfit, examine
from consolidator.exchange.records import AssociationLine, AttributionLine, BadLine, MemoryLine, Record, SourceLine
from consolidator.exchange.shapes import record_of
from consolidator.instants import format_instant
from consolidator.sources.formative.file import State, file_at, instant_of, raw, rows, snapshot, state_of
from consolidator.sources.formative.images import anchor_of, fingerprint_of_row
from consolidator.sources.port import Item, Unreadable

_TURN = re.compile(r"(?P<session>.+):\d+:[0-9a-f]{8,64}")


def read_formative(path: Path) -> Iterator[Record | BadLine]:
    """
    Everything that the store at `path` (or in that folder) holds, with a bad line in the place of a row that cannot
    be taken. BadInput where it is no such store, or of another schema.

    Read again later it tells all again. What its nights have done since it was first taken in does not count then:
    what it has recorded since is replayed by ours.
    """
    path = file_at(path)
    with snapshot(path) as conn:
        reader = Reader(conn, path)
        yield reader.source()
        yield from reader.records()


def _notes(conn: sa.Connection) -> tuple[str, ...]:
    query = "SELECT count(*) FROM associations WHERE memory_a NOT IN (TABLE) OR memory_b NOT IN (TABLE)"
    dangling = conn.exec_driver_sql(query.replace("TABLE", "SELECT id FROM memories")).scalar_one()
    return (f"left out: associations there with a memory that is no more ({dangling})",) if dangling else ()


# Named one by one, so that a table without one of them is told as such.
_MEMORIES = """
SELECT
    m.id, m.type, m.content, m.temporal_state, m.temporal_anchor, m.created_at, m.strength, m.source, m.consolidated,
    e.embedding
FROM memories m
LEFT JOIN memory_embeddings e ON e.id = m.id
"""
_ALIASES = "SELECT old_id, new_id, reason, created_at FROM memory_aliases"
_EXPOSURES = """
SELECT session_id, turn_id, memory_id, mode, score, retrieval_mode, created_at
FROM turn_memory_exposure
"""
_ATTRIBUTIONS = """
SELECT message_id, memory_id, evidence, confidence, turn_id, created_at, updated_at, reinforcement_applied
FROM message_memory_attribution
ORDER BY coalesce(updated_at, created_at)
"""
# shown_at: when both ends were last shown in one turn. Its night links what was shown, so a link made later than the
# first import, of what was shown later, is one that our nights make too.
_ASSOCIATIONS = """
SELECT a.memory_a, a.memory_b, a.weight, a.created_at, a.last_updated_at, (
    SELECT max(min(x.created_at, y.created_at))
    FROM turn_memory_exposure x
    JOIN turn_memory_exposure y ON y.session_id = x.session_id AND y.turn_id = x.turn_id
    WHERE x.memory_id = a.memory_a AND y.memory_id = a.memory_b
) AS shown_at
FROM associations a
JOIN memories one ON one.id = a.memory_a
JOIN memories other ON other.id = a.memory_b
"""


class Reader:
    """
    What it holds, as records. model: the name that its vectors get; None: that of its pin. scope: that of all records.
    """

    def __init__(self, conn: sa.Connection, path: Path, *, model: str | None = None, scope: str | None = None) -> None:
        self.scope = scope
        self.conn, self.path, self.name = conn, path, str(path)
        self.state: State = state_of(raw(conn), path)
        self.model = model or self.state.model or "unknown"
        self.sessions = self._sessions()
        self.applied_until = self._applied_until()

    def source(self) -> SourceLine:
        """Up to when its own nights count."""
        return SourceLine(
            0, self.scope, f"formative {self.path.resolve()}", self.state.consolidated_at, _notes(self.conn)
        )

    def records(self) -> Iterator[Record | BadLine]:
        """Every row, memories first; a bad line in the place of each that cannot be taken."""
        yield from (each.bad if isinstance(each, Unreadable) else each[1] for each in self.memories())
        yield from self.others()

    def items(self) -> Iterator[Item | Record | BadLine | Unreadable]:
        """The same, each memory with its id and fingerprint; one that another took the place of leads there."""
        heirs = self._heirs()
        for each in self.memories():
            if isinstance(each, Unreadable):
                yield each
            else:
                row, memory = each
                yield Item(row["id"], memory, fingerprint_of_row(row), moved_from=heirs.get(row["id"]))
        yield from self.others()

    def memories(self) -> Iterator[tuple[Mapping[str, Any], MemoryLine] | Unreadable]:
        for row in rows(raw(self.conn), _MEMORIES):
            try:
                yield row, self._memory(row)
            except ValueError as error:
                yield Unreadable(str(row["id"]), self._bad("memories", row, error))

    def others(self) -> Iterator[Record | BadLine]:
        """What is no memory."""
        tables: tuple[tuple[str, str, Callable[[Mapping[str, Any]], Record]], ...] = (
            ("memory_aliases", _ALIASES, self._alias),
            ("associations", _ASSOCIATIONS, self._association),
            ("turn_memory_exposure", _EXPOSURES, self._exposure),
            ("message_memory_attribution", _ATTRIBUTIONS, self._attribution),
        )
        for table, query, record in tables:
            for row in rows(raw(self.conn), query):
                try:
                    found = record(row)
                    yield found if self.scope is None else replace(found, scope=self.scope)
                except ValueError as error:
                    yield self._bad(table, row, error)

    def until(self) -> str:
        """Which ratings this reading has seen: those up to a row, and a time. The source's own `since`."""
        query = "SELECT max(rowid), max(coalesce(updated_at, created_at)) FROM message_memory_attribution"
        row, time = self.conn.exec_driver_sql(query).one()
        return f"{row or 0} {time or ''}"

    def _bad(self, table: str, row: Mapping[str, Any], error: ValueError) -> BadLine:
        key = next(str(value)[:12] for name, value in row.items() if name.endswith(("id", "memory_a")))
        return BadLine(self.name, 0, f"{table} {key}: {getattr(error, 'below', '') or 'row'}", str(error))

    def _heirs(self) -> dict[str, str]:
        """By memory, the last one that is no more and leads to it: its own nights leave an alias behind."""
        query = (
            "SELECT new_id, old_id FROM memory_aliases WHERE old_id NOT IN (SELECT id FROM memories)"
            " ORDER BY created_at, old_id"
        )
        return dict(self.conn.exec_driver_sql(query).all())

    def _memory(self, row: Mapping[str, Any]) -> MemoryLine:
        anchor = anchor_of(row["temporal_anchor"])
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
            return record if self.scope is None else replace(record, scope=self.scope)
        return replace(record, scope=self.scope, model=self.model, vector=_vector(row["embedding"]))

    def _alias(self, row: Mapping[str, Any]) -> Record:
        return _record("alias", **{n: row[n] for n in ("old_id", "new_id", "reason")}, at=_utc(row, "created_at"))

    def _association(self, row: Mapping[str, Any]) -> Record:
        weight_at = self._true_at(row["last_updated_at"] or row["created_at"])
        names = ("memory_a", "memory_b", "weight")
        record = _record("association", **{name: row[name] for name in names}, weight_at=weight_at)
        assert isinstance(record, AssociationLine)
        if row["shown_at"] is None:
            return record
        return replace(record, remade_after=min(instant_of(row["created_at"]), instant_of(row["shown_at"])))

    def _exposure(self, row: Mapping[str, Any]) -> Record:
        names = ("session_id", "turn_id", "memory_id", "mode", "score", "retrieval_mode")
        last = self.state.consolidated_at
        linked = last is not None and instant_of(row["created_at"]) <= last
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
        return replace(record, changed_at=instant_of(row["updated_at"]) if row["updated_at"] else None)

    def _true_at(self, *times: str | None) -> str:
        """When a strength or weight was last true: at the last consolidation, or at a later time of its row."""
        at = max(instant_of(time) for time in times if time)
        return _spelled(max(at, self.state.consolidated_at) if self.state.consolidated_at is not None else at)

    def _is_later(self, updated_at: str | None) -> bool:
        """Whether a rating was changed after the last consolidation, which has applied what it was before."""
        last = self.state.consolidated_at
        return bool(updated_at) and last is not None and instant_of(str(updated_at)) > last

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


@lru_cache(maxsize=1000)
def _spelled(at: int) -> str:
    return format_instant(at)


def _record(kind: str, **fields: Any) -> Record:
    for name, value in fields.items():
        if isinstance(value, str):
            examine(value, name)
    return record_of({"kind": kind, **fields}, 0)


def _utc(row: Mapping[str, Any], column: str) -> str:
    try:
        return _spelled(instant_of(row[column]))
    except ValueError as error:
        raise Unfit(str(error), column) from None


def _vector(blob: Any) -> bytes:
    if not isinstance(blob, bytes) or not blob or len(blob) % 4 or not np.isfinite(np.frombuffer(blob, "<f4")).all():
        raise Unfit("is not a vector of float32", "embedding")
    return blob
