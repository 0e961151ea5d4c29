"""One night at a time in a scope, on both stores, and no lock outlives its holder."""

import json
import os
import signal
import socket

import pytest
import sqlalchemy as sa

from consolidator.errors import ConsolidatorError, ScopeHeld
from consolidator.instants import SECOND
from consolidator.store import locks, postgres, tables
from consolidator.store.engine import Store, open_store
from consolidator.store.locks import WHOLE_STORE, hold_scope
from tests.apart import running_apart

NOW = 1_780_000_000 * SECOND
HOLD = """
store = open_store(arguments[0], mode="write")
with hold_scope(store, 1, wall_clock=lambda: int(arguments[1])):
    wait()
print("ended", flush=True)
"""


@pytest.fixture
def store(store_url: str) -> Store:
    with open_store(store_url, mode="create") as store:
        with store.write() as connection:
            connection.execute(sa.insert(tables.scopes), [{"key": 1, "scope": "{}"}, {"key": 2, "scope": '{"a":"b"}'}])
        yield store


@pytest.fixture
def file_store(sqlite_url: str) -> Store:
    with open_store(sqlite_url, mode="create") as store:
        with store.write() as connection:
            connection.execute(sa.insert(tables.scopes).values(key=1, scope="{}"))
        yield store


def clock() -> int:
    return NOW


def is_free(store: Store, scope_key: int = 1, *, at: int = NOW) -> bool:
    try:
        with hold_scope(store, scope_key, wall_clock=lambda: at):
            return True
    except ScopeHeld:
        return False


def rows(store: Store) -> list[sa.Row]:
    with store.read() as connection:
        return list(connection.execute(sa.select(tables.locks)))


def test_the_whole_store_is_held_like_a_scope(store: Store) -> None:
    """By one at a time, and no night of a scope is kept from its work by it."""
    with hold_scope(store, WHOLE_STORE, wall_clock=clock):
        with pytest.raises(ScopeHeld, match="another job holds the whole store"):
            hold_scope(store, WHOLE_STORE, wall_clock=clock).__enter__()
        assert is_free(store)
    assert is_free(store, WHOLE_STORE)


def test_a_scope_is_held_by_one_at_a_time(store: Store, store_url: str) -> None:
    """A second holder is refused, in this process too; another scope is free; afterwards it is free again."""
    with hold_scope(store, 1, wall_clock=clock):
        assert not is_free(store)
        assert is_free(store, 2)
        with open_store(store_url, mode="write") as other:
            assert not is_free(other)
    assert is_free(store)
    assert rows(store) == []


def test_a_scope_is_given_back_on_an_error(store: Store) -> None:
    """Whatever ended the night."""
    with pytest.raises(ZeroDivisionError), hold_scope(store, 1, wall_clock=clock):
        raise ZeroDivisionError
    assert is_free(store)


def test_a_holder_refused_takes_nothing_away(store: Store) -> None:
    """The scope stays held after others were refused."""
    with hold_scope(store, 1, wall_clock=clock):
        assert [is_free(store) for _ in range(3)] == [False] * 3


def test_the_refusal_says_who_holds_it(store: Store, store_url: str) -> None:
    """In one line, with exit code 11."""
    with running_apart(HOLD, store_url, str(NOW)) as holder:
        with pytest.raises(ScopeHeld) as raised, hold_scope(store, 1, wall_clock=clock):
            raise AssertionError
        assert raised.value.exit_code == 11
        told = str(raised.value)
        assert told.startswith("another night holds this scope: ")
        assert "\n" not in told
        if store.dialect == "sqlite":
            assert f"process {holder.pid} on {socket.gethostname()}, since 2026-05-28T20:26:40.000Z" in told
        else:
            assert "server process" in told
            assert "None" not in told


def test_a_scope_is_free_as_soon_as_another_process_is_done(store: Store, store_url: str) -> None:
    """It is given back, not found abandoned."""
    with running_apart(HOLD, store_url, str(NOW)) as holder:
        assert not is_free(store)
        holder.stdin.write("\n")
        holder.stdin.flush()
        assert holder.stdout.readline() == "ended\n"
        assert rows(store) == []
        assert is_free(store)


