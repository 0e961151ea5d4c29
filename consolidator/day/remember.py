"""
Remembering: one text becomes a memory, or is seen again.

Embedding and judging come first, with nothing open; what is written is one short transaction, all of it or nothing.
No strength and no link is changed: what is here already is only seen again.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from consolidator.day import door
from consolidator.day.given import line_of
from consolidator.day.near import nearest, says_all
from consolidator.day.place import INSERTS, Place
from consolidator.day.record import record_shown, sighting
from consolidator.day.values import FLAGS, Remembered
from consolidator.embedding.choose import Choice
from consolidator.embedding.port import EmbedderFailed
from consolidator.exchange.intake import take_in
from consolidator.exchange.records import MemoryLine
from consolidator.exchange.remembered import row_of
from consolidator.merging.secrets import find_secrets
from consolidator.store.aliases import UPDATED, resolve
from consolidator.store.care import restore
from consolidator.store.find import Found, Scope
from consolidator.store.tables import aliases, embeddings, identities, memories, tombstones
from consolidator.store.vectors import LONGEST_TEXT, Pin, pin

SOURCE = "agent_tool"
GIVEN = frozenset({
    "type", "anchor", "end", "recurrence", "importance", "topics", "pinned", "expires_at", "observed_at", "metadata",
})  # fmt: skip
SEEK_NEAR = "seek_near"
BROUGHT_BACK, MERGED, FORGOTTEN_BEFORE = "brought_back", "merged", "forgotten_before"


# Made once: what is said anew for each text costs more than what it does.
_HERE = (
    sa.select(identities.c.key, memories.c.status, memories.c.content)
    .select_from(identities.outerjoin(memories, memories.c.key == identities.c.key))
    .where(identities.c.scope_key == sa.bindparam("scope_key"), identities.c.hash == sa.bindparam("name"))
)
_NAMED = {
    name: insert(identities).on_conflict_do_nothing(index_elements=("scope_key", "hash")).returning(identities.c.key)
    for name, insert in INSERTS.items()
}
_LIFT = sa.delete(tombstones).where(
    tombstones.c.scope_key == sa.bindparam("scope_key"), tombstones.c.hash == sa.bindparam("name")
)
_WRITTEN = sa.insert(memories)
_EMBEDDED = {
    name: insert(embeddings).on_conflict_do_nothing(index_elements=("memory_key", "model"))
    for name, insert in INSERTS.items()
}


class Here(NamedTuple):
    """A memory that holds exactly a text, as it stands. status None: known by name alone."""

    key: int
    status: str | None
    content: str | None


class Vector(NamedTuple):
    """The vector of a text and its model; or why there is none."""

    pin: Pin | None = None
    values: NDArray[np.float32] | None = None
    because: str | None = None


class Written(NamedTuple):
    """What was written: the memory's key, its id, whether it was here, and what is to be said of it."""

    key: int
    id: str
    known: bool
    flags: tuple[str, ...] = ()
    embedded: bool = False


def remember(place: Place, text: str, given: Mapping[str, Any], *, turn: tuple[str, str] | None = None) -> Remembered:
    """
    Take a text in, as `Memory.remember` says. Refused at the door, BadInput where what was given beside it is wrong.

    turn: the session and the turn in which it is remembered.
    """
    now = place.now()
    given = dict(given)
    seek_near = given.pop(SEEK_NEAR, False)
    line, flags = checked(place, text, given, now=now)
    pinned, known = place.pinned(), None
    choice = place.embedder_by(pinned)
    if (
        choice.embedder is not None and not choice.embedder.local
    ):  # nobody is paid for the vector of a text that has one
        with place.store.read() as conn:
            known = here(conn, place.key(conn), line.id)
    vector = Vector() if known and known.status else embed(choice, line.content)
    near = nearest(place, line.id, line.content, vector.pin, vector.values) if seek_near else None
    with place.write() as conn:
        written = write(conn, place.key_to_write(conn), place.scope, line, vector, now=now, new=known is None)
        if written.known or turn is not None:
            session, name = turn or sighting()
            record_shown(
                conn, place.key_to_write(conn), session, name, [(written.key, "tool_store", None, None)], at=now
            )
    if written.known:
        return Remembered(written.id, known=True, flags=(*flags, *written.flags))
    if vector.pin is not None and not written.embedded:
        place.forget_pin()
        vector = Vector(because="the store has gone over to another model; the night embeds it")
    return Remembered(written.id, near=near, flags=(*flags, *written.flags), because=vector.because)


