"""
Killed at any instant, a push has lost nothing over there, and the next one completes it, whether or not a pull comes
between.

CONSOLIDATOR_CRASH_KILLS (see test_kill.py): a tenth of it are the kills on each store.
"""

import json
import random
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import make_url

from consolidator.store.engine import open_store
from tests.children import TOO_LONG_SECONDS, Instants, in_child
from tests.crash.test_kill import FEW, assert_whole, copy_of_file, sample, wait_for_the_dead
from tests.postgres import fresh_database
from tests.sources.acts import (
    CAT,
    CAT_AGAIN,
    DENTIST,
    OWL,
    TRAM,
    WRITTEN,
    merged,
    pulled,
    pushed,
    slept,
    standing,
    texts,
)
from tests.sources.memory_foreign import JsonForeign, Ways

Copies = Callable[[], AbstractContextManager[str]]


@pytest.fixture
def foreign(tmp_path: Path) -> JsonForeign:
    """Every write of it is on the disk before it returns."""
    (tmp_path / "theirs").mkdir()
    return JsonForeign(tmp_path / "theirs", Ways())


@pytest.fixture
def new_copy(foreign: JsonForeign, made_store_url: str, request: pytest.FixtureRequest) -> Iterator[Copies]:
    """Makes stores in which a night has made, changed and put away something that is to be pushed."""
    for text in (CAT, CAT_AGAIN, TRAM, OWL, DENTIST):
        foreign.add(text)
    with open_store(made_store_url, mode="write") as store:
        pulled(store, foreign, 1)
        slept(store, 2)
        merged(store, 2.5, TRAM, OWL, text=WRITTEN)
    url = make_url(made_store_url)
    if url.get_backend_name() == "sqlite":
        yield partial(copy_of_file, Path(str(url.database)))
    else:
        yield partial(fresh_database, request.getfixturevalue("postgres_dsn"), template=str(url.database))


def pushing(url: str, foreign: JsonForeign) -> None:
    with open_store(url, mode="write") as store:
        assert pushed(store, foreign, 3).conflicts == ()


def killing_itself(url: str, foreign: JsonForeign, *, kill_at: int | None = None) -> str:
    """Its instants: those beside a commit, and how many there are of all."""
    instants = Instants(kill_at=kill_at)
    pushing(url, foreign)
    return json.dumps([instants.boundaries, instants.passed])


def end_of(url: str, foreign: JsonForeign) -> tuple[list[str], dict[str, str]]:
    """Both stores after a pull, which finds nothing new."""
    with open_store(url, mode="write") as store:
        found = pulled(store, foreign, 4)
        assert (found.new, found.changed, found.gone, found.conflicts) == (0, 0, 0, ())
        return texts(foreign), standing(store)


def test_killed_while_it_pushes(new_copy: Copies, foreign: JsonForeign) -> None:
    """At random; and right before a commit, right after it, and at instants all over the push."""
    theirs = foreign.path.read_bytes()
    with new_copy() as url:
        watched = in_child(partial(killing_itself, url, foreign))
        boundaries, passed = json.loads(watched.said)
        expected = end_of(url, foreign)
    at_random = [random.Random(number).uniform(0.2, 1.0) * watched.seconds for number in range(FEW)]
    at_instants = sorted({*sample(boundaries, 2 * FEW), *sample(range(passed), FEW)})
    for number, (instant, after) in enumerate(
        [*((one, None) for one in at_instants), *((None, one) for one in at_random)]
    ):
        foreign.path.write_bytes(theirs)
        with new_copy() as url:
            act = partial(killing_itself, url, foreign, kill_at=instant)
            ended = in_child(act, kill_after=after or TOO_LONG_SECONDS)
            assert ended.killed or instant is None
            wait_for_the_dead(url)
            assert_whole(url)
            found = {*texts(foreign)}
            assert {CAT, CAT_AGAIN} & found
            assert WRITTEN in found or {TRAM, OWL} <= found
            if number % 2:
                end_of(url, foreign)
            pushing(url, foreign)
            assert end_of(url, foreign) == expected
