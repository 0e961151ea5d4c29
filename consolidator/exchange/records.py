"""
The records of the exchange format, one frozen class a kind, as they are once a line was found good.

Times are microseconds since 1970; `temporal_*` and `recurrence_start` are canonical texts, for a date stays a date.
`scope` is canonical, None where the line has none. `line` is where the record stands in its file, 0 where it stands
in no file of lines.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

FORMAT, VERSION = "consolidator-jsonl", 1

SOURCES = ("agent_tool", "auto_capture", "consolidation", "import")
MODES = ("auto_injected", "tool_search_returned", "tool_get", "tool_store")
RETRIEVAL_MODES = ("hybrid", "bm25_only")
STATUSES = ("active", "superseded", "archived")
ARCHIVED_BECAUSE = ("faded", "expired", "user", "gone")
TEMPORAL_STATES = ("none", "future", "present", "past")


@dataclass(frozen=True, slots=True)
class ScopeLine:
    """segments: as written, `from` canonical; None where the line tells no clock."""

    line: int
    scope: str | None
    time_zone: str | None = None
    segments: tuple[Mapping[str, Any], ...] | None = None


@dataclass(frozen=True, slots=True)
class MemoryLine:
    """
    strength_at None: when it is taken in. base_* None: the head. vector: float32, little-endian. merge_seen: whether a
    merge pass has seen it. lives: its bases before it took others in, [strength, at, consolidated] and its importance
    where that was another, oldest first. anew: its head is to be replayed from the base.
    """

    line: int
    scope: str | None
    id: str
    content: str
    type: str
    created_at: int
    source: str = "import"
    observed_at: int | None = None
    strength: float = 1.0
    strength_at: int | None = None
    base_strength: float | None = None
    base_at: int | None = None
    consolidated: bool = False
    pinned: bool = False
    kept: bool = False
    temporal_state: str = "none"
    temporal_anchor: str | None = None
    temporal_end: str | None = None
    recurrence: str | None = None
    recurrence_start: str | None = None
    expires_at: int | None = None
    valid_until: int | None = None
    status: str = "active"
    archived_at: int | None = None
    archived_because: str | None = None
    superseded_by: str | None = None
    importance: float | None = None
    topics: list[str] | None = None
    trust: float | None = None
    metadata: dict[str, Any] | None = None
    model: str | None = None
    vector: bytes | None = None
    merge_seen: bool = False
    lives: list[list[Any]] | None = None
    anew: bool = False


@dataclass(frozen=True, slots=True)
class AssociationLine:
    """remade_after: who knows what was shown since then makes this link anew; None: it cannot be made of that."""

    line: int
    scope: str | None
    memory_a: str
    memory_b: str
    weight: float
    weight_at: int
    inferred: bool = False
    via: str | None = None
    remade_after: int | None = None


@dataclass(frozen=True, slots=True)
class ExposureLine:
    line: int
    scope: str | None
    session_id: str
    turn_id: str
    memory_id: str
    mode: str
    at: int
    score: float | None = None
    retrieval_mode: str | None = None
    linked: bool = False


@dataclass(frozen=True, slots=True)
class TurnLine:
    """
    A turn of which events were purged. shown_until, rated_until: up to when its exposures and its attributions were
    counted, and are gone. found: ids of memories by retrieval mode, where one of them was found by words alone.
    """

    line: int
    scope: str | None
    turn_id: str
    session_id: str | None = None
    shown_until: int | None = None
    rated_until: int | None = None
    found: Mapping[str, list[str]] | None = None


@dataclass(frozen=True, slots=True)
class AttributionLine:
    """
    session_id None: the only one of that turn. replayed: that an applied rating of no later than its memory's base
    is not in the base, but acts there in every replay. mode: what the rating was once counted with, where that no
    longer follows from the exposures. target: the memory whose strength counts it, where that is not what the memory
    was at the time. based_at: the base it was counted on, where that has moved since and holds it. changed_at: when a
    source that overwrites its ratings wrote this one over another.
    """

    line: int
    scope: str | None
    message_id: str
    turn_id: str
    memory_id: str
    evidence: str
    confidence: float
    at: int
    session_id: str | None = None
    applied: bool = False
    replayed: bool = False
    mode: float | None = None
    target: str | None = None
    based_at: int | None = None
    changed_at: int | None = None


@dataclass(frozen=True, slots=True)
class AliasLine:
    line: int
    scope: str | None
    old_id: str
    new_id: str
    reason: str
    at: int


@dataclass(frozen=True, slots=True)
class MergeSourceLine:
    line: int
    scope: str | None
    memory_id: str
    source_id: str
    at: int


@dataclass(frozen=True, slots=True)
class VerdictLine:
    """members: ids, sorted. tries: how often a model was asked in vain."""

    line: int
    scope: str | None
    members: tuple[str, ...]
    verdict: str
    at: int
    tries: int = 0
    because: str | None = None


@dataclass(frozen=True, slots=True)
class TombstoneLine:
    line: int
    scope: str | None
    id: str
    at: int


@dataclass(frozen=True, slots=True)
class SourceLine:
    """
    The store of another system that all other records are from; no line of a file.

    true_at: up to when its own nights count, None where it had none. That of the first time stands: what came later
    is replayed here, whether or not its nights have replayed it too. notes: what a person should hear of.
    """

    line: int
    scope: str | None
    name: str
    true_at: int | None
    notes: tuple[str, ...] = ()


Record = (
    ScopeLine
    | MemoryLine
    | AssociationLine
    | ExposureLine
    | TurnLine
    | AttributionLine
    | AliasLine
    | MergeSourceLine
    | VerdictLine
    | TombstoneLine
    | SourceLine
)

KINDS: dict[str, type[Record]] = {
    "scope": ScopeLine,
    "memory": MemoryLine,
    "association": AssociationLine,
    "exposure": ExposureLine,
    "turn": TurnLine,
    "attribution": AttributionLine,
    "alias": AliasLine,
    "merge_source": MergeSourceLine,
    "verdict": VerdictLine,
    "tombstone": TombstoneLine,
}


@dataclass(frozen=True, slots=True)
class BadLine:
    """Why a line cannot be taken in. whole_file: nor can any other, for what follows cannot be understood."""

    file: str
    line: int
    field: str
    reason: str
    whole_file: bool = False

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: {self.field}: {self.reason}"
