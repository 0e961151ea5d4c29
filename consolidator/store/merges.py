"""
Gather for merging: what no merge pass has seen, what waits for a verdict, and the texts to compare, in one snapshot.

A night in which nothing came reads a few index entries here, and no text.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import sqlalchemy as sa

from consolidator.laws.association import Pair
from consolidator.laws.clock import Clock
from consolidator.laws.pace import AGED_BY, Ageing
from consolidator.laws.strength import strength_at
from consolidator.merging.texts import Text
from consolidator.plan import ScopePlan, members_hash
from consolidator.store.aliases import resolve
from consolidator.store.engine import keyed
from consolidator.store.overlay import Overlay
from consolidator.store.tables import FRESH, OPEN, aliases, exposures, identities, memories, merge_sources, verdicts

MOST_TRIES = 2
CROWD = 50  # more than a model is ever asked about
WAITING, REJECTED = "waiting", "rejected"


class Open(NamedTuple):
    """Memories of which a verdict is still to come. tries: how often a model was asked in vain; at: since when."""

    members: tuple[int, ...]
    ids: tuple[str, ...]
    verdict: str
    tries: int
    because: str | None
    at: int


class Sight(NamedTuple):
    """
    What a merge pass has to look at.

    fresh: memories that no pass has seen. changed: those, and what was recalled or has revived tonight. open: verdicts
    to come, the oldest first. gone: hashes of the members of those that cannot come any more. types: of all these.
    """

    fresh: tuple[int, ...]
    changed: frozenset[int]
    open: tuple[Open, ...]
    gone: tuple[str, ...]
    types: frozenset[str]


def look(rows: Overlay, part: ScopePlan, *, now: int, most_tries: int = MOST_TRIES) -> Sight:
    """What is to be looked at in a scope; part: what the night's other steps have decided there."""
    conn = rows.conn
    unseen = sa.select(memories.c.key).where(memories.c.scope_key == part.key, memories.c.status == "active", FRESH)
    fresh = set(conn.scalars(unseen))
    fresh |= {key for key, columns in rows.changes.items() if columns.get("status") == "active" and key > 0}
    revived = {one.row[0] for one in part.of("revived")}
    named = revived | _recalled(conn, part)
    asked = _open(conn, part.key, most_tries)
    found = _lookable(rows, part.key, fresh | named | {key for one in asked for key in one.members}, now=now)
    seen_first = tuple(sorted(key for key in fresh & found.keys() if found[key][1]))
    changed = frozenset([*seen_first, *(named & found.keys())])
    still = tuple(one for one in asked if found.keys() >= {*one.members})
    gone = tuple(sorted(members_hash(one.ids) for one in asked if one not in still))
    keys = changed.union(*(one.members for one in still))
    return Sight(seen_first, changed, still, gone, frozenset(found[key][0] for key in keys))


def _recalled(conn: sa.Connection, part: ScopePlan) -> set[int]:
    """The memories, aliases followed, of the exposures that tonight counts."""
    counted = {key for one in part.decisions for key, counts in one.events.exposures if counts}
    if not counted:
        return set()
    table = keyed(conn, key=sorted(counted))
    query = sa.select(exposures.c.memory_key).join(table, exposures.c.key == table.c.key).distinct()
    return set(resolve(conn, set(conn.scalars(query))).values())


def _open(conn: sa.Connection, scope_key: int, most_tries: int) -> list[Open]:
    query = sa.select(verdicts).where(verdicts.c.scope_key == scope_key, OPEN)
    found = [row for row in conn.execute(query) if row.verdict == WAITING or row.tries < most_tries]
    keys = keys_of(conn, scope_key, {name for row in found for name in row.members})
    opened = [
        Open(
            tuple(keys.get(name, 0) for name in row.members),
            tuple(row.members), row.verdict, row.tries, row.because, row.at,
        )
        for row in found
    ]  # fmt: skip
    return sorted(opened, key=lambda one: (one.at, one.ids))


