"""
Killed while it merges, live or by batches, a night is completed by the next: nothing is lost, and nothing paid twice.

CONSOLIDATOR_CRASH_KILLS (see test_kill.py): a tenth of it are the kills of each phase on each store.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import make_url

from consolidator.means import Means
from consolidator.settings import Embedding, Merge
from consolidator.store.engine import open_store
from tests.alike import PAIRS, pairs
from tests.children import TOO_LONG_SECONDS, Instants, in_child
from tests.crash.test_kill import FEW, assert_whole, copy_of_file, sample, wait_for_the_dead
from tests.lives import exported, memory, night, take
from tests.postgres import fresh_database
from tests.providers.provider import Provider

HATCH = ("The attic hatch sticks!", "the attic hatch sticks")


@pytest.fixture
def new_copy(
    request: pytest.FixtureRequest, tmp_path: Path, made_store_url: str
) -> Iterator[Callable[[], AbstractContextManager[str]]]:
    """Makes a store with three pairs to merge and one text to absorb, as often as asked; once on each kind."""
    with open_store(made_store_url, mode="write") as store:
        take(store, [*pairs(3), *(memory(text, 0.5) for text in HATCH)], at=1)
    if make_url(made_store_url).get_backend_name() == "sqlite":
        yield partial(copy_of_file, Path(str(make_url(made_store_url).database)))
    else:
        dsn = request.getfixturevalue("postgres_dsn")
        yield partial(fresh_database, dsn, template=str(make_url(made_store_url).database))


def merging(provider_url: str, mode: str, at: float, url: str) -> None:
    merge = Merge(model="anthropic", mode=mode, base_url=provider_url, api_key="test-key", retries=0, concurrency=1)
    means = Means(merge, Embedding(model="none"))
    with open_store(url, mode="write") as store:
        result = night(store, at, means=means)
        assert result.exit_code == 0, result.error
    means.close()


def instants_of(act: Callable[[str], None], url: str) -> tuple[list[int], int]:
    """The instants beside a commit that a work passes through, and how many there are of all."""

    def watched() -> str:
        instants = Instants()
        act(url)
        return json.dumps([instants.boundaries, instants.passed])

    boundaries, passed = json.loads(in_child(watched).said)
    return boundaries, passed


def killed_at(instant: int, act: Callable[[str], None], url: str) -> None:
    def killing_itself() -> None:
        Instants(kill_at=instant)
        act(url)

    assert in_child(killing_itself, kill_after=TOO_LONG_SECONDS).killed
    wait_for_the_dead(url)
    assert_whole(url)


def lines(url: str) -> tuple[str, ...]:
    with open_store(url, mode="read") as store:
        return exported(store, 3).lines


@pytest.mark.parametrize("phase", ["live", "handing in", "taking in"])
def test_killed_while_it_merges(
    new_copy: Callable[[], AbstractContextManager[str]], provider: Provider, phase: str
) -> None:
    """At instants all over each phase; a reply that was under way when it happened is all that can be paid again."""
    mode = "live" if phase == "live" else "batch"
    first, second = (partial(merging, provider.anthropic_url, mode, at) for at in (1, 2))
    act = second if phase == "taking in" else first

    def before(url: str) -> None:
        if phase == "taking in":
            first(url)
            provider.batches.end()

    def after(url: str) -> None:
        if phase == "live":
            first(url)
        elif phase == "handing in":
            first(url)
            provider.batches.end()
            second(url)
        else:
            second(url)

    with new_copy() as url:
        before(url)
        boundaries, passed = instants_of(act, url)
        if phase == "handing in":
            provider.batches.end()
            second(url)
        expected = lines(url)
    assert sum(" ".join(pair) in line for line in expected for pair in PAIRS[:3]) == 3
    for instant in sorted({*sample(boundaries, 2 * FEW), *sample(range(passed), FEW)}):
        asked, made = len(provider.asked), len(provider.batches.made)
        with new_copy() as url:
            before(url)
            killed_at(instant, act, url)
            after(url)
            assert lines(url) == expected
        paid = len(provider.asked) - asked
        assert paid <= (4 if phase == "live" else 3)
        assert len(provider.batches.made) - made == (0 if phase == "live" else 1)
