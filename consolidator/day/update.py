"""Updating: a text takes the place of a memory's, which stays as history."""

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from consolidator.day.near import nearest
from consolidator.day.place import Place
from consolidator.day.remember import SEEK_NEAR, checked, embed, write
from consolidator.day.values import Remembered
from consolidator.errors import BadInput
from consolidator.store.aliases import UPDATED, resolve
from consolidator.store.find import find_identity
from consolidator.store.tables import aliases, identities, memories
from consolidator.store.vectors import pin_of

_UPDATES = 0x5570  # the name of the turn in which updates come, beside the number of their scope
_INHERITED = ("type", "importance", "topics", "pinned")


def update(place: Place, prefix: str, text: str, given: Mapping[str, Any]) -> Remembered:
    """
    Put a text in the place of a memory's, as `Memory.update` says, in one transaction.

    What takes its place meanwhile, another update or a merge, is what this one replaces: one text stays.
    """
    now = place.now()
    own = {name: value for name, value in given.items() if value is not None}
    seek_near = own.pop(SEEK_NEAR, False)
    with place.store.read() as conn:
        found = find_identity(conn, prefix, place.scope)
        pinned = pin_of(conn)
        known = conn.scalar(sa.select(memories.c.key).where(memories.c.key == resolve(conn, [found.key])[found.key]))
    if known is None:
        raise BadInput(f"{prefix}: known only by its events, the memory itself is not in this store")
    line, _ = checked(place, text, own, now=now)
    vector = embed(place.embedder_by(pinned), line.content)
    near = nearest(place, line.id, line.content, vector.pin, vector.values) if seek_near else None
    with place.write() as conn:
        scope_key = place.key_to_write(conn)
        before = _held(conn, scope_key, found.key)
        if before is None:
            raise BadInput(f"{prefix}: was forgotten meanwhile; `remember` takes the text in")
        old, name = before["key"], before["hash"]
        line, flags = checked(place, text, {**{each: before[each] for each in _INHERITED}, **own}, now=now)
        written = write(conn, scope_key, place.scope, line, vector, now=now, comes_back=True)
        if written.key != old:
            conn.execute(
                sa.update(memories)
                .where(memories.c.key == old)
                .values(
                    status="superseded",
                    superseded_by=written.key,
                    archived_at=None,
                    archived_because=None,
                    revision=memories.c.revision + 1,
                )
            )
            conn.execute(sa.delete(aliases).where(aliases.c.old_key == old))
            conn.execute(
                sa.insert(aliases).values(old_key=old, scope_key=scope_key, new_key=written.key, reason=UPDATED, at=now)
            )
    return Remembered(
        written.id,
        known=written.known,
        near=None if near == name else near,
        flags=(*flags, *written.flags),
        because=None if written.known else vector.because,
    )


def _held(conn: sa.Connection, scope_key: int, key: int) -> sa.RowMapping | None:
    """
    The memory that an id leads to, and its name; nobody else changes it until the end of the transaction. None: gone.

    Updates of a scope come one after the other: of two at once that swap their texts, each would supersede the other.
    """
    if conn.dialect.name == "postgresql":  # SQLite has one writer
        turn = sa.func.pg_advisory_xact_lock(sa.cast(_UPDATES, sa.Integer), sa.cast(scope_key % 2**31, sa.Integer))
        conn.execute(sa.select(turn))
    there = sa.select(memories, identities.c.hash).join(identities, memories.c.key == identities.c.key)
    while True:
        old = resolve(conn, [key])[key]
        row = conn.execute(there.where(memories.c.key == old).with_for_update(of=memories)).mappings().one_or_none()
        if row is None or resolve(conn, [key])[key] == old:
            return row
