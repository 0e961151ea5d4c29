"""
Merge: let one memory stand for several that say the same, and hand on to it what they were worth.

What is decided is data like every other decision. Some columns are of other tables and are written there: `id` (the
content hash of a new memory), `alias` ([heir, reason, at]), `sources` ([[source, at], ...]).
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

from consolidator.laws.association import Pair
from consolidator.laws.clock import ASSOCIATION, Clock
from consolidator.laws.fading import DEAD, fades_age
from consolidator.laws.strength import strength_at
from consolidator.plan import Decision, Row
from consolidator.steps.associate import change_link
from consolidator.steps.rows import Link, Memory, fading_ages, strengths
from consolidator.steps.shift import temporal_of

STEP, MERGED = "merge", "merged"

Reads = tuple[tuple[str, Row, int | None], ...]


class Member(NamedTuple):
    """
    A memory that is merged: its row, and what a merge takes from it besides.

    observed_at: when it was observed, else taken in. lives: the bases it had before it took others in. fresh: whether
    no merge pass has seen it. sources: what it was merged from, with when. alias: where one that is not active leads.
    """

    memory: Memory
    id: str
    type: str
    source: str
    observed_at: int
    valid_until: int | None
    superseded_by: int | None
    topics: Sequence[str] | None
    trust: float | None
    metadata: Mapping[str, Any] | None
    lives: Sequence[Sequence[Any]] | None
    fresh: bool
    sources: tuple[tuple[int, int], ...] = ()
    alias: tuple[int, str, int] | None = None

    @property
    def key(self) -> int:
        return self.memory.key


class New(NamedTuple):
    """A memory to be written: a key below zero that stands for its own, its content hash and its content."""

    key: int
    id: str
    content: str


def unite(
    members: Iterable[Member],
    target: Member | New,
    *,
    scope_key: int,
    update: bool,
    because: str,
    reads: Reads,
    clock: Clock,
    zone: str,
    now: int,
) -> tuple[list[Decision], dict[int, Memory]]:
    """
    One memory for all: the target gets what they have, the others are superseded by it and lead to it.

    Strength: the largest current one, from now on, as a consolidated memory. Observed: the latest. Anchor: that of the
    target, else of the latest that has one. Expires: never, if one never does, else with the last. Pinned if one is.
    Importance: the largest. Trust: the least. Topics: all. Metadata: what all agree on, or the target's own.

    members: all that are merged, the target among them where it exists. update: the later observed supersede the
    earlier, which were valid until then. reads: rows that this was judged by. Returns the decisions, the target's
    first, and the memories as they then are.
    """
    group = sorted(members, key=lambda one: (one.observed_at, one.id))
    sources = [one for one in group if one.key != target.key]
    inherited = _inherited(group, target, clock=clock, zone=zone, now=now)
    told = because or f"one text for {len(group)} memories"
    if isinstance(target, New):
        decision, memory = _write(target, group, inherited, told, reads, scope_key=scope_key, now=now)
    else:
        decision, memory = _absorb(target, sources, inherited, told, reads, now=now)
    after = {target.key: memory}
    decisions = [decision]
    for one in sources:
        decided, after[one.key] = _supersede(one, target.key, group[-1], update=update, now=now)
        decisions.append(decided)
    return decisions, after


def _inherited(
    group: Sequence[Member], target: Member | New, *, clock: Clock, zone: str, now: int
) -> tuple[Memory, dict[str, Any]]:
    """The target's row as it will be, but for its key and revision, and the columns that a row here does not show."""
    current = strengths(clock, [one.memory for one in group], now).tolist()
    best = max(current)
    living = [one for one in group if one.memory.status == "active"]
    expiries = [one.memory.expires_at for one in living]
    known = target if isinstance(target, Member) else None
    anchored = known if known and known.memory.temporal_anchor else _latest_anchored(group)
    importance = max((one.memory.importance for one in group if one.memory.importance is not None), default=None)
    row = (known or anchored).memory._replace(
        key=target.key,
        importance=importance,
        consolidated=True,
        pinned=any(one.memory.pinned for one in group),
        kept=False,
        spared=False,
        status="active",
        archived_at=None,
        archived_because=None,
        expires_at=None if None in expiries else max(at for at in expiries if at is not None),
    )
    own = current[group.index(known)] if known else None
    other_pace = bool(clock.laws) and known is not None and known.memory.importance != importance
    if known is None or not known.memory.consolidated or own != best or other_pace:
        row = row._replace(base_strength=best, base_at=now, strength=best, strength_at=now)
    if known is None or anchored is not known or known.memory.status != "active":
        given = anchored.memory
        row = row._replace(**{name: getattr(given, name) for name in _TEMPORAL})
        found = temporal_of(row, zone=zone, now=now)
        row = row._replace(
            temporal_state=found.state,
            temporal_anchor=found.anchor,
            temporal_end=found.end,
            shifts_at=found.shifts_at,
            protected_until=found.protected_until,
        )
    row = row._replace(fades_age=float(fading_ages(clock, [row])[0]))
    trust = [one.trust for one in group if one.trust is not None]
    topics = [*(known.topics or () if known else ()), *(topic for one in group for topic in one.topics or ())]
    beside = {
        "observed_at": group[-1].observed_at,
        "trust": min(trust, default=None),
        "topics": list(dict.fromkeys(topics)) or None,
    }
    return row, beside


