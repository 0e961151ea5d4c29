"""What an undo of merges sees to besides their rows: other tables, verdicts, and what was built on them since."""

import json
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import sqlalchemy as sa

from consolidator.store.apply_merge import write_alias, write_sources
from consolidator.store.engine import keyed
from consolidator.store.images import Image, events_of
from consolidator.store.tables import (
    aliases,
    associations,
    attributions,
    decisions,
    embeddings,
    memories,
    merge_sources,
    pasts,
    runs,
)
from consolidator.store.verdicts import give_back_verdicts, verdicts_told
from consolidator.store.writing import JUDGED


def built_upon_merges(conn: sa.Connection, run_key: int) -> Sequence[sa.Row[Any]]:
    """
    The newer runs (key, id), not undone, that decided on links of memories which this run wrote, or that merged
    memories whose links this run made: what they made holds the weights.
    """
    mine, newer = decisions.alias("mine"), decisions.alias("newer")
    base = (
        sa.select(runs.c.key, runs.c.run_id)
        .join(newer, newer.c.run_key == runs.c.key)
        .where(newer.c.run_key > run_key, runs.c.undone_at.is_(None))
        .distinct()
    )
    written = sa.select(decisions.c.row_a).where(decisions.c.run_key == run_key, decisions.c.verb == "merged")
    made = set(conn.scalars(written))
    found: list[sa.Row[Any]] = []
    if made:
        table = keyed(conn, key=sorted(made))
        ends = sa.or_(newer.c.row_a == table.c.key, newer.c.row_b == table.c.key)
        found += conn.execute(base.join(table, ends).where(newer.c.table_name == "associations"))
    gone = sa.select(newer.c.row_a).join(runs, runs.c.key == newer.c.run_key)
    gone = gone.where(newer.c.run_key > run_key, newer.c.verb == "superseded", runs.c.undone_at.is_(None))
    if conn.scalar(gone.limit(1)) is not None:
        ends = sa.or_(mine.c.row_a == newer.c.row_a, mine.c.row_b == newer.c.row_a)
        links = sa.and_(mine.c.run_key == run_key, mine.c.verb.in_(("linked", "inherited")), ends)
        found += conn.execute(base.join(mine, links).where(newer.c.verb == "superseded"))
    return found


def in_use(conn: sa.Connection, images: Iterable[Image]) -> dict[Hashable, str]:
    """
    The memories that a run wrote and that something else names by now, with why they must stay.

    What a purge has left of links (`pasts`) is no reason: where it has not faded to nothing, the link itself is there.
    """
    known = list(images)
    made = sorted(image.row[0] for image in known if image.table == "memories" and image.before is None)
    if not made:
        return {}
    ours = {(image.table, image.row) for image in known}
    table = keyed(conn, key=made)
    counts = sa.or_(attributions.c.waiting, attributions.c.target_key == attributions.c.memory_key)
    rated = sa.select(attributions.c.memory_key).join(table, attributions.c.memory_key == table.c.key).where(counts)
    used = dict.fromkeys(conn.scalars(rated.distinct()), "rated since the run")
    for column in (associations.c.memory_a, associations.c.memory_b, associations.c.via):
        table = keyed(conn, key=made)
        query = sa.select(column, associations.c.memory_a, associations.c.memory_b).join(table, column == table.c.key)
        for key, a, b in conn.execute(query):
            if ("associations", (a, b)) not in ours:
                used.setdefault(key, "linked since the run")
    for heir, own in ((aliases.c.new_key, aliases.c.old_key), (memories.c.superseded_by, memories.c.key)):
        table = keyed(conn, key=made)
        for key, other in conn.execute(sa.select(heir, own).join(table, heir == table.c.key)):
            if ("memories", (other,)) not in ours:
                used.setdefault(key, "another memory leads to it since the run")
    return {("memories", (key,)): why for key, why in used.items()}


def views_of_merges(images: Sequence[Image]) -> list[list[Hashable]]:
    """For each image what else its merge must find as it was left: the inferred links that it changed."""
    views: dict[Hashable, list[Hashable]] = {}
    for image in images:
        for merge in image.seen_by:
            views.setdefault(merge, []).append((image.table, image.row))
    if not views:
        return [[]] * len(images)
    return [[token for merge in image.merges for token in views.get(merge, ())] for image in images]


def without_views(kept: list[Image], refused: Sequence[Image]) -> list[Image]:
    """
    What is given back: where a merge stands, no inferred link that it changed, but for those of what goes.

    An inferred link is a view: two merges that changed it do not stand and fall together for that.
    """
    stands = {merge for image in refused for merge in image.merges}
    gone = {image.row[0] for image in kept if image.table == "memories" and image.before is None}
    return [image for image in kept if image.seen_by.isdisjoint(stands) or not gone.isdisjoint((*image.row, image.via))]


def before_restoring(conn: sa.Connection, images: Iterable[Image]) -> None:
    """Give back what a merge wrote in other tables for these memories; of those that it made, delete it."""
    for image in images:
        (key,) = image.row
        if image.before is None:
            conn.execute(sa.delete(embeddings).where(embeddings.c.memory_key == key))
            conn.execute(sa.delete(merge_sources).where(merge_sources.c.memory_key == key))
            conn.execute(sa.delete(pasts).where(sa.or_(pasts.c.memory_a == key, pasts.c.memory_b == key)))
            continue
        if "alias" in image.before:
            write_alias(conn, image.scope_key, key, image.before["alias"])
        if "sources" in image.before:
            write_sources(conn, key, image.before["sources"])
        if "lives" in image.before:
            earlier = [life[1] for life in image.before["lives"] or ()]
            moved = sa.and_(attributions.c.target_key == key, attributions.c.based_at.not_in(earlier))
            conn.execute(sa.update(attributions).where(moved).values(based_at=None))


def give_back_findings(conn: sa.Connection, rows: Iterable[sa.Row[Any]], *, refused: Sequence[Image]) -> None:
    """
    Verdicts as they were before a run, the latest first, and what it looked at; but for those of merges that stand.

    rows: its journal, in order. refused: what is not taken back.
    """
    stands = {merge for image in refused for merge in image.merges}
    for row in sorted(rows, key=lambda each: -each.sequence):
        told = verdicts_told(row.events) if row.step == "merge" else []
        if told and (row.verb == JUDGED or not events_of(row) & stands):
            give_back_verdicts(conn, row.scope_key, told)
        if row.verb == JUDGED:
            keys = json.loads(row.events).get("fresh", ())
            table = keyed(conn, key=sorted(keys))
            seen = memories.c.key.in_(sa.select(table.c.key))
            conn.execute(sa.update(memories).where(seen).values(fresh=True))
