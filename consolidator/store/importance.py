"""
What a memory ages by: its importance and its type, set from outside of the night.

Under a law by importance (see laws/pace.py) the strength of a memory is the replay from its base at the pace of what it
is now. So where such a law is or was in force, the next night replays the memory and derives anew when it fades.
"""

from collections.abc import Iterable

import sqlalchemy as sa

from consolidator.store.engine import keyed
from consolidator.store.tables import NO_LAW, clock_segments, memories


def age_otherwise(conn: sa.Connection, keys: Iterable[int]) -> None:
    """Whoever has changed the importance or the type of memories says so here; their revisions count that already."""
    asked = keyed(conn, key=sorted({*keys}))
    paced = sa.exists().where(clock_segments.c.scope_key == memories.c.scope_key, clock_segments.c.law != NO_LAW)
    conn.execute(sa.update(memories).where(memories.c.key.in_(sa.select(asked.c.key)), paced).values(anew=True))
