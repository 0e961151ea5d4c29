"""What the tests of opening share: a store's contents, what a person is told, and a writer in another process."""

import hashlib
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa

from consolidator.errors import StoreUnusable
from consolidator.store import tables
from consolidator.store.engine import Store, open_store

MODES = ("read", "write", "create")


def add_scope(store: Store, scope: str) -> None:
    with store.write() as connection:
        connection.execute(sa.insert(tables.scopes).values(scope=scope))


def scopes(store: Store) -> list[str]:
    with store.read() as connection:
        return list(connection.scalars(sa.select(tables.scopes.c.scope).order_by(tables.scopes.c.scope)))


def contents(path: Path) -> dict[str, str]:
    """The bytes of the file and of its log, where there are any. Only while this process has the file closed."""
    files = (path, path.with_name(f"{path.name}-wal"))
    return {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest()
        for file in files
        if file.exists() and file.stat().st_size
    }


def refusal(url: str | Path, mode: str, **options: float) -> str:
    """What a person is told: one line."""
    with pytest.raises(StoreUnusable) as raised:
        open_store(str(url), mode=mode, **options)  # type: ignore[arg-type]
    assert raised.value.exit_code == 2
    assert "\n" not in str(raised.value)
    return str(raised.value)


def make_other(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE birds (name TEXT)")


WRITER = "store = open_store(arguments[0], mode='write')\nadd_scope(store, 'in the log')\nwait()"
