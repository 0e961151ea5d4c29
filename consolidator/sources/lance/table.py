"""The table itself: read in batches, looked up by id, and written so that nobody else's write is lost."""

import base64
import hashlib
import math
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import lancedb
import numpy as np
import pyarrow as pa

from consolidator.disk import sync
from consolidator.errors import BadInput
from consolidator.sources.lance.flavours import SCRATCH, TABLE
from consolidator.sources.port import Image
from consolidator.store.bulk import portions

IDS_AT_ONCE = 1000
NEVER = timedelta(days=36_500)
_PLAIN = (str, int, float, bool)
_NOT_OURS = re.compile(r"""['"`/]""")  # where the words of LanceDB may quote somebody's, or name files of its makers


class Table:
    """
    The table of a database that is there. Each handle sees the version of when it was opened; a reader's stays there.

    columns: each with whether it may be empty.
    """

    def __init__(self, database: Path, url: str) -> None:
        self.database, self.url = database, url
        if not database.is_dir():
            raise BadInput(f"{url}: there is no such folder; name the folder of its LanceDB database")
        self.folder = database / f"{TABLE}.lance"
        if not self.folder.is_dir():
            raise BadInput(f"{url}: the database holds no table {TABLE}")
        with self.told("cannot be opened"):
            self._db = lancedb.connect(database)
            self.schema: pa.Schema = self.open().schema
        self.columns = {field.name: field.nullable for field in self.schema}
        self._flushed = {Path(folder, name) for folder, _, names in os.walk(self.folder) for name in names}

    def open(self) -> Any:
        """A new handle on what the table is now."""
        return self._db.open_table(TABLE)

    @contextmanager
    def told(self, what: str) -> Iterator[None]:
        """Say in one line what LanceDB could not do. Its own words end where a text of somebody's may begin."""
        try:
            yield
        except BadInput:
            raise
        except (RuntimeError, ValueError, OSError) as error:
            words = _NOT_OURS.split(str(error))[0].splitlines() or [type(error).__name__]
            raise BadInput(f"{self.url}: {what} ({words[0][:160].strip(' ,:(')})") from error

    def stamp(self, version: int) -> str | None:
        """What a version of this very table is known by: none made anew has the same. None where it is no more."""
        for name in (f"{2**64 - 1 - version:020}.manifest", f"{version}.manifest"):
            try:
                return hashlib.sha256((self.folder / "_versions" / name).read_bytes()).hexdigest()[:16]
            except FileNotFoundError:
                continue
        return None

    def rows(self, handle: Any, columns: Sequence[str], *, vectors: bool) -> Iterator[tuple[dict[str, Any], Any]]:
        """Every row with some of its columns, and its vector as bytes where that is wanted and it points somewhere."""
        wanted = [*columns, "vector"] if vectors else [*columns]
        with self.told("cannot be read"):
            batches = iter(handle.search().select(wanted).to_batches(1000 if vectors else 10_000))
        while True:
            with self.told("cannot be read"):
                batch = next(batches, None)
            if batch is None:
                return
            found = vectors_of(batch.column("vector"), sound=True) if vectors else [None] * batch.num_rows
            names = batch.schema.names
            plain = [batch.column(name).to_pylist() for name in columns if name in names]
            for values, vector in zip(zip(*plain, strict=True), found, strict=True):
                yield dict(zip(columns, values, strict=True)), vector

    def look(self, ids: Collection[str]) -> dict[str, dict[str, Any]]:
        """The images of these rows, on a new handle."""
        found: dict[str, dict[str, Any]] = {}
        wanted = sorted({*ids} - {SCRATCH})
        with self.told("cannot be read"):
            handle = self.open()
            for some in portions(wanted, IDS_AT_ONCE):
                listed = ", ".join(map(quoted, some))
                rows = handle.search().where(f"id IN ({listed})").select([*self.columns]).to_arrow()
                for image in images_of(rows.combine_chunks()):
                    found.setdefault(image["id"], image)
        return found

    def flush(self) -> None:
        """Have the disk hold all that was written since it was last asked: LanceDB leaves that to the system."""
        for folder, _, names in os.walk(self.folder):
            new = {Path(folder, name) for name in names} - self._flushed
            for path in [*new, Path(folder)] if new else ():
                with suppress(FileNotFoundError):
                    sync(path)
            self._flushed |= new

    def arrow(self, images: Sequence[Image]) -> pa.Table:
        """The rows of some images."""
        arrays = [
            pa.array([_value(image.get(field.name), field.type) for image in images], field.type)
            for field in self.schema
        ]
        return pa.Table.from_arrays(arrays, schema=self.schema)


def quoted(value: str) -> str:
    """A text in a condition."""
    return "'" + value.replace("'", "''") + "'"


def equals(column: str, value: str | None) -> str:
    """The condition that a column holds a text, or nothing."""
    return f"{column} IS NULL" if value is None else f"{column} = {quoted(value)}"


def picked(by_id: Mapping[str, str | None]) -> str:
    """The expression that gives each row its own value: the list's element at the place where its id stands."""
    values = ", ".join("NULL" if value is None else quoted(value) for value in by_id.values())
    place = f"array_position(make_array({', '.join(map(quoted, by_id))}), id)"
    return f"array_element(make_array({values}), CAST({place} AS BIGINT))"


def blob(vector: bytes) -> str:
    """A vector in an image."""
    return base64.b64encode(vector).decode()


def vectors_of(column: Any, *, sound: bool = False) -> list[bytes | None]:
    """The vectors of a column as float32, little-endian; with `sound` only those that are finite and not all zero."""
    size, begin = column.type.list_size, column.offset
    numbers = column.values.to_numpy(zero_copy_only=False).astype("<f4", copy=False).reshape(-1, size)
    numbers = numbers[begin : begin + len(column)]
    there = column.is_valid().to_numpy(zero_copy_only=False)
    if sound:
        there = there & np.isfinite(numbers).all(axis=1) & numbers.any(axis=1)
    return [row.tobytes() if valid else None for row, valid in zip(numbers, there, strict=True)]


def images_of(rows: pa.Table) -> list[dict[str, Any]]:
    """The images of some rows: what JSON cannot hold is kept as Arrow writes it."""
    columns: dict[str, list[Any]] = {}
    for name in rows.schema.names:
        column = rows.column(name)
        column = (
            column.chunk(0)
            if column.num_chunks == 1
            else pa.concat_arrays(column.chunks or [pa.array([], column.type)])
        )
        if name == "vector":
            columns[name] = [None if each is None else blob(each) for each in vectors_of(column)]
        else:
            columns[name] = [_plain(column, place) for place in range(len(column))]
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def _plain(column: Any, place: int) -> Any:
    value = column[place].as_py()
    if value is None or (isinstance(value, _PLAIN) and not (isinstance(value, float) and not math.isfinite(value))):
        return value
    one = pa.record_batch([column.slice(place, 1)], names=["it"])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, one.schema) as stream:
        stream.write_batch(one)
    return {"arrow": blob(sink.getvalue().to_pybytes())}


def _value(value: Any, kind: pa.DataType) -> Any:
    if isinstance(value, Mapping):
        with pa.ipc.open_stream(base64.b64decode(value["arrow"])) as stream:
            return stream.read_all().column(0)[0].as_py()
    if pa.types.is_fixed_size_list(kind) and isinstance(value, str):
        raw = base64.b64decode(value)
        return pa.array(memoryview(raw).cast("f")).to_pylist() if raw else None
    return value
