"""The schema: declared once, built by the migrations, and changed only when asked."""

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.config import Config
from alembic.script import ScriptDirectory

from consolidator.errors import ConsolidatorError, StoreUnusable
from consolidator.instants import parse_instant
from consolidator.store import handle, schema, sqlite
from consolidator.store.engine import open_store
from consolidator.store.search import search_keys
from consolidator.store.tables import (
    SCHEMA_VERSION,
    associations,
    attributions,
    exposures,
    identities,
    memories,
    metadata,
    scopes,
    verdicts,
)
from consolidator.store.urls import parse_url
from tests.apart import run_apart, running_apart

NOW = parse_instant("2026-05-30T03:30:00Z")
FOLLOWING = f"{int(SCHEMA_VERSION) + 1:04d}"
COPY = f"store.schema-{SCHEMA_VERSION}.20260530T033000Z.db"
NEXT = f"""
import os, signal
import sqlalchemy as sa
from alembic import op

revision = "{FOLLOWING}"
down_revision = "{SCHEMA_VERSION}"

def upgrade():
    with op.batch_alter_table("scopes") as table:
        table.add_column(sa.Column("colour", sa.Text, server_default="blue"))
"""


@pytest.fixture
def next_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program whose schema is one version further. The fixture is the migration, to be written otherwise."""
    folder = tmp_path / "next" / "migrations"
    shutil.copytree(schema.migrations_folder(), folder, ignore=shutil.ignore_patterns("__pycache__"))
    migration = folder / "versions" / f"{FOLLOWING}_next.py"
    migration.write_text(NEXT)
    monkeypatch.setattr(schema, "migrations_folder", lambda: folder)
    monkeypatch.setattr(schema, "SCHEMA_VERSION", FOLLOWING)
    return migration


@pytest.fixture
def old_store(store_url: str) -> str:
    """A store of the version of the program, older than the next one, that holds a scope and an identity."""
    make_old(store_url)
    return store_url


@pytest.fixture
def old_file(sqlite_url: str) -> str:
    """The same, on SQLite alone."""
    make_old(sqlite_url)
    return sqlite_url


def make_old(url: str) -> None:
    with open_store(url, mode="create") as store, store.write() as connection:
        connection.execute(sa.insert(scopes).values(key=1, scope="{}"))
        connection.execute(sa.insert(identities).values(key=7, scope_key=1, hash="abc"))


def test_the_migrations_build_what_is_declared(store_url: str, tmp_path: Path) -> None:
    """Every table, column, constraint, index, trigger and comment of a migrated store is as tables.py declares it."""
    with open_store(store_url, mode="create") as store, store.read() as connection:
        migrated = dump(connection)
    assert any("memory_words" in line or "memories_words" in line for line in migrated)
    url = parse_url(store_url)
    if url.get_backend_name() == "sqlite":
        url = url.set(database=str(tmp_path / "declared.db"))
        sqlite.make_file(tmp_path / "declared.db")
    else:
        with handle.writer(url) as store, store.write() as connection:
            connection.execute(sa.text("DROP SCHEMA public CASCADE"))
            connection.execute(sa.text("CREATE SCHEMA public"))
    with handle.writer(url) as store:
        with store.write() as connection:
            metadata.create_all(connection)
            for statement in schema.SEARCH_DDL[store.dialect]:
                connection.exec_driver_sql(statement)
        with store.read() as connection:
            assert migrated == dump(connection)


def test_the_migrations_are_one_line_that_ends_at_the_version_of_the_program() -> None:
    """Every revision has one parent and one child, from 0001 to SCHEMA_VERSION."""
    config = Config()
    config.set_main_option("script_location", str(schema.migrations_folder()))
    revisions = [script.revision for script in ScriptDirectory.from_config(config).walk_revisions()]
    assert revisions[0] == SCHEMA_VERSION
    assert sorted(revisions) == [f"{number:04d}" for number in range(1, len(revisions) + 1)]


def test_a_migration_does_not_follow_the_program() -> None:
    """No migration imports the program: what it makes is written down in it."""
    for migration in (schema.migrations_folder() / "versions").glob("*.py"):
        assert "consolidator" not in migration.read_text()


def test_an_installed_program_has_its_migrations_inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`_migrations` in the package comes before `migrations` beside it; without both, installing again is advised."""
    monkeypatch.setattr(schema, "__file__", str(tmp_path / "consolidator" / "store" / "schema.py"))
    with pytest.raises(ConsolidatorError, match="install consolidator again"):
        schema.migrations_folder()
    (tmp_path / "migrations" / "versions").mkdir(parents=True)
    assert schema.migrations_folder() == tmp_path / "migrations"
    (tmp_path / "consolidator" / "_migrations" / "versions").mkdir(parents=True)
    assert schema.migrations_folder() == tmp_path / "consolidator" / "_migrations"