def waiting_since(conn: sa.Connection, *, most_tries: int = MOST_TRIES) -> dict[int, int]:
    """By scope where a verdict is still to come: since when the longest waits."""
    asked = sa.or_(verdicts.c.verdict == WAITING, verdicts.c.tries < most_tries)
    query = sa.select(verdicts.c.scope_key, sa.func.min(verdicts.c.at)).where(OPEN, asked)
    return dict(conn.execute(query.group_by(verdicts.c.scope_key)).all())


def keys_of(conn: sa.Connection, scope_key: int, ids: Iterable[str]) -> dict[str, int]:
    """The keys of content hashes that the scope knows."""
    table = keyed(conn, {"hash": sa.Text}, hash=sorted(set(ids)))
    query = sa.select(identities.c.hash, identities.c.key).join(table, identities.c.hash == table.c.hash)
    return dict(conn.execute(query.where(identities.c.scope_key == scope_key)).all())


_LOOKED_AT = ("type", "fresh", "status", "kept", "spared", "anew", "base_at", "strength_at", "created_at")


def _lookable(rows: Overlay, scope_key: int, keys: Collection[int], *, now: int) -> dict[int, tuple[str, bool]]:
    """Type, and whether no pass has seen it, of those of these memories that may be merged at `now`."""
    if not keys:
        return {}
    table = keyed(rows.conn, key=sorted(keys))
    query = sa.select(memories.c.key, *(memories.c[name] for name in _LOOKED_AT))
    query = query.join(table, memories.c.key == table.c.key).where(memories.c.scope_key == scope_key)
    found = {}
    for row in rows.conn.execute(query).mappings():
        current = {**row, **rows.changes.get(row["key"], {})}
        if may_merge(current, now=now):
            found[row["key"]] = (current["type"], current["fresh"])
    for key in renamed(rows.conn, found):
        del found[key]
    return found


def renamed(conn: sa.Connection, keys: Collection[int]) -> set[int]:
    """Those of these memories whose events count for another one already."""
    table = keyed(conn, key=sorted(keys))
    return set(conn.scalars(sa.select(aliases.c.old_key).join(table, aliases.c.old_key == table.c.key)))


def may_merge(row: Mapping[str, Any], *, now: int) -> bool:
    """Whether a memory's row, whole or in its columns of use here, may be a member of a merge at `now`."""
    due = row["base_at"] <= now and row["strength_at"] <= now
    return row["status"] == "active" and due and not (row["kept"] or row["spared"] or row["anew"])


def texts(
    rows: Overlay, part: ScopePlan, types: Collection[str], *, clock: Clock, now: int, new: Collection[int]
) -> list[Text]:
    """
    The active memories of these types that may be merged, by type and content hash.

    new: keys of those that no pass has seen; a merged one never counts as new.
    """
    conn = rows.conn
    columns = (
        "key", "content", "type", "observed_at", "created_at", "strength", "strength_at", "base_at", "consolidated",
        "importance", "status", "kept", "spared", "anew", "temporal_anchor", "temporal_end", "recurrence",
        "recurrence_start", "source",
    )  # fmt: skip
    query = (
        sa.select(*(memories.c[name] for name in columns), identities.c.hash)
        .join(identities, identities.c.key == memories.c.key)
        .where(memories.c.scope_key == part.key, memories.c.type.in_(sorted(types)))
    )
    changed = sorted(key for key in rows.changes if key > 0)
    table = keyed(conn, key=changed)
    active = sa.select(memories.c.key).where(memories.c.scope_key == part.key, memories.c.status == "active")
    wanted = active.union(sa.select(table.c.key)) if changed else active
    found: list[Mapping[str, Any]] = []
    for row in conn.execute(query.where(memories.c.key.in_(wanted))).mappings():
        current = {**row, **rows.changes.get(row["key"], {})}
        if may_merge(current, now=now):
            found.append(current)
    elsewhere = renamed(conn, [row["key"] for row in found])
    found = [row for row in found if row["key"] not in elsewhere]
    merged = set(conn.scalars(_with_sources(part.key)))
    unseen = frozenset(new)
    strengths = strength_at(
        clock,
        [row["strength"] for row in found],
        [row["strength_at"] for row in found],
        now,
        Ageing(*([row[name] for row in found] for name in AGED_BY)),
    ).tolist()
    told = [
        Text(
            row["key"], row["hash"], row["content"], row["type"], observed(row), strength,
            (row["temporal_anchor"], row["temporal_end"], row["recurrence"], row["recurrence_start"]),
            row["key"] in merged, row["key"] in unseen and row["key"] not in merged,
        )
        for row, strength in zip(found, strengths, strict=True)
    ]  # fmt: skip
    return sorted(told, key=lambda text: (text.type, text.id))


