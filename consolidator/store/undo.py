"""Undo: give back every row that a run rewrote, from the before-images in its journal, and let its events wait anew."""

import json
from collections.abc import Callable, Hashable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from consolidator.errors import BadInput
from consolidator.store.chains import fallen
from consolidator.store.engine import Store, keyed
from consolidator.store.locks import hold_scope
from consolidator.store.segments import write_segments
from consolidator.store.tables import (
    associations,
    attributions,
    decisions,
    exposures,
    identities,
    memories,
    runs,
    scopes,
)

_TABLES = {"memories": memories, "associations": associations, "scopes": scopes}


@dataclass(frozen=True)
class Undone:
    """What an undo gave back: rows restored, events that wait again, and rows refused because they changed since."""

    run_id: str
    restored: int
    events: int
    refused: tuple[str, ...]

    @property
    def exit_code(self) -> int:
        """3 where a row was refused."""
        return 3 if self.refused else 0


@dataclass(frozen=True)
class _Chain:
    """All that a run decided on one row: what to give back, and the revision that the row must still have."""

    table: str
    row: tuple[int, ...]
    before: dict[str, Any] | None
    expected: int | None
    grown: int
    archived: bool
    tokens: frozenset[Hashable]


def undo_run(store: Store, run: str, *, wall_clock: Callable[[], int], dry_run: bool = False) -> Undone:
    """
    Take back a run (its id, or "last": the latest not undone).

    A row changed since is refused and listed, with every decision that shares an event with it. BadInput where
    the run is unknown, undone already, or a newer run decided on one of its rows.
    """
    with store.read() as conn:
        run_key, run_id = _find(conn, run)
        _refuse_if_built_upon(conn, run_key, run_id)
        keys = conn.scalars(sa.select(decisions.c.scope_key).where(decisions.c.run_key == run_key).distinct()).all()
        if dry_run:
            return _undo(conn, run_key, run_id, dry_run=True, at=0)
    with ExitStack() as held:
        for key in sorted(keys):
            held.enter_context(hold_scope(store, key, wall_clock=wall_clock))
        with store.write() as conn:
            _find(conn, run_id)
            _refuse_if_built_upon(conn, run_key, run_id)
            return _undo(conn, run_key, run_id, dry_run=False, at=wall_clock())


def _find(conn: sa.Connection, run: str) -> tuple[int, str]:
    query = sa.select(runs.c.key, runs.c.run_id, runs.c.undone_at)
    if run == "last":
        query = query.where(runs.c.undone_at.is_(None)).order_by(runs.c.key.desc()).limit(1)
    else:
        query = query.where(runs.c.run_id == run)
    found = conn.execute(query).one_or_none()
    if found is None:
        what = "no run is left to undo" if run == "last" else f"there is no run {run}"
        raise BadInput(f"{what}; `consolidate runs` lists them")
    if found.undone_at is not None:
        raise BadInput(f"{run} has been undone already; `consolidate runs` lists what there is")
    return found.key, found.run_id


def _refuse_if_built_upon(conn: sa.Connection, run_key: int, run_id: str) -> None:
    mine, newer = decisions.alias("mine"), decisions.alias("newer")
    blocking = conn.scalar(
        sa.select(runs.c.run_id)
        .join(newer, newer.c.run_key == runs.c.key)
        .join(
            mine,
            sa.and_(
                mine.c.row_a == newer.c.row_a,
                mine.c.table_name == newer.c.table_name,
                sa.func.coalesce(mine.c.row_b, -1) == sa.func.coalesce(newer.c.row_b, -1),
            ),
        )
        .where(mine.c.run_key == run_key, newer.c.run_key > run_key, runs.c.undone_at.is_(None))
        .order_by(runs.c.key.desc())
        .limit(1)
    )
    if blocking:
        raise BadInput(f"{blocking} came after {run_id} and decided on the same rows; undo {blocking} first")


def _undo(conn: sa.Connection, run_key: int, run_id: str, *, dry_run: bool, at: int) -> Undone:
    rows = conn.execute(sa.select(decisions).where(decisions.c.run_key == run_key).order_by(decisions.c.sequence)).all()
    chains, loose = _chains(rows)
    stale: set[Hashable] = _changed(conn, chains)
    down = fallen([chain.tokens for chain in chains], [()] * len(chains), stale)
    loose = [tokens for tokens in loose if not tokens & stale]
    kept = [chain for i, chain in enumerate(chains) if i not in down]
    events = {token for chain in kept for token in chain.tokens} | {token for tokens in loose for token in tokens}
    refused = tuple(_describe(conn, chains[i]) for i in sorted(down))
    waiting = [
        token for token in events if isinstance(token, tuple) and token[0] in ("attribution", "exposure", "seen")
    ]
    if not dry_run:
        _restore(conn, kept)
        _let_wait(conn, waiting, [json.loads(row.events) for row in rows if row.verb == "scheduled"])
        conn.execute(
            sa.update(scopes).where(scopes.c.key.in_({row.scope_key for row in rows})).values(undos=scopes.c.undos + 1)
        )
        conn.execute(sa.update(runs).where(runs.c.key == run_key).values(undone_at=at))
    return Undone(run_id, len(kept), len(waiting), refused)


