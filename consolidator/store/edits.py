"""What others decide of memories by hand, in their own stores, done here to many at once: see `sources/pull.py`."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import sqlalchemy as sa

from consolidator.exchange.records import MemoryLine
from consolidator.store.aliases import UPDATED
from consolidator.store.bulk import for_each
from consolidator.store.engine import keyed
from consolidator.store.importance import age_otherwise
from consolidator.store.tables import aliases, memories

GONE = "gone"
_TOLD = ("type", "importance", "topics", "expires_at", "metadata")
_ANCHORED = ("temporal_anchor", "temporal_end", "temporal_state", "recurrence", "recurrence_start")


def said_later(conn: sa.Connection, keys: Iterable[int]) -> dict[int, int]:
    """When each of these superseded memories was led to another one."""
    asked = keyed(conn, key=sorted({*keys}))
    query = sa.select(aliases.c.old_key, aliases.c.at).join(asked, asked.c.key == aliases.c.old_key)
    return dict(conn.execute(query).all())


def bring_back(conn: sa.Connection, keys: Collection[int], *, now: int, kept: bool) -> None:
    """
    Make memories active that are not, and themselves again, as `care.restore` does.

    kept: until an event touches them. Otherwise they go on fading as if they had never been away.
    """
    if not keys:
        return
    back: dict[str, Any] = {"status": "active", "archived_at": None, "archived_because": None, "superseded_by": None}
    if kept:
        expiry = sa.case((memories.c.expires_at <= now, None), else_=memories.c.expires_at)
        back |= {"kept": True, "expires_at": expiry}
    this = sa.and_(memories.c.key.in_(_among(conn, keys)), memories.c.status != "active")
    conn.execute(sa.update(memories).where(this).values(**back, revision=memories.c.revision + 1))
    heirs: set[int] = set()
    edge = {*keys}
    while edge:
        following = sa.select(aliases.c.new_key).where(aliases.c.old_key.in_(_among(conn, edge)))
        edge = {*conn.scalars(following)} - heirs
        heirs |= edge
    if heirs:
        this = memories.c.key.in_(_among(conn, heirs))
        conn.execute(sa.update(memories).where(this).values(revision=memories.c.revision + 1))
        conn.execute(sa.delete(aliases).where(aliases.c.old_key.in_(_among(conn, keys))))


def supersede(conn: sa.Connection, by: Mapping[int, int], *, now: int) -> None:
    """Let memories be history: another text has taken the place of each."""
    if not by:
        return
    this = sa.update(memories).where(memories.c.key == sa.bindparam("old"))
    history = this.values(
        status=sa.literal_column("'superseded'"),
        superseded_by=sa.bindparam("new"),
        archived_at=sa.null(),
        archived_because=sa.null(),
        revision=memories.c.revision + sa.literal_column("1"),
    )
    for_each(conn, history, ["old", "new"], [*by.items()])
    conn.execute(sa.delete(aliases).where(aliases.c.old_key.in_(_among(conn, by))))
    asked = keyed(conn, old=[*by], new=[*by.values()])
    led = sa.select(asked.c.old, memories.c.scope_key, asked.c.new, sa.literal(UPDATED), sa.literal(now))
    led = led.join(memories, memories.c.key == asked.c.old)
    conn.execute(sa.insert(aliases).from_select(["old_key", "scope_key", "new_key", "reason", "at"], led))


def archive(conn: sa.Connection, keys: Collection[int], because: str, *, now: int) -> None:
    """Archive those of these memories that are active."""
    if keys:
        this = sa.and_(memories.c.key.in_(_among(conn, keys)), memories.c.status == "active")
        away = {"status": "archived", "archived_at": now, "archived_because": because}
        conn.execute(sa.update(memories).where(this).values(**away, revision=memories.c.revision + 1))


def retell(conn: sa.Connection, told: Mapping[int, MemoryLine]) -> None:
    """
    Write what others now say beside the texts of memories. What they do not say (null; not pinned) stays as it is.

    The next night judges anew when such a memory fades, and when its anchor comes.
    """
    if not told:
        return
    asked = keyed(conn, key=[*told])
    names = (*_TOLD, *_ANCHORED, "pinned", "fresh")
    query = sa.select(memories.c.key, *(memories.c[name] for name in names))
    rows, aged = [], []
    for row in conn.execute(query.join(asked, asked.c.key == memories.c.key)).mappings():
        before = {name: row[name] for name in names}
        after = before | _said(told[row["key"]], row["temporal_anchor"])
        after["fresh"] = before["fresh"] or after["type"] != before["type"]
        if after != before:
            rows.append({"this": row["key"], **{f"new_{name}": value for name, value in after.items()}})
        if any(after[name] != before[name] for name in ("importance", "type")):
            aged.append(row["key"])
    if rows:
        values = {name: sa.bindparam(f"new_{name}", type_=memories.c[name].type) for name in names}
        revised = {"fades_age": None, "revision": memories.c.revision + 1}
        this = memories.c.key == sa.bindparam("this")
        conn.execute(sa.update(memories).where(this).values(**values, **revised), rows)
    age_otherwise(conn, aged)


def _said(line: MemoryLine, anchor: str | None) -> dict[str, Any]:
    said = {name: value for name in _TOLD if (value := getattr(line, name)) is not None}
    if line.pinned:
        said["pinned"] = True
    if line.temporal_anchor is not None and line.temporal_anchor != anchor:
        start = line.recurrence_start or (line.temporal_anchor if line.recurrence else None)
        said |= {name: getattr(line, name) for name in _ANCHORED} | {"recurrence_start": start}
    return said


def _among(conn: sa.Connection, keys: Iterable[int]) -> sa.Select[Any]:
    return sa.select(keyed(conn, key=sorted({*keys})).c.key)
