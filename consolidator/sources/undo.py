"""
Undoing a push: the records that it wrote are as they were before it.

As with the undo of a night, what our store says stays as it is: the next push tells it again. To take a night back over
there too, undo the night, and push.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from consolidator.errors import BadInput
from consolidator.sources.images import became, before_over, was
from consolidator.sources.port import Source, Write
from consolidator.sources.settle import AT_ONCE, settle
from consolidator.store.bulk import portions
from consolidator.store.engine import Store
from consolidator.store.locks import Clock, hold_source
from consolidator.store.pushes import Kept, PushRow, find_push, images_of, newer_push, note_undone
from consolidator.store.sourced import NEW, REMOVED, Mapped, find_source, holds_unwanted, read_map, write_map

CHANGED = "has changed since the push"


@dataclass(frozen=True, slots=True)
class UndonePush:
    """What undoing a push gave back: how many records, and those refused because they changed since, a line each."""

    push_id: str
    restored: int
    refused: tuple[str, ...]

    @property
    def exit_code(self) -> int:
        """3 where a record was refused."""
        return 3 if self.refused else 0


def undo_push(store: Store, source: Source, push_id: str, *, wall_clock: Clock) -> UndonePush:
    """
    Take back what a push (its id, or "last": the latest not undone) wrote to a source.

    As a whole where the source keeps versions and nobody has written since; else record by record, and one changed
    since is refused and listed. What was forgotten here stays away. BadInput where the push is unknown or undone
    already, or a newer one wrote one of its records.
    """
    with store.read() as conn:
        found = find_source(conn, source.url)
    if found is None:
        raise BadInput(f"{source.url}: was never pulled into this store, so there is no push to undo")
    key = int(found.key)
    with hold_source(store, key, wall_clock=wall_clock):
        settle(store, source, key, at=wall_clock())
        with store.read() as conn:
            push = find_push(conn, key, push_id)
            newer = newer_push(conn, key, push.key)
            kept = images_of(conn, push.key, done=True)
            whole = not holds_unwanted(conn, key)
        if newer is not None:
            raise BadInput(f"{newer} came after {push.push_id} and wrote the same records; undo {newer} first")
        refused = [] if whole and _went_back(store, source, key, push, kept) else _one_by_one(store, source, key, kept)
        with store.write() as conn:
            note_undone(conn, push.key, at=wall_clock())
    return UndonePush(push.push_id, len(kept) - len(refused), tuple(refused))


def _went_back(store: Store, source: Source, key: int, push: PushRow, kept: Sequence[Kept]) -> bool:
    if push.version_before is None or push.version_after is None or source.version() != push.version_after:
        return False
    _expect(store, source, key, kept)
    went = source.go_back(push.version_before, push.version_after)
    with store.write() as conn:
        _settle(conn, source, key, {one.id: went for one in kept}, kept)
    return went


def _one_by_one(store: Store, source: Source, key: int, kept: Sequence[Kept]) -> list[str]:
    """What is to be there again first; then what was made goes, unless a text that it took the place of is refused."""
    refused: list[str] = []
    made = [one for one in kept if one.before is None]
    held = False
    for some in portions([one for one in kept if one.before is not None], AT_ONCE):
        left = _write_back(store, source, key, some)
        held |= any(one.after is None for one in left)
        refused += [f"{one.id}: {CHANGED}" for one in left]
    if held:
        return [*refused, *(f"{one.id}: stays, for a record that it took the place of was refused" for one in made)]
    for some in portions(made, AT_ONCE):
        refused += [f"{one.id}: {CHANGED}" for one in _write_back(store, source, key, some)]
    return refused


def _write_back(store: Store, source: Source, key: int, kept: Sequence[Kept]) -> list[Kept]:
    """Give these records back. Returns those that are refused."""
    there = source.look([one.id for one in kept])
    ended: dict[str, bool] = {}
    writes: list[Write] = []
    for one in kept:
        now = there.get(one.id)
        found = None if now is None else source.fingerprint(now)
        before = before_over(now, one)
        if now == before or (found != became(source, one) and found == was(source, one)):
            ended[one.id] = True
        elif found == became(source, one):
            writes.append(Write(one.id, now, before))
    ids = {each.id for each in writes}
    _expect(store, source, key, [one for one in kept if one.id in ids])
    done = source.write(writes) if writes else {}
    ended |= {name: name in done and done[name].conflict is None for name in ids}
    with store.write() as conn:
        _settle(conn, source, key, ended, kept)
    return [one for one in kept if not ended.get(one.id)]


def _expect(store: Store, source: Source, key: int, kept: Sequence[Kept]) -> None:
    """Killed from here on, the next push or pull finds out what was done by then."""
    with store.write() as conn:
        rows = read_map(conn, key, [one.id for one in kept])
        expected = {one.id: was(source, one) or REMOVED for one in kept}
        write_map(conn, key, rows, {name: row._replace(expected=expected[name]) for name, row in rows.items()})


def _settle(conn: sa.Connection, source: Source, key: int, ended: Mapping[str, bool], kept: Sequence[Kept]) -> None:
    """What is as it was before the push is known as that, and the next push has all to say of it again."""
    rows = read_map(conn, key, [*ended])
    known: dict[str, Mapped] = {name: row._replace(expected=None) for name, row in rows.items()}
    for one in kept:
        if not ended.get(one.id):
            continue
        fingerprint = was(source, one)
        if fingerprint is None:
            known.pop(one.id, None)
        else:
            row = rows.get(one.id) or Mapped(one.memory_key, NEW)
            told = row._replace(fingerprint=fingerprint, expected=None, revision=None)
            known[one.id] = told._replace(gone_at=None, removed_at=None)
    write_map(conn, key, rows, known)
