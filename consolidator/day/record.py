"""
The record of a day: which memories were shown in a turn, and which of them were used.

Only ever added to. What is here by (session, turn, memory, mode) is not added again.
"""

import json
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import NamedTuple
from uuid import uuid4

import sqlalchemy as sa

from consolidator.exchange.desk import Desk
from consolidator.exchange.fields import MOST_NAME_BYTES
from consolidator.laws.strength import CONFIDENCE
from consolidator.store.tables import attributions, exposures, identities, memories, turns

NO_SESSION = "default"  # of a turn for which no session was named: an exposure belongs to one

Showing = tuple[int, str, float | None, str | None]  # memory, mode, score, retrieval mode


_TURN = (
    sa.select(turns.c.key)
    .where(turns.c.scope_key == sa.bindparam("scope_key"))
    .where(turns.c.turn_id == sa.bindparam("turn"), turns.c.session_id == sa.bindparam("session"))
    .with_for_update()
)
_HERE = (
    sa.select(identities.c.key)
    .where(identities.c.key.in_(sa.bindparam("keys", expanding=True)))
    .with_for_update(read=True, key_share=True)
)


class Shown(NamedTuple):
    """A memory as it was shown in a turn."""

    key: int
    id: str
    content: str
    mode: str


def new_turn() -> str:
    """The name of a turn that nobody named."""
    return uuid4().hex


def sighting() -> tuple[str, str]:
    """The session and the turn of a text that is remembered again outside of any."""
    return NO_SESSION, f"sighting-{uuid4().hex}"


def message_of(session: str, turn: str) -> str:
    """The message by which the ratings of a turn are kept: all of a memory in one turn are of one message."""
    name = json.dumps([session, turn], ensure_ascii=False)
    return name if len(name.encode()) <= MOST_NAME_BYTES else sha256(name.encode()).hexdigest()


def turn_key(conn: sa.Connection, scope_key: int, session: str, turn: str) -> int:
    """The key of a turn, made where it is new; others who write to it wait until this transaction ends."""
    names = {"scope_key": scope_key, "turn": turn, "session": session}
    key: int | None = conn.scalar(_TURN, names)
    if key is None:
        Desk(conn).turn_keys(scope_key, [(turn, session)])
        key = conn.scalars(_TURN, names).one()
    return key


def record_shown(
    conn: sa.Connection, scope_key: int, session: str, turn: str, shown: Sequence[Showing], *, at: int
) -> int:
    """Add that memories were shown in a turn, in the caller's transaction. Returns how many are new."""
    here = _still_here(conn, (key for key, *_ in shown))
    rows = [
        {
            "scope_key": scope_key, "memory_key": memory, "mode": mode, "score": score,
            "retrieval_mode": retrieval_mode, "at": at,
        }
        for memory, mode, score, retrieval_mode in shown
        if memory in here
    ]  # fmt: skip
    if not rows:
        return 0
    key = turn_key(conn, scope_key, session, turn)
    return Desk(conn).add(exposures, ("turn_key", "memory_key", "mode"), [{**row, "turn_key": key} for row in rows])


def record_used(
    conn: sa.Connection, scope_key: int, session: str, turn: str, used: Sequence[tuple[int, str]], *, at: int
) -> int:
    """Add that memories were used in a turn: (memory, evidence), each evidence of a memory once. How many are new."""
    here = _still_here(conn, (key for key, _ in used))
    if not here:
        return 0
    key, message = turn_key(conn, scope_key, session, turn), message_of(session, turn)
    query = sa.select(attributions.c.memory_key, attributions.c.evidence)
    known = {tuple(row) for row in conn.execute(query.where(attributions.c.turn_key == key))}
    rows = [
        {
            "scope_key": scope_key, "turn_key": key, "message_id": message, "memory_key": memory,
            "evidence": evidence, "confidence": CONFIDENCE[evidence], "at": at,
        }
        for memory, evidence in dict.fromkeys(used)
        if memory in here and (memory, evidence) not in known
    ]  # fmt: skip
    if rows:
        conn.execute(sa.insert(attributions), rows)
    return len(rows)


def shown_in(conn: sa.Connection, scope_key: int, session: str, turn: str, modes: Sequence[str]) -> list[Shown]:
    """The memories that were shown in a turn in one of these modes, whoever recorded it, in order of their keys."""
    query = (
        sa.select(memories.c.key, identities.c.hash, memories.c.content, exposures.c.mode)
        .select_from(turns)
        .join(exposures, exposures.c.turn_key == turns.c.key)
        .join(memories, memories.c.key == exposures.c.memory_key)
        .join(identities, identities.c.key == memories.c.key)
        .where(turns.c.scope_key == scope_key, turns.c.turn_id == turn, turns.c.session_id == session)
        .where(exposures.c.mode.in_(modes))
        .order_by(memories.c.key, exposures.c.mode)
    )
    return [Shown(*row) for row in conn.execute(query)]


def _still_here(conn: sa.Connection, keys: Iterable[int]) -> set[int]:
    """Those of these ids that the store knows; none of them is forgotten before the transaction ends."""
    wanted = sorted({*keys})
    return set(conn.scalars(_HERE, {"keys": wanted})) if wanted else set()
