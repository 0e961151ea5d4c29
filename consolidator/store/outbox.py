"""
The outbox: messages that wait to be sent, are being sent, were delivered or given up.

Each part of a message is a row with a key that stays the same for every try. A row is claimed before it is sent, for a
time; who claimed it and died leaves it to the next one, who sends it again with the same key: at least once, and by one
at a time.
"""

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from consolidator.instants import format_instant
from consolidator.store.engine import Store
from consolidator.store.tables import outbox, runs
from consolidator.store.traces import STANDS_FOR, Traces

_TEXTS = ("body", "markdown", "document")  # of a payload: not kept once delivered
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")


@dataclass(frozen=True, slots=True)
class Entry:
    """A part that is to be sent."""

    idempotency_key: str
    message: str
    channel: str
    part: int
    payload: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Claimed:
    """A row that this process, and no other, may send until its claim ends. given_up: it was, and is tried again."""

    key: int
    claim: str
    idempotency_key: str
    message: str
    channel: str
    payload: Mapping[str, Any]
    attempts: int
    created_at: int
    given_up: bool


def put(conn: sa.Connection, entries: Sequence[Entry], *, run_key: int | None, now: int) -> None:
    """Write parts to be sent, in the caller's transaction. One that is there already, by its key, stays as it is."""
    if not entries:
        return
    insert = postgresql.insert if conn.dialect.name == "postgresql" else sqlite.insert
    rows = [
        {
            "idempotency_key": entry.idempotency_key,
            "run_key": run_key,
            "message": entry.message,
            "channel": entry.channel,
            "part": entry.part,
            "payload": dict(entry.payload),
            "created_at": now,
            "next_at": now,
        }
        for entry in entries
    ]
    conn.execute(insert(outbox).on_conflict_do_nothing(index_elements=["idempotency_key"]), rows)


def holds(conn: sa.Connection, message: str) -> bool:
    """Whether a message of this name was ever put."""
    return conn.execute(sa.select(outbox.c.key).where(outbox.c.message == message).limit(1)).first() is not None


def is_due(store: Store, *, channels: Collection[str], now: int) -> bool:
    """Whether a row waits that may be sent now."""
    with store.read() as conn:
        return conn.execute(_next(channels, (), now, again=False)).first() is not None


def claim(
    store: Store,
    *,
    channels: Collection[str],
    passed: Collection[int],
    now: int,
    until: int,
    again: bool = False,
) -> Claimed | None:
    """
    The next row that is due, claimed; None where none is.

    passed: keys that had their turn. The parts of a message go in order. A channel that asked to be left alone is.
    again: also what is not due yet, was given up, or whose channel asked to be left alone.
    """
    query = _next(channels, passed, now, again=again)
    with store.read() as conn:
        if conn.execute(query).first() is None:
            return None
    mine = uuid4().hex
    with store.write() as conn:
        row = conn.execute(query.with_for_update(skip_locked=True, of=outbox)).first()
        if row is None:
            return None
        conn.execute(
            sa.update(outbox)
            .where(outbox.c.key == row.key)
            .values(claim=mine, claimed_until=until, attempts=outbox.c.attempts + 1)
        )
    return Claimed(
        key=row.key,
        claim=mine,
        idempotency_key=row.idempotency_key,
        message=row.message,
        channel=row.channel,
        payload=row.payload,
        attempts=row.attempts + 1,
        created_at=row.created_at,
        given_up=row.next_at is None,
    )


def _next(channels: Collection[str], passed: Collection[int], now: int, *, again: bool) -> sa.Select[Any]:
    """One row: the oldest that is due, in a channel that may be used, with no part before it still to be sent."""
    before, other = outbox.alias("before"), outbox.alias("other")
    earlier = sa.select(before.c.key).where(
        before.c.message == outbox.c.message,
        before.c.channel == outbox.c.channel,
        before.c.part < outbox.c.part,
        before.c.delivered_at.is_(None),
        sa.true() if again else before.c.next_at.is_not(None),
    )
    asked = sa.select(other.c.key).where(
        other.c.channel == outbox.c.channel, other.c.not_before > now, other.c.next_at.is_not(None)
    )
    due = outbox.c.delivered_at.is_(None) if again else sa.and_(outbox.c.next_at <= now, ~asked.exists())
    return (
        sa.select(outbox)
        .where(
            due,
            outbox.c.channel.in_(list(channels)),
            outbox.c.key.not_in(list(passed)),
            sa.or_(outbox.c.claimed_until.is_(None), outbox.c.claimed_until <= now),
            ~earlier.exists(),
        )
        .order_by(outbox.c.key)
        .limit(1)
    )


