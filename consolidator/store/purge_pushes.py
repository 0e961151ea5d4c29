"""
What a purge takes away of old pushes: the images by which they could be undone.

What a record was that is removed now stays: it brings the record back when its memory is. So do the images of memories
that are not active: by them it is known what a push has put away.
"""

import sqlalchemy as sa

from consolidator.store.dead import ROWS_A_TRANSACTION
from consolidator.store.tables import memories, push_images, pushes, source_records

_IS_REMOVED = sa.exists().where(
    source_records.c.source_key == pushes.c.source_key,
    source_records.c.id == push_images.c.id,
    source_records.c.removed_at.is_not(None),
)
_GOES = sa.and_(
    sa.exists().where(memories.c.key == push_images.c.memory_key, memories.c.status == "active"), ~_IS_REMOVED
)


def pushes_before(conn: sa.Connection, horizon: int) -> list[int]:
    """The pushes of before an instant that can be undone still, or of which a purge that was killed left something."""
    goes = sa.exists().where(push_images.c.push_key == pushes.c.key, _GOES)
    some = sa.or_(pushes.c.images_purged_at.is_(None), goes)
    old = sa.select(pushes.c.key).where(pushes.c.started_at < horizon, pushes.c.finished_at.is_not(None), some)
    return list(conn.scalars(old.order_by(pushes.c.key)))


def close_push(conn: sa.Connection, push_key: int, *, now: int) -> bool:
    """From now on the push cannot be undone. Returns whether it could until then."""
    this = sa.and_(pushes.c.key == push_key, pushes.c.images_purged_at.is_(None))
    return conn.execute(sa.update(pushes).where(this).values(images_purged_at=now)).rowcount == 1


def delete_images(conn: sa.Connection, push_key: int) -> bool:
    """Delete 20,000 images of a push at most. Returns whether that was all."""
    some = sa.select(push_images.c.id).join(pushes, pushes.c.key == push_images.c.push_key)
    some = some.where(push_images.c.push_key == push_key, _GOES).limit(ROWS_A_TRANSACTION)
    this = sa.and_(push_images.c.push_key == push_key, push_images.c.id.in_(some))
    return conn.execute(sa.delete(push_images).where(this)).rowcount < ROWS_A_TRANSACTION
