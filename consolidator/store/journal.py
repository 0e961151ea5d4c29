"""The journal read back: the runs, what each decided, and what was decided about one memory."""

import json
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import sqlalchemy as sa

from consolidator.instants import format_instant
from consolidator.plan import TOTALS, Merge, Plan, Result, content_hash
from consolidator.store.engine import keyed
from consolidator.store.tables import decisions, identities, memories, runs, tombstones
from consolidator.store.writing import NOTES

NOTHING_WRITTEN: Mapping[int, tuple[str, str]] = {}
_ROWS_AT_ONCE = 5_000
_LOOKED_AT, _PAGE = 1_000, 20  # reports: of these the last of the same kind are sought


def last_runs(conn: sa.Connection, limit: int) -> list[dict[str, Any]]:
    """The last runs, newest first, as JSON documents without their examples."""
    query = sa.select(runs).order_by(runs.c.started_at.desc(), runs.c.key.desc()).limit(limit)
    return [_run(conn, row) for row in conn.execute(query).all()]


def earlier_reports(conn: sa.Connection) -> Generator[dict[str, Any], None, None]:
    """The reports of the last runs that were not undone, newest first, as documents."""
    query = (
        sa.select(runs.c.report)
        .where(runs.c.report.is_not(None), runs.c.undone_at.is_(None))
        .order_by(runs.c.started_at.desc(), runs.c.key.desc())
        .limit(_LOOKED_AT)
        .execution_options(yield_per=_PAGE)
    )
    with conn.scalars(query) as reports:
        yield from reports


def cut_off(conn: sa.Connection, scope_keys: Collection[int], *, since: int) -> list[tuple[str, dict[str, int]]]:
    """
    What runs did, by their ids, that began after an instant, worked in these scopes and never came to their end.

    Under the locks of the scopes: else they may be under way.
    """
    worked = sa.select(decisions.c.run_key).where(decisions.c.scope_key.in_(scope_keys))
    query = sa.select(runs.c.key, runs.c.run_id).where(
        runs.c.started_at >= since, runs.c.finished_at.is_(None), runs.c.undone_at.is_(None), runs.c.key.in_(worked)
    )
    return [(run_id, journalled(conn, key)) for key, run_id in conn.execute(query.order_by(runs.c.key)).all()]


def run_document(conn: sa.Connection, key: int) -> dict[str, Any]:
    """One run as a JSON document with its whole report."""
    row = conn.execute(sa.select(runs).where(runs.c.key == key)).one()
    return {**_run(conn, row), "report": row.report}


def _run(conn: sa.Connection, row: sa.Row[Any]) -> dict[str, Any]:
    return {
        "run_id": row.run_id,
        "as_of": format_instant(row.as_of),
        "started_at": format_instant(row.started_at),
        "finished_at": row.finished_at and format_instant(row.finished_at),
        "undone_at": row.undone_at and format_instant(row.undone_at),
        "exit": row.exit_code,
        "totals": row.report.get("totals") if row.report else journalled(conn, row.key),
    }


def journalled(conn: sa.Connection, run_key: int) -> dict[str, int]:
    """What a run did that left no report, for it was killed: its decisions by their verb."""
    each = sa.select(decisions.c.verb, decisions.c.table_name, decisions.c.row_a, decisions.c.row_b)
    rows = each.where(decisions.c.run_key == run_key, decisions.c.verb.in_(TOTALS)).distinct().subquery()
    counts = conn.execute(sa.select(rows.c.verb, sa.func.count()).group_by(rows.c.verb)).all()
    return {name: count for name in TOTALS for verb, count in counts if verb == name}


def decisions_of_run(conn: sa.Connection, key: int) -> Iterator[dict[str, Any]]:
    """Every decision of a run in its order, as JSON documents."""
    query = (
        sa.select(decisions)
        .where(decisions.c.run_key == key, decisions.c.verb.not_in(NOTES))
        .order_by(decisions.c.sequence)
    )
    for rows in conn.execute(query).partitions(_ROWS_AT_ONCE):
        yield from described(conn, [_decision(row) for row in rows])


def decisions_about(conn: sa.Connection, key: int) -> Iterator[dict[str, Any]]:
    """What was decided about one memory and its links, oldest run first."""
    query = (
        sa.select(decisions, runs.c.run_id, runs.c.as_of, runs.c.undone_at)
        .join(runs, runs.c.key == decisions.c.run_key)
        .where(
            sa.or_(
                sa.and_(decisions.c.row_a == key, decisions.c.table_name.in_(("memories", "associations"))),
                sa.and_(decisions.c.row_b == key, decisions.c.table_name == "associations"),
            )
        )
        .order_by(runs.c.started_at, decisions.c.run_key, decisions.c.sequence)
    )
    for rows in conn.execute(query).partitions(_ROWS_AT_ONCE):
        found = [
            {**_decision(row), "run_id": row.run_id, "as_of": row.as_of, "undone": row.undone_at is not None}
            for row in rows
        ]
        yield from described(conn, found)


