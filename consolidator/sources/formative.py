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
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa

from consolidator.errors import BadInput, ConsolidatorError
from consolidator.exchange.fields import Unfit, examine, temporal_text
from consolidator.exchange.intake import Intake, Progress, reading, take_spool
from consolidator.exchange.records import AttributionLine, BadLine, MemoryLine, Record
from consolidator.exchange.shapes import record_of
from consolidator.exchange.spool import Spool
from consolidator.instants import format_instant, parse_instant
from consolidator.store import sqlite
from consolidator.store.engine import Store
from consolidator.store.tables import scopes, watermarks

SCHEMA = "5"
FILE_NAME = "associations.db"
BUSY_TIMEOUT_SECONDS = 10.0

_TURN = re.compile(r"(?P<session>.+):\d+:[0-9a-f]{8,64}")


def import_formative(
    store: Store,
    path: Path,
    *,
    now: int,
    scope: str,
    skip_bad: bool = False,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> Intake:
    """
    Take everything in that the store at `path` holds, into one scope; a second time, what is new there.

    BadInput where it is no such store, or of another schema; BadLines where a row cannot be taken. Nothing was
    written then. Up to the first import its own nights count; what it records afterwards is replayed here, whether
    it has consolidated meanwhile or not.
    """
    path = path / FILE_NAME if path.is_dir() else path
    source = f"formative {path.resolve()}"
    since = _watermark(store, scope, source)
    with Spool(str(path), scope=scope) as spool:
        with _snapshot(path) as conn:
            state = _state(conn, path)
            dangling = _dangling(conn)
            spool.fill(_Reader(conn, state, str(path), since).records(), reading(progress))

        def mark(taking: sa.Connection) -> None:
            if since is None:
                _set_watermark(taking, scope, source, state.consolidated_at or 0)

        intake = take_spool(
            store, spool, now=now, skip_bad=skip_bad, dry_run=dry_run, progress=progress, within=mark
        )  # fmt: skip
    if dangling:
        note = f"{dangling} associations there name a memory that is no more; left out"
        intake = replace(intake, notes=(*intake.notes, note))
    return intake


@dataclass(frozen=True, slots=True)
class _State:
    """What its table of settings says. consolidated_at: when its strengths were last true."""

    consolidated_at: int | None
    model: str


def _state(conn: sa.Connection, path: Path) -> _State:
    found: dict[str, str | None] = dict(conn.exec_driver_sql("SELECT key, value FROM state").all())
    version = found.get("schema_version")
    if version != SCHEMA:
        raise BadInput(f"{path}: a formative-memory store of schema {version}; this program reads schema {SCHEMA}")
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
        engine = sqlite.reading_engine(path, busy_timeout_seconds=BUSY_TIMEOUT_SECONDS)
        try:
            with engine.connect() as conn, conn.begin():
                # Half a character in a text is a fault of its row, not of the file.
                conn.connection.driver_connection.text_factory = _text  # type: ignore[union-attr]
                yield conn
        finally:
            sqlite.close_reader(path, engine)
    except BadInput:
        raise
    except ConsolidatorError as error:
        raise BadInput(str(error)) from error
    except sa.exc.DBAPIError as error:
        raise BadInput(f"{path}: not a formative-memory store of schema {SCHEMA} ({error.orig})") from error


def _text(raw: bytes) -> str:
    return raw.decode(errors="surrogateescape")


_ASSOCIATIONS = """
FROM associations a
LEFT JOIN memories one ON one.id = a.memory_a
LEFT JOIN memories other ON other.id = a.memory_b
"""
# What was shown since the first import is linked here, by our own nights; a link that theirs made of it would count
# the same showing twice.
_MADE_OF_WHAT_WE_LINK = """
a.created_at > '{since}' AND EXISTS (
    SELECT 1
    FROM turn_memory_exposure x
    JOIN turn_memory_exposure y ON y.session_id = x.session_id AND y.turn_id = x.turn_id
    WHERE x.memory_id = a.memory_a AND x.created_at > '{since}'
        AND y.memory_id = a.memory_b AND y.created_at > '{since}'
)
"""


def _dangling(conn: sa.Connection) -> int:
    query = f"SELECT count(*) {_ASSOCIATIONS} WHERE one.id IS NULL OR other.id IS NULL"
    number: int = conn.exec_driver_sql(query).scalar_one()
    return number


class _Reader:
    """
    What it holds, as records. since: up to when its nights count, which is up to now where it is None.
    """

    def __init__(self, conn: sa.Connection, state: _State, name: str, since: int | None) -> None:
        self.conn, self.state, self.name, self.since = conn, state, name, since
        self.sessions = self._sessions()
        self.applied_until = self._applied_until()

    def records(self) -> Iterator[Record | BadLine]:
        """Every row, memories first; a bad line in the place of each that cannot be taken."""
        tables: tuple[tuple[str, str, Callable[[Mapping[str, Any]], Record]], ...] = (
            ("memories", "m.*, e.embedding FROM memories m LEFT JOIN memory_embeddings e ON e.id = m.id", self._memory),
            ("memory_aliases", "* FROM memory_aliases", self._alias),
            ("associations", f"a.* {_ASSOCIATIONS} {self._which_associations()}", self._association),
            ("turn_memory_exposure", "* FROM turn_memory_exposure", self._exposure),
            (
                "message_memory_attribution",
                "* FROM message_memory_attribution ORDER BY coalesce(updated_at, created_at)",
                self._attribution,
            ),
        )
        for table, query, record in tables:
            for row in self.conn.exec_driver_sql(f"SELECT {query}").mappings():
                try:
                    yield record(dict(row))
                except ValueError as error:
                    key = next(str(value)[:12] for name, value in row.items() if name.endswith(("id", "memory_a")))
                    field = f"{table} {key}: {getattr(error, 'below', '') or 'row'}"
                    yield BadLine(self.name, 0, field, str(error))

    def _which_associations(self) -> str:
        both = "WHERE one.id IS NOT NULL AND other.id IS NOT NULL"
        if self.since is None or (self.state.consolidated_at or 0) <= self.since:
            return both
        return f"{both} AND NOT ({_MADE_OF_WHAT_WE_LINK.format(since=format_instant(self.since))})"

    def _memory(self, row: Mapping[str, Any]) -> Record:
        anchor = _anchor(row["temporal_anchor"])
        record = _record(
            "memory",
            **{name: row[name] for name in ("id", "content", "type", "source", "strength", "temporal_state")},
            created_at=_utc(row["created_at"]),
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
        return _record("alias", **{n: row[n] for n in ("old_id", "new_id", "reason")}, at=_utc(row["created_at"]))

    def _association(self, row: Mapping[str, Any]) -> Record:
        weight_at = self._true_at(row["last_updated_at"] or row["created_at"])
        return _record("association", **{n: row[n] for n in ("memory_a", "memory_b", "weight")}, weight_at=weight_at)

    def _exposure(self, row: Mapping[str, Any]) -> Record:
        names = ("session_id", "turn_id", "memory_id", "mode", "score", "retrieval_mode")
        until = self.state.consolidated_at if self.since is None else self.since
        linked = until is not None and _instant(row["created_at"]) <= until
        return _record("exposure", **{n: row[n] for n in names}, at=_utc(row["created_at"]), linked=linked)

    def _attribution(self, row: Mapping[str, Any]) -> Record:
        record = _record(
            "attribution",
            **{name: row[name] for name in ("message_id", "turn_id", "memory_id", "evidence", "confidence")},
            session_id=self._session(row["turn_id"], row["memory_id"]),
            at=_utc(row["created_at"]),
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


def _utc(time: str) -> str:
    return format_instant(_instant(time))


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


def _watermark(store: Store, scope: str, source: str) -> int | None:
    """Up to when the nights of the source count; None where nothing was imported from it into the scope."""
    query = sa.select(watermarks.c.value).join(scopes, scopes.c.key == watermarks.c.scope_key)
    with store.read() as conn:
        value: int | None = conn.scalar(query.where(scopes.c.scope == scope, watermarks.c.name == source))
        return value


def _set_watermark(conn: sa.Connection, scope: str, source: str, value: int) -> None:
    key = conn.scalar(sa.select(scopes.c.key).where(scopes.c.scope == scope))
    if key is not None:
        conn.execute(sa.insert(watermarks).values(scope_key=key, name=source, value=value))
