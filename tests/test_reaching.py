"""Reaching Postgres: whatever stands in the way is one line, without the password, and a lost server loses nothing."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa

from consolidator.errors import ConsolidatorError, StoreUnusable
from consolidator.store import postgres, schema, tables
from consolidator.store.answers import answer
from consolidator.store.engine import Store, open_store
from consolidator.store.urls import parse_url, shown
from tests.postgres import running_postgres

MODES = ("read", "write", "create")
SECRET = "s3cr3t-pass"


def refusal(url: sa.URL | str, mode: str = "create") -> str:
    """What a person is told: one line without the password."""
    text = url if isinstance(url, str) else url.render_as_string(hide_password=False)
    with pytest.raises(StoreUnusable) as raised:
        open_store(text, mode=mode)  # type: ignore[arg-type]
    told = str(raised.value)
    assert raised.value.exit_code == 2
    assert "\n" not in told
    assert SECRET not in told
    return told


@pytest.fixture
def url(postgres_url: str) -> sa.URL:
    return sa.make_url(postgres_url)


@pytest.fixture
def store(postgres_url: str) -> Iterator[Store]:
    with open_store(postgres_url, mode="create") as store:
        yield store


def run(url: sa.URL, *statements: str) -> None:
    with postgres.unpooled(url).connect() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)


@pytest.mark.parametrize("mode", MODES)
def test_a_database_that_is_not_there_is_named(url: sa.URL, mode: str) -> None:
    """With how to make one."""
    told = refusal(url.set(database="nowhere"), mode)
    assert "/nowhere: there is no such database, or it takes no connections; make it with `createdb`" in told


@pytest.mark.parametrize("mode", MODES)
def test_a_user_whom_the_server_does_not_know_is_named(url: sa.URL, mode: str) -> None:
    """Not the password that came with it."""
    told = refusal(url.set(username="stranger", password=SECRET), mode)
    assert told.startswith(f"postgresql://stranger@{shown(url).partition('@')[2]}: ")
    assert "the server" in told


@pytest.mark.parametrize("mode", MODES)
def test_a_server_that_is_not_running_cannot_be_reached(mode: str) -> None:
    """The address is in the line."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    told = refusal(f"postgresql://ada:{SECRET}@127.0.0.1:{port}/memories", mode)
    assert told.startswith(f"postgresql://ada@127.0.0.1:{port}/memories: cannot be reached; check the address")
    assert "refused" in told


def read_rules_again(url: sa.URL) -> None:
    """Return once the server has: each new connection knows when its rules were read."""

    def loaded_at() -> object:
        with postgres.unpooled(url).connect() as connection:
            return connection.scalar(sa.text("SELECT pg_conf_load_time()"))

    before = loaded_at()
    run(url, "SELECT pg_reload_conf()")
    assert any(loaded_at() != before for _ in range(1000))


def test_a_wrong_password_is_refused() -> None:
    """By a server that asks for one; the right one opens the store."""
    with running_postgres() as server:
        url = sa.make_url(server)
        run(url, f"CREATE ROLE ada LOGIN PASSWORD '{SECRET}'", "CREATE DATABASE memories OWNER ada")
        rules = Path(str(url.query["host"])) / "data" / "pg_hba.conf"
        rules.write_text("local all ada scram-sha-256\nlocal all all trust\n")
        read_rules_again(url)
        url = url.set(username="ada", database="memories")
        for mode in MODES:
            for password in ("wrong " + SECRET, None):
                told = refusal(url.set(password=password), mode)
                assert "the server refused the user or the password; check both" in told
        with open_store(url.set(password=SECRET).render_as_string(hide_password=False), mode="create") as store:
            assert store.store_id


@contextmanager
def server_that_says(code: str, message: str) -> Iterator[int]:
    """The port of a server that lets nobody in, and says why."""
    fields = b"".join(
        kind + text.encode() + b"\0" for kind, text in ((b"S", "FATAL"), (b"V", "FATAL"), (b"C", code), (b"M", message))
    )
    reply = b"E" + (len(fields) + 5).to_bytes(4, "big") + fields + b"\0"

    def serve() -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            with client:
                while (size := client.recv(4)) == b"\0\0\0\x08":  # asks for encryption
                    client.recv(4)
                    client.sendall(b"N")
                client.recv(int.from_bytes(size, "big") - 4)
                client.sendall(reply)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
    thread.join()


@pytest.mark.parametrize(
    ("code", "message", "said"),
    [
        ("28P01", 'password authentication failed for user "ada"', "the server refused the user or the password"),
        ("28000", 'no pg_hba.conf entry for host "127.0.0.1", user "ada"', "the server lets nobody in from here"),
        ("3D000", 'database "memories" does not exist', "there is no such database"),
        ("28000", 'role "ada" does not exist', "the server does not know this user"),
        ("53300", "sorry, too many clients already", "the server has no connection left"),
        (
            "57P03",
            "the database system is starting up",
            "the server is starting or stopping; try again in a moment",
        ),
        ("0A000", "something unheard of", "cannot be reached"),
    ],
)
def test_a_server_that_refuses_is_quoted(code: str, message: str, said: str) -> None:
    """With what to do about it."""
    with server_that_says(code, message) as port:
        told = refusal(f"postgresql://ada:{SECRET}@127.0.0.1:{port}/memories?sslmode=disable")
    assert told == f"postgresql://ada@127.0.0.1:{port}/memories: {told.split(': ', 1)[1]}"
    assert said in told
    assert message in told


