"""The real local model, a server for the others, and commands."""

import pytest

from consolidator.embedding.minilm import MiniLM
from consolidator.embedding.openai import OpenAI
from tests.cli.conftest import consolidate, own_folders, wall, write_lines
from tests.embedding.models import embedder_at
from tests.providers.provider import Provider

__all__ = ["consolidate", "own_folders", "wall", "write_lines"]


@pytest.fixture(autouse=True)
def own_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees a key of whoever runs it."""
    for name in ("API_KEY", "BASE_URL", "ADMIN_KEY", "ORG_ID", "PROJECT_ID", "CUSTOM_HEADERS"):
        monkeypatch.delenv(f"OPENAI_{name}", raising=False)


@pytest.fixture
def minilm() -> MiniLM:
    """Loaded once, for all tests of this process."""
    return MiniLM()


@pytest.fixture
def served(provider: Provider) -> OpenAI:
    """An embedder at the test's own server."""
    return embedder_at(provider)
