"""Aliases: which memory an event counts for, after merges and renamings."""

from collections.abc import Iterable

import sqlalchemy as sa

from consolidator.store.engine import keyed
from consolidator.store.tables import aliases, memories

UPDATED = "updated"  # why an alias leads from a text to the one that took its place, by a person's or an agent's edit


def resolve(conn: sa.Connection, keys: Iterable[int]) -> dict[int, int]:
    """Each key and where its aliases end; a circle ends where it began."""
    step: dict[int, int] = {}
    asked: set[int] = set()
    while ask := (set(keys) if not asked else set(step.values())) - asked:
        asked |= ask
        table = keyed(conn, old=sorted(ask))
        step |= dict(
            conn.execute(
                sa.select(aliases.c.old_key, aliases.c.new_key).join(table, aliases.c.old_key == table.c.old)
            ).all()
        )
    ends = {key: key for key in keys}
    for key in ends.keys() & step.keys():
        end, seen = key, {key}
        while end in step and step[end] not in seen:
            end = step[end]
            seen.add(end)
        ends[key] = end if step.get(end) is None else key
    return ends


def bearers(conn: sa.Connection, asked: Iterable[tuple[int, int]]) -> dict[tuple[int, int], int]:
    """
    For each (memory, time) the memory that it was then: where its aliases of before that time lead.

    A memory that is not here, but only known by name, is none: its aliases are followed, whenever they came.
    """
    wanted = set(asked)
    step: dict[int, tuple[int, int]] = {}
    met: set[int] = set()
    while ask := ({key for key, _ in wanted} if not met else {heir for heir, _ in step.values()}) - met:
        met |= ask
        table = keyed(conn, old=sorted(ask))
        query = sa.select(aliases.c.old_key, aliases.c.new_key, aliases.c.at)
        for old, new, at in conn.execute(query.join(table, aliases.c.old_key == table.c.old)):
            step[old] = (new, at)
    table = keyed(conn, key=sorted(step))
    here = set(conn.scalars(sa.select(memories.c.key).join(table, memories.c.key == table.c.key)))
    found = {}
    for memory, at in wanted:
        key, seen = memory, {memory}
        while key in step and (key not in here or step[key][1] < at) and step[key][0] not in seen:
            key = step[key][0]
            seen.add(key)
        found[memory, at] = key
    return found


def members(conn: sa.Connection, keys: Iterable[int]) -> dict[int, set[int]]:
    """Each memory and every key whose aliases end in it, itself included."""
    groups = {key: {key} for key in keys}
    owner = {key: key for key in groups}
    ask = set(groups)
    while ask:
        table = keyed(conn, new=sorted(ask))
        found = conn.execute(
            sa.select(aliases.c.old_key, aliases.c.new_key).join(table, aliases.c.new_key == table.c.new)
        )
        ask = set()
        for old, new in found:
            if old not in owner:
                owner[old] = owner[new]
                groups[owner[new]].add(old)
                ask.add(old)
    return groups
