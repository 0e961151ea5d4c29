"""Ratings: what an agent or a person says of a memory, from 1 to 5, for one turn. The latest of a turn counts."""

from typing import NamedTuple

import sqlalchemy as sa

from consolidator.day.given import named
from consolidator.day.place import Place
from consolidator.day.record import NO_SESSION, message_of, turn_key
from consolidator.day.values import Rated
from consolidator.errors import BadInput
from consolidator.laws.strength import CONFIDENCE, EXPLICIT
from consolidator.store.aliases import members, resolve
from consolidator.store.find import Found, find_identity
from consolidator.store.tables import attributions, exposures, turns

LEAST, MOST = 1, 5
_EVIDENCE = {
    1: "agent_feedback_negative",
    2: "agent_feedback_negative",
    3: "agent_feedback_neutral",
    4: "agent_feedback_positive",
    5: "agent_feedback_positive",
}


class Where(NamedTuple):
    """A turn by its names."""

    session: str
    turn: str


def rate(
    place: Place,
    prefix: str,
    rating: int,
    *,
    session: str | None = None,
    turn: str | None = None,
    made: bool = False,
) -> Rated:
    """
    Record a rating, as `Memory.rate` says. made: the turn is the caller's own, and may be new.

    It comes later than the one before it in its turn, whatever the clock says.
    """
    if isinstance(rating, bool) or not isinstance(rating, int) or not LEAST <= rating <= MOST:
        raise BadInput(f"rating: {rating!r} is not a whole number from {LEAST} (it misled) to {MOST} (it helped)")
    for field, value in (("session", session), ("turn", turn)):
        if value is not None:
            named(field, value)
    evidence = _EVIDENCE[rating]
    now = place.now()
    with place.write() as conn:
        found = find_identity(conn, prefix, place.scope)
        where = Where(session or NO_SESSION, turn or "") if made else _turn_of(conn, found, session, turn)
        key = turn_key(conn, found.scope.key, *where)
        message = _message(conn, key, found.key) or message_of(*where)
        last = conn.execute(
            sa.select(attributions.c.at, attributions.c.evidence)
            .where(attributions.c.message_id == message, attributions.c.memory_key == found.key)
            .where(attributions.c.evidence.in_(EXPLICIT))
            .order_by(attributions.c.at.desc(), attributions.c.key.desc())
            .limit(1)
        ).one_or_none()
        known = last is not None and last.evidence == evidence
        if not known:
            conn.execute(
                sa.insert(attributions).values(
                    scope_key=found.scope.key,
                    turn_key=key,
                    message_id=message,
                    memory_key=found.key,
                    evidence=evidence,
                    confidence=CONFIDENCE[evidence],
                    at=now if last is None else max(now, last.at + 1),
                )
            )
    return Rated(found.id, rating, evidence, CONFIDENCE[evidence], where.session, where.turn, known)


def _message(conn: sa.Connection, turn: int, memory: int) -> str | None:
    """The message that what is known of a memory in a turn is of, where another system has named it."""
    of_memory = sa.select(attributions.c.message_id).where(
        attributions.c.turn_key == turn, attributions.c.memory_key == memory
    )
    return conn.scalar(of_memory.order_by(attributions.c.at.desc(), attributions.c.key.desc()).limit(1))


def _turn_of(conn: sa.Connection, found: Found, session: str | None, turn: str | None) -> Where:
    """
    The turn that a rating is for: the one named, else the latest in which the memory was shown; else one of its own.
    """
    if turn is not None:
        return _named(conn, found.scope.key, session, turn)
    shown = sa.select(turns.c.session_id, turns.c.turn_id).join(exposures, exposures.c.turn_key == turns.c.key)
    shown = shown.where(exposures.c.mode != "tool_store")
    latest = shown.order_by(exposures.c.at.desc(), exposures.c.key.desc()).limit(1)
    if session is not None:
        latest = latest.where(turns.c.session_id == session)
    end = resolve(conn, [found.key])[found.key]
    for keys in ([found.key], sorted(members(conn, [end])[end])):
        row = conn.execute(latest.where(exposures.c.memory_key.in_(keys))).one_or_none()
        if row is not None:
            return Where(row.session_id or NO_SESSION, row.turn_id)
    if session is not None:
        raise BadInput(f"session {session!r}: the memory {found.id[:12]} was not shown in it; leave the session out")
    return Where(NO_SESSION, f"rating-{found.id}")


def _named(conn: sa.Connection, scope_key: int, session: str | None, turn: str) -> Where:
    query = sa.select(turns.c.session_id).where(turns.c.scope_key == scope_key, turns.c.turn_id == turn)
    if session is not None:
        query = query.where(turns.c.session_id == session)
    sessions = sorted(conn.scalars(query))
    if not sessions:
        where = "" if session is None else f" of session {session!r}"
        raise BadInput(f"turn {turn!r}{where}: nothing was recorded in it; leave it out for the latest")
    if len(sessions) > 1:
        raise BadInput(f"turn {turn!r} is in several sessions: {', '.join(sessions[:5])}; say which")
    return Where(sessions[0] or NO_SESSION, turn)