def _chains(rows: Iterable[sa.Row[Any]]) -> tuple[list[_Chain], list[frozenset[Hashable]]]:
    by_row: dict[tuple[str, tuple[int, ...]], list[sa.Row[Any]]] = {}
    loose = []
    for row in rows:
        if row.table_name:
            key: tuple[int, ...] = (row.row_a,) if row.row_b is None else (row.row_a, row.row_b)
            by_row.setdefault((row.table_name, key), []).append(row)
        elif row.verb != "scheduled":
            loose.append(_events(row))
    chains = []
    for (table, key), decided in by_row.items():
        before: dict[str, Any] | None = None if decided[0].before is None else {}
        for row in reversed(decided):
            before = None if before is None or row.before is None else {**before, **json.loads(row.before)}
        last = decided[-1]
        revision = -1 if last.revision is None else last.revision
        tokens = frozenset({(table, key), *(token for row in decided for token in _events(row))})
        chains.append(
            _Chain(
                table,
                key,
                before,
                None if last.after is None else revision + 1,
                revision + 2,
                any(row.verb == "archived" for row in decided),
                tokens,
            )
        )
    return chains, loose


def _events(row: sa.Row[Any]) -> frozenset[Hashable]:
    events = json.loads(row.events) if row.events else {"attributions": (), "exposures": ()}
    counted = {("attribution", key) for key, target, _ in events["attributions"] if target is not None}
    seen = {("seen", "attribution", key) for key, target, _ in events["attributions"] if target is None}
    shown = {("exposure", key) if counts else ("seen", "exposure", key) for key, counts in events["exposures"]}
    return frozenset(counted | seen | shown)


def _changed(conn: sa.Connection, chains: Iterable[_Chain]) -> set[Hashable]:
    """The rows that are not as the run left them."""
    current: dict[tuple[str, tuple[int, ...]], int] = {}
    for name in ("memories", "scopes"):
        table = _TABLES[name]
        asked = keyed(conn, key=[chain.row[0] for chain in chains if chain.table == name])
        for key, revision in conn.execute(
            sa.select(table.c.key, table.c.revision).join(asked, table.c.key == asked.c.key)
        ):
            current[name, (key,)] = revision
    pairs = [chain.row for chain in chains if chain.table == "associations"]
    asked = keyed(conn, a=[a for a, _ in pairs], b=[b for _, b in pairs])
    both = sa.and_(associations.c.memory_a == asked.c.a, associations.c.memory_b == asked.c.b)
    query = sa.select(associations.c.memory_a, associations.c.memory_b, associations.c.revision).join(asked, both)
    for a, b, revision in conn.execute(query):
        current["associations", (a, b)] = revision
    return {(chain.table, chain.row) for chain in chains if current.get((chain.table, chain.row)) != chain.expected}


def _restore(conn: sa.Connection, kept: Iterable[_Chain]) -> None:
    groups: dict[tuple[str, str, tuple[str, ...]], list[_Chain]] = {}
    for chain in kept:
        kind = "delete" if chain.before is None else "insert" if chain.expected is None else "update"
        groups.setdefault((chain.table, kind, tuple(sorted(chain.before or ()))), []).append(chain)
    for (name, kind, columns), chains in groups.items():
        table = _TABLES[name]
        keys = list(table.primary_key.columns.keys())
        row = sa.and_(*(table.c[key] == sa.bindparam(f"row_{key}") for key in keys))
        values: dict[str, Any] = {column: sa.bindparam(f"new_{column}") for column in columns if column in table.c}
        values["revision"] = sa.bindparam("grown")
        if name == "memories":
            as_it_was = values.get("spared", table.c.spared)
            values["spared"] = sa.case((sa.bindparam("was_archived", type_=sa.Boolean), sa.true()), else_=as_it_was)
        rows = []
        for chain in chains:
            before = {f"new_{column}": (chain.before or {})[column] for column in columns if column in table.c}
            at = {f"row_{key}": value for key, value in zip(keys, chain.row, strict=True)}
            flag = {"was_archived": chain.archived} if name == "memories" else {}
            rows.append({**at, **before, **flag, "grown": chain.grown})
            if "segments" in columns:
                write_segments(conn, chain.row[0], (chain.before or {})["segments"])
        if kind == "delete":
            bare = [{key: value for key, value in one.items() if key.startswith("row_")} for one in rows]
            conn.execute(sa.delete(table).where(row), bare)
        elif kind == "insert":
            conn.execute(sa.insert(table).values({**{key: sa.bindparam(f"row_{key}") for key in keys}, **values}), rows)
        else:
            conn.execute(sa.update(table).where(row).values(values), rows)


def _let_wait(conn: sa.Connection, events: Iterable[Any], scheduled: Iterable[dict[str, Any]]) -> None:
    counted = [{"row": token[1]} for token in events if token[0] == "attribution"]
    linked = [{"row": token[1]} for token in events if token[0] == "exposure"]
    changes: list[tuple[sa.Table, list[dict[str, Any]], dict[str, Any]]] = [
        (attributions, counted, {"waiting": True, "applied": False, "target_key": None, "mode": None}),
        (exposures, linked, {"waiting": True, "linked": False}),
    ]
    for table, name in ((attributions, "attribution"), (exposures, "exposure")):
        seen = [{"row": token[2]} for token in events if token[0] == "seen" and token[1] == name]
        changes.append((table, seen, {"waiting": True}))
    for note in scheduled:
        changes.append((memories, [{"row": key} for key in note["memories"]], {"fades_age": None}))
        if note["links"]:
            conn.execute(
                sa.update(associations)
                .where(associations.c.memory_a == sa.bindparam("a"), associations.c.memory_b == sa.bindparam("b"))
                .values(fades_age=None),
                [{"a": a, "b": b} for a, b in note["links"]],
            )
    for table, rows, values in changes:
        if rows:
            conn.execute(sa.update(table).where(table.c.key == sa.bindparam("row")).values(values), rows)


def _describe(conn: sa.Connection, chain: _Chain) -> str:
    row = "-".join(map(str, chain.row))
    if chain.table == "memories":
        row = conn.scalar(sa.select(identities.c.hash).where(identities.c.key == chain.row[0])) or row
    return f"{chain.table} {row}: changed since the run"
