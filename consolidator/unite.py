"""One merge decided: what an answer makes of the memories that it was about, read from a snapshot, judged by a step."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import sqlalchemy as sa

from consolidator.implied import infer_links
from consolidator.laws.association import Pair
from consolidator.laws.clock import Clock
from consolidator.plan import Merge, Row, ScopePlan
from consolidator.steps.merge import STEP, Member, New, inherit, unite
from consolidator.steps.rows import Link, Memory
from consolidator.store.aliases import resolve
from consolidator.store.engine import keyed
from consolidator.store.merges import found_distinct, judged, may_merge, observed, renamed
from consolidator.store.overlay import Overlay
from consolidator.store.tables import aliases, identities, merge_sources, tombstones
from consolidator.tonight import Night

CHANGING = ("merge", "update", "absorb")


class _Stands(NamedTuple):
    """The memory that is to stand for all: an existing one by its key, or the hash of a new one; or why none can."""

    key: int | None = None
    id: str = ""
    waits: str = ""
    rejected: str = ""


def decide_merge(rows: Overlay, part: ScopePlan, merge: Merge, *, key: int, clock: Clock, now: int) -> Merge:
    """
    What a verdict on memories changes: the merge with its target, its text and its decisions.

    merge: of verdict merge or update with the text that was written, or absorb with the member that stays; any other
    comes back as it is. key: below zero, for a new memory. rows: a snapshot, with what was decided before this merge.
    Waiting, where a member is not as it was; rejected, where the text must not be written; because says why.
    """
    if merge.verdict not in CHANGING:
        return merge
    held = rows.rows_of(merge.members)
    why = _not_as_it_was(rows, merge, held, now=now)
    if why:
        return _undecided(merge, "waiting", why)
    stands = _settle(rows, part, merge, now=now)
    if stands.waits or stands.rejected:
        return _undecided(merge, "waiting" if stands.waits else "rejected", stands.waits or stands.rejected)
    keys = list(merge.members)
    if stands.key is not None and stands.key not in held:
        keys.append(stands.key)
        held |= rows.rows_of([stands.key])
    links = rows.direct_of(keys)
    if any(row.weight_at > now for row in links.values()):
        return _undecided(merge, "waiting", "a link of it is of a later night")
    members = _members(rows.conn, held)
    target = New(key, stands.id, merge.text) if stands.key is None else members[stands.key]
    reads: tuple[tuple[str, Row, int | None], ...] = tuple(
        ("associations", pair, row.revision) for pair, row in sorted(links.items())
    )
    decisions, after = unite(
        members.values(),
        target,
        scope_key=part.key,
        update=merge.verdict == "update",
        because=merge.because,
        reads=reads,
        clock=clock,
        zone=part.time_zone,
        now=now,
    )
    given, changed = _hand_on_links(rows, part, {*keys, target.key}, target.key, links, clock=clock, now=now)
    night = Night(rows.conn, part, clock, now, after, now, decisions=[*decisions, *given], links=changed)
    rows.names[target.key] = target.id
    closed = set(keys) - {target.key}
    revived = {target.key} if isinstance(target, Member) and target.memory.status != "active" else set()
    infer_links(night, archived=closed, revived=revived, rows=rows)
    return replace(
        merge,
        members=tuple(keys),
        ids=tuple(str(held[one]["id"]) for one in keys),
        texts=tuple(str(held[one]["content"]) for one in keys),
        revisions=tuple(int(held[one]["revision"]) for one in keys),
        target=target.key,
        text=merge.text if stands.key is None else str(held[stands.key]["content"]),
        decisions=tuple(replace(one, step=STEP) for one in night.decisions),
    )


def _undecided(merge: Merge, verdict: str, because: str) -> Merge:
    return replace(merge, verdict=verdict, because=because, target=None, decisions=())


def _not_as_it_was(rows: Overlay, merge: Merge, held: Mapping[int, Mapping[str, Any]], *, now: int) -> str:
    if held.keys() != set(merge.members) or renamed(rows.conn, merge.members):
        return "a memory of it is gone"
    as_read = dict(zip(merge.members, merge.revisions, strict=True)) if merge.revisions else {}
    if any(held[key]["revision"] != revision for key, revision in as_read.items()):
        return "a memory of it has changed meanwhile"
    return "" if all(may_merge(row, now=now) for row in held.values()) else "a memory of it has changed meanwhile"


def _settle(rows: Overlay, part: ScopePlan, merge: Merge, *, now: int) -> _Stands:
    """Whose text it is: a member's, that of another memory here, or a new one."""
    if merge.verdict == "absorb":
        return _Stands(merge.target)
    name = hashlib.sha256(merge.text.encode()).hexdigest()
    if name in merge.ids:
        return _Stands(merge.members[merge.ids.index(name)])
    if name in rows.names.values():
        return _Stands(waits="its text was written tonight")
    conn = rows.conn
    forgotten = sa.select(tombstones.c.at).where(tombstones.c.scope_key == part.key, tombstones.c.hash == name)
    if conn.scalar(forgotten) is not None:
        return _Stands(rejected="its text was forgotten, and must not come back")
    same = sa.select(identities.c.key).where(identities.c.scope_key == part.key, identities.c.hash == name)
    key = conn.scalar(same)
    row = rows.rows_of([key]).get(key) if key is not None else None
    if key is None or row is None:
        led = key is not None and renamed(conn, [key])
        return _Stands(rejected="its text is known under another name") if led else _Stands(id=name)
    why = _forbidden(rows, part, merge, key, row, now=now)
    return _Stands(rejected=why) if why else _Stands(key)


