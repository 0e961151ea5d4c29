"""Images: what a run's journal says of each row that it rewrote, and whether the row is still as it was left."""

import json
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa

from consolidator.store.engine import keyed
from consolidator.store.tables import associations, attributions, decisions, exposures, memories, runs, scopes

Row = tuple[str, tuple[int, ...]]  # table, key


@dataclass(frozen=True)
class Image:
    """
    All that a run decided on one row.

    before: the columns as they were, None where there was no row. expected: the revision that the row must still
    have, None where it must not be there. grown: the revision with which it is given back. archived: whether the
    run archived it. tokens: the row, the events that the run counted in it, the merges that stand and fall with it.
    seen_by: of an inferred link, which is a view, the merges that changed it. via: its middle, as the run left it.
    """

    scope_key: int
    table: str
    row: tuple[int, ...]
    before: dict[str, Any] | None
    expected: int | None
    grown: int
    archived: bool
    tokens: frozenset[Hashable]
    seen_by: frozenset[Hashable] = frozenset()
    via: int | None = None

    @property
    def merges(self) -> set[Hashable]:
        """The merges that stand and fall with the row."""
        return {token for token in self.tokens if isinstance(token, tuple) and token[0] == "merge"}


def images_of(conn: sa.Connection, rows: Iterable[sa.Row[Any]]) -> list[Image]:
    """
    The rows that a run rewrote. rows: its journal, in order.

    A link that is not there has died since and was deleted. So would have what it was before; but an inferred link,
    of which it had taken the place, may live, and is written again.
    """
    by_row: dict[Row, list[sa.Row[Any]]] = {}
    for row in rows:
        if row.table_name:
            by_row.setdefault(_row_of(row), []).append(row)
    there = _links_there(conn, [key for table, key in by_row if table == "associations"])
    images = []
    for (table, key), decided in by_row.items():
        image = _image(table, key, decided)
        if table == "associations" and image.expected is not None and key not in there:
            lived = image.before is not None and "via" in image.before
            before = {**(image.before or {}), "scope_key": image.scope_key} if lived else None
            image = replace(image, expected=None, before=before)
        images.append(image)
    return _bound_to_written(images)


def _bound_to_written(images: list[Image]) -> list[Image]:
    """No link stays without a memory that the run wrote, and none of these goes without the links to it."""
    written = {image.row[0] for image in images if image.table == "memories" and image.before is None}
    if not written:
        return images
    return [
        replace(image, tokens=image.tokens | {("memories", (end,)) for end in written.intersection(image.row)})
        if image.table == "associations" and not image.seen_by
        else image
        for image in images
    ]


def _row_of(row: Any) -> Row:
    return row.table_name, (row.row_a,) if row.row_b is None else (row.row_a, row.row_b)


def _image(table: str, key: tuple[int, ...], decided: Sequence[sa.Row[Any]]) -> Image:
    before: dict[str, Any] | None = None if decided[0].before is None else {}
    for row in reversed(decided):
        before = None if before is None or row.before is None else {**before, **json.loads(row.before)}
    last = decided[-1]
    view = all(row.verb == "inferred" for row in decided)
    tokens = {token for row in decided for token in events_of(row)}
    merges = frozenset(token for token in tokens if isinstance(token, tuple) and token[0] == "merge")
    tokens -= merges if view else set()
    after = 0 if last.revision is None else last.revision + 1
    left = after if last.left_revision is None else last.left_revision
    return Image(
        last.scope_key,
        table,
        key,
        before,
        None if last.after is None else left,
        left + 1,
        any(row.verb == "archived" for row in decided),
        frozenset({(table, key), *tokens}),
        merges if view else frozenset(),
        json.loads(last.after).get("via") if view and last.after else None,
    )


def events_of(row: sa.Row[Any]) -> frozenset[Hashable]:
    """
    The events that a journal row consumed: counted ("attribution" or "exposure", key), or ("seen", which, key).

    Also the merge that it belongs to, ("merge", number), for a merge stands or falls whole.
    """
    events = json.loads(row.events) if row.events else {"attributions": (), "exposures": ()}
    merge = {("merge", events["merge"])} if "merge" in events else set()
    counted = {("attribution", key) for key, target, _ in events["attributions"] if target is not None}
    seen = {("seen", "attribution", key) for key, target, _ in events["attributions"] if target is None}
    shown = {("exposure", key) if counts else ("seen", "exposure", key) for key, counts in events["exposures"]}
    return frozenset(counted | seen | shown | merge)


