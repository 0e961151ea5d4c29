"""The real SDKs, talking to the test's provider, and replies held against the SDKs' own models."""

from collections.abc import Iterator

import anthropic
import openai
import pytest

from tests.providers.provider import Provider


@pytest.fixture
def claude(provider: Provider) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(api_key=provider.key, base_url=provider.anthropic_url, max_retries=0) as client:
        yield client


@pytest.fixture
def gpt(provider: Provider) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(api_key=provider.key, base_url=provider.openai_url, max_retries=0) as client:
        yield client
