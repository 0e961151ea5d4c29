"""
The port to other systems' stores: what is read of them, and what is written back.

Each is a module of its own and knows nothing of our store: it turns what it finds into records of the exchange format,
and writes images of its own records. `pull.py` and `push.py` know our store and no format.

An *image* is a record as its system holds it: JSON, whole, so that writing it back after it was removed leaves the
store as it was (vectors as base64 of float32 in little-endian order). A *fingerprint* names all of an image that
another program or a person decides: not the counters of use, not the vector, not what a push of ours writes beside.
"""

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from consolidator.exchange.records import BadLine, MemoryLine, Record

Image = Mapping[str, Any]
VectorsOf = Callable[[Sequence[str]], NDArray[np.float32]]  # [n texts] -> float32[n, dimension]
Ways = Literal["read", "both"]

LEAST_AT_FIRST = 0.5


@dataclass(frozen=True, slots=True)
class Item:
    """
    A record over there, as it is now.

    id: theirs, for good. memory: what it says; its scope is canonical and ours, its `strength` what it starts with
    if it is new here, its `strength_at` None (it is taken in now), its `status` archived with `gone` or `user`
    where their state says so. uses, used_at: how often it was used over there, and when last; what came on top
    since the last pull is reinforcement, and each of it counts as `evidence` (at most `MOST_USES` a pull).
    moved_from: the id under which it was last read, where its system names records by their place.
    """

    id: str
    memory: MemoryLine
    fingerprint: str
    uses: int = 0
    used_at: int | None = None
    evidence: str = "tool_search_returned"
    moved_from: str | None = None


MOST_USES = 10


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A record that is there and cannot be taken, and why: what was mapped to it is not gone."""

    id: str
    bad: BadLine


@dataclass(frozen=True, slots=True)
class Reading:
    """
    What a source holds. records: read while the source is open, once; what was mapped and is not among them is gone
    over there (of a bad line nobody knows which record it was: `Unreadable` says it). Records that are no items
    (links, exposures) are taken in as lines of a file are. since: to be handed to the next reading. unchanged: nothing
    was changed over there since, and `records` is empty for that reason alone. notes: what a person should hear of.
    """

    records: Iterable[Item | Record | BadLine | Unreadable]
    since: str | None = None
    unchanged: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ours:
    """
    A memory of ours as a push tells it.

    id: the SHA-256 of content. strength: as of the push. status, because: active; archived and why (faded, expired,
    user, gone); superseded, as is told of a copy of a record, too. heir: the record over there of what took its place,
    if there is one. merged_from: the records over there of what it was written from; the first gives a new record what
    we do not know (agent, session, category). links: [record over there, weight] of its direct links as of the push,
    where the source asks for them. vector: of the source's own model, where there is one; None otherwise. changed_at:
    when a night last changed it.
    """

    id: str
    scope: str
    content: str
    type: str
    created_at: int
    strength: float
    status: str = "active"
    because: str | None = None
    consolidated: bool = False
    pinned: bool = False
    observed_at: int | None = None
    temporal_state: str = "none"
    temporal_anchor: str | None = None
    temporal_end: str | None = None
    expires_at: int | None = None
    importance: float | None = None
    topics: tuple[str, ...] = ()
    metadata: Mapping[str, Any] | None = None
    heir: str | None = None
    merged_from: tuple[str, ...] = ()
    links: tuple[tuple[str, float], ...] = ()
    vector: bytes | None = None


@dataclass(frozen=True, slots=True)
class Write:
    """
    A record to be written: from one image to another. before None: there is none; after None: it is removed.

    What is written are the differences between the two that are ours to make, over what the record is by then, if that
    has the fingerprint of `before`: what others change meanwhile beside it (counters of use) stays theirs.
    """

    id: str
    before: Image | None
    after: Image | None


@dataclass(frozen=True, slots=True)
class Done:
    """
    How a write ended. fingerprint: of the record as it was read again afterwards, None where there is none now.
    conflict: why it was left alone, in words that follow the record's id ("was edited over there meanwhile").
    """

    fingerprint: str | None = None
    conflict: str | None = None


class NeedsVector(Exception):
    """From `render`: a new record cannot be without a vector, and there is none of the source's model."""


