"""Foreign stores of every kind, and a store of ours to pull them into."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path

import pytest

from consolidator.store.engine import Store, open_store
from tests.sources.acts import refill
from tests.sources.foreign import Foreign
from tests.sources.foreigns import FOREIGNS, NAMED_BY_TEXT, WRITTEN, made

Make = Callable[[], Foreign]
MakeStore = Callable[[], Store]


@pytest.fixture(params=WRITTEN)
def new_foreign(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Make]:
    """Makes foreign stores of one kind that is read and written, as often as asked."""
    numbers = count(1)
    with ExitStack() as stack:

        def make() -> Foreign:
            folder = tmp_path / f"theirs-{next(numbers)}"
            folder.mkdir()
            return stack.enter_context(made(request.param, folder))

        yield make


@pytest.fixture
def foreign(new_foreign: Make) -> Foreign:
    """A foreign store, once of each kind that is read and written."""
    return new_foreign()


@pytest.fixture(params=sorted({*WRITTEN} - NAMED_BY_TEXT))
def repeating(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Foreign]:
    """A foreign store, once of each kind in which several records may say the same."""
    with made(request.param, tmp_path) as foreign:
        yield foreign


@pytest.fixture(params=FOREIGNS)
def any_foreign(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Foreign]:
    """A foreign store, once of each kind, as it is before anything is added."""
    folder = tmp_path / "theirs"
    folder.mkdir()
    with made(request.param, folder) as foreign:
        yield foreign


@pytest.fixture(scope="session")
def spare_stores() -> Iterator[list[Store]]:
    """Stores of ours that tests use in turn, for one that was just opened compiles each statement anew."""
    spare: list[Store] = []
    yield spare
    for store in spare:
        store.close()


@pytest.fixture
def new_store(
    spare_stores: list[Store], made_sqlite: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[MakeStore]:
    """Makes empty stores of ours, as often as asked."""
    given: list[Store] = []

    def make() -> Store:
        if spare_stores:
            store = spare_stores.pop()
        else:
            path = tmp_path_factory.mktemp("ours") / "store.db"
            shutil.copy(made_sqlite, path)
            store = open_store(f"sqlite:///{path}", mode="write")
        given.append(store)
        refill(store, made_sqlite)
        return store

    yield make
    spare_stores += given


@pytest.fixture
def store(new_store: MakeStore) -> Store:
    """An empty store of ours."""
    return new_store()