def test_a_percent_sign_in_the_path_of_the_migrations_means_itself(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The migrations are found in a folder whose name Alembic would read as a placeholder."""
    folder = tmp_path / "100%(here)s" / "migrations"
    shutil.copytree(schema.migrations_folder(), folder)
    monkeypatch.setattr(schema, "migrations_folder", lambda: folder)
    with open_store(sqlite_url, mode="create") as store:
        assert store.store_id


def test_migrating_brings_an_older_store_to_the_version_of_the_program(old_store: str, next_version: Path) -> None:
    """The rows stay, the schema is the next one, and the store opens; before, it says what to run."""
    for mode in ("read", "write", "create"):
        said = f"{SCHEMA_VERSION} is older than this program's {FOLLOWING}; run `consolidate migrate`"
        with pytest.raises(StoreUnusable, match=said):
            open_store(old_store, mode=mode)
    assert schema.check(old_store) == schema.Versions(SCHEMA_VERSION, FOLLOWING)
    done = schema.migrate(old_store, now=NOW)
    assert (done.before, done.after) == (SCHEMA_VERSION, FOLLOWING)
    assert schema.check(old_store) == schema.Versions(FOLLOWING, FOLLOWING)
    with open_store(old_store, mode="read") as store, store.read() as connection:
        assert connection.execute(sa.text("SELECT scope, colour FROM scopes")).all() == [("{}", "blue")]
        assert connection.execute(sa.select(identities.c.hash)).all() == [("abc",)]
        assert schema.schema_version(connection) == FOLLOWING


FIRST_ROWS = [
    "INSERT INTO meta (name, value) VALUES ('store_id', 'of the first')",
    "INSERT INTO scopes (key, scope) VALUES (1, '{}')",
    "INSERT INTO identities (key, scope_key, hash) VALUES (1, 1, 'one'), (2, 1, 'two')",
    """INSERT INTO memories (key, scope_key, content, type, source, created_at, base_strength, base_at, strength,
       strength_at, fades_age, topics) VALUES (1, 1, 'a sandy beach', 'fact', 'import', 1, 1, 1, 1, 1, 2.5, '["sea"]'),
       (2, 1, 'a stony beach', 'fact', 'import', 1, 1, 1, 1, 1, NULL, NULL)""",
    "INSERT INTO associations (memory_a, memory_b, scope_key, weight, weight_at) VALUES (1, 2, 1, 0.5, 7)",
    "INSERT INTO turns (key, scope_key, turn_id, session_id) VALUES (1, 1, 't', 's')",
    "INSERT INTO exposures (key, scope_key, turn_key, memory_key, mode, at) VALUES (1, 1, 1, 1, 'tool_get', 3)",
    """INSERT INTO attributions (key, scope_key, turn_key, message_id, memory_key, evidence, confidence, at)
       VALUES (1, 1, 1, 'm', 1, 'tool_get', 0.6, 4)""",
    """INSERT INTO verdicts (key, scope_key, members_hash, members, verdict, at)
       VALUES (1, 1, 'h', '["one", "two"]', 'distinct', 5)""",
]


def make_first(url: str) -> None:
    """A store as the first version made and filled it."""
    named = parse_url(url)
    if named.get_backend_name() == "sqlite":
        sqlite.make_file(Path(str(named.database)))
    with handle.writer(named, foreign_keys=False) as store, store.write() as connection:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(schema, "SCHEMA_VERSION", "0001")
            schema.upgrade(connection)
        for statement in FIRST_ROWS:
            connection.exec_driver_sql(statement)


def test_a_store_of_the_first_version_goes_on(store_url: str) -> None:
    """Its rows are what they were; no merge pass has seen a memory, and no base holds more than it came with."""
    make_first(store_url)
    done = schema.migrate(store_url, now=NOW)
    assert (done.before, done.after, done.copy is None) == ("0001", SCHEMA_VERSION, store_url.startswith("postgresql"))
    with open_store(store_url, mode="write") as store:
        with store.read() as connection:
            memory = connection.execute(sa.select(memories).where(memories.c.key == 1)).one()
            assert (memory.content, memory.topics, memory.fades_age) == ("a sandy beach", ["sea"], 2.5)
            assert (memory.fresh, memory.lives) == (True, None)
            assert connection.execute(sa.select(associations.c.weight, associations.c.base_mark)).all() == [(0.5, None)]
            assert connection.execute(sa.select(exposures.c.mode, exposures.c.linked_in)).all() == [("tool_get", None)]
            assert connection.execute(sa.select(attributions.c.at, attributions.c.based_at)).all() == [(4, None)]
            verdict = connection.execute(sa.select(verdicts)).one()
            assert (verdict.members, verdict.tries, verdict.because) == (["one", "two"], 0, None)
            assert [key for key, _ in search_keys(connection, "sandy", 1, 9)] == [1]
        with store.write() as connection:
            connection.execute(sa.update(memories).where(memories.c.key == 1).values(content="a pebble beach"))
        with store.read() as connection:
            assert [key for key, _ in search_keys(connection, "pebble", 1, 9)] == [1]
            assert [key for key, _ in search_keys(connection, "sandy", 1, 9)] == []


def test_migrating_a_current_store_does_nothing(store_url: str, tmp_path: Path) -> None:
    """No copy is made where there is nothing to migrate."""
    make_old(store_url)
    assert schema.migrate(store_url, now=NOW) == schema.Migration(SCHEMA_VERSION, SCHEMA_VERSION)
    assert not list(tmp_path.glob("*.schema-*"))


def test_a_store_newer_than_the_program_is_refused(store_url: str) -> None:
    """Whatever is asked of it, and it stays as it is."""
    with open_store(store_url, mode="create") as store, store.write() as connection:
        connection.execute(sa.text(f"UPDATE alembic_version SET version_num = '{FOLLOWING}'"))
    said = f"{FOLLOWING} is newer than this program's {SCHEMA_VERSION}; upgrade consolidator"
    for mode in ("read", "write", "create"):
        with pytest.raises(StoreUnusable, match=said):
            open_store(store_url, mode=mode)
    with pytest.raises(StoreUnusable, match=said):
        schema.check(store_url)
    with pytest.raises(StoreUnusable, match=said):
        schema.migrate(store_url, now=NOW)


def test_a_migration_that_fails_changes_nothing(old_store: str, next_version: Path) -> None:
    """Also a change of the schema is taken back, on both stores."""
    next_version.write_text(NEXT + "    raise RuntimeError('on purpose')\n")
    before = everything(old_store)
    with pytest.raises(RuntimeError, match="on purpose"):
        schema.migrate(old_store, now=NOW)
    assert everything(old_store) == before
    assert schema.check(old_store).store == SCHEMA_VERSION


def test_a_migration_that_is_killed_changes_nothing(old_store: str, next_version: Path) -> None:
    """The store is as before, and the next migration completes."""
    before = everything(old_store)
    fine = next_version.read_text()
    next_version.write_text(NEXT + "    os.kill(os.getpid(), signal.SIGKILL)\n")
    code = """
from pathlib import Path
from consolidator.store import schema
schema.migrations_folder = lambda: Path(arguments[1])
schema.SCHEMA_VERSION = arguments[2]
schema.migrate(arguments[0], now=0)
"""
    with pytest.raises(AssertionError):
        run_apart(code, old_store, str(next_version.parents[1]), FOLLOWING)
    assert everything(old_store) == before
    next_version.write_text(fine)
    assert schema.migrate(old_store, now=NOW).after == FOLLOWING


def test_a_migration_that_breaks_a_foreign_key_changes_nothing(old_file: str, next_version: Path) -> None:
    """SQLite's foreign keys are off while a table is made anew, so they are checked before the end."""
    next_version.write_text(NEXT + "    op.execute('DELETE FROM scopes')\n")
    before = everything(old_file)
    with pytest.raises(ConsolidatorError, match="a row of identities would name one of scopes that is not there"):
        schema.migrate(old_file, now=NOW)
    assert everything(old_file) == before


def test_the_file_is_copied_aside_before_it_is_migrated(old_file: str, next_version: Path, tmp_path: Path) -> None:
    """The copy is the whole older store, also what is only in the log of a live writer, and it opens."""
    os.chmod(tmp_path / "store.db", 0o640)
    code = "store = open_store(arguments[0], mode='write')\nadd_scope(store, 'in the log')\nwait()"
    program = schema.SCHEMA_VERSION
    with running_apart(code, old_file):
        assert (tmp_path / "store.db-wal").stat().st_size > 0
        done = schema.migrate(old_file, now=NOW)
    assert done.copy == tmp_path / COPY
    assert done.copy.stat().st_mode & 0o777 == 0o640
    with closing(sqlite3.connect(done.copy)) as connection:
        assert connection.execute("SELECT scope FROM scopes ORDER BY 1").fetchall() == [("in the log",), ("{}",)]
        assert connection.execute("SELECT version_num FROM alembic_version").fetchall() == [(SCHEMA_VERSION,)]
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert schema.check(f"sqlite:///{done.copy}") == schema.Versions(SCHEMA_VERSION, program)
    assert {path.name for path in tmp_path.glob("store*")} - {"store.db-wal", "store.db-shm"} == {"store.db", COPY}


def test_a_copy_never_replaces_another(old_file: str, next_version: Path, tmp_path: Path) -> None:
    """An earlier copy of that name stays as it is, and the new one has a number."""
    (tmp_path / COPY).write_text("an earlier copy")
    assert schema.migrate(old_file, now=NOW).copy == tmp_path / COPY.replace("Z.db", "Z-2.db")
    assert (tmp_path / COPY).read_text() == "an earlier copy"


def test_without_a_copy_nothing_is_migrated(old_file: str, next_version: Path, tmp_path: Path) -> None:
    """Where the copy does not fit on the disk, the store stays as it is and nothing is left behind."""
    code = """
from pathlib import Path
from consolidator.store import schema
import alembic.command
schema.migrations_folder = lambda: Path(arguments[1])
schema.SCHEMA_VERSION = arguments[2]
resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))
schema.migrate(arguments[0], now=0)
"""
    said = run_apart(code, old_file, str(next_version.parents[1]), FOLLOWING)
    assert said.startswith(f"StoreUnusable {tmp_path / 'store.db'}: ")
    assert "\n" not in said
    assert schema.check(old_file).store == SCHEMA_VERSION
    assert [path.name for path in tmp_path.glob("store*")] == ["store.db"]


def test_two_migrations_at_once_are_one(old_store: str, next_version: Path) -> None:
    """Who comes second finds it done."""
    url = parse_url(old_store)
    with handle.reader(url) as store, store.read() as connection:
        found = schema.look(connection)
    schema.migrate(old_store, now=NOW)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schema, "check", lambda _: schema.Versions(found.version, FOLLOWING))
        assert schema.migrate(old_store, now=NOW) == schema.Migration(FOLLOWING, FOLLOWING)


