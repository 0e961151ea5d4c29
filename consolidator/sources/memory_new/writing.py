"""Writing lines, pages and the index of memory-new, each file as a whole and only as it was read a moment before."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from threading import Event

from consolidator.exchange.fields import Unfit
from consolidator.sources.memory_new import files, lines, memories, scenes
from consolidator.sources.memory_new.folder import Folder, is_whole
from consolidator.sources.port import Done, Image, Write

EDITED = "was edited over there meanwhile"
REMOVED = "was removed over there meanwhile"
BUSY = "lies in a file that is written to without a pause"
NO_INDEX = f"is a scene, and {scenes.INDEX} is no JSON object; mend it"


class Writer:
    """One round of writes. held: what the files to be written hold, by their paths."""

    def __init__(self, folder: Folder, fingerprint: Callable[[Image], str]) -> None:
        self.folder, self.fingerprint = folder, fingerprint
        self.conflicts: dict[str, str] = {}
        self.held: dict[Path, bytes] = {}

    def write(self, writes: Sequence[Write]) -> Mapping[str, Done]:
        """All of it, file by file, and read again. BadInput before anything is written where a folder takes nothing."""
        by_file: dict[str, list[Write]] = {}
        for each in writes:
            by_file.setdefault(_file(each), []).append(each)
        paths = {name: self.folder.path(name) for name in by_file}
        files.make_ready(sorted({path.parent for path in paths.values()}))
        self.held = self._at_rest(paths.values())
        for name, of_file in by_file.items():
            if name.endswith(".jsonl"):
                self._write_lines(paths[name], of_file)
            else:
                self._write_page(paths[name], of_file)
        held = self._at_rest(paths.values())
        return {
            each.id: self._done(each, there.get(each.id))
            for name, of_file in by_file.items()
            for there in [self._there(paths[name], held.get(paths[name]), of_file)]
            for each in of_file
        }

    def _write_lines(self, path: Path, writes: Sequence[Write]) -> None:
        for raw in self._tries(path, writes):
            there = self._there(path, raw, writes)
            changes: dict[str, tuple[str | None, lines.Place | None]] = {}
            for each in writes:
                image = there.get(each.id)
                if not self._may(each, image):
                    continue
                if each.after is None:
                    changes[each.id] = (None, None)
                elif image is None:
                    changes[each.id] = (each.after["line"], each.after.get("place"))
                elif each.before is not None:
                    changes[each.id] = (memories.united(image["line"], each.before["line"], each.after["line"]), None)
            after = lines.edited(raw or b"", changes)
            if after == (raw or b"") or files.replace(path, raw, after):
                return

    def _write_page(self, path: Path, writes: Sequence[Write]) -> None:
        """The index first: whoever is killed between the two finds the page as it was."""
        for raw in self._tries(path, writes):
            there = self._there(path, raw, writes)
            for each in writes:
                if not self._may(each, there.get(each.id)):
                    return
                if each.id.startswith(scenes.PREFIX) and not self._index(each):
                    return
            last = writes[-1].after
            after = None if last is None else str(last["text"]).encode()
            if after == raw or files.replace(path, raw, after):
                return

    def _index(self, write: Write) -> bool:
        """Whether the index tells of a scene what it is to become."""
        path = self.folder.path(scenes.INDEX)
        for raw in self._tries(path, [write]):
            try:
                told = scenes.indexed(raw, {write.id.removeprefix(scenes.PREFIX): write.after})
            except Unfit:
                self.conflicts[write.id] = NO_INDEX
                return False
            if told == raw or (told is not None and files.replace(path, raw, told)):
                return True
        return False

    def _may(self, write: Write, there: Image | None) -> bool:
        """Whether a record is still as the write found it; what it is to become counts too. Else it is a conflict."""
        self.conflicts.pop(write.id, None)
        if there is None:
            if write.before is None or write.after is None:
                return True
            self.conflicts[write.id] = REMOVED
            return False
        is_now = self.fingerprint(there)
        if any(image is not None and self.fingerprint(image) == is_now for image in (write.before, write.after)):
            return True
        self.conflicts[write.id] = EDITED
        return False

    def _tries(self, path: Path, writes: Sequence[Write]) -> Iterator[bytes | None]:
        """What a file holds, again and again until the one who writes is done; in the end, conflicts."""
        raw = self.held.get(path)
        for _ in range(files.TRIES):
            if path.suffix != ".jsonl" or lines.is_whole(raw or b""):
                yield raw
            Event().wait(files.REST_SECONDS)
            raw = files.held(path)
        for write in writes:
            self.conflicts[write.id] = BUSY

    def _there(self, path: Path, raw: bytes | None, writes: Sequence[Write]) -> dict[str, Image]:
        """The records of these writes as a file holds them."""
        if raw is None:
            return {}
        if path.suffix != ".jsonl":
            return {each.id: {"text": raw.decode(errors="replace")} for each in writes}
        asked = {each.id for each in writes}
        rows = [row for row in lines.rows(raw) if isinstance(row, lines.Row) and row.id in asked]
        return {row.id: {"line": row.text} for row in reversed(rows)}

    def _done(self, write: Write, there: Image | None) -> Done:
        is_now = None if there is None else self.fingerprint(there)
        wanted = None if write.after is None else self.fingerprint(write.after)
        return Done(is_now, self.conflicts.get(write.id) or (None if is_now == wanted else EDITED))

    def _at_rest(self, paths: Iterable[Path]) -> dict[Path, bytes]:
        touched = {*paths, self.folder.path(scenes.INDEX)}
        return files.at_rest(lambda: [path for path in touched if files.is_there(path)], is_whole)


def _file(write: Write) -> str:
    """Where a record was, else where it is to be."""
    image = write.before or write.after
    assert image is not None
    return str(image["file"])
