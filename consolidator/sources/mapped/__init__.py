"""
Exports of other systems and CSV files, read by a mapping that says what their fields mean.

mem0, Letta and LangMem have one that is built in, written to what they document; `options.mapping` takes its place.
A newer export of the same file is the next state of the same source: what is no more in it is gone over there.
"""

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from consolidator.errors import BadInput
from consolidator.sources.mapped.documents import read_records
from consolidator.sources.mapped.mapping import FieldMapping, built_in, read_mapping
from consolidator.sources.mapped.taking import take
from consolidator.sources.port import Done, Image, Options, Ours, Reading, Ways, Write

_BUILT_IN = ("mem0", "letta", "langmem")
_READS = 1  # of the stamp: another number where a newer program reads the same file in another way


@contextmanager
def open_source(kind: str, place: str, options: Options) -> Iterator["MappedSource"]:
    """The export at a place. BadInput where there is no such file, or no mapping that can be used."""
    if not place:
        raise BadInput(f"{kind}: which file? write {kind}:export.{'csv' if kind == 'csv' else 'json'}")
    path = Path(place).expanduser().absolute()
    try:
        if not path.exists():
            raise BadInput(f"{path}: there is no such file")
        if not path.is_file():
            raise BadInput(f"{path}: not a file; name the {kind} export itself")
    except (OSError, ValueError) as error:
        raise BadInput(f"{place!r}: cannot be read: {error}") from None
    if options.mapping:
        named = Path(options.mapping).expanduser()
        yield MappedSource(kind, path, read_mapping(named), str(named), options)
    elif kind in _BUILT_IN:
        yield MappedSource(kind, path, built_in(kind), f"the mapping of {kind}", options)
    else:
        raise BadInput(f"{kind}:{place}: needs a mapping, a file that says which column is what (see docs/examples)")


class MappedSource:
    """An export, read only."""

    ways: Ways = "read"
    asks_for_links = False
    tells_decay = False
    model = None

    def __init__(self, kind: str, path: Path, mapping: FieldMapping, mapping_name: str, options: Options) -> None:
        self.kind, self.path, self.mapping, self.options = kind, path, mapping, options
        self.url = f"{kind}:{path}"
        self._mapping_name = mapping_name

    def read(self, since: str | None) -> Reading:
        """All of it; nothing, where neither the file nor what is made of it has changed."""
        stamp = self._stamp()
        if stamp == since:
            return Reading((), stamp, unchanged=True)
        form = self.mapping.format or ("csv" if self.kind == "csv" else "json")
        found = read_records(self.path, self.mapping, form, self._mapping_name)
        made_at = self.path.stat().st_mtime_ns // 1000
        items = take(found, self.mapping, file=str(self.path), scope=self.options.scope, made_at=made_at)
        return Reading(items, stamp)

    def _stamp(self) -> str:
        try:
            with self.path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256")
        except OSError as error:
            raise BadInput(f"{self.path}: cannot be read: {error.strerror or error}") from None
        digest.update(f"{_READS} {self.options.scope} {self.mapping.model_dump_json()}".encode())
        return digest.hexdigest()

    def look(self, ids: Collection[str]) -> Mapping[str, Image]:
        raise self._only_read()

    def fingerprint(self, image: Image) -> str:
        raise self._only_read()

    def render(self, ours: Ours, there: Image | None, like: Image | None, *, now: int) -> Image | None:
        raise self._only_read()

    def new_id(self, ours: Ours) -> str:
        raise self._only_read()

    def write(self, writes: Sequence[Write]) -> Mapping[str, Done]:
        raise self._only_read()

    def go_back(self, version: str, since: str) -> bool:
        raise self._only_read()

    def _only_read(self) -> BadInput:
        return BadInput(f"{self.url}: can only be read")

    def version(self) -> None:
        """None is kept."""

    def prepare(self) -> tuple[str, ...]:
        """Nothing is written, so nothing is done before."""
        return ()
