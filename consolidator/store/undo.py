"""Undo: give back every row that a run rewrote, from the before-images in its journal, and let its events wait anew."""

import json
from collections.abc import Callable, Hashable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from consolidator.errors import BadInput
from consolidator.instants import format_instant
from consolidator.store.chains import fallen
from consolidator.store.dead import give_back
from consolidator.store.engine import Store
from consolidator.store.images import Image, changed, events_of, images_of, purged_events, same_row, tell_older
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
from consolidator.store.undo_merges import (
    before_restoring,
    built_upon_merges,
    give_back_findings,
    in_use,
    views_of_merges,
    without_views,
)
from consolidator.store.writing import NOTES, SCHEDULED, TABLES


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
    query = sa.select(runs.c.key, runs.c.run_id, runs.c.undone_at, runs.c.journal_purged_at)
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
    if found.journal_purged_at is not None:
        when = format_instant(found.journal_purged_at)
        raise BadInput(f"{found.run_id} cannot be undone any more: its journal was purged at {when}")
    return found.key, found.run_id


def _refuse_if_built_upon(conn: sa.Connection, run_key: int, run_id: str) -> None:
    mine, newer = decisions.alias("mine"), decisions.alias("newer")
    of_same_row = (
        sa.select(runs.c.key, runs.c.run_id)
        .join(newer, newer.c.run_key == runs.c.key)
        .join(mine, same_row(mine, newer))
        .where(mine.c.run_key == run_key, newer.c.run_key > run_key, runs.c.undone_at.is_(None))
        .order_by(runs.c.key.desc())
        .limit(1)
    )
    found = [*conn.execute(of_same_row), *built_upon_merges(conn, run_key)]
    if found:
        _, blocking = max(tuple(row) for row in found)
        raise BadInput(f"{blocking} came after {run_id} and decided on the same rows; undo {blocking} first")


def _undo(conn: sa.Connection, run_key: int, run_id: str, *, dry_run: bool, at: int) -> Undone:
    rows = conn.execute(sa.select(decisions).where(decisions.c.run_key == run_key).order_by(decisions.c.sequence)).all()
    if not dry_run:
        give_back(conn, rows)  # first, for what the run decided on a link is taken back from what it left of it
    images = images_of(conn, rows)
    differ = dict.fromkeys(changed(conn, images, hold=not dry_run), "changed since the run")
    differ |= in_use(conn, images)
    stale = set(differ) | purged_events(conn, {token for image in images for token in image.tokens})
    down = fallen([image.tokens for image in images], views_of_merges(images), stale)
    down |= _clocks(images, {images[i].scope_key for i in down})
    kept = without_views([image for i, image in enumerate(images) if i not in down], [images[i] for i in down])
    loose = [tokens for row in rows if not row.table_name and row.verb not in NOTES for tokens in [events_of(row)]]
    events = {token for image in kept for token in image.tokens if _is_event(token)}
    events |= {token for tokens in loose if not tokens & stale for token in tokens}
    first_changed = sorted(down, key=lambda i: ((images[i].table, images[i].row) not in differ, i))
    refused = tuple(_describe(conn, images[i], differ) for i in first_changed)
    if not dry_run:
        _restore(conn, kept)
        tell_older(conn, run_key, kept)
        give_back_findings(conn, rows, refused=[images[i] for i in down])
        _let_wait(conn, events, rows)
        conn.execute(
            sa.update(scopes).where(scopes.c.key.in_({row.scope_key for row in rows})).values(undos=scopes.c.undos + 1)
        )
        conn.execute(sa.update(runs).where(runs.c.key == run_key).values(undone_at=at))
    return Undone(run_id, len(kept), len(events), refused)


def _is_event(token: Hashable) -> bool:
    return isinstance(token, tuple) and token[0] in ("attribution", "exposure", "seen")


def _clocks(images: Iterable[Image], refused: set[int]) -> set[int]:
    """The clocks of scopes in which something is refused: they go on knowing of the events that stay counted."""
    return {i for i, image in enumerate(images) if image.table == "scopes" and image.scope_key in refused}


# Links first: no memory that the run wrote goes before what names it.
_ORDER = [(table, kind) for table in ("associations", "memories", "scopes") for kind in ("update", "delete", "insert")]


