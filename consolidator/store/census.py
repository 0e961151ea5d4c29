"""Counting and checking a store: how much is in it, what waits, and whether it is sound."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from consolidator.instants import format_instant
from consolidator.laws.clock import ASSOCIATION
from consolidator.scopes import parse_scope
from consolidator.store.engine import Store
from consolidator.store.find import Scope
from consolidator.store.journal import last_runs
from consolidator.store.nearest import described
from consolidator.store.readers import Clocks
from consolidator.store.tables import (
    INFERRED,
    WAITING,
    associations,
    attributions,
    exposures,
    locks,
    memories,
    metadata,
    runs,
    tombstones,
)

STATUSES = ("active", "superseded", "archived")


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at. sound: None where it only tells."""

    what: str
    sound: bool | None
    finding: str


def stats(store: Store, conn: sa.Connection, scopes: Sequence[Scope], clocks: Clocks, *, now: int) -> dict[str, Any]:
    """Counts per scope, the last run, and the size of the store, as a JSON document."""
    ran = last_runs(conn, 1)
    return {
        "store": {"id": store.store_id, "kind": store.dialect, "bytes": size(conn)},
        "last_run": ran[0] if ran else None,
        "scopes": [_scope(conn, scope, clocks, now=now) for scope in scopes],
    }


def _scope(conn: sa.Connection, scope: Scope, clocks: Clocks, *, now: int) -> dict[str, Any]:
    counted = conn.execute(
        sa.select(memories.c.status, sa.func.count())
        .where(memories.c.scope_key == scope.key)
        .group_by(memories.c.status)
    )
    clock = clocks.of(scope.key)
    return {
        "scope": parse_scope(scope.text),
        "time_zone": scope.time_zone,
        "memories": dict.fromkeys(STATUSES, 0) | dict(counted.all()),
        "links": _links(conn, scope.key, age=float(clock.age(now, ASSOCIATION))),
        "pending": pending(conn, scope.key, now=now),
        "last_activity_at": None if clock.last is None else format_instant(clock.last),
    }


def _links(conn: sa.Connection, scope_key: int, *, age: float) -> dict[str, int]:
    """Links that have not faded to nothing. Counted by index: rows of a large store are many to read."""
    of_scope = sa.select(sa.func.count()).select_from(associations).where(associations.c.scope_key == scope_key)
    not_dead = (associations.c.fades_age >= age, associations.c.fades_age.is_(None))
    total = sum(conn.scalar(of_scope.where(condition)) or 0 for condition in not_dead)
    few = sa.select(sa.func.count()).select_from(associations).where(INFERRED, associations.c.via.is_not(None))
    of_scope_too = associations.c.scope_key + 0 == scope_key  # not by the index of all links of the scope
    inferred = conn.scalar(few.where(of_scope_too, sa.or_(*not_dead))) or 0
    return {"direct": total - inferred, "inferred": inferred}


def pending(conn: sa.Connection, scope_key: int | None = None, *, now: int | None = None) -> dict[str, int]:
    """Events that no night has seen; of one scope, up to `now`, where given."""
    counts = {}
    for name, table in (("exposures", exposures), ("attributions", attributions)):
        query = sa.select(sa.func.count()).select_from(table).where(WAITING)
        if scope_key is not None:
            query = query.where(table.c.scope_key == scope_key)
        if now is not None:
            query = query.where(table.c.at <= now)
        counts[name] = conn.scalar(query) or 0
    return counts


def size(conn: sa.Connection) -> int:
    """Bytes of the store on its disk, free pages included."""
    if conn.dialect.name == "sqlite":
        pages = conn.exec_driver_sql("PRAGMA page_count").scalar_one()
        return int(pages * conn.exec_driver_sql("PRAGMA page_size").scalar_one())
    names = [f"'{table.name}'" for table in metadata.sorted_tables]
    query = f"SELECT sum(pg_total_relation_size(to_regclass(name))) FROM unnest(ARRAY[{', '.join(names)}]) AS name"
    return int(conn.exec_driver_sql(query).scalar() or 0)


