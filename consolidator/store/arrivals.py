"""When memories were taken in: an activity of the person's agent, which the night's own work never is."""

import sqlalchemy as sa

from consolidator.store.tables import UNSCHEDULED, memories


def arrivals(conn: sa.Connection, scope_key: int, *, now: int) -> dict[int, int]:
    """
    When each memory that no night has seen was taken in, where that was at or before `now`.

    What merging wrote was never taken in; what has taken others in was so at the first of its bases.
    """
    query = sa.select(memories.c.key, memories.c.base_at, memories.c.lives).where(
        memories.c.scope_key == scope_key, UNSCHEDULED, memories.c.base_at <= now, memories.c.source != "consolidation"
    )
    return {key: lives[0][1] if lives else base_at for key, base_at, lives in conn.execute(query)}
