"""
What a person decides about a memory by hand: pin, unpin, restore.

Each is one short write that counts the revision of the row up, so a night that has read the row leaves its own
decision out.
"""

from collections.abc import Sequence

import sqlalchemy as sa

from consolidator.store.find import Found
from consolidator.store.tables import aliases, memories


def pin(conn: sa.Connection, found: Sequence[Found], *, pinned: bool) -> list[Found]:
    """Pin memories, or unpin them; those that were not so already are returned."""
    return [
        each
        for each in found
        if conn.execute(
            sa.update(memories)
            .where(memories.c.key == each.key, memories.c.pinned.is_not(pinned))
            .values(pinned=pinned, revision=memories.c.revision + 1)
        ).rowcount
    ]


def restore(conn: sa.Connection, found: Sequence[Found], *, now: int) -> list[Found]:
    """
    Bring archived and superseded memories back, and keep them until an event touches them.

    A restored memory is itself again: its alias goes, so that its events reach it and no longer the memories that
    it led to, and so does a time to live that has passed, or the next night would archive it again. Those that
    were active already are left as they are; the others are returned.
    """
    back = []
    for each in found:
        changed = conn.execute(
            sa.update(memories)
            .where(memories.c.key == each.key, memories.c.status != "active")
            .values(
                status="active",
                archived_at=None,
                archived_because=None,
                superseded_by=None,
                kept=True,
                expires_at=sa.case((memories.c.expires_at <= now, None), else_=memories.c.expires_at),
                revision=memories.c.revision + 1,
            )
        ).rowcount
        if changed:
            for heir in heirs(conn, each.key):
                conn.execute(sa.update(memories).where(memories.c.key == heir).values(revision=memories.c.revision + 1))
            conn.execute(sa.delete(aliases).where(aliases.c.old_key == each.key))
            back.append(each)
    return back


def heirs(conn: sa.Connection, key: int) -> list[int]:
    """The memories that a memory's aliases lead to, nearest first."""
    found: list[int] = []
    while True:
        following = conn.scalar(sa.select(aliases.c.new_key).where(aliases.c.old_key == (found or [key])[-1]))
        if following is None or following == key or following in found:
            return found
        found.append(following)
