"""
One night at a time in a scope, one job at a time that looks after the whole store.

A lock ends with its holder: a process that died, killed or not, holds nothing. On SQLite a lock is a row that says
who holds it, and until when where that cannot be asked (another machine); on Postgres it is an advisory lock of a
connection of its own, which the server ends with it.
"""

import hashlib
import json
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from uuid import uuid4

import psutil
import sqlalchemy as sa

from consolidator.errors import ConsolidatorError, ScopeHeld
from consolidator.instants import SECOND, format_instant
from consolidator.store import postgres
from consolidator.store.handle import Store
from consolidator.store.tables import locks

WHOLE_STORE = 0  # in place of a scope; a number below it stands for a source
EXPIRES_AFTER = 12 * 3600 * SECOND
SAME_START_SECONDS = 2.0  # the start of a process is known to a clock tick, that of the machine to a second

Clock = Callable[[], int]


@contextmanager
def hold_scope(store: Store, scope_key: int, *, wall_clock: Clock) -> Iterator[None]:
    """Hold a scope, or the whole store, until the end of the block. ScopeHeld where another night or job does."""
    hold = _hold_by_connection if store.dialect == "postgresql" else _hold_by_row
    with hold(store, scope_key, wall_clock):
        yield


@contextmanager
def hold_source(store: Store, source_key: int, *, wall_clock: Clock) -> Iterator[None]:
    """Hold a source until the end of the block. ScopeHeld where another pull or push of it is under way."""
    with hold_scope(store, -source_key, wall_clock=wall_clock):
        yield


def _held(scope_key: int) -> str:
    if scope_key < WHOLE_STORE:
        return "another pull or push of this source is under way"
    return "another job holds the whole store" if scope_key == WHOLE_STORE else "another night holds this scope"


@contextmanager
def _hold_by_row(store: Store, scope_key: int, wall_clock: Clock) -> Iterator[None]:
    mine = _this_process()
    with store.write() as connection:
        now = wall_clock()
        held = connection.execute(sa.select(locks).where(locks.c.scope_key == scope_key)).one_or_none()
        if held and held.expires_at > now and _may_live(held.holder):
            who = json.loads(held.holder)
            raise ScopeHeld(
                f"{_held(scope_key)}: process {who['process']} on {who['host']}, "
                f"since {format_instant(held.taken_at)}; let it end, or stop it"
            )
        connection.execute(sa.delete(locks).where(locks.c.scope_key == scope_key))
        connection.execute(
            sa.insert(locks).values(scope_key=scope_key, holder=mine, taken_at=now, expires_at=now + EXPIRES_AFTER)
        )
    try:
        yield
    finally:
        with suppress(ConsolidatorError), store.write() as connection:  # not given back, it ends with this process
            connection.execute(sa.delete(locks).where(locks.c.scope_key == scope_key, locks.c.holder == mine))


def _this_process() -> str:
    """Whom a lock row names. The token tells two holds of one process apart."""
    return json.dumps(
        {
            "host": socket.gethostname(),
            "process": os.getpid(),
            "started": _started(psutil.Process()),
            "token": uuid4().hex,
        }
    )


def _may_live(holder: str) -> bool:
    """Whether the holder of a lock may still be at work: yes, where it cannot be asked."""
    who = json.loads(holder)
    if who["host"] != socket.gethostname():
        return True
    try:
        process = psutil.Process(who["process"])
        if process.status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD):
            return False
        return bool(abs(_started(process) - who["started"]) <= SAME_START_SECONDS)
    except psutil.NoSuchProcess:
        return False
    except psutil.Error:
        return True


def _started(process: psutil.Process) -> float:
    """Seconds from the start of the machine to that of the process: a clock set anew does not change it."""
    return float(process.create_time() - psutil.boot_time())


@contextmanager
def _hold_by_connection(store: Store, scope_key: int, _wall_clock: Clock) -> Iterator[None]:
    name = _lock_name(store, scope_key)
    engine = postgres.unpooled(store.url)
    with engine.connect() as connection:
        for setting in _LOCK_SETTINGS:
            connection.exec_driver_sql(f"SET {setting}")
        if not connection.scalar(sa.select(sa.func.pg_try_advisory_lock(name))):
            process = connection.scalar(sa.text(_HOLDER), {"name": name})
            raise ScopeHeld(f"{_held(scope_key)}: server process {process} of the database; let it end, or stop it")
        try:
            yield
        finally:
            with suppress(ConsolidatorError):  # not given back, it ends with this connection
                connection.execute(sa.select(sa.func.pg_advisory_unlock(name)))


# The connection is idle all night and must stay; where the holder's machine vanishes, the server notices in 90 s.
_LOCK_SETTINGS = (
    "idle_session_timeout = 0",
    "tcp_keepalives_idle = 60",
    "tcp_keepalives_interval = 10",
    "tcp_keepalives_count = 3",
)
_HOLDER = """
SELECT pid
FROM pg_locks
WHERE locktype = 'advisory'
AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
AND classid::bigint = ((CAST(:name AS bigint) >> 32) & 4294967295)
AND objid::bigint = (CAST(:name AS bigint) & 4294967295)
AND granted
"""


def _lock_name(store: Store, scope_key: int) -> int:
    """The number of a scope's lock: others may keep locks, and stores, in the same database."""
    digest = hashlib.sha256(f"consolidator {store.store_id} {scope_key}".encode()).digest()
    return int.from_bytes(digest[:8], signed=True)
