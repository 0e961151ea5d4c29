"""
The ledger: which job was done in which scope for which date, begun in vain how often, and when it may be begun again.

A row is written under the lock of its scope, so that two who want to do the same look one after the other.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from consolidator.instants import NIGHT, to_datetime
from consolidator.store.tables import ledger, scopes

KEPT_NIGHTS = 400
_UNDER_WAY = "it was killed on the way, or is under way"

_NAMES = ("scope_key", "job", "day", "attempts", "next_at", "done_at", "reason")


@dataclass(frozen=True, slots=True)
class Entry:
    """
    A job in a scope for a date.

    attempts: how often it was begun, but for what was stopped on request. next_at: not begun again before; None: done,
    or given up. reason: why the last attempt failed.
    """

    scope_key: int
    job: str
    day: str
    attempts: int = 0
    next_at: int | None = None
    done_at: int | None = None
    reason: str | None = None

    @property
    def done(self) -> bool:
        return self.done_at is not None

    @property
    def killed(self) -> bool:
        """Whether the last attempt was killed; asked under the lock of the scope, where none is under way."""
        return not self.done and self.attempts > 0 and self.reason == _UNDER_WAY

    @property
    def given_up(self) -> bool:
        """Whether it is not to be begun any more."""
        return not self.done and self.reason is not None and self.next_at is None


def entries(conn: sa.Connection, scope_keys: Iterable[int], job: str, day: str, until: str) -> dict[int, Entry]:
    """
    What the ledger says of a job for a date, by scope; an empty entry where nothing.

    What was done for a later date, up to `until`, is done: a clock that is set back brings no date again.
    """
    query = (
        sa.select(*(ledger.c[name] for name in _NAMES))
        .where(ledger.c.job == job, ledger.c.day >= day, ledger.c.day <= until)
        .where(sa.or_(ledger.c.day == day, ledger.c.done_at.is_not(None)))
        .order_by(ledger.c.day)
    )
    found = {row.scope_key: Entry(*row) for row in conn.execute(query)}
    return {key: found.get(key, Entry(key, job, day)) for key in scope_keys}


def done_for(conn: sa.Connection, job: str, day: str, until: str) -> set[int]:
    """The scopes in which a job was done for a date, or a later one up to `until`."""
    of_date = (ledger.c.job == job, ledger.c.day >= day, ledger.c.day <= until)
    return set(conn.scalars(sa.select(ledger.c.scope_key).where(*of_date, ledger.c.done_at.is_not(None))))


def unfinished(conn: sa.Connection, job: str) -> set[int]:
    """The scopes in which the last attempt at a job failed, for whatever date."""
    latest = sa.select(ledger.c.scope_key, sa.func.max(ledger.c.day).label("day"))
    last = latest.where(ledger.c.job == job).group_by(ledger.c.scope_key).subquery()
    query = (
        sa.select(ledger.c.scope_key)
        .join(last, sa.and_(ledger.c.scope_key == last.c.scope_key, ledger.c.day == last.c.day))
        .where(ledger.c.job == job, ledger.c.done_at.is_(None), ledger.c.attempts > 0)
    )
    return set(conn.scalars(query))


def begin(conn: sa.Connection, scope_key: int, job: str, day: str, *, next_at: int | None) -> None:
    """Count an attempt before it is made: one that is killed has counted too. next_at: as if it were to fail."""
    values = {"attempts": 1, "next_at": next_at, "reason": _UNDER_WAY}
    _upsert(conn, scope_key, job, day, values, attempts=ledger.c.attempts + 1)


def failed(conn: sa.Connection, scope_key: int, job: str, day: str, *, reason: str, next_at: int | None) -> None:
    """Say why the attempt under way failed, or none was made; next_at None: no other one for this date."""
    _upsert(conn, scope_key, job, day, {"attempts": 0, "next_at": next_at, "reason": reason})


def not_begun(conn: sa.Connection, scope_key: int, job: str, day: str, *, now: int) -> None:
    """Take an attempt back: it was stopped on request, and may be made again at once."""
    conn.execute(
        sa.update(ledger)
        .where(ledger.c.scope_key == scope_key, ledger.c.job == job, ledger.c.day == day, ledger.c.done_at.is_(None))
        .values(attempts=ledger.c.attempts - 1, next_at=now, reason="it was stopped on request")
    )


def done(conn: sa.Connection, scope_key: int, job: str, day: str, *, at: int, run_key: int | None = None) -> None:
    """Note that a job was done for a date; what lies more than 400 nights back is dropped."""
    _upsert(conn, scope_key, job, day, {"done_at": at, "run_key": run_key, "next_at": None, "reason": None})
    oldest = f"{to_datetime(at - KEPT_NIGHTS * NIGHT):%Y-%m-%d}"
    old = sa.and_(ledger.c.scope_key == scope_key, ledger.c.job == job, ledger.c.day < oldest)
    conn.execute(sa.delete(ledger).where(old))


def _upsert(
    conn: sa.Connection, scope_key: int, job: str, day: str, values: dict[str, Any], **changed: sa.ColumnElement[Any]
) -> None:
    """Write these values, or change them where a row is there that is not done yet."""
    insert = postgresql.insert if conn.dialect.name == "postgresql" else sqlite.insert
    statement = insert(ledger).values(scope_key=scope_key, job=job, day=day, **values)
    kept = {name: value for name, value in values.items() if name != "attempts"}
    conn.execute(
        statement.on_conflict_do_update(
            index_elements=["scope_key", "job", "day"], set_={**kept, **changed}, where=ledger.c.done_at.is_(None)
        )
    )


@dataclass(frozen=True, slots=True)
class Success:
    """The last time that a job was done in a scope (canonical; empty: the whole store), and for which date."""

    scope: str
    job: str
    day: str
    at: int


def last_successes(conn: sa.Connection) -> list[Success]:
    """The last time that each job was done in each scope."""
    rank = sa.func.row_number().over(
        partition_by=(ledger.c.job, ledger.c.scope_key), order_by=(ledger.c.done_at.desc(), ledger.c.day.desc())
    )
    latest = sa.select(ledger, rank.label("rank")).where(ledger.c.done_at.is_not(None)).subquery()
    query = (
        sa.select(scopes.c.scope, latest.c.job, latest.c.day, latest.c.done_at)
        .select_from(latest)
        .join(scopes, scopes.c.key == latest.c.scope_key, isouter=True)
        .where(latest.c.rank == 1)
        .order_by(latest.c.job, scopes.c.scope)
    )
    return [Success(scope or "", job, day, at) for scope, job, day, at in conn.execute(query)]
