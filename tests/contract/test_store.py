"""What every store promises, whichever database keeps it."""

from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import numpy as np
import pytest
import sqlalchemy as sa

from consolidator.errors import StoreUnusable
from consolidator.store import handle, sqlite, tables
from consolidator.store.engine import Store, keyed, open_store
from consolidator.store.tables import identities, scopes
from consolidator.store.urls import is_file, parse_url, path_of


@pytest.fixture
def store(store_url: str) -> Store:
    with open_store(store_url, mode="create") as store:
        yield store


def add_scope(store: Store, scope: str) -> int:
    with store.write() as connection:
        return connection.execute(sa.insert(scopes).values(scope=scope)).inserted_primary_key[0]


def names(store: Store) -> list[str]:
    with store.read() as connection:
        return list(connection.scalars(sa.select(scopes.c.scope).order_by(scopes.c.scope)))


def test_a_store_is_made_once_and_keeps_its_id(store_url: str) -> None:
    """The id is made with the store and is the same however it is opened."""
    with open_store(store_url, mode="create") as store:
        made = store.store_id
        assert UUID(made).version == 4
    for mode in ("create", "write", "read"):
        with open_store(store_url, mode=mode) as store:
            assert store.store_id == made
            assert store.dialect in ("sqlite", "postgresql")


def test_two_who_make_a_store_at_once_make_one(store_url: str) -> None:
    """Both get the same store, whole."""

    def make(_: int) -> str:
        with open_store(store_url, mode="create") as store:
            return store.store_id

    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(make, range(4)))) == 1


@pytest.mark.parametrize("mode", ["read", "write"])
def test_only_create_makes_a_store(store_url: str, mode: str) -> None:
    """Where there is none the others say how to make one."""
    with pytest.raises(StoreUnusable, match="make one with `consolidate init`"):
        open_store(store_url, mode=mode)


def test_a_write_is_all_or_nothing(store: Store) -> None:
    """An exception takes back rows and also changes of the schema."""
    add_scope(store, "{}")
    with pytest.raises(sa.exc.IntegrityError), store.write() as connection:  # noqa: PT012
        connection.execute(sa.insert(scopes).values(scope="lost"))
        connection.exec_driver_sql("CREATE TABLE lost (x integer)")
        connection.execute(sa.insert(scopes).values(scope="{}"))
    assert names(store) == ["{}"]
    with store.read() as connection:
        assert "lost" not in sa.inspect(connection).get_table_names()


def test_a_savepoint_takes_back_only_what_came_after_it(store: Store) -> None:
    """And what came before it goes with the whole."""
    with store.write() as connection:
        connection.execute(sa.insert(scopes).values(scope="kept"))
        with connection.begin_nested() as savepoint:
            connection.execute(sa.insert(scopes).values(scope="lost"))
            savepoint.rollback()
        with connection.begin_nested():
            connection.execute(sa.insert(scopes).values(scope="kept too"))
    assert names(store) == ["kept", "kept too"]
    with store.engine.connect() as connection:
        with connection.begin_nested():
            connection.execute(sa.insert(scopes).values(scope="lost"))
        connection.rollback()
    assert names(store) == ["kept", "kept too"]


def test_a_read_is_one_snapshot(store: Store) -> None:
    """What is written meanwhile is not seen, and the writer does not wait."""
    add_scope(store, "before")
    with store.read() as connection:
        query = sa.select(scopes.c.scope)
        assert connection.scalars(query).all() == ["before"]
        add_scope(store, "after")
        assert connection.scalars(query).all() == ["before"]
    assert names(store) == ["after", "before"]


def test_a_store_opened_for_reading_cannot_be_written(store: Store, store_url: str) -> None:
    """Neither by asking for a write, nor by trying in a read."""
    with open_store(store_url, mode="read") as reader:
        with pytest.raises(StoreUnusable, match="opened for reading only"), reader.write():
            raise AssertionError
        with reader.read() as connection, pytest.raises(StoreUnusable, match="read"):
            connection.execute(sa.insert(scopes).values(scope="x"))
    assert names(store) == []


def test_a_read_of_a_writable_store_leaves_nothing(store: Store) -> None:
    """Whatever happens in it is undone."""
    with store.read() as connection:
        assert connection.scalars(sa.select(scopes.c.scope)).all() == []
    add_scope(store, "{}")
    with pytest.raises(ZeroDivisionError), store.read():
        raise ZeroDivisionError
    assert names(store) == ["{}"]


def test_keys_are_never_used_twice(store: Store) -> None:
    """Also not that of the last row removed, so that a key in a journal names one thing for ever."""
    first = add_scope(store, "a")
    with store.write() as connection:
        connection.execute(sa.delete(scopes))
    assert add_scope(store, "b") > first