_TEMPORAL = ("temporal_state", "temporal_anchor", "temporal_end", "recurrence", "recurrence_start")


def _latest_anchored(group: Sequence[Member]) -> Member:
    """The latest with an anchor, else the latest with a temporal state of its own, else the latest."""
    return max(
        enumerate(group), key=lambda one: (one[1].memory.temporal_anchor is not None,
                                           one[1].memory.temporal_state != "none", one[0])
    )[1]  # fmt: skip


def _write(
    new: New,
    group: Sequence[Member],
    inherited: tuple[Memory, dict[str, Any]],
    because: str,
    reads: Reads,
    *,
    scope_key: int,
    now: int,
) -> tuple[Decision, Memory]:
    row, beside = inherited
    row = row._replace(revision=0)
    columns = {name: value for name, value in row._asdict().items() if name not in ("key", "revision")}
    after = {
        "id": new.id,
        "scope_key": scope_key,
        "content": new.content,
        "source": "consolidation",
        "created_at": now,
        **columns,
        "type": group[-1].type,
        **beside,
        "superseded_by": None,
        "valid_until": None,
        "metadata": _agreed([one.metadata for one in group]),
        "lives": None,
        "fresh": False,
        "sources": [[key, now] for key in _originals(group)],
    }
    return Decision(STEP, MERGED, "memories", (new.key,), None, None, after, because, reads), row


def _absorb(
    target: Member,
    sources: Sequence[Member],
    inherited: tuple[Memory, dict[str, Any]],
    because: str,
    reads: Reads,
    *,
    now: int,
) -> tuple[Decision, Memory]:
    row, beside = inherited
    beside["valid_until"], beside["superseded_by"] = (
        (None, None) if target.superseded_by else (target.valid_until, None)
    )
    was = target.memory
    before: dict[str, Any] = {
        name: getattr(was, name) for name in row._fields if getattr(was, name) != getattr(row, name)
    }
    after = {name: getattr(row, name) for name in before}
    for name, value in beside.items():
        if (known := getattr(target, name)) != value:
            before[name], after[name] = known, value
    if "base_at" in after or "base_strength" in after:
        before["lives"] = target.lives
        other = [was.importance] if was.importance != row.importance else []
        after["lives"] = [*(target.lives or ()), [was.base_strength, was.base_at, was.consolidated, *other]]
    if target.fresh:
        before["fresh"], after["fresh"] = True, False
    if target.alias is not None:
        before["alias"], after["alias"] = list(target.alias), None
    known_sources = [list(one) for one in target.sources]
    named = {key for key, _ in target.sources} | {target.key}
    before["sources"] = known_sources
    after["sources"] = known_sources + [[key, now] for key in _originals(sources) if key not in named]
    decision = Decision(STEP, "absorbed", "memories", (target.key,), was.revision, before, after, because, reads)
    return decision, row._replace(revision=was.revision + 1)


