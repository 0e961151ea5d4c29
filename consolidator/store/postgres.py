"""Postgres databases as stores: connections, and the advisory lock that only an unpooled one may hold."""

from typing import Any

import sqlalchemy as sa
from sqlalchemy.pool import NullPool

from consolidator.errors import StoreUnusable
from consolidator.store.answers import tell
from consolidator.store.urls import shown

CONNECT_TIMEOUT_SECONDS = 10
OLDEST_VERSION = (15,)


def engine(url: sa.URL) -> sa.Engine:
    """A small pool of connections, made when first needed."""
    return _engine(url, pool_size=2, max_overflow=2)


def unpooled(url: sa.URL) -> sa.Engine:
    """Connections of their own, each statement a transaction: what a session holds ends with it."""
    return _engine(url, poolclass=NullPool, isolation_level="AUTOCOMMIT")


def insist_usable(connection: sa.Connection, url: sa.URL) -> None:
    """Nothing, where the server is new enough and the database holds every language. StoreUnusable elsewhere."""
    version = connection.dialect.server_version_info or ()
    if version < OLDEST_VERSION:
        what = f"Postgres {'.'.join(map(str, version))} is too old; use {OLDEST_VERSION[0]} or later"
        raise StoreUnusable(f"{shown(url)}: {what}")
    encoding = connection.scalar(sa.text("SHOW server_encoding"))
    if encoding != "UTF8":
        what = f"its encoding is {encoding}, which cannot hold every language; make one with ENCODING 'UTF8'"
        raise StoreUnusable(f"{shown(url)}: {what}")


def wait_for_turn(connection: sa.Connection) -> None:
    """Wait until no other transaction makes or migrates a store in this database."""
    connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_TURN)))


_TURN = int.from_bytes(b"consolid")


# A server that is cut off without a word is noticed within two minutes; else a question to it is never answered.
_ALIVE = {"keepalives_idle": 60, "keepalives_interval": 10, "keepalives_count": 3, "tcp_user_timeout": 90_000}


def _engine(url: sa.URL, **options: Any) -> sa.Engine:
    defaults = {"connect_timeout": CONNECT_TIMEOUT_SECONDS, "fallback_application_name": "consolidator", **_ALIVE}
    arguments = {name: value for name, value in defaults.items() if name not in url.query}
    made = sa.create_engine(url, connect_args=arguments, **options)
    tell(made, url)
    return made
