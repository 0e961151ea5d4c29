"""Owed: what a job has still to do for its latest date. Older dates are not made up: time is arithmetic."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

import sqlalchemy as sa

from consolidator.instants import NIGHT, SECOND, from_datetime, to_datetime
from consolidator.schedule.calendar import Due, last_due
from consolidator.settings.duty import Duty
from consolidator.settings.jobs import ConsolidateJob
from consolidator.store import ledger
from consolidator.store.engine import Store
from consolidator.store.locks import WHOLE_STORE
from consolidator.store.tables import memories, scopes

WAITS = (60 * SECOND, 600 * SECOND, 3600 * SECOND, 4 * 3600 * SECOND)  # after each attempt that failed
WHOLE = frozenset({"collect", "report", "purge", "backup"})  # jobs that the ledger knows of the whole store


class Owed(NamedTuple):
    """The date and time that a job was due, and from when on it may be begun, or tried again."""

    due: Due
    begin_at: int


class Day(NamedTuple):
    """What the ledger calls the date of a due time, and the latest date by which that could be done already."""

    name: str
    until: str


def owed(store: Store, duty: Duty, now: int) -> Owed | None:
    """
    What a job has still to do; None where nothing.

    The latest due time not after `now` alone counts, for scopes that were there by then, and for the sources of a
    night. Where attempts failed, the next may be begun after a while, and after the fifth none.
    """
    due = last_due(duty.cron, duty.zone, now)
    if due is None:
        return None
    day = day_of(duty, due, now)
    with store.read() as conn:
        keys = _there_by(conn, due.at, duty)
        found = [*ledger.entries(conn, keys, duty.name, *day).values()]
        for name in sources_of(duty):
            found += ledger.entries(conn, [WHOLE_STORE], source_row(name), *day).values()
    begin = [max(due.at, entry.next_at or 0) for entry in found if not (entry.done or entry.given_up)]
    return Owed(due, min(begin)) if begin else None


def sources_of(duty: Duty) -> Sequence[str]:
    """The sources that a job pulls and pushes."""
    return duty.job.sources or () if isinstance(duty.job, ConsolidateJob) else ()


def source_row(name: str) -> str:
    """What the ledger calls a source of the night, as if it were a job of the whole store."""
    return f"source:{name}"


def day_of(duty: Duty, due: Due, now: int) -> Day:
    """
    The local date; the date and time of UTC where a job can be due several times a day.

    These are in order as texts, also in an hour that comes twice.
    """

    def name(instant: int) -> str:
        at = to_datetime(instant)
        return f"{at.astimezone(duty.zone):%Y-%m-%d}" if is_daily(duty.cron) else f"{at:%Y-%m-%d %H:%MZ}"

    return Day(name(due.at), name(now + NIGHT))


def end_of(day: str, zone: ZoneInfo) -> int:
    """The last instant of what the ledger calls a date: what is due later has another."""
    moment = datetime.fromisoformat(day)
    if moment.tzinfo:
        return from_datetime(moment)
    return from_datetime((moment + timedelta(days=1)).replace(tzinfo=zone)) - SECOND


def date_of(day: str, zone: ZoneInfo) -> str:
    """The local date of what the ledger calls one."""
    moment = datetime.fromisoformat(day)
    return f"{moment.astimezone(zone) if moment.tzinfo else moment:%Y-%m-%d}"


def today(duty: Duty, now: int) -> str | None:
    """The date for which a job that is done now by hand counts."""
    if is_daily(duty.cron):
        return f"{to_datetime(now).astimezone(duty.zone):%Y-%m-%d}"
    due = last_due(duty.cron, duty.zone, now)
    return day_of(duty, due, now).name if due else None


def is_daily(cron: str) -> bool:
    """Whether an expression names one time of the day."""
    return all(field.isdigit() for field in cron.split()[:2])


def next_attempt(attempts: int, now: int) -> int | None:
    """When a job may be begun again of which so many attempts have failed; None: not for this date."""
    return now + WAITS[attempts - 1] if attempts <= len(WAITS) else None


def _there_by(conn: sa.Connection, at: int, duty: Duty) -> Sequence[int]:
    """The scopes of a job in which something was before it was due; for a job of the whole store, that."""
    taken_in = sa.select(sa.func.min(memories.c.base_at)).where(memories.c.scope_key == scopes.c.key)
    since = sa.func.coalesce(scopes.c.first_activity_at, taken_in.scalar_subquery())
    query = sa.select(scopes.c.key).where(since <= at)
    if duty.name in WHOLE:
        return [WHOLE_STORE] if conn.execute(query.limit(1)).first() else []
    if duty.scopes is not None:
        query = query.where(scopes.c.scope.in_(duty.scopes))
    return list(conn.scalars(query))
