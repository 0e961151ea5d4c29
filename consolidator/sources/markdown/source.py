"""A folder of Markdown as a source: what it says as records, and changes written into its lines."""

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

from consolidator.exchange.fields import Unfit
from consolidator.exchange.records import BadLine
from consolidator.sources.markdown.blocks import Page, key_of, parse
from consolidator.sources.markdown.files import (
    TRIES,
    Read,
    at_rest,
    insist_on_writing,
    is_protected,
    read_file,
    replace_file,
)
from consolidator.sources.markdown.images import Change, edited, images_of, merged, told
from consolidator.sources.markdown.moves import Seen, moved, seen
from consolidator.sources.markdown.places import File, Folder, folder_of
from consolidator.sources.markdown.records import memory_of
from consolidator.sources.port import (
    Done,
    Image,
    Item,
    Options,
    Ours,
    Reading,
    Unreadable,
    Versionless,
    Ways,
    Write,
    fingerprint_of,
)

GONE = "is in a file that is no more"
EDITED = "was edited or removed over there meanwhile"


@contextmanager
def open_source(kind: str, place: str, options: Options) -> Iterator["MarkdownSource"]:
    """The folder at `place`. BadInput where there is none."""
    yield MarkdownSource(folder_of(kind, place), options)


class MarkdownSource(Versionless):
    """
    A record's id is its file and a hash of its text, so it keeps its name when it is moved within the file, and a text
    that stands there twice is one record. A file has no states: what has faded stays (a page is no index of what is
    worth recalling, and lines that vanish with age are no help to whoever wrote them), what was merged away, expired or
    forgotten goes. Where its agent keeps who it is, and what it has been told to do, is read alone.
    """

    ways: Ways = "both"
    asks_for_links = False
    tells_decay = False
    model = None

    def __init__(self, folder: Folder, options: Options) -> None:
        self.folder, self.options = folder, options
        self.kind = folder.kind
        self.url = f"{folder.kind}:{folder.root}"
        self._pages: dict[str, tuple[str, Page]] = {}

    @cached_property
    def files(self) -> dict[str, File]:
        """The files as they were found first; each is read anew when it is wanted."""
        return self.folder.files()

    def read(self, since: str | None) -> Reading:
        before, now = seen(since), Seen()
        first = {file.path: read for file in self.files.values() if (read := read_file(file.path)) is not None}
        hashes = self._hashes(first)
        if before.hashes and before.hashes == hashes and all(hashes.values()):
            return Reading((), since, unchanged=True)
        rest = at_rest(first)
        now.hashes.update(self._hashes(rest))
        found = [(file, rest[file.path]) for file in self.files.values() if file.path in rest]
        pages = []
        for file, read in found:
            page = parse(read.text, file.rules)
            now.keys[file.name] = [*page.keys] if read.bad is None else before.keys.get(file.name, [])
            pages.append((file, read, page))
        notes = () if found else (f"{self.folder.root}: there are no Markdown files of this kind in it",)
        return Reading(self._records(pages, now, moved(before, now)), str(now), notes=notes)

    def _hashes(self, found: Mapping[Path, Read]) -> dict[str, str]:
        """The SHA-256 of each file, by its name; empty where it cannot be understood."""
        reads = {file.name: found[file.path] for file in self.files.values() if file.path in found}
        return {name: hashlib.sha256(read.raw).hexdigest() if read.bad is None else "" for name, read in reads.items()}

    def _records(
        self,
        pages: Sequence[tuple[File, Read, Page]],
        now: Seen,
        moves: Mapping[tuple[str, str], tuple[str, str]],
    ) -> Iterator[Item | BadLine | Unreadable]:
        for file, read, page in pages:
            if read.bad is not None:
                bad = BadLine(file.spelled, 0, "file", read.bad)
                yield from (Unreadable(_id(file.name, key), bad) for key in now.keys[file.name])
                if not now.keys[file.name]:
                    yield bad
            for key, image in images_of(page, file.name).items():
                record, former = _id(file.name, key), moves.get((file.name, key))
                try:
                    memory = memory_of(file, page, image, read.changed_at, scope=self.options.scope)
                except Unfit as error:
                    bad = BadLine(file.spelled, image["spots"][0]["line"] + 1, error.below, str(error))
                    yield Unreadable(record, bad)
                else:
                    moved_from = None if former is None else _id(*former)
                    yield Item(record, memory, self.fingerprint(image), moved_from=moved_from)

    def look(self, ids: Collection[str]) -> Mapping[str, Image]:
        files = self.files
        found: dict[str, Image] = {}
        for name, keys in _by_file(ids).items():
            images = self._images(files[name]) if name in files else {}
            found |= {_id(name, key): images[key] for key in keys if key in images}
        return found

    def _images(self, file: File) -> dict[str, Image]:
        read = read_file(file.path)
        return {} if read is None or read.bad is not None else images_of(self._page(file, read), file.name)

    def _page(self, file: File, read: Read) -> Page:
        """What a file says; one that was looked at before and says the same is not taken apart again."""
        text, page = self._pages.get(file.name, ("", None))
        if page is None or text != read.text:
            page = parse(read.text, file.rules)
            self._pages[file.name] = (read.text, page)
        return page

    def fingerprint(self, image: Image) -> str:
        return fingerprint_of(told(image))

    def render(self, ours: Ours, there: Image | None, like: Image | None, *, now: int) -> Image | None:
        if there is None:
            return self._new(ours, like)
        if ours.status == "active" or self.folder.is_read_only(there["file"]):
            return there
        if ours.status == "superseded":
            return there if ours.heir is None or self._is_needed(there, _parts(ours.heir)[0]) else None
        return None if ours.because in ("expired", "user") else there

    def _new(self, ours: Ours, like: Image | None) -> Image | None:
        home = self._home(ours)
        if ours.status != "active" or home is None:
            return None
        if home != _parts(ours.merged_from[0]):
            like = self.look([_id(*home)]).get(_id(*home))
        return None if like is None else merged(ours.content, like, home[1])

    def _is_needed(self, there: Image, heir_file: str) -> bool:
        """Whether a text stays though another has taken its place: nested ones, or what is always in mind, need it."""
        is_elsewhere = self.folder.is_in_mind(there["file"]) and not self.folder.is_in_mind(heir_file)
        return is_elsewhere or any(spot["bears"] for spot in there["spots"])

    def new_id(self, ours: Ours) -> str:
        """In the file of the first source that is always in mind, else of the first that may be written, else none."""
        home = self._home(ours)
        return _id(home[0] if home else "", key_of(ours.content))

    def _home(self, ours: Ours) -> tuple[str, str] | None:
        """The record whose place a text takes."""
        places = [_parts(each) for each in ours.merged_from]
        places = [place for place in places if not self.folder.is_read_only(place[0])]
        in_mind = (place for place in places if self.folder.is_in_mind(place[0]))
        return next(in_mind, places[0] if places else None)

    def write(self, writes: Sequence[Write]) -> Mapping[str, Done]:
        done: dict[str, Done] = {}
        by_id = {each.id: each for each in writes}
        to_write: dict[str, dict[str, Write]] = {}
        for name, keys in _by_file(by_id).items():
            file = self.files.get(name)
            if file is None or not file.path.exists():
                done |= {_id(name, key): Done(conflict=GONE) for key in keys}
                continue
            if not file.read_only:
                insist_on_writing(file.path)
            if file.read_only or is_protected(file.path):
                done |= {_id(name, key): Done(conflict="is in a file that is only read") for key in keys}
            else:
                to_write[name] = {key: by_id[_id(name, key)] for key in keys}
        for name, changes in to_write.items():
            told_of = self._write(self.files[name], changes)
            done |= {_id(name, key): each for key, each in told_of.items()}
        return done

    def _write(self, file: File, writes: Mapping[str, Write]) -> dict[str, Done]:
        """Make the writes of one file, all by replacing it once."""
        conflicts: dict[str, str] = {}
        for _ in range(TRIES):
            read = read_file(file.path)
            if read is None or read.bad is not None:
                why = GONE if read is None else f"is in a file that {read.bad}"
                return {key: Done(conflict=why) for key in writes}
            page = self._page(file, read)
            changes, conflicts = self._sort(writes, images_of(page, file.name))
            after = _all_or_each(page, file, changes, conflicts)
            if after is page or replace_file(file.path, read.raw, str(after).encode()):
                self._pages[file.name] = (str(after), after)
                break
        else:
            conflicts = dict.fromkeys(writes, "is in a file that is written to all the time")
        there = self._images(file)
        return {
            key: Done(conflict=conflicts[key])
            if key in conflicts
            else Done(self.fingerprint(there[key]) if key in there and each.after is not None else None)
            for key, each in writes.items()
        }

    def _sort(
        self, writes: Mapping[str, Write], there: Mapping[str, Image]
    ) -> tuple[dict[str, Change], dict[str, str]]:
        """What is to be changed on a page that holds these images, and what is not and why."""
        changes: dict[str, Change] = {}
        conflicts = {}
        for key, each in writes.items():
            is_there = self.fingerprint(there[key]) if key in there else None
            if each.after is not None and is_there == self.fingerprint(each.after):
                continue
            if is_there != (None if each.before is None else self.fingerprint(each.before)):
                conflicts[key] = EDITED
            elif each.after is None and each.before is None:
                continue
            else:
                changes[key] = Change(each.before, each.after)
        return changes, conflicts

    def is_only_read(self, record: str) -> bool:
        return self.folder.is_read_only(_parts(record)[0])


def _all_or_each(page: Page, file: File, changes: Mapping[str, Change], conflicts: dict[str, str]) -> Page:
    """The page with the changes; where not all can be made, with those that can, one by one."""
    after = edited(page, file.rules, changes) if changes else page
    if after is not None:
        return after
    for key, change in sorted(changes.items(), key=lambda each: each[1].after is None):
        after = edited(page, file.rules, {key: change})
        if after is None:
            conflicts[key] = "cannot be changed without changing what stands around it in its file"
        page = after or page
    return page


def _id(name: str, key: str) -> str:
    return f"{name}#{key}"


def _parts(record: str) -> tuple[str, str]:
    name, _, key = record.rpartition("#")
    return name, key


def _by_file(ids: Collection[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for each in ids:
        name, key = _parts(each)
        found[name].append(key)
    return found