def checked(place: Place, text: str, given: Mapping[str, Any], *, now: int) -> tuple[MemoryLine, tuple[str, ...]]:
    """The memory that a text makes, and what the door sees in it. Refused, or BadInput, where it makes none."""
    if unknown := given.keys() - GIVEN:
        raise TypeError(f"a memory has no {', '.join(sorted(unknown))}")
    flags = door.judge(text, place.settings.day)
    line = line_of(text.strip(), given, now=now, source=SOURCE)
    beside = {"type": line.type, "topics": line.topics, "metadata": line.metadata}
    flags = tuple(dict.fromkeys((*flags, *door.judge_beside(beside, place.settings.day))))
    if flags:
        flagged = {**given, "metadata": {**(line.metadata or {}), FLAGS: list(flags)}}
        line = line_of(text.strip(), flagged, now=now, source=SOURCE)
    if line.expires_at is None and not line.pinned:
        line = replace(line, expires_at=place.settings.day.expiry(place.scope, now))
    return line, flags


def here(conn: sa.Connection, scope_key: int | None, name: str) -> Here | None:
    """The memory of this id in a scope; None where nobody knows the id."""
    if scope_key is None:
        return None
    found = conn.execute(_HERE, {"scope_key": scope_key, "name": name}).one_or_none()
    return None if found is None else Here(*found)


def embed(choice: Choice, text: str) -> Vector:
    """The vector of a text by the store's model; of one with a secret only on this machine."""
    embedder = choice.embedder
    if embedder is None:
        return Vector(because=choice.why)
    if not embedder.local and find_secrets(text):
        return Vector(because="it holds a secret, which goes to no other machine")
    try:
        values = embedder.passages([text[:LONGEST_TEXT]])[0]
    except EmbedderFailed as failed:
        return Vector(because=f"{failed}; the night embeds it")
    if embedder.dimension is None or not len(values):
        return Vector(because="the embedder gave no vector; the night embeds it")
    return Vector(Pin(embedder.model, embedder.dimension), values)


def write(
    conn: sa.Connection,
    scope_key: int,
    scope: str,
    line: MemoryLine,
    vector: Vector,
    *,
    now: int,
    new: bool = False,
    comes_back: bool = False,
) -> Written:
    """
    Write a memory in the caller's transaction, or find the one that is here.

    new: nobody knew its id a moment ago. comes_back: one that is not active comes back whatever another one says.
    Otherwise a text that was merged into another is seen there, if that one still says all of it.
    """
    key: int | None = None
    known = None
    if new:
        key = conn.scalar(_NAMED[conn.dialect.name], {"scope_key": scope_key, "hash": line.id})
    if key is None:
        known = here(conn, scope_key, line.id)
        if known is None:
            return write(conn, scope_key, scope, line, vector, now=now, new=True)
        if known.status == "active":
            return Written(known.key, line.id, known=True)
        if known.status is not None:
            return _seen_again(conn, scope_key, scope, known, line, now=now, comes_back=comes_back)
    lifted = conn.execute(_LIFT, {"scope_key": scope_key, "name": line.id}).rowcount
    if known is None:
        assert key is not None
        conn.execute(_WRITTEN, row_of(line, key, scope_key, now, None))
    else:  # events know it by name, and wait for it
        take_in(conn, [line], now=now, scope=scope)
        key = known.key
    embedded = False
    if vector.pin is not None and vector.values is not None and pin(conn, vector.pin) == vector.pin:
        blob = np.ascontiguousarray(vector.values, "<f4").tobytes()
        row = {"memory_key": key, "model": vector.pin.model, "dimension": vector.pin.dimension, "vector": blob}
        conn.execute(_EMBEDDED[conn.dialect.name], row)
        embedded = True
    return Written(key, line.id, known=False, flags=(FORGOTTEN_BEFORE,) if lifted else (), embedded=embedded)


def _seen_again(
    conn: sa.Connection, scope_key: int, scope: str, known: Here, line: MemoryLine, *, now: int, comes_back: bool
) -> Written:
    """
    One that is archived or superseded is said again.

    If it was merged into a text that says all of it, it is that one that is seen. Else it comes back, as `restore`
    brings it, and is observed now: what it says holds again, and no longer what had taken its place.
    """
    heir = resolve(conn, [known.key])[known.key]
    if heir != known.key and not comes_back:
        reason = conn.scalar(sa.select(aliases.c.reason).where(aliases.c.old_key == known.key))
        query = sa.select(identities.c.hash, memories.c.content, memories.c.status).join(
            identities, identities.c.key == memories.c.key
        )
        other = conn.execute(query.where(memories.c.key == heir)).one_or_none()
        if (
            other is not None
            and other.status == "active"
            and reason != UPDATED
            and says_all(other.content, line.content)
        ):
            return Written(heir, other.hash, known=True, flags=(MERGED,))
    restore(conn, [Found(known.key, line.id, Scope(scope_key, scope, ""), known.content, known.status)], now=now)
    observed = now if line.observed_at is None else line.observed_at
    expires = sa.func.coalesce(memories.c.expires_at, line.expires_at)
    told = {"observed_at": observed, "fresh": True, "expires_at": expires}
    conn.execute(sa.update(memories).where(memories.c.key == known.key).values(told))
    return Written(known.key, line.id, known=True, flags=(BROUGHT_BACK,))