def delivered(store: Store, row: Claimed, *, now: int) -> None:
    """Note that a row was delivered, whoever may have claimed it since; its text is not kept."""
    payload = {name: value for name, value in row.payload.items() if name not in _TEXTS}
    with store.write() as conn:
        conn.execute(
            sa.update(outbox)
            .where(outbox.c.key == row.key)
            .values(delivered_at=now, next_at=None, not_before=None, claim=None, claimed_until=None, payload=payload)
            .values(reason=None)
        )


def not_delivered(
    store: Store, row: Claimed, *, reason: str, next_at: int | None, not_before: int | None = None
) -> None:
    """Note that a try failed and when the next one is; next_at None: given up, with the parts that come after it."""
    with store.write() as conn:
        changed = conn.execute(
            sa.update(outbox)
            .where(outbox.c.key == row.key, outbox.c.claim == row.claim, outbox.c.delivered_at.is_(None))
            .values(reason=reason, next_at=next_at, not_before=not_before, claim=None, claimed_until=None)
        )
        if next_at is None and changed.rowcount:
            conn.execute(
                sa.update(outbox)
                .where(
                    outbox.c.message == row.message,
                    outbox.c.channel == row.channel,
                    outbox.c.key > row.key,
                    outbox.c.next_at.is_not(None),
                )
                .values(reason=f"the part before it was given up: {reason}", next_at=None)
            )


def give_up_strangers(store: Store, *, channels: Iterable[str], before: int) -> None:
    """Give up what has waited since before an instant for a channel that is not among these."""
    left = sa.and_(outbox.c.next_at.is_not(None), outbox.c.created_at < before, outbox.c.channel.not_in(list(channels)))
    with store.read() as conn:
        if conn.execute(sa.select(outbox.c.key).where(left).limit(1)).first() is None:
            return
    with store.write() as conn:
        conn.execute(
            sa.update(outbox).where(left).values(next_at=None, reason="the settings have no channel of this name")
        )


def listed(conn: sa.Connection, *, now: int, limit: int) -> list[dict[str, Any]]:
    """The outbox as JSON documents, newest first: all that is not delivered, and the last that were."""
    query = sa.select(outbox, runs.c.run_id).join(runs, runs.c.key == outbox.c.run_key, isouter=True)
    newest = outbox.c.key.desc()
    rows = [
        *conn.execute(query.where(outbox.c.delivered_at.is_(None)).order_by(newest)),
        *conn.execute(query.where(outbox.c.delivered_at.is_not(None)).order_by(newest).limit(limit)),
    ]
    return [_document(row, now) for row in sorted(rows, key=lambda row: -row.key)]


def _document(row: Any, now: int) -> dict[str, Any]:
    def instant(value: int | None) -> str | None:
        return None if value is None else format_instant(value)

    return {
        "id": row.idempotency_key,
        "run_id": row.run_id,
        "channel": row.channel,
        "title": row.payload.get("title"),
        "level": row.payload.get("level"),
        "part": row.part,
        "parts": row.payload.get("parts"),
        "state": _state(row, now),
        "attempts": row.attempts,
        "created_at": instant(row.created_at),
        "next_at": instant(row.next_at),
        "delivered_at": instant(row.delivered_at),
        "reason": row.reason,
    }


def _state(row: Any, now: int) -> str:
    if row.delivered_at is not None:
        return "delivered"
    if row.claimed_until is not None and row.claimed_until > now:
        return "being sent"
    return "given up" if row.next_at is None else "waiting"


def forget_messages(conn: sa.Connection, traces: Traces) -> None:
    """
    Take out of the outbox every text that names or quotes a forgotten memory; where part of a message is gone
    already, so that it cannot be told, all that is left of it.
    """
    rows = conn.execute(sa.select(outbox).where(outbox.c.delivered_at.is_(None)).order_by(outbox.c.key)).all()
    messages: dict[tuple[str, str], list[Any]] = {}
    for row in rows:
        messages.setdefault((row.message, row.channel), []).append(row)
    for parts in messages.values():
        whole = len(parts) == parts[0].payload.get("parts")
        text = "".join(map(_told, parts))
        if parts[0].payload.get("level") == "detailed" and (not whole or traces.in_text(text)):
            for row in parts:
                kept = {name: value for name, value in row.payload.items() if name not in _TEXTS}
                payload = kept | {"form": "text", "body": f"This part {STANDS_FOR}, so it is left out."}
                conn.execute(sa.update(outbox).where(outbox.c.key == row.key).values(payload=payload))


def _told(row: Any) -> str:
    """All text of a row, as memories have it."""
    document = row.payload.get("document")
    body = _ESCAPE.sub(r"\1", str(row.payload.get("body", "")))
    return body + (json.dumps(document, ensure_ascii=False) if document else "")
