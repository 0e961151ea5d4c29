"""
A system made for tests: records in one JSON file, written whole and synced, under a lock that its agent takes too.

Three of it: one that removes what is archived, one with states of its own that tells strengths as of now, and one that
keeps versions and vectors.
"""

import fcntl
import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import numpy as np

from consolidator.exchange.fields import Unfit
from consolidator.exchange.records import BadLine, MemoryLine
from consolidator.exchange.shapes import record_of
from consolidator.instants import format_instant
from consolidator.sources.port import (
    Done,
    Image,
    Item,
    NeedsVector,
    Options,
    Ours,
    Reading,
    Unreadable,
    Write,
    fingerprint_of,
    strength_at_first,
)
from tests.lives import T0
from tests.sources.foreign import Foreign

OWNED = ("text", "state", "pinned", "importance", "ours")
_NOT_TOLD = ("uses", "used_at", "vector", "ours", "was")
MODEL = "letters"  # of vectors: how often each of four letters stands in a text


@dataclass(frozen=True)
class Ways:
    """How this one is. states: what is archived keeps its record. strengths: they are told with every record."""

    states: bool = False
    strengths: bool = False
    versions: bool = False
    vectors: bool = False
    links: bool = False


@contextmanager
def locked(path: Path) -> Iterator[dict[str, Any]]:
    """What the file holds, and it is written anew at the end where that was changed: whole, and on the disk."""
    with open(path.with_suffix(".lock"), "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        held = json.loads(path.read_text())
        before = json.dumps(held)
        yield held
        if json.dumps(held) != before:
            write_whole(path, held)


def write_whole(path: Path, held: Mapping[str, Any]) -> None:
    new = path.with_suffix(".new")
    with open(new, "w") as file:
        file.write(json.dumps(held, ensure_ascii=False, indent=1))
        file.flush()
        os.fsync(file.fileno())
    os.replace(new, path)


class JsonSource:
    """The source of such a file."""

    kind = "json"
    ways = "both"

    def __init__(self, path: Path, how: Ways) -> None:
        self.path, self.how = path, how
        self.url = f"json:{path}"
        self.asks_for_links = how.links
        self.tells_decay = how.strengths
        self.model = MODEL if how.vectors else None

    def read(self, since: str | None) -> Reading:
        with locked(self.path) as held:
            records, changes = held["records"], str(held["changes"])
        if since == changes:
            return Reading((), since, unchanged=True)
        return Reading((self._item(key, record) for key, record in records.items()), changes)

    def _item(self, id: str, record: Image) -> Item | Unreadable:  # noqa: A002
        archived = record["state"] == "archived"
        try:
            memory = record_of(
                {
                    "kind": "memory", "content": record["text"], "type": record["type"],
                    "created_at": record["created_at"], "importance": record["importance"],
                    "pinned": record["pinned"], "strength": strength_at_first(record["importance"]),
                    "status": record["state"], "archived_because": "user" if archived else None,
                    "scope": record["scope"],
                },
                0,
            )  # fmt: skip
        except Unfit as error:
            return Unreadable(id, BadLine(self.url, 0, f"{id}: {error.below}", str(error)))
        assert isinstance(memory, MemoryLine)
        uses, used_at = record["uses"], record["used_at"]
        return Item(id, memory, self.fingerprint(record), uses, used_at, moved_from=record.get("was"))

    def look(self, ids: Collection[str]) -> Mapping[str, Image]:
        with locked(self.path) as held:
            return {key: held["records"][key] for key in ids if key in held["records"]}

    def fingerprint(self, image: Image) -> str:
        return fingerprint_of({name: value for name, value in image.items() if name not in _NOT_TOLD})

    def render(self, ours: Ours, there: Image | None, like: Image | None, *, now: int) -> Image | None:
        if ours.status != "active" and not self.how.states:
            return None
        about = there or {**(like or {}), "uses": 0, "used_at": None, "created_at": format_instant(ours.created_at)}
        strength = {"strength": round(ours.strength, 6)} if self.how.strengths else {}
        rendered = {
            **about,
            "text": ours.content,
            "state": "active" if ours.status == "active" else "archived",
            "pinned": ours.pinned,
            "ours": {"consolidated": ours.consolidated, **strength, **({"links": ours.links} if ours.links else {})},
        }
        if self.how.vectors and there is None:
            if ours.vector is None:
                raise NeedsVector
            rendered["vector"] = ours.vector.hex()
        return rendered

    def new_id(self, ours: Ours) -> str:
        return str(uuid5(NAMESPACE_URL, f"{ours.scope} {ours.id}"))

    def write(self, writes: Sequence[Write]) -> Mapping[str, Done]:
        done: dict[str, Done] = {}
        with locked(self.path) as held:
            records = held["records"]
            for each in writes:
                now = records.get(each.id)
                if (now and self.fingerprint(now)) != (each.before and self.fingerprint(each.before)):
                    done[each.id] = Done(conflict="was edited over there meanwhile")
                elif each.after is None:
                    del records[each.id]
                    done[each.id] = Done()
                else:
                    kept = {name: now[name] for name in now if name not in OWNED} if now else {}
                    records[each.id] = {**each.after, **kept}
                    done[each.id] = Done(self.fingerprint(records[each.id]))
            if any(not each.conflict for each in done.values()):
                held["changes"] += 1
                if self.how.versions:
                    held["versions"][str(held["changes"])] = dict(records)
        return done

    def version(self) -> str | None:
        with locked(self.path) as held:
            return str(held["changes"]) if self.how.versions else None

    def go_back(self, version: str, since: str) -> bool:
        with locked(self.path) as held:
            if not self.how.versions or since != str(held["changes"]) or version not in held["versions"]:
                return False
            held["records"] = held["versions"][version]
            held["changes"] += 1
            held["versions"][str(held["changes"])] = held["records"]
            return True

    def prepare(self) -> tuple[str, ...]:
        return ()


class JsonForeign(Foreign):
    """Such a file, and what its agent does to it."""

    def __init__(self, folder: Path, how: Ways) -> None:
        self.path, self.how = folder / "records.json", how
        self.url = f"json:{self.path}"
        self.options = Options(vectors_of=letters if how.vectors else None)
        write_whole(self.path, {"changes": 0, "records": {}, "versions": {}, "settings": {"owner": "åsa"}})
        self._next = 0

    def source(self) -> AbstractContextManager[JsonSource]:  # type: ignore[override]
        return self._source()

    @contextmanager
    def _source(self) -> Iterator[JsonSource]:
        yield JsonSource(self.path, self.how)

    def add(self, text: str, **about: Any) -> str:
        self._next += 1
        id = f"r{self._next:06}"  # noqa: A001
        record = {
            "text": text, "type": "fact", "state": "active", "pinned": False, "importance": 0.8, "scope": {},
            "created_at": format_instant(T0 + self._next), "uses": 0, "used_at": None, "theirs": {"n": self._next},
            "vector": letters([text]).tobytes().hex() if self.how.vectors else None, **about,
        }  # fmt: skip
        self.change(lambda records: records.__setitem__(id, record))
        return id

    def edit(self, id: str, text: str) -> None:  # noqa: A002
        self.change(lambda records: records[id].update(text=text))

    def use(self, id: str) -> None:  # noqa: A002
        self.change(lambda records: records[id].update(uses=records[id]["uses"] + 1))

    def remove(self, id: str) -> None:  # noqa: A002
        self.change(lambda records: records.pop(id))

    def change(self, act: Callable[[dict[str, Any]], object]) -> None:
        """What its agent does to its records."""
        with locked(self.path) as held:
            act(held["records"])
            held["changes"] += 1
            if self.how.versions:
                held["versions"][str(held["changes"])] = json.loads(json.dumps(held["records"]))

    def texts(self) -> dict[str, str]:
        with locked(self.path) as held:
            return {key: one["text"] for key, one in held["records"].items() if one["state"] == "active"}

    def records(self) -> dict[str, Any]:
        """All of them, whole."""
        with locked(self.path) as held:
            return dict(held["records"])

    def rest(self) -> object:
        with locked(self.path) as held:
            return held["settings"]


def letters(texts: Sequence[str]) -> Any:
    """A vector of each text."""
    return np.array([[text.lower().count(letter) for letter in "aeio"] for text in texts], np.float32).reshape(-1, 4)


@contextmanager
def plain(folder: Path) -> Iterator[JsonForeign]:
    yield JsonForeign(folder, Ways())


@contextmanager
def with_states(folder: Path) -> Iterator[JsonForeign]:
    yield JsonForeign(folder, Ways(states=True, strengths=True))


@contextmanager
def with_versions(folder: Path) -> Iterator[JsonForeign]:
    yield JsonForeign(folder, Ways(versions=True, vectors=True))
