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
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy import NullPool, create_engine, make_url

from consolidator import purge
from consolidator.errors import BadInput, StoreUnusable
from consolidator.settings.jobs import PurgeJob
from consolidator.store import apply as applying
from consolidator.store import dead as deleting
from consolidator.store import purge_rest as rest
from consolidator.store.engine import Store, open_store
from consolidator.store.find import find_memories
from consolidator.store.forget import forget
from consolidator.store.tables import metadata
from consolidator.store.undo import undo_run
from tests import authors, lives
from tests.authors import Answer, absorbed, one
from tests.children import TOO_LONG_SECONDS, Instants, in_child
from tests.lives import EVE, day, night
from tests.postgres import fresh_database

KILLS = int(os.environ.get("CONSOLIDATOR_CRASH_KILLS", "10"))
FEW = max(2, KILLS // 10)
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


ANSWERS = (
    one(lives.CROWD[2], lives.OLD, text="an old friend of the crowd 👥"),
    absorbed(lives.SPOKES[2], lives.SPOKES[3]),
    Answer((lives.CROWD[4], lives.CROWD[5]), "distinct"),
    Answer((lives.CROWD[6], lives.CROWD[0]), "waiting", because="no model"),
)


def merging(url: str) -> None:
    with open_store(url, mode="write") as store:
        assert authors.night(store, EVE, *ANSWERS, vector=True).stale == []


def with_its_merges(store: Store) -> None:
    landed = authors.night(store, EVE, *ANSWERS, vector=True).landed
    assert [bool(each.merge.decisions) for each in landed] == [True, True, False, False]


def purging(url: str) -> None:
    purge.TURNS_AT_ONCE = purge.FORGOTTEN_AT_ONCE = 4  # in a child, of this alone
    rest.ROWS_A_TRANSACTION = 10
    purging_the_rest(url)


def purging_the_rest(url: str) -> None:
    ages = {f"{kind}_nights": 4 for kind in ("exposures", "attributions", "archive", "journal")}
    with open_store(url, mode="write") as store:
        purge.purge_store(store, PurgeJob(**ages), now=day(EVE + 5), wall_clock=lambda: day(EVE + 5))


WORKS = {
    "run": Work(None, running, running),
    "run in pieces": Work(None, running_in_pieces, running),
    "undo": Work(with_its_night, undoing, undoing_once),
    "merge": Work(None, merging, merging),
    "undo of merges": Work(with_its_merges, undoing, undoing_once),
    "import": Work(None, importing, importing, creates=True),
    "forget": Work(with_its_night, forgetting, forgetting_once),
    "purge": Work(with_its_night, purging, purging_the_rest),
}


@dataclass(frozen=True)
class Shelf:
    """A store as it is before a work, and what the work makes of it by each transaction when nobody kills it."""

    work: Work
    new_copy: Callable[[], AbstractContextManager[str]]
    journal: str
    states: list[str]
    seconds: float
    instants: int
    boundaries: list[int]


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


@pytest.fixture
def shelf(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Shelf]:
    """By the kind of the store and the name of the work."""
    kind, name, _ = request.param
    work = WORKS[name]
    with ExitStack() as stack:
        if kind == "sqlite":
            base = tmp_path / "base.db"
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
            watched = json.loads(in_child(partial(watch, work.act, copy)).said)
            assert watched["states"][-1] == state(copy) != before
            journal = journal_of(copy)
        yield Shelf(work, new_copy, journal, **{**watched, "states": [before, *watched["states"]]})


def watch(act: Act, url: str) -> str:
    """In a child: the states of a store after each transaction of a work, and the instants that it passes through."""
    states: list[str] = []
    instants = Instants()
    write = Store.write
    began, aside = time.perf_counter(), 0.0

    @contextmanager
    def watched(store: Store) -> Iterator[sa.Connection]:
        nonlocal aside
        with write(store) as conn:
            yield conn
        looking = time.perf_counter()
        with instants.looking_away():
            states.append(state(url))
        aside += time.perf_counter() - looking

    Store.write = watched
    act(url)
    seconds = time.perf_counter() - began - aside
    return json.dumps(
        {"states": states, "seconds": seconds, "instants": instants.passed, "boundaries": instants.boundaries}
    )


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


def killed(shelf: Shelf, act: Act, *, after: float) -> bool:
    """Whether a work was killed before it ended; either way it has survived that."""
    with shelf.new_copy() as url:
        ended = in_child(partial(act, url), kill_after=after)
        assert_survived(shelf, url)
    return ended.killed


def each_kill(works: Iterable[str]) -> pytest.MarkDecorator:
    """Both stores, each work, and the numbers of the kills at random, so many to a test."""
    asked = [
        (kind, work, range(first, min(first + BATCH, kills)))
        for kind in ("sqlite", "postgres")
        for work in works
        for kills in [KILLS if work == "run" else FEW]
        for first in range(0, kills, BATCH)
    ]
    ids = [f"{kind}-{work}-{kills.start}" for kind, work, kills in asked]
    return pytest.mark.parametrize(("shelf", "kills"), [(one, one[2]) for one in asked], indirect=["shelf"], ids=ids)


@each_kill(WORKS)
def test_killed_at_any_instant_it_is_completed(shelf: Shelf, kills: range) -> None:
    """At random; and right before a commit, right after it, and at instants all over the work."""
    found = 0
    for number in kills:
        after = random.Random(number).uniform(0, 1.02 * shelf.seconds)
        found += killed(shelf, shelf.work.act, after=after)
    assert found >= len(kills) // 2
    if kills.start:
        return
    for kill_at in {*sample(shelf.boundaries, 2 * FEW), *sample(range(shelf.instants), FEW - 2)}:
        assert killed(shelf, partial(killing_itself, kill_at, shelf.work.act), after=TOO_LONG_SECONDS)


def killing_itself(kill_at: int, act: Act, url: str) -> None:
    Instants(kill_at=kill_at)
    act(url)


def sample(instants: Sequence[int], count: int) -> set[int]:
    """So many of the instants, evenly, the last among them."""
    return {instants[len(instants) * number // count - 1] for number in range(1, min(count, len(instants)) + 1)}
