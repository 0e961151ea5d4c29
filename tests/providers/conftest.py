"""The real SDKs, talking to the test's provider. They are made once: that takes longer than a test."""

from collections.abc import Iterator

import anthropic
import openai
import pytest

from tests.providers.provider import Provider


@pytest.fixture(scope="session")
def any_claude() -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(api_key="test-key", base_url="http://127.0.0.1:9", max_retries=0) as client:
        yield client


@pytest.fixture(scope="session")
def any_gpt() -> Iterator[openai.OpenAI]:
    with openai.OpenAI(api_key="test-key", base_url="http://127.0.0.1:9", max_retries=0) as client:
        yield client


@pytest.fixture
def claude(any_claude: anthropic.Anthropic, provider: Provider) -> anthropic.Anthropic:
    return any_claude.with_options(base_url=provider.anthropic_url)


@pytest.fixture
def gpt(any_gpt: openai.OpenAI, provider: Provider) -> openai.OpenAI:
    return any_gpt.with_options(base_url=provider.openai_url)