class Source(Protocol):
    """
    An open source. BadInput from any of it: it cannot be used, and nothing was written.

    kind: the word that its URL begins with. url: its canonical spelling without anything secret, by which our store
    knows it. ways: `read` alone, or `both`. asks_for_links: whether `Ours.links` are wanted. tells_decay: whether its
    records hold strengths as of now, so that every push writes all of them.
    model: the name of the model of the vectors that it holds, in our spelling (`openai:text-embedding-3-small`); None:
    not known, and its vectors are neither taken nor made.
    """

    kind: str
    url: str
    ways: Ways
    asks_for_links: bool
    tells_decay: bool
    model: str | None

    def read(self, since: str | None) -> Reading:
        """Everything, or word that nothing has changed since the reading that gave `since`."""
        ...

    def look(self, ids: Collection[str]) -> Mapping[str, Image]:
        """The records of these ids as they are now, whole; what is not there is left out."""
        ...

    def fingerprint(self, image: Image) -> str:
        """The fingerprint of an image, the one that `read` gives for the same record."""
        ...

    def render(self, ours: Ours, there: Image | None, like: Image | None, *, now: int) -> Image | None:
        """
        The record that says what we hold, pure: `there` with what is ours to say changed, and equal to it where that
        says it already; where a push had removed it, `there` is what it was by then. None: it is to be removed, as the
        source's way of telling the status is.

        there None: a new record, of the shape of `like`, one of those it was merged from, whose texts and counters it
        does not take. Its id is `new_id`. NeedsVector where its system has no record without one.
        """
        ...

    def new_id(self, ours: Ours) -> str:
        """The id of the record to be made of a memory: the same each time, so that none is made twice."""
        ...

    def write(self, writes: Sequence[Write]) -> Mapping[str, Done]:
        """
        Make these writes, by id, and read each again. One that is no more as its `before` says is left alone and
        reported.

        Killed half way, each record is as before or as after. What is written is on the disk when this returns.
        """
        ...

    def version(self) -> str | None:
        """What the store over there calls its present state, if it keeps versions; kept with a push."""
        ...

    def go_back(self, version: str, since: str) -> bool:
        """
        Return to a version as a whole. False, and nothing done, where it keeps none, or is no more at `since`:
        somebody else has written after the push.
        """
        ...

    def prepare(self) -> tuple[str, ...]:
        """What is done once before the first push ever, such as a copy; what a person should hear of it."""
        ...


class Versionless:
    """What a source has of a store over there that keeps no versions: nothing to go back to, nothing to do before."""

    def version(self) -> str | None:
        return None

    def go_back(self, version: str, since: str) -> bool:
        return False

    def prepare(self) -> tuple[str, ...]:
        return ()


@runtime_checkable
class KeepsBook(Protocol):
    """A source that notes of each rating whether a night has counted it."""

    def counted_until(self, since: str) -> None:
        """Before a push: the ratings that the reading of `since` told are counted in what will be told."""
        ...


@runtime_checkable
class KeepsSome(Protocol):
    """A source of whose records some are only read: what was forgotten here is for a person to take out there."""

    def is_only_read(self, record: str) -> bool: ...


@dataclass(frozen=True, slots=True)
class Options:
    """
    What the settings say of a source beside its URL. scope: canonical pairs that all its scopes have besides.
    model: of its vectors. mapping: the file that says what its fields mean. token: what it is asked with.
    """

    scope: str = "{}"
    model: str | None = None
    mapping: str | None = None
    token: str | None = field(default=None, repr=False)
    vectors_of: VectorsOf | None = None


# What each module of a source has as `open_source`: of a kind and a place, what follows it in the URL. BadInput.
Open = Callable[[str, str, Options], AbstractContextManager[Source]]


def fingerprint_of(document: Any) -> str:
    """32 hexadecimal digits of the SHA-256 of a JSON document; the order of keys does not matter."""
    text = json.dumps(document, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def strength_at_first(importance: float | None) -> float:
    """What a record starts with here: its importance, but at least half, so that no first night empties a store."""
    return 1.0 if importance is None else max(LEAST_AT_FIRST, importance)
