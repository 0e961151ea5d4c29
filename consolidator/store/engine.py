"""
Opening a store.

Whatever is wrong with a store is one line for a person (`StoreUnusable`), found before anything is changed.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from consolidator.errors import ConsolidatorError, StoreUnusable
from consolidator.store import postgres, schema, sqlite
from consolidator.store.answers import answering, opening
from consolidator.store.handle import BUSY_TIMEOUT_SECONDS, Store, reader, writer
from consolidator.store.urls import is_file, parse_url, path_of

__all__ = ["Mode", "Store", "keyed", "open_store"]

Mode = Literal["read", "write", "create"]


def open_store(url: str, *, mode: Mode, busy_timeout_seconds: float = BUSY_TIMEOUT_SECONDS) -> Store:
    """
    Open the store that a URL names. StoreUnusable says in one line why it cannot be, before anything is changed.

    read: creates and changes nothing. write: of a store that is there. create: makes a SQLite file, never its
    folder, or the tables in an empty Postgres database; a store that is there is opened as it is.
    busy_timeout_seconds: how long to wait for another process that holds a SQLite file.
    """
    named = parse_url(url)
    with opening():
        if is_file(named):
            return _open_file(named, mode, busy_timeout_seconds)
        return _open_server(named, mode)


def _open_file(url: sa.URL, mode: Mode, seconds: float) -> Store:
    if mode == "create" and not sqlite.size_of(path_of(url)):
        return _create_file(url, seconds)
    store = reader(url, busy_timeout_seconds=seconds)
    try:
        with store.read() as connection:
            found = schema.look(connection)
        if mode != "create" or found.tables:
            store = replace(store, store_id=schema.insist(found, url).store_id)
    except BaseException:
        store.close()
        raise
    if mode == "read":
        return store
    store.close()
    if not store.store_id:
        return _create_file(url, seconds)
    store = replace(writer(url, busy_timeout_seconds=seconds), store_id=store.store_id)
    try:
        store.engine.connect().close()
    except BaseException:
        store.close()
        raise
    return store


def _create_file(url: sa.URL, seconds: float) -> Store:
    path = path_of(url)
    if not path.parent.is_dir():
        raise StoreUnusable(f"{path}: its folder is not there; make it first")
    sqlite.insist_writable(path)
    with answering(url):
        made_here = sqlite.make_file(path)
    store = writer(url, busy_timeout_seconds=seconds)
    try:
        with store.write() as connection:
            return replace(store, store_id=_found_or_made(connection, url))
    except BaseException:
        store.close()
        if made_here and not _holds_tables(url):
            sqlite.remove_files(path)
        raise


def _holds_tables(url: sa.URL) -> bool:
    """Whether a file that could not be made a store is one all the same: another process may have been faster."""
    try:
        with reader(url) as store, store.read() as connection:
            return bool(schema.look(connection).tables)
    except ConsolidatorError:
        return False


def _open_server(url: sa.URL, mode: Mode) -> Store:
    if mode != "create":
        store = reader(url) if mode == "read" else writer(url)
        try:
            with store.read() as connection:
                postgres.insist_usable(connection, url)
                return replace(store, store_id=schema.insist(schema.look(connection), url).store_id)
        except BaseException:
            store.close()
            raise
    store = writer(url)
    try:
        with store.write() as connection:
            postgres.insist_usable(connection, url)
            postgres.wait_for_turn(connection)
            return replace(store, store_id=_found_or_made(connection, url))
    except BaseException:
        store.close()
        raise


def _found_or_made(connection: sa.Connection, url: sa.URL) -> str:
    found = schema.look(connection)
    return schema.insist(found, url).store_id if found.tables else schema.make_tables(connection)


def keyed(
    connection: sa.Connection,
    types: Mapping[str, type[sa.types.TypeEngine[Any]]] | None = None,
    /,
    **columns: Sequence[Any],
) -> sa.Subquery:
    """
    Columns of equal length as a table to join: one bind a column at most and one statement for any number of rows.

    Whole numbers, or what `types` says of a column (BigInteger or Text: what survives the way through JSON). A join
    reads its rows by key: `select(t).join(k, t.c.key == k.c.key)`.
    """
    kinds = {name: (types or {}).get(name, sa.BigInteger)() for name in columns}
    rows = list(zip(*columns.values(), strict=True))
    if connection.dialect.name == "postgresql":
        arrays = [
            sa.bindparam(None, [row[place] for row in rows], type_=postgresql.ARRAY(kind))
            for place, kind in enumerate(kinds.values())
        ]
        unnested = sa.func.unnest(*arrays).table_valued(*(sa.column(*named) for named in kinds.items()))
        return sa.select(*unnested.render_derived().c).subquery()
    if len(kinds) == 1:
        ((name, kind),) = kinds.items()
        flat = sa.bindparam(None, json.dumps([value for (value,) in rows], default=int), type_=sa.Text)
        each = sa.func.json_each(flat).table_valued("value")
        return sa.select(sa.type_coerce(each.c.value, kind).label(name)).subquery()
    each = sa.func.json_each(sa.bindparam(None, json.dumps(rows, default=int), type_=sa.Text)).table_valued("value")
    values = [
        sa.type_coerce(sa.func.json_extract(each.c.value, sa.literal_column(f"'$[{place}]'")), kind).label(name)
        for place, (name, kind) in enumerate(kinds.items())
    ]
    return sa.select(*values).subquery()
