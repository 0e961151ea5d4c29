"""
The LanceDB stores of OpenClaw's plugins: Claw Memory Ultra, memory-lancedb-pro, and its own memory-lancedb.

Each is one table, `memories`. Their programs keep a handle of it open, and change a record by removing its row and
adding another, so a row that we remove can come back from such a handle; the next pull sees it, and the push after it
removes it again.
"""

import hashlib
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from uuid import UUID, uuid5

from consolidator.errors import BadInput
from consolidator.exchange.records import BadLine
from consolidator.sources.lance import lock
from consolidator.sources.lance.flavours import FLAVOURS, SCRATCH, Flavour, check
from consolidator.sources.lance.reading import Rows
from consolidator.sources.lance.rendering import Rendering
from consolidator.sources.lance.table import Table
from consolidator.sources.lance.writing import Writing
from consolidator.sources.port import Done, Image, Item, Options, Ours, Reading, Unreadable, Ways, Write

_IDS = UUID("5d0a3f3e-6a0e-5b7e-9f0c-2f6b8f6f7c11")  # the namespace of the records that we make
MIXED = "mixed"
_MAPPING = 1  # what a reading means; another number, and everything is read again


@contextmanager
def open_source(kind: str, place: str, options: Options) -> Iterator["LanceSource"]:
    """The store in a folder, or where its system usually keeps it. BadInput where there is none."""
    flavour = FLAVOURS[kind]
    database = Path(os.path.abspath(os.path.expanduser(place or flavour.folder)))
    yield LanceSource(flavour, Table(database, f"{kind}:{database}"), options)


class LanceSource:
    """See the port."""

    ways: Ways = "both"
    asks_for_links = False
    tells_decay = False

    def __init__(self, flavour: Flavour, table: Table, options: Options) -> None:
        check(flavour, table.schema, table.url, options.model)
        self.flavour, self.table, self.options = flavour, table, options
        self.kind, self.url, self.model = flavour.kind, table.url, options.model
        self.rows = Rows(flavour, table.url, options.scope, _pinned(options.model))
        size = table.schema.field("vector").type.list_size
        self.rendering = Rendering(flavour, table.url, size, table.columns)
        self._began = 0
        self.writing = Writing(table, self.fingerprint, metadata=flavour.metadata)

    def read(self, since: str | None) -> Reading:
        """One version, whatever is written meanwhile. See the port."""
        with self.table.told("cannot be opened"):
            handle = self.table.open()
            mark = self.table.stamp(handle.version)
        told = f"{handle.version}:{mark}:{self._settings()}"
        if told == since and mark is not None:
            return Reading((), since, unchanged=True)
        wanted = [name for name in (*self.flavour.columns, "scope") if name != "vector" and name in self.table.columns]
        return Reading(self._records(handle, [*dict.fromkeys(wanted)]), told)

    def _records(self, handle: object, columns: Sequence[str]) -> Iterator[Item | Unreadable | BadLine]:
        for row, vector in self.table.rows(handle, columns, vectors=self.model is not None):
            if row["id"] != SCRATCH:
                yield self.rows.item(row, vector)

    def look(self, ids: Collection[str]) -> Mapping[str, Image]:
        """See the port."""
        return self.table.look(ids)

    def fingerprint(self, image: Image) -> str:
        """See the port."""
        return self.rows.fingerprint(image)

    def render(self, ours: Ours, there: Image | None, like: Image | None, *, now: int) -> Image | None:
        """See the port."""
        return self.rendering(ours, there, like, self.new_id(ours), now)

    def new_id(self, ours: Ours) -> str:
        """See the port."""
        return str(uuid5(_IDS, f"{ours.scope} {ours.id}"))

    def write(self, writes: Sequence[Write]) -> Mapping[str, Done]:
        """See the port."""
        with self._alone():
            done = self.writing(writes)
            self.table.flush()
        return done

    def version(self) -> str | None:
        """
        The table's own number, and what that version is known by.

        Where others wrote between our writes it is one that nothing goes back from: theirs would be lost.
        """
        with self.table.told("cannot be opened"):
            number = self.table.open().version
        if not self.writing.commits:
            self._began = number
        alone = number - self._began == self.writing.commits
        return f"{number}:{self.table.stamp(number)}" if alone else f"{number}:{MIXED}"

    def go_back(self, version: str, since: str) -> bool:
        """
        See the port. LanceDB returns to it over what is written at that very moment; then that is given back to it.
        """
        (target, mark), (latest, latest_mark) = _told(version), _told(since)
        if self.table.stamp(target) != mark:
            return False
        with self._alone(), self.table.told("cannot be written"):
            handle = self.table.open()
            if handle.version != latest or self.table.stamp(latest) != latest_mark:
                return False
            handle.restore(target)
            if handle.version != latest + 1:
                handle.restore(handle.version - 1)
                return False
            self.table.flush()
        return True

    def prepare(self) -> tuple[str, ...]:
        """Nothing: LanceDB keeps the version before."""
        return ()

    def _settings(self) -> str:
        told = f"{_MAPPING} {self.options.scope} {self.model}"
        return hashlib.sha256(told.encode()).hexdigest()[:8]

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """While we write: under the lock that its program knows, if it knows one."""
        if not os.access(self.table.folder, os.W_OK):
            raise BadInput(f"{self.url}: the folder cannot be written; let its owner push, or change its permissions")
        held = lock.held(self.table.database) if self.flavour.locks else nullcontext()
        with ExitStack() as stack:
            with self.table.told("cannot be written"):
                stack.enter_context(held)
            yield


def _pinned(model: str | None) -> str | None:
    """The name under which the store keeps the vectors of a model."""
    if model is None:
        return None
    from consolidator.embedding.choose import named  # it loads what computes vectors

    try:
        return named(model)
    except BadInput:
        return model


def _told(version: str) -> tuple[int, str]:
    number, _, mark = version.partition(":")
    return int(number), mark
