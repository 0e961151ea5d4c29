"""
Writes, in rounds: look what is there now, judge, write under the condition that it is still so, and look again.

A condition names a row's id, text and metadata as they were a moment ago, and LanceDB tries a write anew on what others
have made of the table meanwhile; so a row that was changed in between is left alone, and the next round sees it.
Metadata is set as one column, so what others change in other columns stays.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import pyarrow as pa

from consolidator.sources.lance.flavours import SCRATCH
from consolidator.sources.lance.metadata import parsed, with_members
from consolidator.sources.lance.rendering import OWNED
from consolidator.sources.lance.table import NEVER, Table, equals, picked, quoted
from consolidator.sources.port import Done, Image, Write

ROUNDS = 8
ROWS_AT_ONCE = 100
CHARACTERS_AT_ONCE = 1_000_000  # of texts and metadata in one statement
UNINDEXED = 20  # rows that a search reads one by one before the index takes them in, as memory-lancedb-pro counts

EDITED, REMOVED, THERE = "was edited over there meanwhile", "was removed over there meanwhile", "is there already"
BUSY = "is written by others all the time"


T = TypeVar("T")


@dataclass(slots=True)
class _Round:
    """What one round is to write. metadata: by id, the row as it is and what its metadata is to be."""

    made: dict[str, Image]
    changed: dict[str, tuple[Image, str | None]]
    removed: dict[str, Image]


class Writing:
    """
    Writes to one table. commits: how many versions it has made.
    """

    def __init__(self, table: Table, fingerprint: Callable[[Image], str], *, metadata: bool) -> None:
        self.table, self.fingerprint, self.metadata = table, fingerprint, metadata
        self.commits = 0

    def __call__(self, writes: Sequence[Write]) -> dict[str, Done]:
        """See the port."""
        done: dict[str, Done] = {}
        waiting = {each.id: each for each in writes if each.id != SCRATCH}
        began = self.commits
        for _ in range(ROUNDS):
            now = self.table.look(waiting)
            todo = _Round({}, {}, {})
            for each in [*waiting.values()]:
                ended = self._judge(each, now.get(each.id), todo)
                if ended is not None:
                    done[each.id] = ended
                    del waiting[each.id]
            if not waiting:
                break
            self._write(todo)
        done |= {key: Done(conflict=BUSY) for key in waiting}
        if self.commits > began:
            self._index()
        return done

    def _judge(self, write: Write, now: Image | None, todo: _Round) -> Done | None:
        """How it ended; None where it is still to be written, which `todo` then says."""
        before, after = write.before, write.after
        if now is None:
            if after is None:
                return Done()
            if before is not None:
                return Done(conflict=REMOVED)
            todo.made[write.id] = after
            return None
        mark = self.fingerprint(now)
        if after is None:
            if before is None or mark != self.fingerprint(before):
                return Done(conflict=EDITED)
            todo.removed[write.id] = now
            return None
        if mark != self.fingerprint(after) and (before is None or mark != self.fingerprint(before)):
            return Done(conflict=THERE if before is None else EDITED)
        metadata = self._metadata(write, now)
        if metadata == now.get("metadata"):
            return Done(mark) if mark == self.fingerprint(after) else Done(conflict=EDITED)
        todo.changed[write.id] = now, metadata
        return None

    def _metadata(self, write: Write, now: Image) -> str | None:
        """What is ours to say of the difference between the two images, over what the metadata is by now."""
        present: str | None = now.get("metadata")
        before, after = write.before, write.after
        if not self.metadata or before is None or after is None:
            return present
        if present == before["metadata"]:
            return str(after["metadata"]) if after["metadata"] is not None else None
        found, was, wanted = parsed(present), parsed(before["metadata"]), parsed(after["metadata"])
        if found is None or was is None or wanted is None:
            return present
        changes = {
            name: wanted.get(name)
            for name in OWNED
            if was.get(name) != wanted.get(name) and found.get(name) != wanted.get(name)
        }
        return with_members(present, changes) if changes else present

    def _write(self, todo: _Round) -> None:
        with self.table.told("cannot be written"):
            handle = self.table.open()
            for some in _chunks(todo.removed.items(), lambda each: _length(each[1])):
                self._commit(handle.delete(" OR ".join(_still(row) for _, row in some)))
            for part in _chunks(todo.changed.items(), lambda each: 2 * _length(each[1][0])):
                values = {key: metadata for key, (_, metadata) in part}
                where = " OR ".join(_still(row) for _, (row, _) in part)
                self._commit(handle.update(where=where, values_sql={"metadata": picked(values)}))
            for each in _chunks(todo.made.items(), lambda each: _length(each[1])):
                rows = self.table.arrow([image for _, image in each])
                self._commit(handle.merge_insert("id").when_not_matched_insert_all().execute(rows))

    def _commit(self, _: Any) -> None:
        self.commits += 1

    def _index(self) -> None:
        """
        Have the index for words take in what it has not read, where there is one and much is new.

        Old versions stay, whatever their age. It gives way where others write at the same time. The versions that it
        makes are ours if the rows are the same afterwards.
        """
        with self.table.told("cannot be read"):
            handle = self.table.open()
            behind = [each.num_unindexed_rows or 0 for each in handle.list_indices() if "text" in each.columns]
            if not behind or max(behind) < UNINDEXED:
                return
            before, rows = handle.version, self._rows(handle)
            try:
                handle.optimize(cleanup_older_than=NEVER)
            except RuntimeError:  # others write: the index is brought up to date another time
                return
            now = self.table.open()
            if self._rows(now).equals(rows):
                self.commits += now.version - before

    def _rows(self, handle: Any) -> pa.Table:
        columns = [name for name in self.table.columns if name != "vector"]
        return handle.search().select(columns).to_arrow().sort_by("id").combine_chunks()


def _still(row: Image) -> str:
    """The condition that a row is as it was seen."""
    conditions = [f"id = {quoted(row['id'])}", equals("text", row["text"])]
    if "metadata" in row:
        conditions.append(equals("metadata", row["metadata"]))
    return f"({' AND '.join(conditions)})"


def _length(row: Mapping[str, Any]) -> int:
    return len(row["text"] or "") + len(row.get("metadata") or "")


def _chunks(items: Iterable[T], length: Callable[[T], int]) -> Iterator[list[T]]:
    chunk: list[T] = []
    total = 0
    for item in items:
        if chunk and (len(chunk) >= ROWS_AT_ONCE or total + length(item) > CHARACTERS_AT_ONCE):
            yield chunk
            chunk, total = [], 0
        chunk.append(item)
        total += length(item)
    if chunk:
        yield chunk
