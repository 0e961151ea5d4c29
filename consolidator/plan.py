"""
A plan: the decisions of one night as data. The same rows are what a dry run shows, what `apply` performs,
what the journal keeps and what `undo` reads back. Nothing here knows a law of memory.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from consolidator.asked import NOTHING_ASKED, Asked
from consolidator.errors import BadInput
from consolidator.instants import format_instant, parse_instant

FORMAT, VERSION = "consolidator-plan", 2
STEPS = ("reinforce", "decay", "associate", "shift", "prune", "merge")
TOTALS = (
    "reinforced",
    "shifted",
    "archived",
    "revived",
    "linked",
    "inferred",
    "unlinked",
    "merged",
    "absorbed",
    "updated",
    "superseded",
    "distinct",
    "rejected",
    "carried_over",
    "held_back",
    "stale",
)

Row = tuple[int, ...]  # (key,) of a memory or scope, (lower key, upper key) of an association
Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Events:
    """
    Events that a decision consumes.

    attributions: (key, key of the memory whose strength counts it or None, mode factor or None where it has one).
    exposures: (key, whether it is counted in the weights).
    """

    attributions: tuple[tuple[int, int | None, float | None], ...] = ()
    exposures: tuple[tuple[int, bool], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.attributions or self.exposures)


@dataclass(frozen=True, slots=True)
class Decision:
    """
    What changes on which row, from what to what, and why.

    table, row: "memories" (key,), "associations" (lower, upper) or "scopes" (key,); "" with () where events
    were seen without effect. A key below zero is that of a memory which the plan itself writes. revision: of the row
    before; None where there is no row. before, after: only the columns that change; None where the row does not
    exist. reads: other rows judged by, with their revisions. Decisions on one row follow each other in the plan;
    each counts the revision up by one.
    """

    step: str
    verb: str
    table: str
    row: Row
    revision: int | None
    before: Values | None
    after: Values | None
    because: str
    reads: tuple[tuple[str, Row, int | None], ...] = ()
    events: Events = Events()


def content_hash(text: str) -> str:
    """By which a text is known: its hash."""
    return hashlib.sha256(text.encode()).hexdigest()


def members_hash(members: Iterable[str]) -> str:
    """By which a verdict on memories is known: their ids in order, hashed."""
    return hashlib.sha256("\n".join(sorted(members)).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Usage:
    """What an answer cost. kept: how many replies were kept ones, which cost nothing."""

    calls: int = 0
    kept: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float = 0.0


@dataclass(frozen=True, slots=True)
class Merge:
    """
    Memories that look alike, what was found of them, and what changes by that.

    members, ids, texts, revisions: of each memory, in one order: its key, the hash of its content, the content, and
    the revision of its row when it was read. verdict: merge, update, absorb (text unchanged), distinct, rejected, or
    waiting for one. how: equal, contained, written, or none. target: the key of the memory that stays; below zero
    that of one to be written, which is there only once its own decision is applied; None: none. text: the target's.
    guard: the facts that differ. tries: how often a model was asked in vain. decisions: the target first; they stand
    or fall together, and those of a later merge stand on those of the merges before it.
    """

    members: tuple[int, ...]
    ids: tuple[str, ...]
    texts: tuple[str, ...] = ()
    revisions: tuple[int, ...] = ()
    verdict: str = "waiting"
    how: str = "none"
    target: int | None = None
    text: str = ""
    because: str = ""
    guard: tuple[str, ...] = ()
    tries: int = 0
    usage: Usage = Usage()
    decisions: tuple[Decision, ...] = ()


@dataclass(frozen=True, slots=True)
class Paid:
    """A reply that a plan's making has paid for: to which request, about which memories, and what it was."""

    request: str
    members: tuple[int, ...]
    text: str
    stop: Literal["end", "cut off", "refused"]
    model: str
    input_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True)
