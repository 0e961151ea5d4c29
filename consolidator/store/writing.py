"""Writing decisions: the rows that they change, and the journal of a run, which an undo reads back."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from consolidator.plan import Decision, Row
from consolidator.store.bulk import for_each
from consolidator.store.run import Run
from consolidator.store.segments import write_segments
from consolidator.store.tables import associations, decisions, memories, scopes

TABLES = {"memories": memories, "associations": associations, "scopes": scopes}

# Journal rows that are no decisions: what an undo needs besides. Each is the verb of a row, with the step it is of.
SCHEDULED, UNLINKED, JUDGED = "scheduled", "unlinked", "judged"
NOTES = {SCHEDULED: "decay", UNLINKED: "decay", JUDGED: "merge"}
_WHY = {
    SCHEDULED: "seen for the first time, or anew",
    UNLINKED: "faded to nothing",
    JUDGED: "looked at, and what was found",
}


def write_rows(conn: sa.Connection, done: Iterable[Decision]) -> None:
    """
    Write what decisions change, counting the revision of each row up. Columns of other tables are left out.

    What changes rows alike goes to the database as one; decisions on one row keep their order.
    """
    alike: dict[tuple[str, str, tuple[str, ...]], list[Decision]] = {}
    met: set[tuple[str, Row]] = set()
    for one in done:
        if not one.table:
            continue
        if (one.table, one.row) in met:
            _write_alike(conn, alike)
            alike, met = {}, set()
        met.add((one.table, one.row))
        kind = "insert" if one.before is None else "delete" if one.after is None else "update"
        alike.setdefault((one.table, kind, tuple(one.after or ())), []).append(one)
    _write_alike(conn, alike)


def _write_alike(conn: sa.Connection, alike: Mapping[tuple[str, str, tuple[str, ...]], Sequence[Decision]]) -> None:
    for (name, kind, columns), group in alike.items():
        table = TABLES[name]
        keys = [column.name for column in table.primary_key.columns]
        stored = [column for column in columns if column in table.c]
        documents = {column for column in stored if isinstance(table.c[column].type, sa.JSON)}
        values = [[_bound((one.after or {})[column], column in documents) for column in stored] for one in group]
        row = sa.and_(
            *(table.c[key] == sa.bindparam(f"row_{key}") for key in keys), table.c.revision == sa.bindparam("now")
        )
        names = [*(f"new_{column}" for column in stored), *(f"row_{key}" for key in keys)]
        bound: dict[str, sa.ColumnElement[Any]] = {column: sa.bindparam(f"new_{column}") for column in stored}
        if kind == "insert":
            whole = {**{key: sa.bindparam(f"row_{key}") for key in keys}, **bound, "revision": sa.literal_column("0")}
            insert = sa.insert(table).values(whole)
            for_each(conn, insert, names, [(*new, *one.row) for new, one in zip(values, group, strict=True)])
        else:
            revised = {**bound, "revision": table.c.revision + 1}
            change = sa.delete(table) if kind == "delete" else sa.update(table).values(revised)
            rows = [(*new, *one.row, one.revision) for new, one in zip(values, group, strict=True)]
            for_each(conn, change.where(row), [*names, "now"], rows)
        for one in group:
            if "segments" in columns:
                write_segments(conn, one.row[0], (one.after or {})["segments"])


def _bound(value: Any, is_document: bool) -> Any:
    return _text(value) if is_document and value is not None else value


def write_journal(
    conn: sa.Connection,
    run: Run,
    scope_key: int,
    done: Sequence[Decision],
    *,
    beside: Mapping[str, Any] | None = None,
    notes: Iterable[tuple[str, Any]] = (),
) -> None:
    """
    Keep decisions in the journal of a run, and notes (verb, what).

    beside: what the first of the decisions has under its events besides; the others name it as theirs.
    """
    run_key = run.stamp(conn)
    group = run.sequence
    rows = [
        (
            run_key,
            sequence,
            scope_key,
            one.step,
            one.verb,
            one.table,
            one.row[0] if one.row else None,
            one.row[1] if len(one.row) > 1 else None,
            one.revision,
            None if one.before is None else _text(one.before),
            None if one.after is None else _text(one.after),
            one.because,
            _events(one, None if beside is None else {"merge": group, **(beside if sequence == group else {})}),
        )
        for sequence, one in enumerate(done, run.sequence)
    ]
    run.sequence += len(rows)
    for verb, what in notes:
        noted = (NOTES[verb], verb, "", None, None, None, None, None, _WHY[verb])
        rows.append((run_key, run.sequence, scope_key, *noted, _text(what)))
        run.sequence += 1
    kept = sa.insert(decisions).values({name: sa.bindparam(f"new_{name}") for name in _KEPT})
    for_each(conn, kept, [f"new_{name}" for name in _KEPT], rows)


def _events(one: Decision, beside: Mapping[str, Any] | None) -> str | None:
    if not one.events and beside is None:
        return None
    return _text({"attributions": one.events.attributions, "exposures": one.events.exposures, **(beside or {})})


_KEPT = (
    "run_key", "sequence", "scope_key", "step", "verb", "table_name", "row_a", "row_b", "revision", "before", "after",
    "because", "events",
)  # fmt: skip
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def _text(value: Any) -> str:
    return _encode(value)