def described(
    conn: sa.Connection, found: Sequence[dict[str, Any]], written: Mapping[int, tuple[str, str]] = NOTHING_WRITTEN
) -> Iterator[dict[str, Any]]:
    """
    Decisions with the ids and texts of their memories, in place of internal keys.

    written: id and text of memories that are only planned, by their keys.
    """
    rows = [each["row"] if each["table"] in ("memories", "associations") else () for each in found]
    names = {**written, **_names(conn, {key for row in rows for key in row if key > 0})}
    images = [each[name] or {} for each in found for name in ("before", "after")]
    ids = _ids(conn, {key for image in images for key in _keys_in(image)}, written)
    for each, row in zip(found, rows, strict=True):
        ends = [names.get(key, (None, None)) for key in row]
        yield {
            **{name: value for name, value in each.items() if name not in ("table", "row")},
            "before": _by_id(each["before"], ids),
            "after": _by_id(each["after"], ids),
            "ids": [name for name, _ in ends],
            "texts": [text for _, text in ends],
        }


def _names(conn: sa.Connection, keys: Iterable[int]) -> dict[int, tuple[str, str]]:
    wanted = keyed(conn, key=sorted(keys))
    rows = conn.execute(
        sa.select(memories.c.key, identities.c.hash, memories.c.content)
        .join(wanted, wanted.c.key == memories.c.key)
        .join(identities, identities.c.key == memories.c.key)
    )
    return {key: (name, content) for key, name, content in rows}


def _keys_in(image: Mapping[str, Any]) -> set[int]:
    """The keys of memories that stand in columns."""
    keys = {image.get("via"), image.get("superseded_by"), (image.get("alias") or (None,))[0]}
    return {key for key in keys if key is not None} | {source for source, _ in image.get("sources") or ()}


def _ids(conn: sa.Connection, keys: set[int], written: Mapping[int, tuple[str, str]]) -> dict[int, str]:
    wanted = keyed(conn, key=sorted(keys))
    query = sa.select(identities.c.key, identities.c.hash).join(wanted, wanted.c.key == identities.c.key)
    return dict(conn.execute(query).all()) | {key: written[key][0] for key in keys & written.keys()}


def _by_id(image: Mapping[str, Any] | None, ids: Mapping[int, str]) -> dict[str, Any] | None:
    """Columns with ids in place of the keys of memories and runs."""
    if image is None:
        return None
    told = {name: value for name, value in image.items() if name != "base_mark"}
    told |= {name: ids.get(told[name]) for name in ("via", "superseded_by") if told.get(name) is not None}
    if told.get("alias"):
        told["alias"] = [ids.get(told["alias"][0]), *told["alias"][1:]]
    if "sources" in told:
        told["sources"] = [[ids.get(source), at] for source, at in told["sources"]]
    return told


def _decision(row: Any) -> dict[str, Any]:
    return {
        "step": row.step,
        "verb": row.verb or "seen",
        "table": row.table_name,
        "row": tuple(key for key in (row.row_a, row.row_b) if key is not None),
        "before": row.before and json.loads(row.before),
        "after": row.after and json.loads(row.after),
        "because": row.because,
    }


def without_forgotten(conn: sa.Connection, result: Result) -> Result:
    """A night's result that names no memory forgotten since it was decided: a report must not bring a text back."""
    parts = []
    for part in result.plan.scopes:
        named = {name for name, _ in part.names.values()}.union(*(_names_in(merge) for merge in part.merges))
        asked = keyed(conn, {"hash": sa.Text}, hash=sorted(named))
        query = sa.select(tombstones.c.hash).join(asked, asked.c.hash == tombstones.c.hash)
        gone = set(conn.scalars(query.where(tombstones.c.scope_key == part.key)))
        names = {key: name for key, name in part.names.items() if name[0] not in gone}
        merges = tuple(_without(gone, merge) for merge in part.merges)
        parts.append(replace(part, names=names, merges=merges))
    return replace(result, plan=replace(result.plan, scopes=tuple(parts)))


def _names_in(merge: Merge) -> set[str]:
    return {*merge.ids, content_hash(merge.text)}


def _without(gone: set[str], merge: Merge) -> Merge:
    if gone.isdisjoint(_names_in(merge)):
        return merge
    texts = tuple("" if name in gone else text for name, text in zip(merge.ids, merge.texts, strict=True))
    return replace(merge, texts=texts, guard=(), text="" if content_hash(merge.text) in gone else merge.text)


def planned(conn: sa.Connection, plan: Plan) -> Iterator[dict[str, Any]]:
    """Every decision of a plan, described as those of a run are."""
    for scope in plan.scopes:
        written = {one.target: (content_hash(one.text), one.text) for one in scope.merges if one.target is not None}
        found = [
            {
                "step": one.step,
                "verb": one.verb or "seen",
                "table": one.table,
                "row": one.row,
                "before": one.before,
                "after": one.after,
                "because": one.because,
            }
            for one in chain(scope.decisions, *(merge.decisions for merge in scope.merges))
        ]
        for start in range(0, len(found), _ROWS_AT_ONCE):
            yield from described(conn, found[start : start + _ROWS_AT_ONCE], written)