def _restore(conn: sa.Connection, kept: Iterable[Image]) -> None:
    groups: dict[tuple[str, str, tuple[str, ...]], list[Image]] = {}
    for image in kept:
        kind = "delete" if image.before is None else "insert" if image.expected is None else "update"
        groups.setdefault((image.table, kind, tuple(sorted(image.before or ()))), []).append(image)
    for (name, kind, columns), images in sorted(groups.items(), key=lambda one: _ORDER.index(one[0][:2])):
        table = TABLES[name]
        keys = list(table.primary_key.columns.keys())
        row = sa.and_(*(table.c[key] == sa.bindparam(f"row_{key}") for key in keys))
        values: dict[str, Any] = {column: sa.bindparam(f"new_{column}") for column in columns if column in table.c}
        values["revision"] = sa.bindparam("grown")
        if name == "memories":
            as_it_was = values.get("spared", table.c.spared)
            values["spared"] = sa.case((sa.bindparam("was_archived", type_=sa.Boolean), sa.true()), else_=as_it_was)
        rows = []
        for image in images:
            before = {f"new_{column}": (image.before or {})[column] for column in columns if column in table.c}
            at = {f"row_{key}": value for key, value in zip(keys, image.row, strict=True)}
            flag = {"was_archived": image.archived} if name == "memories" else {}
            rows.append({**at, **before, **flag, "grown": image.grown})
            if "segments" in columns:
                write_segments(conn, image.row[0], (image.before or {})["segments"])
        if name == "memories":
            before_restoring(conn, images)
        if kind == "delete":
            bare = [{key: value for key, value in one.items() if key.startswith("row_")} for one in rows]
            conn.execute(sa.delete(table).where(row), bare)
        elif kind == "insert":
            conn.execute(sa.insert(table).values({**{key: sa.bindparam(f"row_{key}") for key in keys}, **values}), rows)
        else:
            conn.execute(sa.update(table).where(row).values(values), rows)


def _let_wait(conn: sa.Connection, events: Iterable[Any], rows: Iterable[sa.Row[Any]]) -> None:
    """The events wait again, as if no night had seen them, and so do the rows that the run was the first to see."""
    told = [json.loads(row.events) for row in rows if row.events and row.verb not in NOTES]
    kept = {key for each in told for key, _, factor in each["attributions"] if factor is None}
    counted = [token[1] for token in events if token[0] == "attribution"]
    linked = [token[1] for token in events if token[0] == "exposure"]
    uncounted = {"waiting": True, "applied": False, "target_key": None}
    changes: list[tuple[sa.Table, Iterable[int], dict[str, Any]]] = [
        (attributions, set(counted) - kept, {**uncounted, "mode": None}),
        (attributions, kept.intersection(counted), uncounted),
        (exposures, linked, {"waiting": True, "linked": False, "linked_in": None}),
    ]
    for table, name in ((attributions, "attribution"), (exposures, "exposure")):
        seen = [token[2] for token in events if token[:2] == ("seen", name)]
        changes.append((table, seen, {"waiting": True}))
    for note in (json.loads(row.events) for row in rows if row.events and row.verb == SCHEDULED):
        changes.append((memories, note["memories"], {"fades_age": None}))
        if note["links"]:
            conn.execute(
                sa.update(associations)
                .where(associations.c.memory_a == sa.bindparam("a"), associations.c.memory_b == sa.bindparam("b"))
                .values(fades_age=None),
                [{"a": a, "b": b} for a, b in note["links"]],
            )
    for table, keys, values in changes:
        if keys:
            this = sa.update(table).where(table.c.key == sa.bindparam("row"))
            conn.execute(this.values(values), [{"row": key} for key in keys])


def _describe(conn: sa.Connection, image: Image, differ: Mapping[Hashable, str]) -> str:
    row = "-".join(map(str, image.row))
    if (image.table, image.row) in differ:
        because = differ[image.table, image.row]
    elif purged_events(conn, image.tokens):
        because = "an event that it counts was purged since"
    elif image.table == "scopes":
        because = "its clock goes on knowing of the events that stay counted"
    else:
        because = "stands or falls with a row that changed since the run"
    if image.table == "memories":
        row = conn.scalar(sa.select(identities.c.hash).where(identities.c.key == image.row[0])) or row
    if image.table == "scopes":
        row = conn.scalar(sa.select(scopes.c.scope).where(scopes.c.key == image.row[0])) or row
    return f"{image.table} {row}: {because}"
