"""
Killed at any instant, a store is in the state before or after a transaction, and the next run completes it.

CONSOLIDATOR_CRASH_KILLS: how many kills of a night at random on each store; the others are in proportion. Without it
they are twenty on both together.
"""

import json
import os
import random
import select
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy import NullPool, create_engine, make_url

from consolidator.errors import BadInput, StoreUnusable
from consolidator.store import apply as applying
from consolidator.store import dead as deleting
from consolidator.store.engine import Store, open_store
from consolidator.store.find import find_memories
from consolidator.store.forget import forget
from consolidator.store.tables import metadata
from consolidator.store.undo import undo_run
from tests import lives
from tests.children import Instants, in_child
from tests.lives import EVE, day, night
from tests.postgres import fresh_database

KILLS = int(os.environ.get("CONSOLIDATOR_CRASH_KILLS", "10"))
FEW = max(3, KILLS // 10)
BATCH = 25  # kills of one test
GONE_WITHIN_SECONDS = 20

# Rows that name one that is not there, by foreign key.
LOST = [
    f"SELECT count(*) FROM {table} AS here WHERE here.{key.parent.name} IS NOT NULL AND NOT EXISTS "
    f"(SELECT 1 FROM {key.column.table} AS there WHERE there.{key.column.name} = here.{key.parent.name})"
    for table in metadata.sorted_tables
    for key in table.foreign_keys
]

Act = Callable[[str], None]


@dataclass(frozen=True)
class Work:
    """
    Something that is killed on the way.

    first: what is done to the store beforehand. act: the work. complete: doing it again, after a kill, wherever
    that left it. creates: whether there is no store before.
    """

    first: Callable[[Store], object] | None
    act: Act
    complete: Act
    creates: bool = False


def running(url: str, *, rows_a_transaction: int | None = None) -> None:
    if rows_a_transaction:
        applying.ROWS_A_TRANSACTION = deleting.ROWS_A_TRANSACTION = rows_a_transaction  # in a child, of this alone
    with open_store(url, mode="write") as store:
        result = night(store, EVE)
        assert result.exit_code == 0, result.error


def running_in_pieces(url: str) -> None:
    running(url, rows_a_transaction=4)


def undoing(url: str) -> None:
    with open_store(url, mode="write") as store:
        assert undo_run(store, "last", wall_clock=lambda: day(EVE)).refused == ()


def undoing_once(url: str) -> None:
    with suppress(BadInput):  # "undone already": the kill came after its transaction
        with open_store(url, mode="write") as store, store.read() as conn:
            run = conn.scalar(sa.text("SELECT run_id FROM runs ORDER BY key DESC LIMIT 1"))
        with open_store(url, mode="write") as store:
            assert undo_run(store, str(run), wall_clock=lambda: day(EVE)).refused == ()


def importing(url: str) -> None:
    with open_store(url, mode="create") as store:
        lives.take(store, [*lives.beginning(), *lives.middle(), *lives.after_the_leave(), *lives.last_days()], at=EVE)


def forgetting(url: str) -> None:
    with open_store(url, mode="write") as store:
        with store.read() as conn:
            found = find_memories(conn, [lives.name(text) for text in (lives.HUB, lives.SPOKES[0], lives.OLD)])
        forget(store, found, now=day(EVE), wall_clock=lambda: day(EVE))


def forgetting_once(url: str) -> None:
    with suppress(BadInput):  # "no such memory": the kill came after its transaction
        forgetting(url)


def with_its_night(store: Store) -> None:
    assert night(store, EVE).exit_code == 0


WORKS = {
    "run": Work(None, running, running),
    "run in pieces": Work(None, running_in_pieces, running),
    "undo": Work(with_its_night, undoing, undoing_once),
    "import": Work(None, importing, importing, creates=True),
    "forget": Work(with_its_night, forgetting, forgetting_once),
}


@dataclass(frozen=True)
class Shelf:
    """A store as it is before a work, and what the work makes of it by each transaction when nobody kills it."""

    work: Work
    new_copy: Callable[[], AbstractContextManager[str]]
    states: tuple[str, ...]
    seconds: float
    instants: int
    boundaries: tuple[int, ...]
    journal: str


@contextmanager
def copy_of_file(base: Path) -> Iterator[str]:
    path = base.with_name("copy.db")
    if base.exists():
        shutil.copy(base, path)
    try:
        yield f"sqlite:///{path}"
    finally:
        for file in base.parent.glob("copy.db*"):
            file.unlink()


@pytest.fixture(scope="module")
def shelf(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shelf]:
    """By the kind of the store and the name of the work."""
    kind, name = request.param
    work = WORKS[name]
    with ExitStack() as stack:
        if kind == "sqlite":
            base = tmp_path_factory.mktemp("shelf") / "base.db"
            if not work.creates:
                shutil.copy(request.getfixturevalue("eve_sqlite"), base)
            url, new_copy = f"sqlite:///{base}", partial(copy_of_file, base)
        else:
            dsn = request.getfixturevalue("postgres_dsn")
            eve = "template0" if work.creates else request.getfixturevalue("eve_postgres")
            url = stack.enter_context(fresh_database(dsn, template=eve))
            new_copy = partial(fresh_database, dsn, template=str(make_url(url).database))
        if work.first:
            with open_store(url, mode="write") as store:
                work.first(store)
        with new_copy() as copy:
            before = state(copy)
            watched = json.loads(in_child(lambda: watch(work.act, copy)).said)
            after, journal = state(copy), journal_of(copy)
        with new_copy() as copy:
            seconds = in_child(lambda: work.act(copy)).seconds
            assert (state(copy), journal_of(copy)) == (after, journal)
        states = (before, *watched["states"])
        assert states[-1] == after != before
        yield Shelf(work, new_copy, states, seconds, watched["instants"], tuple(watched["boundaries"]), journal)


def shelves(*works: str) -> pytest.MarkDecorator:
    asked = [(kind, work) for kind in ("sqlite", "postgres") for work in works]
    return pytest.mark.parametrize("shelf", asked, indirect=True, ids=lambda asked: "-".join(asked))


def watch(act: Act, url: str) -> str:
    """In a child: the states of a store after each transaction of a work, and the instants that it passes through."""
    states: list[str] = []
    instants = Instants()
    write = Store.write

    @contextmanager
    def watched(store: Store) -> Iterator[sa.Connection]:
        with write(store) as conn:
            yield conn
        with instants.looking_away():
            states.append(state(url))

    Store.write = watched
    act(url)
    return json.dumps({"states": states, "instants": instants.passed, "boundaries": instants.boundaries})


def state(url: str) -> str:
    """What both exports tell, as a digest; "none" where there is no store."""
    try:
        with open_store(url, mode="read") as store:
            told = lives.exported(store, EVE)
    except StoreUnusable:
        return "none"
    return sha256(json.dumps([told.values, told.lines]).encode()).hexdigest()


def journal_of(url: str) -> str:
    with open_store(url, mode="read") as store:
        return sha256(json.dumps(lives.journal(store)).encode()).hexdigest()


def assert_whole(url: str) -> None:
    """Every foreign key leads somewhere, and the file's pages fit together."""
    with open_store(url, mode="read") as store, store.read() as conn:
        for question in LOST:
            assert conn.exec_driver_sql(question).scalar() == 0
        if store.dialect == "sqlite":
            assert conn.exec_driver_sql("PRAGMA integrity_check").all() == [("ok",)]


def wait_for_the_dead(url: str) -> None:
    """Until Postgres has noticed that the killed client is gone: what it had sent by then is still done."""
    if make_url(url).get_backend_name() != "postgresql":
        return
    engine = create_engine(url, isolation_level="AUTOCOMMIT", poolclass=NullPool)
    others = sa.text(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    with engine.connect() as conn:
        for _ in range(GONE_WITHIN_SECONDS * 100):
            if not conn.scalar(others):
                return
            select.select([], [], [], 0.01)
    raise AssertionError("the server still serves a client that was killed")


def assert_survived(shelf: Shelf, url: str) -> None:
    """After a kill: the state before or after a transaction; and the same work, done again, ends as if never killed."""
    wait_for_the_dead(url)
    found = state(url)
    assert found in shelf.states
    if found != "none":
        assert_whole(url)
    shelf.work.complete(url)
    assert state(url) == shelf.states[-1]
    assert journal_of(url) == shelf.journal


def at_random(shelf: Shelf, kills: int, seed: str) -> int:
    chance = random.Random(seed)
    killed = 0
    for _ in range(kills):
        with shelf.new_copy() as url:
            delay = chance.uniform(0, 1.02 * shelf.seconds)
            killed += in_child(partial(shelf.work.act, url), kill_after=delay).killed
            assert_survived(shelf, url)
    return killed


@shelves("run")
@pytest.mark.parametrize("batch", range(0, KILLS, BATCH))
def test_a_night_killed_at_random_is_completed_by_the_next(shelf: Shelf, batch: int) -> None:
    """Whatever it was doing, and however far it had come."""
    kills = min(BATCH, KILLS - batch)
    assert at_random(shelf, kills, f"a night {batch}") >= kills // 2


@shelves("run in pieces", "undo", "import", "forget")
def test_other_work_killed_at_random_is_there_whole_or_not_at_all(shelf: Shelf) -> None:
    """A night of many transactions, an undo, an import into a new store, a memory forgotten."""
    assert at_random(shelf, FEW, "other work") > 0


@shelves(*WORKS)
def test_work_killed_beside_its_commits_is_completed(shelf: Shelf) -> None:
    """Right before a commit and right after it, and between them at instants all over the work."""
    for kill_at in {*sample(shelf.boundaries, 2 * FEW), *sample(range(shelf.instants), FEW - 2)}:
        with shelf.new_copy() as url:
            assert in_child(partial(killing_itself, kill_at, shelf.work.act, url), kill_after=60).killed
            assert_survived(shelf, url)


def killing_itself(kill_at: int, act: Act, url: str) -> None:
    Instants(kill_at=kill_at)
    act(url)


def sample(instants: Sequence[int], count: int) -> set[int]:
    """So many of the instants, evenly, the last among them."""
    return {instants[len(instants) * number // count - 1] for number in range(1, min(count, len(instants)) + 1)}
