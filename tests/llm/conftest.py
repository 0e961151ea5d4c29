"""A model of each provider, at the test's own server."""

from collections.abc import Iterator

import pytest

from consolidator.llm.client import Client
from tests.llm.models import Watch, model_at
from tests.providers.provider import Provider


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture(params=["anthropic", "openai"])
def model(request: pytest.FixtureRequest, provider: Provider, watch: Watch) -> Iterator[Client]:
    """A model of each provider in turn; what it waits, `watch` knows."""
    client = model_at(provider, request.param, watch=watch)
    yield client
    client.close()
