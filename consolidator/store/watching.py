"""What is to be seen of the jobs and the messages of a store, for whoever looks whether something stopped happening."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import sqlalchemy as sa

from consolidator.instants import NIGHT
from consolidator.store.tables import WAITING, attributions, exposures, ledger, memories, outbox, runs, scopes

NIGHT_JOB = "consolidate"


class Success(NamedTuple):
    """When a job was last done, and for which local date."""

    at: int
    day: str


@dataclass(frozen=True, slots=True)
class Outbox:
    """waiting: messages not delivered and not given up, the oldest from `oldest_at`. given_up: how many were."""

    waiting: int = 0
    oldest_at: int | None = None
    given_up: int = 0


class Begun(NamedTuple):
    """For which local dates a job was first and last begun."""

    first: str
    last: str


class Undone(NamedTuple):
    """For how many dates a job was begun in vain since it was last done, and when the next attempt may be made."""

    dates: int
    next_at: int | None


@dataclass(frozen=True, slots=True)
class Seen:
    """
    begun: jobs that something begins by itself, whether they succeed or not. known: the first date of each in a scope.
    done, undone: by job and canonical scope, empty for the whole store. scopes: since when each is there. nights:
    reports of the last nights, the newest first, as documents. waiting: since when the oldest event of a scope waits.
    """

    begun: Mapping[str, Begun] = field(default_factory=dict)
    known: Mapping[tuple[str, str], str] = field(default_factory=dict)
    done: Mapping[tuple[str, str], Success] = field(default_factory=dict)
    undone: Mapping[tuple[str, str], Undone] = field(default_factory=dict)
    scopes: Mapping[str, int] = field(default_factory=dict)
    nights: tuple[Mapping[str, Any], ...] = ()
    waiting: Mapping[str, int] = field(default_factory=dict)
    outbox: Outbox = Outbox()


def look(conn: sa.Connection, *, nights: int, now: int) -> Seen:
    """All of it. nights: how many reports, of those not older than four times as many nights."""
    done = _done(conn)
    return Seen(
        begun=_begun(conn),
        known=first_days(conn),
        done=done,
        undone=_undone(conn, done),
        scopes=scopes_since(conn),
        nights=tuple(_last_nights(conn, nights, since=now - 4 * nights * NIGHT)),
        waiting=_waiting(conn),
        outbox=outbox_state(conn),
    )


def scopes_since(conn: sa.Connection) -> dict[str, int]:
    """The scopes in which something is, and since when."""
    taken_in = sa.select(sa.func.min(memories.c.base_at)).where(memories.c.scope_key == scopes.c.key)
    since = sa.func.coalesce(scopes.c.first_activity_at, taken_in.scalar_subquery())
    return dict(conn.execute(sa.select(scopes.c.scope, since).where(since.is_not(None))).all())


def first_days(conn: sa.Connection) -> dict[tuple[str, str], str]:
    """The first date that the ledger knows of each job in each scope."""
    query = sa.select(ledger.c.job, ledger.c.scope_key, sa.func.min(ledger.c.day))
    names = _names(conn)
    found = conn.execute(query.group_by(ledger.c.job, ledger.c.scope_key))
    return {(job, names.get(key, "")): day for job, key, day in found}


def days_done(conn: sa.Connection, job: str, *, since: int) -> dict[str, set[str]]:
    """The dates for which a job was done since an instant, by scope."""
    query = (
        sa.select(scopes.c.scope, ledger.c.day)
        .join(scopes, scopes.c.key == ledger.c.scope_key)
        .where(ledger.c.job == job, ledger.c.done_at >= since)
    )
    days: dict[str, set[str]] = {}
    for scope, day in conn.execute(query):
        days.setdefault(scope, set()).add(day)
    return days


def reports_since(conn: sa.Connection, since: int) -> Iterator[Mapping[str, Any]]:
    """The reports of runs that began after an instant and were not undone, the oldest first, as documents."""
    query = (
        sa.select(runs.c.report)
        .where(runs.c.started_at > since, runs.c.report.is_not(None), runs.c.undone_at.is_(None))
        .order_by(runs.c.started_at, runs.c.key)
    )
    yield from conn.scalars(query)


def _done(conn: sa.Connection) -> dict[tuple[str, str], Success]:
    latest = (
        sa.select(ledger.c.job, ledger.c.scope_key, sa.func.max(ledger.c.done_at), sa.func.max(ledger.c.day))
        .where(ledger.c.done_at.is_not(None))
        .group_by(ledger.c.job, ledger.c.scope_key)
    )
    names = _names(conn)
    return {(job, names.get(key, "")): Success(at, day) for job, key, at, day in conn.execute(latest)}


def _begun(conn: sa.Connection) -> dict[str, Begun]:
    query = sa.select(ledger.c.job, sa.func.min(ledger.c.day), sa.func.max(ledger.c.day))
    return {job: Begun(*days) for job, *days in conn.execute(query.where(ledger.c.attempts > 0).group_by(ledger.c.job))}


def _undone(conn: sa.Connection, done: Mapping[tuple[str, str], Success]) -> dict[tuple[str, str], Undone]:
    query = sa.select(ledger.c.job, ledger.c.scope_key, ledger.c.day, ledger.c.next_at)
    names = _names(conn)
    found: dict[tuple[str, str], Undone] = {}
    for job, key, day, next_at in conn.execute(query.where(ledger.c.done_at.is_(None)).order_by(ledger.c.day)):
        place = (job, names.get(key, ""))
        if place not in done or day > done[place].day:
            before = found.get(place, Undone(0, None))
            found[place] = Undone(before.dates + 1, next_at)
    return found


def _names(conn: sa.Connection) -> dict[int, str]:
    return dict(conn.execute(sa.select(scopes.c.key, scopes.c.scope)).all())


def _last_nights(conn: sa.Connection, limit: int, *, since: int) -> list[Mapping[str, Any]]:
    """The reports of the last nights that the ledger counts, the newest first, as documents."""
    counted = (ledger.c.job == NIGHT_JOB, ledger.c.done_at >= since, ledger.c.run_key.is_not(None))
    of_night = sa.select(ledger.c.run_key).where(*counted)
    query = (
        sa.select(runs.c.report)
        .where(runs.c.key.in_(of_night), runs.c.report.is_not(None), runs.c.undone_at.is_(None))
        .order_by(runs.c.started_at.desc(), runs.c.key.desc())
        .limit(limit)
    )
    return list(conn.scalars(query))


def _waiting(conn: sa.Connection) -> dict[str, int]:
    oldest: dict[str, int] = {}
    for table in (attributions, exposures):
        query = (
            sa.select(scopes.c.scope, sa.func.min(table.c.at))
            .join(scopes, scopes.c.key == table.c.scope_key)
            .where(WAITING)
            .group_by(scopes.c.scope)
        )
        for scope, at in conn.execute(query):
            oldest[scope] = min(at, oldest.get(scope, at))
    return oldest


def outbox_state(conn: sa.Connection) -> Outbox:
    """How many messages wait, since when, and how many were given up."""
    waits = outbox.c.next_at.is_not(None)
    lost = sa.and_(outbox.c.next_at.is_(None), outbox.c.delivered_at.is_(None))
    count, oldest = conn.execute(sa.select(sa.func.count(), sa.func.min(outbox.c.created_at)).where(waits)).one()
    given_up = conn.scalar(sa.select(sa.func.count()).select_from(outbox).where(lost)) or 0
    return Outbox(count, oldest, given_up)


def told_since(conn: sa.Connection, since: int) -> dict[str, int]:
    """The names of what messages have said since an instant, arrived or not, each with the last row that says it."""
    return {name: key for key, payload in _told(conn, since) for name in payload.get("about", ())}


def rename_told(conn: sa.Connection, names: Mapping[str, str], since: int) -> None:
    """Have messages since an instant say other names, so that these count as told no more."""
    for key, payload in _told(conn, since):
        about = payload.get("about", ())
        if not names.keys().isdisjoint(about):
            changed = {**payload, "about": [names.get(name, name) for name in about]}
            conn.execute(sa.update(outbox).where(outbox.c.key == key).values(payload=changed))


def _told(conn: sa.Connection, since: int) -> list[tuple[int, Mapping[str, Any]]]:
    query = sa.select(outbox.c.key, outbox.c.payload).where(outbox.c.created_at >= since).order_by(outbox.c.key)
    return [(key, payload) for key, payload in conn.execute(query)]