def checks(store: Store, conn: sa.Connection, *, version: str | None) -> Iterator[Check]:
    """What a doctor looks at, one after the other; opening the store has already shown that it is ours."""
    yield Check("schema", None, version or "")
    yield from _check_sqlite(conn) if store.dialect == "sqlite" else _check_postgres(conn)
    waiting = pending(conn)
    yield Check("waiting events", None, f"{waiting['attributions']} attributions, {waiting['exposures']} exposures")
    yield _check_runs(conn)
    yield Check("tombstones", None, str(conn.scalar(sa.select(sa.func.count()).select_from(tombstones))))


def _check_runs(conn: sa.Connection) -> Check:
    """Runs that were killed: what they left, a later one has done; until one ran, that is to be done."""
    query = sa.select(runs.c.run_id).where(runs.c.finished_at.is_(None)).order_by(runs.c.key)
    killed = list(conn.scalars(query))
    later = sa.select(sa.func.coalesce(sa.func.max(runs.c.key), 0)).where(runs.c.finished_at.is_not(None))
    waiting = list(conn.scalars(query.where(runs.c.key > later.scalar_subquery())))
    if waiting and _is_held(conn):
        return Check("runs", None, f"{waiting[-1]} is under way")
    if waiting:
        return Check("runs", False, f"{waiting[-1]} was killed; `consolidate run` does what it left")
    return Check("runs", True, f"{len(killed)} killed, a later one did what they left" if killed else "ok")


def _is_held(conn: sa.Connection) -> bool:
    if conn.dialect.name == "postgresql":
        ours = "database = (SELECT oid FROM pg_database WHERE datname = current_database())"
        return bool(
            conn.exec_driver_sql(f"SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND {ours}").scalar()
        )
    return bool(conn.scalar(sa.select(sa.func.count()).select_from(locks)))


def _check_sqlite(conn: sa.Connection) -> Iterator[Check]:
    damage = list(conn.exec_driver_sql("PRAGMA integrity_check(3)").scalars())
    yield Check("integrity", damage == ["ok"], "ok" if damage == ["ok"] else "; ".join(damage))
    broken = conn.exec_driver_sql("PRAGMA foreign_key_check").all()
    tables = sorted({str(row[0]) for row in broken})
    yield Check(
        "foreign keys", not broken, f"{len(broken)} rows point nowhere, in {', '.join(tables)}" if broken else "ok"
    )
    stored = conn.scalar(sa.select(sa.func.count()).select_from(memories))
    indexed = conn.exec_driver_sql("SELECT count(*) FROM memory_words_docsize").scalar_one()
    astray = conn.exec_driver_sql(
        "SELECT count(*) FROM memories WHERE key NOT IN (SELECT id FROM memory_words_docsize)"
    ).scalar_one()
    in_step = stored == indexed and not astray
    yield Check("search index", in_step, "ok" if in_step else f"{indexed} entries for {stored} memories")


def _check_postgres(conn: sa.Connection) -> Iterator[Check]:
    invalid = conn.exec_driver_sql(
        "SELECT indexrelid::regclass::text FROM pg_index WHERE NOT indisvalid AND indrelid = ANY("
        "SELECT to_regclass(name) FROM unnest(%s::text[]) AS name)",
        ([table.name for table in metadata.sorted_tables],),
    ).scalars()
    names = list(invalid)
    yield Check("indexes", not names, f"not valid: {', '.join(names)}" if names else "ok")
    unproven = conn.exec_driver_sql(
        "SELECT count(*) FROM pg_constraint WHERE NOT convalidated AND connamespace = current_schema()::regnamespace"
    ).scalar_one()
    yield Check("foreign keys", not unproven, f"{unproven} constraints not proven" if unproven else "ok")
    present = conn.exec_driver_sql("SELECT to_regclass('ix_memories_words') IS NOT NULL").scalar_one()
    yield Check("search index", bool(present), "ok" if present else "missing")
    yield Check("pgvector", None, described(conn))
