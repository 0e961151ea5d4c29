"""Foreign stores of every kind, and a store of ours to pull them into."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path

import pytest

from consolidator.store.engine import Store, open_store
from tests.sources.foreign import Foreign
from tests.sources.foreigns import FOREIGNS, NAMED_BY_TEXT, WRITTEN, made

Make = Callable[[], Foreign]
MakeStore = Callable[..., Store]


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


@pytest.fixture
def new_store(tmp_path: Path, made_sqlite: Path) -> Iterator[MakeStore]:
    """Makes stores of ours: empty ones, or of what the file of another one holds."""
    numbers = count(1)
    with ExitStack() as stack:

        def make(held: bytes = b"") -> Store:
            path = tmp_path / f"ours-{next(numbers)}.db"
            path.write_bytes(held or made_sqlite.read_bytes())
            return stack.enter_context(open_store(f"sqlite:///{path}", mode="write"))

        yield make


@pytest.fixture
def store(new_store: MakeStore) -> Store:
    """An empty store of ours."""
    return new_store()
