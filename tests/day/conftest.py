"""A memory of each kind of store, under a clock that the test moves."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from consolidator import Memory
from consolidator.instants import SECOND
from consolidator.settings import Embedding, Settings
from tests.cli.conftest import own_folders
from tests.lives import day

__all__ = ["own_folders"]

ADA = {"user": "ada"}
WORDS_ALONE = Settings(embedding=Embedding(model="none"))


@dataclass
class Watch:
    """A clock that goes on by a second with each look, and that can be set."""

    now: int = field(default_factory=lambda: day(0))

    def __call__(self) -> int:
        self.now += SECOND
        return self.now


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture
def opened(made_store_url: str, watch: Watch) -> Iterator[Callable[..., Memory]]:
    """Opens memories of one store, once on each kind."""
    memories: list[Memory] = []

    def of(scope: dict[str, str] | None = None, settings: Settings = WORDS_ALONE) -> Memory:
        memories.append(Memory(made_store_url, scope, settings=settings, clock=watch))
        return memories[-1]

    yield of
    for each in memories:
        each.close()


@pytest.fixture
def memory(opened: Callable[..., Memory]) -> Memory:
    """A memory in which words alone are compared."""
    return opened(ADA)


@pytest.fixture
def seeing(opened: Callable[..., Memory]) -> Memory:
    """A memory with the model on this machine."""
    return opened(ADA, Settings())