def test_an_option_that_means_nothing_is_refused(url: sa.URL) -> None:
    """Rather than passed over."""
    told = refusal(url.update_query_dict({"colour": "blue"}))
    assert "one of the URL's options means nothing to Postgres" in told
    assert "colour" in told


def test_a_password_in_a_message_is_taken_out() -> None:
    """Whatever a driver says."""
    url = sa.make_url(f"postgresql+psycopg://ada:{SECRET}@nowhere.example/memories?password={SECRET}x")
    for text in (
        f"could not translate host name with {SECRET}",
        f"password {SECRET}x",
        f"FATAL:  {SECRET}\nmore {SECRET}",
    ):
        told = str(answer(psycopg.OperationalError(text), url, connecting=True))
        assert SECRET not in told
        assert "\n" not in told
        assert told.startswith("postgresql://ada@nowhere.example/memories: ")


def test_a_database_with_other_tables_is_left_alone(url: sa.URL) -> None:
    """Nothing is added to another program's tables; those of an extension are nobody's."""
    run(url, "CREATE TABLE birds (name text)")
    for mode in MODES:
        assert "not a store of consolidator (it holds birds); name another" in refusal(url, mode)
    run(url, "DROP TABLE birds", "CREATE SCHEMA aside", "CREATE TABLE aside.birds (name text)")
    with open_store(url.render_as_string(), mode="create") as store:
        assert store.store_id


def test_tables_of_an_extension_are_nobody_s(url: sa.URL) -> None:
    """A database in which an extension keeps tables is still empty."""
    run(url, "CREATE TABLE of_extension (a int)", "ALTER EXTENSION plpgsql ADD TABLE of_extension")
    with open_store(url.render_as_string(), mode="create") as store:
        assert store.store_id


def test_a_database_that_cannot_hold_every_letter_is_refused(url: sa.URL) -> None:
    """Memories are written in every language."""
    name = f"{url.database}_latin"
    run(url, f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'")
    try:
        told = refusal(url.set(database=name))
    finally:
        run(url, f"DROP DATABASE {name}")
    assert "its encoding is LATIN1, which cannot hold every language; make one with ENCODING 'UTF8'" in told


def test_an_old_server_is_refused(url: sa.URL, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its version."""
    monkeypatch.setattr(postgres, "OLDEST_VERSION", (99,))
    for mode in MODES:
        assert "is too old; use 99 or later" in refusal(url, mode)


def test_a_schema_that_is_not_there_is_named(url: sa.URL) -> None:
    """With what to do."""
    told = refusal(url.update_query_dict({"options": "-csearch_path=nowhere"}))
    assert "the schema that the URL names is not there; make it with CREATE SCHEMA" in told


def test_a_user_without_rights_is_told_so(store: Store, url: sa.URL) -> None:
    """What may be read is read; what may not be written or made is one line."""
    name = f"reader_{url.database}"[:60]
    run(url, f"CREATE ROLE {name} LOGIN")
    try:
        reader = url.set(username=name)
        assert "this user may not do that; grant it the rights" in refusal(reader, "read")
        run(url, f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {name}")
        with open_store(reader.render_as_string(), mode="write") as limited:
            with limited.read() as connection:
                assert connection.scalars(sa.select(tables.scopes.c.scope)).all() == []
            with pytest.raises(StoreUnusable, match="may not do that"), limited.write() as connection:
                connection.execute(sa.insert(tables.scopes).values(scope="{}"))
        run(url, "DROP SCHEMA public CASCADE", "CREATE SCHEMA public", f"GRANT USAGE ON SCHEMA public TO {name}")
        assert "this user may not do that; grant it the rights" in refusal(reader, "create")
    finally:
        run(url, f"DROP OWNED BY {name}", f"DROP ROLE {name}")


def test_a_server_that_takes_no_writes_is_told_so(store: Store, url: sa.URL) -> None:
    """As a standby does; it can be read."""
    readonly = url.update_query_dict({"options": "-cdefault_transaction_read_only=on"}).render_as_string()
    with open_store(readonly, mode="write") as standby:
        with standby.read() as connection:
            assert schema.schema_version(connection) == tables.SCHEMA_VERSION
        with pytest.raises(StoreUnusable, match="read-only; use the primary server"), standby.write() as connection:
            connection.execute(sa.insert(tables.scopes).values(scope="{}"))


def test_a_server_that_goes_away_in_the_midst_fails_on_the_way(store: Store, url: sa.URL) -> None:
    """Exit code 1; what was not committed is undone, and the store works again once the server is back."""

    def write() -> None:
        with store.write() as connection:
            connection.execute(sa.insert(tables.scopes).values(scope="lost"))
            run(url, f"SELECT pg_terminate_backend({connection.scalar(sa.text('SELECT pg_backend_pid()'))}, 5000)")
            connection.execute(sa.insert(tables.scopes).values(scope="lost too"))

    with pytest.raises(ConsolidatorError, match="the server went away; what was not committed is undone") as raised:
        write()
    assert raised.value.exit_code == 1
    with store.read() as connection:
        assert connection.scalars(sa.select(tables.scopes.c.scope)).all() == []


def test_a_mistake_of_the_program_is_not_dressed_up(store: Store) -> None:
    """What is not the store's fault reaches the caller as it is."""
    with store.read() as connection, pytest.raises(sa.exc.ProgrammingError):
        connection.exec_driver_sql("SELECT nonsense")


@pytest.mark.parametrize("name", ["postgres://", "postgresql://", "postgresql+psycopg://", "postgresql+psycopg2://"])
def test_every_name_of_postgres_means_the_same(name: str) -> None:
    """One driver, however the URL begins."""
    assert parse_url(f"{name}ada@host/memories").drivername == "postgresql+psycopg"
