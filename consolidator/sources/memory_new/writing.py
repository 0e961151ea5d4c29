"""Writing lines, pages and the index of memory-new, each file as a whole and only as it was read a moment before."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from threading import Event

from consolidator.exchange.fields import Unfit
from consolidator.sources.memory_new import files, lines, memories, scenes
from consolidator.sources.memory_new.folder import Folder
from consolidator.sources.port import Done, Image, Write

EDITED = "was edited over there meanwhile"
REMOVED = "was removed over there meanwhile"
BUSY = "lies in a file that is written to without a pause"
NO_INDEX = f"is a scene, and {scenes.INDEX} is no JSON object; mend it"


class Writer:
    """One round of writes."""

    def __init__(
        self,
        folder: Folder,
        fingerprint: Callable[[Image], str],
        look: Callable[[Collection[str]], Mapping[str, Image]],
    ) -> None:
        self.folder, self.fingerprint, self.look = folder, fingerprint, look
        self.conflicts: dict[str, str] = {}

    def write(self, writes: Sequence[Write]) -> Mapping[str, Done]:
        """All of it, file by file, and read again. BadInput before anything is written where a folder takes nothing."""
        there = self.look([each.id for each in writes])
        by_file: dict[str, list[Write]] = {}
        for each in writes:
            by_file.setdefault(_file(each, there.get(each.id)), []).append(each)
        paths = {name: self.folder.path(name) for name in by_file}
        folders = sorted({path.parent for path in paths.values()})
        files.make_ready(folders)
        for name, of_file in by_file.items():
            if name.endswith(".jsonl"):
                self._write_lines(paths[name], of_file)
            else:
                self._write_page(paths[name], of_file[0])
        return dict(self._verified(writes))

    def _write_lines(self, path: Path, writes: Sequence[Write]) -> None:
        for raw in self._tries(path, writes):
            current = {row.id: row.text for row in reversed(list(lines.rows(raw or b""))) if isinstance(row, lines.Row)}
            changes: dict[str, tuple[str | None, lines.Place | None]] = {}
            for each in writes:
                line = current.get(each.id)
                if not self._may(each, None if line is None else {"line": line}):
                    continue
                if each.after is None:
                    changes[each.id] = (None, None)
                elif line is None:
                    changes[each.id] = (each.after["line"], each.after.get("place"))
                elif each.before is not None:
                    changes[each.id] = (memories.united(line, each.before["line"], each.after["line"]), None)
            after = lines.edited(raw or b"", changes)
            if after == (raw or b"") or files.replace(path, raw, after):
                return

    def _write_page(self, path: Path, write: Write) -> None:
        """The index first: whoever is killed between the two finds the page as it was."""
        for raw in self._tries(path, [write]):
            if not self._may(write, None if raw is None else {"text": raw.decode(errors="replace")}):
                return
            if write.id.startswith(scenes.PREFIX) and not self._index(write):
                return
            after = None if write.after is None else str(write.after["text"]).encode()
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
            if told == raw or files.replace(path, raw, told):
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
        for _ in range(files.TRIES):
            raw = files.held(path)
            if path.suffix != ".jsonl" or lines.is_whole(raw or b""):
                yield raw
            Event().wait(files.REST_SECONDS)
        for write in writes:
            self.conflicts[write.id] = BUSY

    def _verified(self, writes: Sequence[Write]) -> Iterator[tuple[str, Done]]:
        there = self.look([each.id for each in writes])
        for each in writes:
            image = there.get(each.id)
            is_now = None if image is None else self.fingerprint(image)
            wanted = None if each.after is None else self.fingerprint(each.after)
            conflict = self.conflicts.get(each.id) or (None if is_now == wanted else EDITED)
            yield each.id, Done(is_now, conflict)


def _file(write: Write, there: Image | None) -> str:
    """Where a record is now, else where it was or is to be."""
    image = there or write.before or write.after
    assert image is not None
    return str(image["file"])