@pytest.mark.parametrize("reaped", [True, False])
def test_a_killed_holder_holds_nothing(store: Store, store_url: str, reaped: bool) -> None:
    """Its scope is taken over at once, whether or not its parent has noticed its end."""
    with running_apart(HOLD, store_url, str(NOW)) as holder:
        assert not is_free(store)
        holder.send_signal(signal.SIGKILL)
        if reaped:
            holder.wait()
        else:
            os.waitid(os.P_PID, holder.pid, os.WEXITED | os.WNOWAIT)
        if store.dialect == "postgresql":
            wait_for_the_server(store)
        with hold_scope(store, 1, wall_clock=clock):
            assert not is_free(store)
        assert is_free(store)


def wait_for_the_server(store: Store) -> None:
    """The server notices the end of a client a moment later: wait for its lock, at most ten seconds."""
    with store.engine.connect() as connection:
        connection.execute(sa.text("SET lock_timeout = '10s'"))
        connection.execute(sa.select(sa.func.pg_advisory_lock(locks._lock_name(store, 1))))
        connection.execute(sa.select(sa.func.pg_advisory_unlock_all()))


def put_lock(store: Store, **changed: object) -> str:
    """A lock row as another process left it."""
    who = json.loads(locks._this_process()) | changed
    with store.write() as connection:
        values = {"scope_key": 1, "holder": json.dumps(who), "taken_at": NOW, "expires_at": NOW + 100 * SECOND}
        connection.execute(sa.insert(tables.locks).values(values))
    return json.dumps(who)


def test_a_lock_of_another_machine_holds_until_it_expires(file_store: Store) -> None:
    """Its holder cannot be asked; from the instant on that the row names it is taken over."""
    put_lock(file_store, host="elsewhere", process=1)
    assert not is_free(file_store)
    assert not is_free(file_store, at=NOW + 100 * SECOND - 1)
    assert is_free(file_store, at=NOW + 100 * SECOND)
    assert rows(file_store) == []


def test_a_new_process_with_the_number_of_a_dead_one_holds_nothing(file_store: Store) -> None:
    """A holder is its number and its start."""
    put_lock(file_store, started=locks._started(locks.psutil.Process()) - 60)
    assert is_free(file_store)


def test_a_holder_that_lost_its_lock_does_not_give_back_another_s(file_store: Store) -> None:
    """Who took an expired lock over keeps it when its first holder ends."""
    later = NOW + 2 * locks.EXPIRES_AFTER
    with hold_scope(file_store, 1, wall_clock=clock):
        taken = hold_scope(file_store, 1, wall_clock=lambda: later)
        taken.__enter__()
    assert not is_free(file_store, at=later)
    taken.__exit__(None, None, None)
    assert rows(file_store) == []


def test_a_lock_expires_later_than_any_night_lasts(file_store: Store) -> None:
    """Where the holder lives a night may take hours; the row says until when it is believed without asking."""
    with hold_scope(file_store, 1, wall_clock=clock):
        (row,) = rows(file_store)
        assert (row.taken_at, row.expires_at) == (NOW, NOW + locks.EXPIRES_AFTER)


def test_two_stores_in_one_database_do_not_hold_each_other_s_scopes(postgres_url: str) -> None:
    """The lock is named by the store, not only by the number of the scope."""
    url = sa.make_url(postgres_url)
    stores = []
    for schema in ("one", "two"):
        with postgres.unpooled(url).connect() as connection:
            connection.execute(sa.text(f"CREATE SCHEMA {schema}"))
        there = url.update_query_dict({"options": f"-csearch_path={schema}"})
        stores.append(open_store(there.render_as_string(hide_password=False), mode="create"))
    one, two = stores
    with one, two, hold_scope(one, 1, wall_clock=clock):
        assert not is_free(one)
        assert is_free(two)


def test_a_lock_of_postgres_has_a_connection_of_its_own(postgres_url: str) -> None:
    """It outlives the pool's connections and ends with the block; the pool never carries it away."""
    with open_store(postgres_url, mode="create") as store:
        with hold_scope(store, 1, wall_clock=clock):
            store.engine.dispose()
            assert not is_free(store)
        with store.read() as connection:
            here = "SELECT oid FROM pg_database WHERE datname = current_database()"
            held = connection.scalar(
                sa.text(f"SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database = ({here})")
            )
            assert held == 0


def test_a_scope_that_cannot_be_given_back_does_not_hide_what_happened(file_store: Store) -> None:
    """The error of the night is what is told; the lock ends with the process."""

    def night() -> None:
        with hold_scope(file_store, 1, wall_clock=clock):
            os.rename(file_store.url.database, f"{file_store.url.database}.moved")
            raise ConsolidatorError("the night failed")

    with pytest.raises(ConsolidatorError, match="the night failed"):
        night()
