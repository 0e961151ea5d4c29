"""
The schema of a store: which version it has, and how it gets a newer one.

A store is only ever changed to a newer schema when asked (`migrate`), in one transaction, and a SQLite file is
copied aside first. A store newer than this program is refused.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import sqlalchemy as sa

from consolidator.errors import ConsolidatorError, StoreUnusable
from consolidator.instants import to_datetime
from consolidator.store import postgres, sqlite
from consolidator.store.answers import answering, opening
from consolidator.store.handle import reader, writer
from consolidator.store.tables import SCHEMA_VERSION, meta
from consolidator.store.urls import is_file, parse_url, path_of, shown

OURS = frozenset({"meta", "identities", "memories", "alembic_version"})

# Keyword search, built by the migrations like every table. SQLite's index holds no text of its own: it is told of
# each change by triggers. Both read `words` where it is given, else the content.
SEARCH_DDL = {
    "sqlite": (
        """CREATE VIRTUAL TABLE memory_words USING fts5(
    words, content = '', tokenize = "unicode61 remove_diacritics 0 categories 'L* N* M* Co'"
)""",
        """CREATE TRIGGER memory_words_insert AFTER INSERT ON memories BEGIN
    INSERT INTO memory_words (rowid, words) VALUES (new."key", coalesce(new.words, new.content));
END""",
        """CREATE TRIGGER memory_words_delete AFTER DELETE ON memories BEGIN
    INSERT INTO memory_words (memory_words, rowid, words)
    VALUES ('delete', old."key", coalesce(old.words, old.content));
END""",
        """CREATE TRIGGER memory_words_update AFTER UPDATE OF "key", words, content ON memories BEGIN
    INSERT INTO memory_words (memory_words, rowid, words)
    VALUES ('delete', old."key", coalesce(old.words, old.content));
    INSERT INTO memory_words (rowid, words) VALUES (new."key", coalesce(new.words, new.content));
END""",
    ),
    "postgresql": (
        "CREATE INDEX ix_memories_words ON memories USING gin (to_tsvector('simple', coalesce(words, content)))",
    ),
}


@dataclass(frozen=True)
class Found:
    """What a database holds: the names of its tables, and where it is a store, its schema version and id."""

    tables: frozenset[str]
    version: str = ""
    store_id: str = ""


@dataclass(frozen=True)
class Versions:
    """The schema version of a store, and the one that this program makes."""

    store: str
    program: str


@dataclass(frozen=True)
class Migration:
    """What `migrate` did: from which version to which (equal: nothing), and where the older file was copied."""

    before: str
    after: str
    copy: Path | None = None


def look(connection: sa.Connection) -> Found:
    """What the database holds, ours or not."""
    tables = frozenset(sa.inspect(connection).get_table_names())
    if connection.dialect.name == "postgresql":
        tables -= frozenset(connection.scalars(sa.text(_OF_EXTENSIONS)))
    if not tables >= OURS:
        return Found(tables)
    store_id = connection.scalar(sa.select(meta.c.value).where(meta.c.name == "store_id"))
    return Found(tables, schema_version(connection), store_id or "")


_OF_EXTENSIONS = """
SELECT relname
FROM pg_class
JOIN pg_depend ON classid = 'pg_class'::regclass AND objid = pg_class.oid AND deptype = 'e'
WHERE relnamespace = current_schema()::regnamespace
"""


def schema_version(connection: sa.Connection) -> str:
    """The version of a store's schema; empty where none is noted."""
    return connection.scalar(sa.text("SELECT version_num FROM alembic_version")) or ""


def insist(found: Found, url: sa.URL, *, current: bool = True) -> Found:
    """The same, where it is a store that this program can use. StoreUnusable says why not, and what next."""
    if not found.tables:
        raise StoreUnusable(f"{shown(url)}: holds no store yet; make one with `consolidate init`")
    if not found.store_id or not found.version:
        names = ", ".join(sorted(found.tables)[:3])
        reads = "read it with `consolidate import formative`" if "message_memory_attribution" in found.tables else ""
        raise StoreUnusable(f"{shown(url)}: not a store of consolidator (it holds {names}); {reads or 'name another'}")
    if found.version > SCHEMA_VERSION:
        raise StoreUnusable(
            f"{shown(url)}: its schema {found.version} is newer than this program's {SCHEMA_VERSION}; "
            "upgrade consolidator"
        )
    if current and found.version < SCHEMA_VERSION:
        raise StoreUnusable(
            f"{shown(url)}: its schema {found.version} is older than this program's {SCHEMA_VERSION}; "
            "run `consolidate migrate`"
        )
    return found


def check(store_url: str) -> Versions:
    """The versions of a store and of this program; changes nothing. StoreUnusable where it is none, or newer."""
    url = parse_url(store_url)
    with opening(), reader(url) as store, store.read() as connection:
        found = insist(look(connection), url, current=False)
    return Versions(found.version, SCHEMA_VERSION)


def migrate(store_url: str, *, now: int) -> Migration:
    """
    Bring a store to this program's schema: all of it or nothing.

    An older SQLite file is copied first, as it is, beside itself: the copy's name says its version and `now`.
    """
    versions = check(store_url)
    if versions.store == versions.program:
        return Migration(versions.store, versions.store)
    url = parse_url(store_url)
    with changing(url) as connection:
        before = insist(look(connection), url, current=False).version
        if before == SCHEMA_VERSION:  # another process was faster
            return Migration(before, before)
        label = f"schema-{before}.{to_datetime(now):%Y%m%dT%H%M%SZ}"
        with answering(url):
            copy = sqlite.copy_aside(path_of(url), label) if is_file(url) else None
        upgrade(connection)
    return Migration(before, SCHEMA_VERSION, copy)


@contextmanager
def changing(url: sa.URL) -> Iterator[sa.Connection]:
    """
    A transaction that may change the schema, alone in doing so.

    SQLite changes a table by making it anew, which needs foreign keys off; they are checked before the end.
    """
    with writer(url, foreign_keys=False) as store, store.write() as connection:
        if store.dialect == "postgresql":
            postgres.wait_for_turn(connection)
        yield connection
        if store.dialect == "sqlite":
            broken = connection.exec_driver_sql("PRAGMA foreign_key_check").first()
            if broken:
                what = f"a row of {broken[0]} would name one of {broken[2]} that is not there"
                raise ConsolidatorError(f"{shown(url)}: not migrated, since {what}")


def upgrade(connection: sa.Connection) -> None:
    """Bring the schema to this program's version inside the caller's transaction."""
    from alembic import command  # 0.3 s that only a migration pays
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(migrations_folder()).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, SCHEMA_VERSION)


def make_tables(connection: sa.Connection) -> str:
    """Make the tables of a store, and its id, inside the caller's transaction. Returns the id."""
    upgrade(connection)
    store_id = str(uuid4())
    connection.execute(sa.insert(meta).values(name="store_id", value=store_id))
    return store_id


def migrations_folder() -> Path:
    """Where the migrations are: inside the installed package, or beside it in a checkout."""
    package = Path(__file__).parents[1]
    for folder in (package / "_migrations", package.parent / "migrations"):
        if (folder / "versions").is_dir():
            return folder
    raise ConsolidatorError(f"{package}: installed without its migrations; install consolidator again")