def _forbidden(rows: Overlay, part: ScopePlan, merge: Merge, key: int, row: Mapping[str, Any], *, now: int) -> str:
    """Why a memory that says what was written cannot stand for the members; empty where it can."""
    kinds = {each["type"] for each in rows.rows_of(merge.members).values()}
    if row["type"] not in kinds:
        return f"a {row['type']} says just that"
    apart = judged(rows, part) if row["status"] == "active" else found_distinct(rows.conn, part.key)
    if any((min(key, one), max(key, one)) in apart for one in merge.members):
        return "a memory that was found to be another one says just that"
    if row["status"] == "superseded":
        ends = resolve(rows.conn, [key])
        return "" if ends[key] in merge.members else "what it says has been superseded"
    if row["status"] == "archived" and row["archived_because"] not in ("faded", "expired"):
        return "what it says was archived on purpose"
    as_active = {**row, "status": "active"}
    if renamed(rows.conn, [key]) or not may_merge(as_active, now=now):
        return "a memory that is to stay as it is says just that"
    return ""


def _members(conn: sa.Connection, held: Mapping[int, Mapping[str, Any]]) -> dict[int, Member]:
    keys = sorted(held)
    table = keyed(conn, key=keys)
    sources: dict[int, list[tuple[int, int]]] = {}
    query = sa.select(merge_sources).join(table, merge_sources.c.memory_key == table.c.key)
    for row in conn.execute(query.order_by(merge_sources.c.source_key)):
        sources.setdefault(row.memory_key, []).append((row.source_key, row.at))
    table = keyed(conn, key=keys)
    query = sa.select(aliases).join(table, aliases.c.old_key == table.c.key)
    led = {row.old_key: (row.new_key, row.reason, row.at) for row in conn.execute(query)}
    return {
        key: Member(
            Memory(**{name: row[name] for name in Memory._fields}),
            row["id"],
            row["type"],
            row["source"],
            observed(row),
            row["valid_until"],
            row["superseded_by"],
            row["topics"],
            row["trust"],
            row["metadata"],
            row["lives"],
            row["fresh"],
            _pairs(row["sources"]) if "sources" in row else tuple(sources.get(key, ())),
            row["alias"] if "alias" in row else led.get(key),
        )
        for key, row in held.items()
    }


def _pairs(told: Sequence[Sequence[int]]) -> tuple[tuple[int, int], ...]:
    return tuple((key, at) for key, at in told)


def _hand_on_links(
    rows: Overlay,
    part: ScopePlan,
    group: set[int],
    target: int,
    links: Mapping[Pair, Link],
    *,
    clock: Clock,
    now: int,
) -> tuple[Sequence[Any], dict[Pair, Link]]:
    """The links of the target. What is superseded has handed on its own already, so it gets none."""
    ends = {end for pair in links for end in pair if end not in group}
    statuses = rows.statuses(ends)
    wanted = {end for end in ends if statuses.get(end, "superseded") != "superseded"}
    living = {pair: row for pair, row in links.items() if wanted.intersection(pair)}
    replaced = rows.links_of({(min(target, end), max(target, end)) for end in wanted})
    return inherit(group, target, living, replaced, scope_key=part.key, clock=clock, now=now)
