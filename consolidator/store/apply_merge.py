"""
Apply a merge: recheck it against the store as it is now, then write all of it in one short transaction.

It decides nothing: no law and no step is needed here. Killed at any instant, a merge is there whole or not at all.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray
from sqlalchemy.dialects import postgresql, sqlite

from consolidator.plan import Decision, Merge, Plan, Row, ScopePlan, members_hash
from consolidator.store.chains import fallen
from consolidator.store.engine import Store, keyed
from consolidator.store.recheck import revision_of_scope, stale_tokens, touched
from consolidator.store.run import Run
from consolidator.store.search import searchable
from consolidator.store.tables import (
    DIRECT,
    aliases,
    associations,
    attributions,
    exposures,
    identities,
    memories,
    merge_sources,
    tombstones,
)
from consolidator.store.vectors import write_vectors
from consolidator.store.verdicts import Finding, all_here, settle, write_finding
from consolidator.store.writing import JUDGED, write_journal, write_rows


class Landed(NamedTuple):
    """What became of a merge: as it was written, with the keys of the store, or why it was left out."""

    merge: Merge
    stale: str = ""


class _Stale(Exception):
    """A merge that does not hold any more."""


def apply_merge(
    store: Store,
    plan: Plan,
    part: ScopePlan,
    merge: Merge,
    run: Run,
    *,
    keys: dict[int, int],
    vector: tuple[str, NDArray[np.float32]] | None = None,
) -> Landed:
    """
    One merge, in one transaction, or nothing of it where a row, a link or an event of it is new or has changed.

    keys: of memories that merges of this part have written, by the keys below zero that stand for them; this one adds
    its own. vector: the model's name and the vector of the merge's text, of use where that is new.
    """
    made: dict[int, int] = {}
    try:
        with run.writing(store) as conn:
            planned = _all_settled(merge, keys)
            planned = _recheck(conn, plan, replace(part, decisions=tuple(planned)), merge, run)
            if merge.target is not None and merge.target < 0:
                made = {merge.target: _identity(conn, part.key, planned[0])}
            run_key = run.stamp(conn)
            done = [_marked(_settled(one, made, own=None), run_key) for one in planned]
            write_rows(conn, [_with_words(one) for one in done])
            _write_beside(conn, part.key, done)
            target = made.get(merge.target or 0, merge.target)
            if vector is not None and made:
                model, values = vector
                write_vectors(conn, model, [made[merge.target or 0]], values[None])
            found = Finding(merge.ids, merge.verdict, plan.as_of, merge.tries, merge.because or None)
            note = write_finding(conn, part.key, found)
            write_journal(conn, run, part.key, done, beside={"verdicts": [note]})
    except _Stale as stale:
        run.left_out |= {(one.table, one.row) for one in merge.decisions}
        return Landed(merge, str(stale))
    keys |= made
    return Landed(replace(merge, target=target, decisions=tuple(done)))


def finish_pass(store: Store, plan: Plan, part: ScopePlan, merges: Iterable[Merge], run: Run) -> None:
    """
    The end of a merge pass, in one transaction: verdicts that changed no memory, what waits, and what was looked at.

    merges: those that changed nothing. Nothing is written where nothing is new.
    """
    found = [
        Finding(one.ids, one.verdict, plan.as_of, one.tries, one.because or None) for one in merges if not one.decisions
    ]
    if not (found or part.looked_at or part.settled):
        return
    with run.writing(store) as conn:
        if revision_of_scope(conn, part) is None:
            return
        notes = settle(conn, part.key, set(part.settled) - {members_hash(one.ids) for one in found})
        notes += [write_finding(conn, part.key, one) for one in all_here(conn, part.key, found)]
        seen = _look_at(conn, part.looked_at)
        told = [note for note in notes if note[1] != note[2]]
        if told or seen:
            write_journal(conn, run, part.key, (), notes=[(JUDGED, {"fresh": seen, "verdicts": told})])


def _look_at(conn: sa.Connection, keys: Sequence[int]) -> list[int]:
    table = keyed(conn, key=sorted(keys))
    unseen = sa.select(memories.c.key).join(table, memories.c.key == table.c.key).where(memories.c.fresh)
    seen = sorted(conn.scalars(unseen))
    table = keyed(conn, key=seen)
    conn.execute(sa.update(memories).where(memories.c.key.in_(sa.select(table.c.key))).values(fresh=False))
    return seen


def _all_settled(merge: Merge, keys: Mapping[int, int]) -> list[Decision]:
    """The decisions with the keys of the store; an inferred link, a view, may do without a merge of before."""
    found = []
    for one in merge.decisions:
        try:
            found.append(_settled(one, keys, own=merge.target))
        except _Stale:
            if one.verb != "inferred":
                raise
    return found


def _settled(one: Decision, keys: Mapping[int, int], *, own: int | None) -> Decision:
    """A decision with the keys of the store in place of those below zero, but for the merge's own."""

    def key(value: int) -> int:
        if value < 0 and value != own and value not in keys:
            raise _Stale("a merge of before, on which it stands, was left out")
        return keys.get(value, value)

    def row(table: str, given: Row) -> Row:
        changed = tuple(key(value) for value in given)
        return tuple(sorted(changed)) if table == "associations" else changed

    def columns(given: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        if given is None:
            return None
        changed: dict[str, Any] = {
            name: key(given[name]) for name in ("via", "superseded_by") if given.get(name) is not None
        }
        if given.get("alias"):
            changed["alias"] = [key(given["alias"][0]), *given["alias"][1:]]
        return {**given, **changed}

    return replace(
        one,
        row=row(one.table, one.row),
        before=columns(one.before),
        after=columns(one.after),
        reads=tuple((table, row(table, given), revision) for table, given, revision in one.reads),
    )


def _marked(one: Decision, run_key: int) -> Decision:
    if one.after is None or "base_mark" not in one.after or one.after["base_mark"] is None:
        return one
    return replace(one, after={**one.after, "base_mark": run_key})


def _with_words(one: Decision) -> Decision:
    if one.after is None or "content" not in one.after:
        return one
    return replace(one, after={**one.after, "words": searchable(one.after["content"])})


def _recheck(conn: sa.Connection, plan: Plan, part: ScopePlan, merge: Merge, run: Run) -> list[Decision]:
    """The decisions that hold: all of them, but for inferred links, which are a view and fall one by one."""
    tokens = stale_tokens(conn, plan, part)
    if tokens is None:
        raise _Stale("the scope has changed since the plan was made")
    tokens |= run.left_out
    planned = part.decisions
    reads = [[(table, row) for table, row, _ in one.reads] for one in planned]
    down = fallen([touched(one) for one in planned], reads, tokens)
    if any(planned[i].verb != "inferred" for i in down):
        raise _Stale("a memory or a link of it has changed meanwhile, or was rated")
    members = set(merge.members)
    known = {row for one in planned for table, row, _ in one.reads if table == "associations"}
    known |= {one.row for one in planned if one.table == "associations"}
    if not _links_around(conn, members) <= known:
        raise _Stale("a memory of it has been linked meanwhile")
    table = keyed(conn, key=sorted(members))
    led = sa.select(aliases.c.old_key).join(table, aliases.c.old_key == table.c.key)
    released = {one.row[0] for one in planned if (one.before or {}).get("alias")}
    if set(conn.scalars(led)) - released:
        raise _Stale("a memory of it is known under another name by now")
    return [one for i, one in enumerate(planned) if i not in down]


def _links_around(conn: sa.Connection, members: set[int]) -> set[Row]:
    found: set[Row] = set()
    for column in (associations.c.memory_a, associations.c.memory_b):
        table = keyed(conn, key=sorted(members))
        query = sa.select(associations.c.memory_a, associations.c.memory_b).join(table, column == table.c.key)
        found |= {(a, b) for a, b in conn.execute(query.where(DIRECT))}
    return found


def _identity(conn: sa.Connection, scope_key: int, decision: Decision) -> int:
    """The key of the memory to be written, where its name is known already that of it; its events then wait again."""
    name = (decision.after or {})["id"]
    forgotten = sa.select(tombstones.c.at).where(tombstones.c.scope_key == scope_key, tombstones.c.hash == name)
    if conn.scalar(forgotten) is not None:
        raise _Stale("its text was forgotten meanwhile")
    known = sa.select(identities.c.key).where(identities.c.scope_key == scope_key, identities.c.hash == name)
    insert = postgresql.insert if conn.dialect.name == "postgresql" else sqlite.insert
    row = insert(identities).values(scope_key=scope_key, hash=name)
    conn.execute(row.on_conflict_do_nothing(index_elements=("scope_key", "hash")))
    key = conn.scalars(known.with_for_update()).one()  # who takes the same text in now has done so, or will wait
    if conn.scalar(sa.select(memories.c.key).where(memories.c.key == key)) is not None:
        raise _Stale("its text has come in meanwhile")
    if conn.scalar(sa.select(aliases.c.old_key).where(aliases.c.old_key == key)) is not None:
        raise _Stale("its text is known under another name by now")
    for events, done in ((attributions, attributions.c.applied), (exposures, exposures.c.linked)):
        conn.execute(sa.update(events).where(events.c.memory_key == key, ~done).values(waiting=True))
    return int(key)


def _write_beside(conn: sa.Connection, scope_key: int, done: Iterable[Decision]) -> None:
    """What decisions on memories change in other tables: aliases, sources, and which ratings the base holds."""
    for one in done:
        if one.table != "memories" or one.after is None:
            continue
        (key,) = one.row
        if "alias" in one.after:
            write_alias(conn, scope_key, key, one.after["alias"])
        if "sources" in one.after:
            write_sources(conn, key, one.after["sources"])
        if one.after.get("lives"):
            counted = sa.and_(attributions.c.target_key == key, attributions.c.based_at.is_(None))
            base_at = one.after["lives"][-1][1]
            conn.execute(sa.update(attributions).where(counted).values(based_at=base_at))


def write_alias(conn: sa.Connection, scope_key: int, key: int, alias: Sequence[Any] | None) -> None:
    """Let a memory lead to another, or nowhere."""
    conn.execute(sa.delete(aliases).where(aliases.c.old_key == key))
    if alias is not None:
        heir, reason, at = alias
        conn.execute(sa.insert(aliases).values(old_key=key, scope_key=scope_key, new_key=heir, reason=reason, at=at))


def write_sources(conn: sa.Connection, key: int, sources: Iterable[Sequence[int]]) -> None:
    """Let a memory have exactly these sources."""
    conn.execute(sa.delete(merge_sources).where(merge_sources.c.memory_key == key))
    rows = [{"memory_key": key, "source_key": source, "at": at} for source, at in sources]
    if rows:
        conn.execute(sa.insert(merge_sources), rows)