def same_row(one: sa.FromClause, other: sa.FromClause) -> sa.ColumnElement[bool]:
    """Whether two journal rows are about the same row."""
    return sa.and_(
        one.c.row_a == other.c.row_a,
        one.c.table_name == other.c.table_name,
        sa.func.coalesce(one.c.row_b, -1) == sa.func.coalesce(other.c.row_b, -1),
    )


def tell_older(conn: sa.Connection, run_key: int, images: Iterable[Image]) -> None:
    """Let the journals of the runs before know at which revision the undoing of a run left their rows."""
    mine, older = decisions.alias("mine"), decisions.alias("older")
    grown = {(image.table, image.row): image.grown for image in images if image.before is not None}
    rows = conn.execute(
        sa.select(older.c.table_name, older.c.row_a, older.c.row_b, sa.func.max(older.c.run_key).label("run"))
        .join(mine, same_row(mine, older))
        .join(runs, runs.c.key == older.c.run_key)
        .where(mine.c.run_key == run_key, older.c.run_key < run_key, runs.c.undone_at.is_(None))
        .group_by(older.c.table_name, older.c.row_a, older.c.row_b)
    ).all()
    told = [{"run": row.run, "table": row[0], "a": row[1], "b": row[2], "left": grown[_row_of(row)]}
            for row in rows if _row_of(row) in grown]  # fmt: skip
    if told:
        conn.execute(
            sa.update(decisions)
            .where(decisions.c.run_key == sa.bindparam("run"), decisions.c.table_name == sa.bindparam("table"))
            .where(decisions.c.row_a == sa.bindparam("a"))
            .where(sa.func.coalesce(decisions.c.row_b, -1) == sa.func.coalesce(sa.bindparam("b"), -1))
            .values(left_revision=sa.bindparam("left")),
            told,
        )


def changed(conn: sa.Connection, images: Iterable[Image], *, hold: bool) -> set[Hashable]:
    """The rows that are not as the run left them. hold: nobody else may change them in this transaction."""
    current: dict[Row, int] = {}
    for table in (memories, scopes):
        asked = keyed(conn, key=[image.row[0] for image in images if image.table == table.name])
        query = sa.select(table.c.key, table.c.revision).join(asked, table.c.key == asked.c.key)
        for row in conn.execute(query.with_for_update(of=table, key_share=True) if hold else query):
            current[table.name, (row[0],)] = row[1]
    pairs = [image.row for image in images if image.table == "associations"]
    current |= {("associations", pair): at for pair, at in _links_there(conn, pairs, hold=hold).items()}
    return {(image.table, image.row) for image in images if current.get((image.table, image.row)) != image.expected}


def purged_events(conn: sa.Connection, tokens: Iterable[Hashable]) -> set[Hashable]:
    """Those of these events that are not there any more."""
    gone: set[Hashable] = set()
    for name, table in (("attribution", attributions), ("exposure", exposures)):
        events = {token[-1]: token for token in tokens if isinstance(token, tuple) and name in token[:2]}
        asked = keyed(conn, key=sorted(events))
        there = conn.scalars(sa.select(table.c.key).join(asked, table.c.key == asked.c.key))
        gone |= {events[key] for key in events.keys() - set(there)}
    return gone


def _links_there(
    conn: sa.Connection, pairs: Sequence[tuple[int, ...]], *, hold: bool = False
) -> dict[tuple[int, ...], int]:
    """The revisions of those of these links that there are."""
    asked = keyed(conn, a=[pair[0] for pair in pairs], b=[pair[1] for pair in pairs])
    both = sa.and_(associations.c.memory_a == asked.c.a, associations.c.memory_b == asked.c.b)
    query = sa.select(associations.c.memory_a, associations.c.memory_b, associations.c.revision).join(asked, both)
    return {
        (row[0], row[1]): row[2]
        for row in conn.execute(query.with_for_update(of=associations, key_share=True) if hold else query)
    }
