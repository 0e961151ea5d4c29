"""The names of stores: what a URL or a path means, and how a person may see it. A password is never repeated."""

import os
from pathlib import Path

import sqlalchemy as sa

from consolidator.errors import StoreUnusable

EXAMPLES = "write sqlite:///folder/file.db or postgresql://user:password@host:5432/database"


def parse_url(text: str) -> sa.URL:
    """
    The URL of a store: a SQLite file or a Postgres database. A text without `://` is the path of a SQLite file.

    StoreUnusable where it is neither.
    """
    if "://" not in text:
        return _file(text)
    try:
        url = sa.make_url(text)
        backend = {"postgres": "postgresql"}.get(url.get_backend_name(), url.get_backend_name())
    except (sa.exc.ArgumentError, ValueError):
        raise StoreUnusable(f"the URL of the store cannot be read; {EXAMPLES}") from None
    if backend == "sqlite":
        if url.host or url.query:
            raise StoreUnusable(f"a SQLite store takes a path and nothing else; {EXAMPLES}")
        return _file(url.database or "")
    if backend == "postgresql":
        return url.set(drivername="postgresql+psycopg")
    raise StoreUnusable(f"{backend}: not a kind of store; {EXAMPLES}")


def shown(url: sa.URL) -> str:
    """A store's URL as a person may see it: a file's path, or a server without password and options."""
    if is_file(url):
        return url.database or ""
    host = url.host or url.query.get("host", "")
    user = f"{url.username}@" if url.username else ""
    port = f":{url.port}" if url.port else ""
    return f"postgresql://{user}{host}{port}/{url.database or ''}"


def is_file(url: sa.URL) -> bool:
    """Whether the store is a SQLite file; else it is a Postgres database."""
    return url.get_backend_name() == "sqlite"


def path_of(url: sa.URL) -> Path:
    """The file of a SQLite store, links followed, so that its `-wal` lies beside it."""
    return Path(os.path.realpath(url.database or ""))


def _file(path: str) -> sa.URL:
    if path in ("", ":memory:"):
        raise StoreUnusable(f"the store names no file; {EXAMPLES}")
    if "\0" in path:
        raise StoreUnusable(f"the path of the store holds a NUL; {EXAMPLES}")
    return sa.URL.create("sqlite", database=os.path.abspath(os.path.expanduser(path)))
