"""What the day gives back: frozen values, with times in RFC 3339 as `consolidate show --json` tells them."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from consolidator.errors import BadInput

FLAGS = "flags"  # where the metadata of a memory keeps what the door had to say of it


class Refused(BadInput):
    """What is not let in. `kind`: empty, too_long, noise, instructions, secret. Nothing was written."""

    def __init__(self, kind: str, message: str) -> None:
        self.kind = kind
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Remembered:
    """
    What became of a text.

    id: of the memory that holds it. known: it was here already, and this counts as a sighting. near: the id of an
    active memory that says the same in other words; the night judges that. flags: what the door saw in it, and
    `forgotten_before`, `brought_back`, `merged`. because: why it has no vector yet, where it has none.
    """

    id: str
    known: bool = False
    near: str | None = None
    flags: tuple[str, ...] = ()
    because: str | None = None


@dataclass(frozen=True, slots=True)
class Kept:
    """A memory as it is now. flags: what the door saw in it when it was remembered."""

    id: str
    content: str
    type: str
    status: str
    strength: float
    consolidated: bool
    pinned: bool
    source: str
    created_at: str
    observed_at: str | None
    temporal_state: str
    temporal_anchor: str | None
    temporal_end: str | None
    recurrence: str | None
    expires_at: str | None
    importance: float | None
    topics: tuple[str, ...]
    archived_because: str | None
    superseded_by: str | None
    metadata: Mapping[str, Any]
    flags: tuple[str, ...]

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> "Kept":
        """The memory that a document of `store.readers` tells."""
        metadata = document["metadata"] or {}
        flags = metadata.get(FLAGS)
        told = {
            **document,
            "topics": tuple(document["topics"] or ()),
            "metadata": metadata,
            "flags": tuple(flags) if isinstance(flags, list) else (),
        }
        return cls(**{each.name: told[each.name] for each in fields(cls)})


@dataclass(frozen=True, slots=True)
class Page:
    """Some memories in order. next: what `after` takes to go on; None where there is no more."""

    items: list[Kept]
    next: str | None = None


@dataclass(frozen=True, slots=True)
class Rated:
    """
    A rating as it is recorded: of which memory, in which turn, by which evidence.

    known: the same was said of it there last, so nothing was written.
    """

    id: str
    rating: int
    evidence: str
    confidence: float
    session: str
    turn: str
    known: bool = False


@dataclass(frozen=True, slots=True)
class Stats:
    """
    How much is in the scope.

    exposures, attributions: those that no night has seen. last_night: when the last run of the store was made for,
    whatever scopes it had.
    """

    active: int = 0
    superseded: int = 0
    archived: int = 0
    direct_links: int = 0
    inferred_links: int = 0
    exposures: int = 0
    attributions: int = 0
    time_zone: str = "UTC"
    last_activity_at: str | None = None
    last_night: str | None = None
