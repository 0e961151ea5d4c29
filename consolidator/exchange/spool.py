"""
Good records put by, kind by kind, until all of a file is known to be good.

So the order of lines in a file does not matter, standard input is read once, no more than a batch is in memory, and
a store is locked only while it is written.
"""

import pickle
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from operator import attrgetter
from tempfile import SpooledTemporaryFile
from types import TracebackType
from typing import IO, Any, Self, TypeVar

from consolidator import scopes
from consolidator.exchange.records import KINDS, BadLine, MemoryLine, Record, SourceLine

R = TypeVar("R", bound=Record)

BATCH = 2000
BATCH_BYTES = 8 * 2**20
KEPT_BAD_LINES = 10_000

_FIELDS = {kind: attrgetter(*kind.__slots__) for kind in (*KINDS.values(), SourceLine)}


class Spool:
    """
    The records of one file.

    scope: canonical; fills lines without one, and a line with another is bad. None: the empty scope fills.
    bad: the bad lines, the first of them kept; bad_lines: how many there are.
    """

    def __init__(self, name: str, *, scope: str | None = None) -> None:
        self.name, self.scope = name, scope
        self.bad: list[BadLine] = []
        self.bad_lines = 0
        self.counts: dict[type[Record], int] = {}
        self._pending: dict[type[Record], list[tuple[Any, ...]]] = {}
        self._pending_bytes = 0
        self._files: dict[type[Record], IO[bytes]] = {}
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stack.close()

    def fill(self, records: Iterable[Record | BadLine], progress: Callable[[int], None] | None = None) -> Self:
        """Put by every record; `progress` hears how many were read."""
        read = 0
        for read, record in enumerate(records, 1):
            if isinstance(record, BadLine):
                self.refuse(record)
            else:
                self.add(record)
            if progress and read % BATCH == 0:
                progress(read)
        if progress:
            progress(read)
        return self

    def add(self, record: Record) -> None:
        """Put a record by, in its scope."""
        kind = type(record)
        values = _FIELDS[kind](record)
        line, scope, *rest = values
        if scope is None:
            values = (line, scopes.EMPTY if self.scope is None else self.scope, *rest)
        elif self.scope is not None and scope != self.scope:
            reason = f"is {scopes.spell(scope)}, and the import is for {scopes.spell(self.scope)}"
            self.refuse(BadLine(self.name, line, "scope", reason))
            return
        pending = self._pending.setdefault(kind, [])
        pending.append(values)
        self.counts[kind] = self.counts.get(kind, 0) + 1
        if isinstance(record, MemoryLine):
            self._pending_bytes += len(record.content) + len(record.vector or b"")
        if len(pending) == BATCH or (kind is MemoryLine and self._pending_bytes > BATCH_BYTES):
            self._put_by(kind)

    def refuse(self, bad: BadLine) -> None:
        """Note a bad line."""
        self.bad_lines += 1
        if len(self.bad) < KEPT_BAD_LINES:
            self.bad.append(bad)

    def batches(self, kind: type[R]) -> Iterator[list[R]]:
        """The records of one kind, in the order of the file."""
        if file := self._files.get(kind):  # type: ignore[arg-type]
            file.seek(0)
            try:
                while True:
                    yield [kind(*values) for values in pickle.load(file)]
            except EOFError:
                pass
        if pending := self._pending.get(kind):  # type: ignore[arg-type]
            yield [kind(*values) for values in pending]

    def _put_by(self, kind: type[Record]) -> None:
        if kind not in self._files:
            self._files[kind] = self._stack.enter_context(SpooledTemporaryFile(max_size=BATCH_BYTES))  # noqa: SIM115
        pickle.dump(self._pending.pop(kind), self._files[kind], pickle.HIGHEST_PROTOCOL)
        if kind is MemoryLine:
            self._pending_bytes = 0