def observed(row: Mapping[str, Any]) -> int:
    """When a memory was observed, else taken in."""
    at: int = row["created_at"] if row["observed_at"] is None else row["observed_at"]
    return at


def _with_sources(scope_key: int) -> sa.Select[Any]:
    known = identities.c.key == merge_sources.c.memory_key
    return sa.select(merge_sources.c.memory_key).join(identities, known).where(identities.c.scope_key == scope_key)


def revisions(rows: Overlay, keys: Iterable[int]) -> dict[int, int]:
    """The revisions of memories, by key."""
    table = keyed(rows.conn, key=sorted(set(keys)))
    query = sa.select(memories.c.key, memories.c.revision).join(table, memories.c.key == table.c.key)
    return {key: rows.revisions.get(key, revision) for key, revision in rows.conn.execute(query)}


def judged(rows: Overlay, part: ScopePlan, *, most_tries: int = MOST_TRIES) -> frozenset[Pair]:
    """
    The pairs of memories, lower key first, that are not to be asked about: a verdict has settled them.

    Also a memory and a source of its own, which a person has brought back.
    """
    conn = rows.conn
    query = sa.select(verdicts.c.members, verdicts.c.verdict, verdicts.c.tries)
    settled = [
        row.members
        for row in conn.execute(query.where(verdicts.c.scope_key == part.key))
        if row.verdict != WAITING and not (row.verdict == REJECTED and row.tries < most_tries)
    ]
    pairs = _pairs_within(conn, part.key, settled)
    owned = sa.select(merge_sources.c.memory_key, merge_sources.c.source_key).where(
        merge_sources.c.memory_key.in_(_with_sources(part.key))
    )
    return pairs | {(min(row[0], row[1]), max(row[0], row[1])) for row in conn.execute(owned)}


def found_distinct(conn: sa.Connection, scope_key: int) -> frozenset[Pair]:
    """The pairs of memories, lower key first, that were found to say different things."""
    query = sa.select(verdicts.c.members).where(verdicts.c.scope_key == scope_key, verdicts.c.verdict == "distinct")
    return _pairs_within(conn, scope_key, list(conn.scalars(query)))


def _pairs_within(conn: sa.Connection, scope_key: int, groups: Sequence[Sequence[str]]) -> frozenset[Pair]:
    """The pairs of these groups; of a crowd of equal texts only those that are both active, which are few."""
    keys = keys_of(conn, scope_key, {name for members in groups for name in members})
    known = [[keys[name] for name in members if name in keys] for members in groups]
    asked = keyed(conn, key=sorted({key for members in known if len(members) > CROWD for key in members}))
    query = sa.select(memories.c.key).join(asked, memories.c.key == asked.c.key).where(memories.c.status == "active")
    active = set(conn.scalars(query))
    return frozenset(
        (min(one, other), max(one, other))
        for members in known
        for one, other in combinations(members if len(members) <= CROWD else active.intersection(members), 2)
    )
