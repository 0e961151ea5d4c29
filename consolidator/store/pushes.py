"""What pushes were to write and have written: images before and after, kept before anything is written over there."""

import json
import secrets
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from consolidator.errors import BadInput
from consolidator.instants import format_instant, to_datetime
from consolidator.store.bulk import for_each
from consolidator.store.engine import keyed
from consolidator.store.find import LAST
from consolidator.store.tables import push_images, pushes, source_records, sources

Image = Mapping[str, Any]


class Kept(NamedTuple):
    """
    A record of a push: its memory, its images before and after, and whether it was written.

    Of one that is neither made nor removed, what is changed in it, as `sources/images.py` tells it.
    """

    id: str
    memory_key: int | None
    before: Image | None
    after: Image | None
    done: bool


class PushRow(NamedTuple):
    """A push, and what the store over there called its state before and after."""

    key: int
    push_id: str
    version_before: str | None
    version_after: str | None
    undone_at: int | None
    images_purged_at: int | None


def new_push_id(as_of: int) -> str:
    """A name for a push that no other push or run has."""
    return f"push-{to_datetime(as_of):%Y%m%d-%H%M}-{secrets.token_hex(4)}"


def begin_push(
    conn: sa.Connection, source_key: int, push_id: str, *, as_of: int, started_at: int, version: str | None
) -> int:
    """The key of a push that is under way from now on."""
    row = {
        "push_id": push_id, "source_key": source_key, "as_of": as_of, "started_at": started_at,
        "version_before": version,
    }  # fmt: skip
    return int(conn.scalars(sa.insert(pushes).returning(pushes.c.key), [row]).one())


def keep_images(conn: sa.Connection, push_key: int, images: Iterable[Kept]) -> None:
    """Keep what is about to be written."""
    names = ("push_key", "id", "memory_key", "before", "after", "done")
    rows = [(push_key, one.id, one.memory_key, _text(one.before), _text(one.after), one.done) for one in images]
    bound: dict[str, sa.ColumnElement[Any]] = {name: sa.bindparam(f"new_{name}") for name in names}
    for_each(conn, sa.insert(push_images).values(bound), [f"new_{name}" for name in names], rows)


def settle_images(
    conn: sa.Connection, push_keys: Collection[int], *, done: Collection[str], undone: Collection[str]
) -> None:
    """Of these records of these pushes: what was written is done, of what was not no image is kept."""
    this = sa.and_(push_images.c.push_key == sa.bindparam("push"), push_images.c.id == sa.bindparam("theirs"))
    names = ["push", "theirs"]
    written = sa.update(push_images).where(this).values(done=sa.true())
    for_each(conn, written, names, [(push, name) for push in push_keys for name in done])
    left = sa.delete(push_images).where(this, ~push_images.c.done)
    for_each(conn, left, names, [(push, name) for push in push_keys for name in undone])


def images_of(conn: sa.Connection, push_key: int, *, done: bool) -> list[Kept]:
    """The images of a push that are done, or that are not, in order of their ids."""
    query = sa.select(*(push_images.c[name] for name in Kept._fields))
    query = query.where(push_images.c.push_key == push_key, push_images.c.done == done).order_by(push_images.c.id)
    return [_kept(row) for row in conn.execute(query)]


def unfinished(conn: sa.Connection, source_key: int) -> list[int]:
    """The pushes of a source that were killed, or are under way."""
    query = sa.select(pushes.c.key).where(pushes.c.source_key == source_key, pushes.c.finished_at.is_(None))
    return list(conn.scalars(query.order_by(pushes.c.key)))


def finish_push(conn: sa.Connection, push_key: int, *, at: int, version: str | None) -> None:
    """A push is at its end."""
    this = sa.update(pushes).where(pushes.c.key == push_key)
    conn.execute(this.values(finished_at=at, version_after=version))


def note_pushed(conn: sa.Connection, source_key: int, *, at: int) -> None:
    """A source was told all that was to be told."""
    conn.execute(sa.update(sources).where(sources.c.key == source_key).values(pushed_at=at))


def was_pushed(conn: sa.Connection, source_key: int) -> bool:
    """Whether anything was ever to be written to a source."""
    return conn.scalar(sa.select(sa.exists().where(pushes.c.source_key == source_key))) is True


def find_push(conn: sa.Connection, source_key: int, named: str) -> PushRow:
    """A push of a source by its id, or "last": the latest not undone. BadInput where there is none, or it is undone."""
    query = sa.select(*(pushes.c[name] for name in PushRow._fields)).where(pushes.c.source_key == source_key)
    if named == LAST:
        found = conn.execute(query.where(pushes.c.undone_at.is_(None)).order_by(pushes.c.key.desc()).limit(1)).first()
    else:
        found = conn.execute(query.where(pushes.c.push_id == named)).first()
    if found is None:
        what = "no push is left to undo" if named == LAST else f"there is no push {named}"
        raise BadInput(f"{what} to this source")
    if found.undone_at is not None:
        raise BadInput(f"{named} has been undone already")
    if found.images_purged_at is not None:
        when = format_instant(found.images_purged_at)
        raise BadInput(f"{found.push_id} cannot be undone any more: its images were purged at {when}")
    return PushRow(*found)