def test_what_breaks_a_rule_is_refused(store: Store) -> None:
    """References, uniqueness and checks hold on both databases."""
    key = add_scope(store, "{}")
    link = {"weight": 0.5, "weight_at": 0, "scope_key": key}
    for statement in (
        sa.insert(identities).values(scope_key=99, hash="x"),
        sa.insert(scopes).values(scope="{}"),
        sa.insert(tables.associations).values(memory_a=2, memory_b=1, **link),
        sa.insert(tables.associations).values(memory_a=1, memory_b=2, **link),
    ):
        with pytest.raises(sa.exc.IntegrityError), store.write() as connection:
            connection.execute(statement)


def test_many_rows_are_read_by_key_in_one_statement(store: Store) -> None:
    """25,000 keys, from a list or an array, find their rows; those of unknown keys are left out."""
    key = add_scope(store, "{}")
    with store.write() as connection:
        rows = [{"key": number, "scope_key": key, "hash": f"{number:064x}"} for number in range(1, 30_001)]
        connection.execute(sa.insert(identities), rows)
    wanted = np.arange(5_001, 40_001, dtype=np.int64)[:25_000]
    with store.read() as connection:
        for keys in (wanted, wanted.tolist(), range(5_001, 30_001)):
            asked = keyed(connection, key=keys)
            query = sa.select(identities.c.key).join(asked, identities.c.key == asked.c.key)
            assert connection.scalars(query.order_by(identities.c.key)).all() == wanted.tolist()
        asked = keyed(connection, key=[1, -1, 2**40])
        found = connection.execute(
            sa.select(asked.c.key, identities.c.hash)
            .outerjoin_from(asked, identities, identities.c.key == asked.c.key)
            .order_by(asked.c.key)
        )
        assert found.all() == [(-1, None), (1, f"{1:064x}"), (2**40, None)]


def test_pairs_are_read_by_both_keys(store: Store) -> None:
    """Columns keep together row by row, numbers and texts, also where there are none."""
    key = add_scope(store, "{}")
    odd = "quotes ' \" and 🎂 \\ {,} NULL"
    with store.write() as connection:
        connection.execute(sa.insert(identities), [{"scope_key": key, "hash": text} for text in ("a", "b", odd)])
    with store.read() as connection:
        asked = keyed(connection, {"hash": sa.Text}, scope_key=[key, key, 99], hash=["a", odd, "b"])
        query = (
            sa.select(identities.c.hash)
            .join(asked, sa.and_(identities.c.scope_key == asked.c.scope_key, identities.c.hash == asked.c.hash))
            .order_by(identities.c.key)
        )
        assert connection.scalars(query).all() == ["a", odd]
        assert connection.execute(sa.select(keyed(connection, {"hash": sa.Text}, a=[], hash=[]))).all() == []
        with pytest.raises(ValueError, match="shorter"):
            keyed(connection, a=[1, 2], b=[1])


def test_asking_by_keys_is_compiled_once(store: Store) -> None:
    """The number of keys does not change the statement."""
    with store.read() as connection:
        texts = {str(sa.select(keyed(connection, a=keys, b=keys)).compile(connection)) for keys in ([], [1], range(9))}
        assert len(texts) == 1


def test_what_is_asked_by_keys_can_be_written(store: Store) -> None:
    """A table of keys serves UPDATE and DELETE too."""
    first, second, third = (add_scope(store, name) for name in "abc")
    with store.write() as connection:
        asked = keyed(connection, key=[first, second], undos=[7, 9])
        connection.execute(sa.update(scopes).where(scopes.c.key == asked.c.key).values(undos=asked.c.undos))
        gone = keyed(connection, key=[third])
        connection.execute(sa.delete(scopes).where(scopes.c.key.in_(sa.select(gone.c.key))))
    with store.read() as connection:
        assert connection.execute(sa.select(scopes.c.key, scopes.c.undos).order_by(scopes.c.key)).all() == [
            (first, 7),
            (second, 9),
        ]


def test_a_store_that_is_closed_has_no_connection_left(store_url: str) -> None:
    """Also after an error in the midst of several."""
    store = open_store(store_url, mode="create")
    with pytest.raises(ZeroDivisionError), store, store.read(), store.read():
        raise ZeroDivisionError
    assert store.engine.pool.checkedout() == 0
    assert store.engine.pool.checkedin() == 0


def test_what_is_looked_at_need_not_be_a_store(store_url: str) -> None:
    """A database of another program is refused by its tables' names, and none of ours is added."""
    url = parse_url(store_url)
    if is_file(url):
        sqlite.make_file(path_of(url))
    with handle.writer(url) as store, store.write() as connection:
        connection.exec_driver_sql("CREATE TABLE birds (name text)")
    for mode in ("read", "write", "create"):
        with pytest.raises(StoreUnusable, match=r"not a store of consolidator \(it holds birds\)"):
            open_store(store_url, mode=mode)
    with handle.reader(url) as store, store.read() as connection:
        assert sa.inspect(connection).get_table_names() == ["birds"]