def _supersede(one: Member, heir: int, latest: Member, *, update: bool, now: int) -> tuple[Decision, Memory]:
    before: dict[str, Any] = {"status": one.memory.status, "superseded_by": one.superseded_by, "alias": None}
    after: dict[str, Any] = {"status": "superseded", "superseded_by": heir, "alias": [heir, MERGED, now]}
    if one.fresh:
        before["fresh"], after["fresh"] = True, False
    because = "its text is in another memory now"
    if update and one.observed_at < latest.observed_at:
        because = "superseded by what was observed later"
        before["valid_until"] = one.valid_until
        after["valid_until"] = min(latest.observed_at, one.valid_until or latest.observed_at)
    row = one.memory
    decision = Decision(STEP, "superseded", "memories", (row.key,), row.revision, before, after, because)
    return decision, row._replace(status="superseded", revision=row.revision + 1)


def _originals(group: Iterable[Member]) -> list[int]:
    """Whose texts came in: of a merged memory the sources, and the memory itself unless merging wrote it."""
    keys = [key for one in group for key, _ in one.sources]
    keys += [one.key for one in group if one.source != "consolidation" or not one.sources]
    return sorted(set(keys))


def _agreed(given: Sequence[Mapping[str, Any] | None]) -> dict[str, Any] | None:
    first, *others = [metadata or {} for metadata in given]
    agreed = {name: value for name, value in first.items() if all(_same(name, value, other) for other in others)}
    return agreed or None


def _same(name: str, value: Any, other: Mapping[str, Any]) -> bool:
    return name in other and type(other[name]) is type(value) and bool(other[name] == value)


def inherit(
    group: Collection[int],
    target: int,
    links: Mapping[Pair, Link],
    replaced: Mapping[Pair, Link],
    *,
    scope_key: int,
    clock: Clock,
    now: int,
) -> tuple[list[Decision], dict[Pair, Link]]:
    """
    The target is linked to all that the merged memories are linked to, with the chance that any of them is.

    The weight is 1 - prod(1 - w) of their current ones; dead links and those among themselves do not count. It is a
    base of its own, so that no replay counts again what it holds. links: their direct links, to whom the target is to
    be linked. replaced: rows of the target's pairs other than those. Returns decisions, and the links as they then are.
    """
    pairs = list(links)
    ends = [a if b in group else b for a, b in pairs]
    weights = strength_at(
        clock, [links[pair].weight for pair in pairs], [links[pair].weight_at for pair in pairs], now, ASSOCIATION
    ).tolist()
    shares: dict[int, list[float]] = {}
    grown: dict[int, bool] = {}
    for pair, end, weight in zip(pairs, ends, weights, strict=True):
        if end not in group and weight >= DEAD:
            shares.setdefault(end, []).append(weight)
            grown[end] = grown.get(end, False) or target not in pair
    age = float(clock.age(now, ASSOCIATION))
    decisions, changed = [], {}
    for end, parts in sorted(shares.items()):
        if not grown[end]:
            continue
        weight = parts[0] if len(parts) == 1 else 1.0 - prod(1.0 - part for part in parts)
        pair = (min(end, target), max(end, target))
        row = links.get(pair) or replaced.get(pair)
        fades = float(fades_age(age, weight, floor=DEAD))
        head = {"weight": weight, "weight_at": now, "base_weight": weight, "base_at": now, "base_mark": 0,
                "fades_age": fades}  # fmt: skip
        because = f"that of {len(parts)} merged memor{'ies' if len(parts) > 1 else 'y'}: weight {weight:.3f}"
        decisions.append(change_link("inherited", pair, row, head, because, scope_key, step=STEP))
        revision = 0 if row is None else (row.revision or 0) + 1
        changed[pair] = Link(revision, weight, now, weight, now, False, None, fades, 0)
    return decisions, changed