def url_of_push(conn: sa.Connection, push_id: str) -> str:
    """The source that a push wrote to. BadInput where there is no such push."""
    query = sa.select(sources.c.url).join(pushes, pushes.c.source_key == sources.c.key)
    url = conn.scalar(query.where(pushes.c.push_id == push_id))
    if url is None:
        raise BadInput(f"{push_id}: there is no such push in this store")
    return str(url)


def newer_push(conn: sa.Connection, source_key: int, push_key: int) -> str | None:
    """The latest push, not undone, that wrote one of the records of this one after it."""
    mine, theirs = push_images.alias("mine"), push_images.alias("theirs")
    query = (
        sa.select(pushes.c.push_id)
        .join(theirs, theirs.c.push_key == pushes.c.key)
        .join(mine, mine.c.id == theirs.c.id)
        .where(mine.c.push_key == push_key, theirs.c.push_key > push_key)
        .where(mine.c.done, theirs.c.done, pushes.c.undone_at.is_(None), pushes.c.source_key == source_key)
        .order_by(pushes.c.key.desc())
        .limit(1)
    )
    return conn.scalar(query)


def note_undone(conn: sa.Connection, push_key: int, *, at: int) -> None:
    """A push is undone."""
    conn.execute(sa.update(pushes).where(pushes.c.key == push_key).values(undone_at=at))


def makers(conn: sa.Connection, source_key: int, ids: Collection[str]) -> dict[str, int]:
    """The last push that made each of these records."""
    return _latest(conn, source_key, ids, push_images.c.before.is_(None), push_images.c.after.is_not(None))


def removers(conn: sa.Connection, source_key: int, ids: Collection[str]) -> dict[str, int]:
    """The last push that removed each of these records, and kept what they were."""
    return _latest(conn, source_key, ids, push_images.c.before.is_not(None), push_images.c.after.is_(None))


def rewriters(conn: sa.Connection, source_key: int, ids: Collection[str]) -> dict[str, int]:
    """The last push that wrote over each of these records."""
    return _latest(conn, source_key, ids, push_images.c.before.is_not(None), push_images.c.after.is_not(None))


def removed_images(conn: sa.Connection, source_key: int, ids: Collection[str]) -> dict[str, Image]:
    """What these records were when a push last removed them."""
    by = removers(conn, source_key, ids)
    found: dict[str, Image] = {}
    for push in {*by.values()}:
        asked = keyed(conn, {"id": sa.Text}, id=sorted(name for name, one in by.items() if one == push))
        query = sa.select(push_images.c.id, push_images.c.before).join(asked, asked.c.id == push_images.c.id)
        found |= {
            name: json.loads(before) for name, before in conn.execute(query.where(push_images.c.push_key == push))
        }
    return found


def forget_images(conn: sa.Connection, keys: Collection[int], *, unwanted: bool) -> None:
    """
    Let memories go from all that is known of other stores: no image of them is kept.

    unwanted: the next push removes their records over there, too.
    """
    conn.execute(sa.delete(push_images).where(push_images.c.memory_key.in_(keys)))
    values: dict[str, Any] = {"memory_key": None} | ({"unwanted": True} if unwanted else {})
    conn.execute(sa.update(source_records).where(source_records.c.memory_key.in_(keys)).values(values))


def _latest(
    conn: sa.Connection, source_key: int, ids: Collection[str], *conditions: sa.ColumnElement[bool]
) -> dict[str, int]:
    if not ids:
        return {}
    asked = keyed(conn, {"id": sa.Text}, id=sorted(ids))
    query = sa.select(push_images.c.id, sa.func.max(push_images.c.push_key)).join(asked, asked.c.id == push_images.c.id)
    query = query.join(pushes, pushes.c.key == push_images.c.push_key)
    query = query.where(
        pushes.c.source_key == source_key, push_images.c.done, *conditions, pushes.c.undone_at.is_(None)
    )
    return dict(conn.execute(query.group_by(push_images.c.id)).all())


def _kept(row: Sequence[Any]) -> Kept:
    name, key, before, after, done = row
    return Kept(name, key, before and json.loads(before), after and json.loads(after), done)


def _text(image: Image | None) -> str | None:
    return None if image is None else json.dumps(image, ensure_ascii=False, separators=(",", ":"))
