"""
After a push or the undo of one was killed: what it had written by then, found by its fingerprint, and what it had not.

What is neither as before nor as after was edited by somebody; that is left to the next pull.
"""

from collections.abc import Mapping

import sqlalchemy as sa

from consolidator.sources.images import became
from consolidator.sources.port import Source
from consolidator.store.bulk import portions
from consolidator.store.engine import Store
from consolidator.store.pushes import Kept, finish_push, images_of, settle_images, unfinished
from consolidator.store.sourced import NEW, REMOVED, Mapped, read_map, standings, write_map

AT_ONCE = 500


def settle(store: Store, source: Source, source_key: int, *, at: int) -> None:
    """Bring the map and the images of a source that is held up to what is true over there."""
    with store.read() as conn:
        waits = {name: row for name, row in read_map(conn, source_key).items() if row.expected is not None}
        killed = unfinished(conn, source_key)
    for some in portions(sorted(waits), AT_ONCE):
        there = source.look(some)
        found = {name: source.fingerprint(image) for name, image in there.items()}
        with store.write() as conn:
            rows = {name: row for name, row in read_map(conn, source_key, some).items() if row.expected is not None}
            settled = {name: _settled(row, found.get(name), at=at) for name, row in rows.items()}
            vanished = _vanished(conn, source_key, rows, found)
            done = {name for name, row in rows.items() if (found.get(name) or REMOVED) == row.expected} | vanished
            kept = {name: row for name, row in settled.items() if row is not None}
            kept |= {
                name: rows[name]._replace(fingerprint=rows[name].expected or "", expected=None) for name in vanished
            }
            write_map(conn, source_key, rows, kept)
            settle_images(conn, killed, done=done, undone=rows.keys() - done)
    for push in killed:
        with store.write() as conn:
            _settle_rest(conn, source, source_key, push)
            finish_push(conn, push, at=at, version=None)


def _settled(row: Mapped, found: str | None, *, at: int) -> Mapped | None:
    """A record as it is known from now on; None: it was to be made, and was not."""
    if row.expected == REMOVED:
        return row._replace(expected=None, removed_at=row.removed_at if found else at)
    if found is not None and found == row.expected:
        return row._replace(fingerprint=found, expected=None, removed_at=None, gone_at=None)
    if row.fingerprint == NEW:
        return None if found is None else row._replace(fingerprint=row.expected or "", expected=None)
    return row._replace(expected=None)


def _vanished(conn: sa.Connection, source_key: int, rows: Mapping[str, Mapped], found: Mapping[str, str]) -> set[str]:
    """
    New records that were written and are no more: what they took the place of was removed, which is done after them.

    They are gone by another hand, and the next pull says so.
    """
    lost = {row.memory_key: name for name, row in rows.items() if row.fingerprint == NEW and name not in found}
    if not lost:
        return set()
    all_rows = read_map(conn, source_key)
    stands = standings(conn, {row.memory_key for row in all_rows.values() if row.memory_key is not None})
    removed = {
        stands[row.memory_key].superseded_by
        for name, row in all_rows.items()
        if row.memory_key in stands and (row.removed_at is not None or (row.expected == REMOVED and name not in found))
    }
    return {name for key, name in lost.items() if key in removed}


def _settle_rest(conn: sa.Connection, source: Source, source_key: int, push: int) -> None:
    """Images that a pull has settled the records of, or of which a record was never in the map."""
    left = images_of(conn, push, done=False)
    rows = read_map(conn, source_key, [one.id for one in left])
    done = {one.id for one in left if _is_as_after(source, one, rows.get(one.id))}
    settle_images(conn, [push], done=done, undone={one.id for one in left} - done)


def _is_as_after(source: Source, kept: Kept, row: Mapped | None) -> bool:
    if row is None:
        return False
    if kept.after is None:
        return row.removed_at is not None
    return row.removed_at is None and row.fingerprint == became(source, kept)
