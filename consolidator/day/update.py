"""Updating: a text takes the place of a memory's, which stays as history."""

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from consolidator.day.near import nearest
from consolidator.day.place import Place
from consolidator.day.remember import UPDATED, checked, embed, write
from consolidator.day.values import Remembered
from consolidator.errors import BadInput
from consolidator.store.aliases import resolve
from consolidator.store.find import find_identity
from consolidator.store.tables import aliases, identities, memories
from consolidator.store.vectors import pin_of

_INHERITED = ("type", "importance", "topics", "pinned")


def update(place: Place, prefix: str, text: str, given: Mapping[str, Any]) -> Remembered:
    """Put a text in the place of a memory's, as `Memory.update` says, in one transaction."""
    now = place.now()
    with place.store.read() as conn:
        found = find_identity(conn, prefix, place.scope)
        old = resolve(conn, [found.key])[found.key]
        pinned = pin_of(conn)
        before = conn.execute(sa.select(memories).where(memories.c.key == old)).mappings().one_or_none()
    if before is None:
        raise BadInput(f"{prefix}: known only by its events, the memory itself is not in this store")
    own = {name: value for name, value in given.items() if value is not None}
    line, flags = checked(place, text, {**{name: before[name] for name in _INHERITED}, **own}, now=now)
    vector = embed(place, line.content, pinned)
    near = nearest(place, line.id, line.content, vector.pin, vector.values)
    with place.write() as conn:
        scope_key = place.key_to_write(conn)
        there = sa.select(identities.c.hash).join(memories, memories.c.key == identities.c.key)
        name = conn.scalar(there.where(memories.c.key == old).with_for_update(of=memories))
        if name is None:
            raise BadInput(f"{prefix}: was forgotten meanwhile; `remember` takes the text in")
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