class ScopePlan:
    """
    One scope's part of a plan.

    undos: the scope's count of undos when planned; time_zone: its zone. schedule: derived columns to note,
    (memory, fades_age, shifts_at, protected_until) and (lower, upper, fades_age). known: keys of the waiting
    attributions and exposures that were seen. ends: of the memories that these name, where the aliases of those
    that have any end. sensitive: closed spans of time in which an activity not known here would change the clock.
    dead_before: association age under which links are dead; unlinked: how many. names: memory key to (id, text)
    for the rows named. because_nothing: step to reason. whole: all or nothing of it holds, for the clock's past is
    another and every row that counts on it is moved. paced: revisions of memories whose schedule holds for these alone,
    by what they are. merges: what was found to look alike, in the order of its
    performing. looked_at: keys of memories that no merge pass had seen before this one. settled: hashes of the
    members of verdicts that wait no more. asked: what finding the merges took and left. paid: the replies to keep, so
    that nothing is paid again.
    """

    key: int
    scope: str
    undos: int
    decisions: tuple[Decision, ...] = ()
    memory_schedule: tuple[tuple[int, float, int | None, int | None], ...] = ()
    link_schedule: tuple[tuple[int, int, float], ...] = ()
    known_attributions: frozenset[int] = frozenset()
    known_exposures: frozenset[int] = frozenset()
    ends: Mapping[int, int] = field(default_factory=dict)
    sensitive: tuple[tuple[int, int], ...] = ()
    dead_before: float | None = None
    unlinked: int = 0
    names: Mapping[int, tuple[str, str]] = field(default_factory=dict)
    because_nothing: Mapping[str, str] = field(default_factory=dict)
    notes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    time_zone: str = "UTC"
    whole: bool = False
    paced: Mapping[int, int] = field(default_factory=dict)
    merges: tuple[Merge, ...] = ()
    looked_at: tuple[int, ...] = ()
    settled: tuple[str, ...] = ()
    asked: Asked = NOTHING_ASKED
    paid: tuple[Paid, ...] = ()

    def of(self, verb: str) -> Iterator[Decision]:
        """The decisions of one verb, in order."""
        return (decision for decision in self.decisions if decision.verb == verb)


@dataclass(frozen=True, slots=True)
class Plan:
    """One night: the store it is for (by the id kept inside it), its `now`, its steps, its scopes."""

    store_id: str
    as_of: int
    steps: tuple[str, ...]
    scopes: tuple[ScopePlan, ...]


@dataclass(frozen=True, slots=True)
class ScopeOutcome:
    """
    What became of one scope's part of a plan: in a dry run everything counts as applied.

    stale: decisions left out, each with why. unlinked: faded direct links removed. merges: those that were written.
    """

    applied: tuple[Decision, ...] = ()
    stale: tuple[tuple[Decision, str], ...] = ()
    unlinked: int = 0
    notes: tuple[str, ...] = ()
    merges: tuple[Merge, ...] = ()


@dataclass(frozen=True)
class Result:
    """A night that was planned (`run_id` None), run or applied: what became of each scope, and how it ended."""

    plan: Plan
    outcomes: Mapping[int, ScopeOutcome] = field(default_factory=dict)
    run_id: str | None = None
    exit_code: int = 0
    error: str | None = None


def save(plan: Plan, path: Path) -> None:
    """Write a plan as self-contained JSON."""
    path.write_text(json.dumps(as_document(plan), ensure_ascii=False) + "\n", encoding="utf-8")


def as_document(plan: Plan) -> dict[str, Any]:
    """The JSON document of a plan."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "store_id": plan.store_id,
        "as_of": format_instant(plan.as_of),
        "steps": plan.steps,
        "scopes": [
            {
                name: _plain(getattr(scope, name))
                for name in ScopePlan.__slots__  # the fields, in their order
            }
            for scope in plan.scopes
        ],
    }


def load(path: Path) -> Plan:
    """Read a plan. BadInput where the file is none, or of another format."""
    from pydantic import TypeAdapter, ValidationError  # heavy, and of use only here

    anew = "write it anew with `consolidate run --dry-run --out PLAN`"
    try:
        document = json.loads(path.read_bytes())
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror}); {anew}") from None
    except (ValueError, RecursionError):
        raise BadInput(f"{path}: not a whole plan, for it is no whole JSON; {anew}") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise BadInput(f"{path}: not a plan; {anew}")
    if document.get("version") != VERSION:
        raise BadInput(
            f"{path}: a plan of version {document.get('version')}, where this program reads {VERSION}; {anew}"
        )
    try:
        fields = {name: document[name] for name in Plan.__slots__}
        return TypeAdapter(Plan).validate_python({**fields, "as_of": parse_instant(fields["as_of"])})
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise BadInput(f"{path}: not a whole plan: {where}: {first['msg']}; {anew}") from None
    except KeyError as error:
        raise BadInput(f"{path}: not a whole plan: {error.args[0]} is missing; {anew}") from None
    except (ValueError, TypeError):
        raise BadInput(f"{path}: not a whole plan: as_of is not a time; {anew}") from None


def _plain(value: Any) -> Any:
    if isinstance(value, Decision | Events | Merge | Usage | Asked | Paid):
        return {name: _plain(getattr(value, name)) for name in value.__slots__}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value