def everything(url: str) -> list[str]:
    """The schema and the rows of a store, as lines."""
    with handle.reader(parse_url(url)) as store, store.read() as connection:
        rows = [
            str(tuple(row))
            for table in sorted(schema.look(connection).tables)
            for row in connection.execute(sa.text(f'SELECT * FROM "{table}"'))
        ]
        return dump(connection) + rows


def dump(connection: sa.Connection) -> list[str]:
    """The schema of a store as its own catalogue tells it, spaces apart, without Alembic's own table."""
    statements = CATALOGUE if connection.dialect.name == "postgresql" else ["SELECT name, sql FROM sqlite_master"]
    rows = [" ".join(map(str, row)) for statement in statements for row in connection.exec_driver_sql(statement)]
    return sorted(" ".join(row.split()) for row in rows if "alembic_version" not in row)


CATALOGUE = [
    """
    SELECT attrelid::regclass::text, attnum, attname, format_type(atttypid, atttypmod), attnotnull, attidentity,
        pg_get_expr(adbin, adrelid), col_description(attrelid, attnum)
    FROM pg_attribute
    JOIN pg_class ON pg_class.oid = attrelid AND relkind IN ('r', 'v', 'm') AND relnamespace = 'public'::regnamespace
    LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
    WHERE attnum > 0
    """,
    """
    SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid, true)
    FROM pg_constraint
    WHERE connamespace = 'public'::regnamespace
    """,
    "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'",
    "SELECT relname, relkind::text, obj_description(oid) FROM pg_class WHERE relnamespace = 'public'::regnamespace",
    "SELECT tgrelid::regclass::text, tgname FROM pg_trigger WHERE NOT tgisinternal",
    "SELECT sequencename, data_type::text, start_value FROM pg_sequences WHERE schemaname = 'public'",
]
