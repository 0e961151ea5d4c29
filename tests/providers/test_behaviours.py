"""How calls go wrong, as the real SDKs meet it."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from tests.providers import answers
from tests.providers.answers import when
from tests.providers.behaviours import (
    Behaviour,
    against_policy,
    dropped,
    empty_body,
    error,
    half_a_body,
    html_page,
    key_refused,
    no_such_model,
    not_json,
    overloaded,
    quota_spent,
    rate_limited,
    server_error,
    slow,
    told_whether_to_retry,
    too_long,
    wrong_length,
)
from tests.providers.models import problems
from tests.providers.provider import Provider
from tests.providers.questions import for_claude, for_gpt


def ask_claude(client: anthropic.Anthropic) -> Any:
    return client.messages.create(**for_claude("a", "b"))


def ask_gpt(client: openai.OpenAI) -> Any:
    return client.chat.completions.create(**for_gpt("a", "b"))


@pytest.mark.parametrize(
    ("behaviour", "claude_raises", "gpt_raises", "paid"),
    [
        (rate_limited(), anthropic.RateLimitError, openai.RateLimitError, 0),
        (quota_spent(), anthropic.PaymentRequiredError, openai.RateLimitError, 0),
        (server_error(), anthropic.InternalServerError, openai.InternalServerError, 0),
        (server_error(done=True), anthropic.InternalServerError, openai.InternalServerError, 2),
        (server_error(503), anthropic.ServiceUnavailableError, openai.InternalServerError, 0),
        (overloaded(), anthropic.OverloadedError, openai.InternalServerError, 0),
        (key_refused(), anthropic.AuthenticationError, openai.AuthenticationError, 0),
        (error(403, "not for you"), anthropic.PermissionDeniedError, openai.PermissionDeniedError, 0),
        (too_long(), anthropic.BadRequestError, openai.BadRequestError, 0),
        (against_policy(), anthropic.BadRequestError, openai.BadRequestError, 0),
        (no_such_model(), anthropic.NotFoundError, openai.NotFoundError, 0),
        (html_page(), anthropic.InternalServerError, openai.InternalServerError, 0),
        (dropped(), anthropic.APIConnectionError, openai.APIConnectionError, 2),
        (dropped(done=False), anthropic.APIConnectionError, openai.APIConnectionError, 0),
        (dropped("after the headers"), anthropic.APIConnectionError, openai.APIConnectionError, 2),
        (half_a_body(), anthropic.APIConnectionError, openai.APIConnectionError, 2),
        (wrong_length(+10), anthropic.APIConnectionError, openai.APIConnectionError, 2),
    ],
    ids=lambda value: value.name if isinstance(value, Behaviour) else "",
)
def test_raised(
    provider: Provider,
    claude: anthropic.Anthropic,
    gpt: openai.OpenAI,
    behaviour: Behaviour,
    claude_raises: type[Exception],
    gpt_raises: type[Exception],
    paid: int,
) -> None:
    """Each behaviour is raised as the error it stands for; the next call goes well; only what was done is paid."""
    provider.then(behaviour, behaviour)
    with pytest.raises(claude_raises):
        ask_claude(claude)
    with pytest.raises(gpt_raises):
        ask_gpt(gpt)
    assert [call.behaviour for call in provider.calls] == [behaviour.name] * 2
    assert provider.spent.questions == paid
    ask_claude(claude)
    ask_gpt(gpt)


@pytest.mark.parametrize("behaviour", [not_json(), empty_body(), html_page(200), wrong_length(-10)])
def test_no_json(provider: Provider, behaviour: Behaviour) -> None:
    """A body that is no JSON is a 200 all the same: what the client makes of it is its own affair."""
    provider.always(behaviour)
    headers = {"authorization": "Bearer test-key"}
    reply = httpx2.post(f"{provider.openai_url}/chat/completions", json=for_gpt("a", "b"), headers=headers)
    assert reply.status_code == 200
    with pytest.raises(ValueError, match="line 1"):
        reply.json()


def test_error_shapes(provider: Provider, claude: anthropic.Anthropic, gpt: openai.OpenAI) -> None:
    """An error has the provider's own shape, with the id of the request."""
    provider.always(overloaded())
    with pytest.raises(anthropic.OverloadedError) as raised:
        ask_claude(claude)
    assert problems(anthropic.types.ErrorResponse, raised.value.response.content) == []
    assert (raised.value.type, raised.value.request_id) == ("overloaded_error", "req_00000001")
    provider.heal()
    provider.always(quota_spent())
    with pytest.raises(openai.RateLimitError) as refused:
        ask_gpt(gpt)
    assert (refused.value.code, bool(refused.value.request_id)) == ("insufficient_quota", True)


def test_retry_after(provider: Provider, claude: anthropic.Anthropic) -> None:
    """A client that waits as it was told gets its answer; the wait may be told in each of three ways."""
    until = datetime(2026, 5, 1, 12, tzinfo=UTC)
    provider.then(rate_limited(milliseconds=1), rate_limited(seconds=0.001), rate_limited(until=until), None)
    patient = claude.with_options(max_retries=2)
    with pytest.raises(anthropic.RateLimitError) as raised:
        ask_claude(patient)
    assert raised.value.response.headers["retry-after"] == "Fri, 01 May 2026 12:00:00 GMT"
    assert ask_claude(patient).stop_reason == "end_turn"
    assert [call.status for call in provider.calls] == [429, 429, 429, 200]
    assert [call.headers["x-stainless-retry-count"] for call in provider.calls] == ["0", "1", "2", "0"]
    assert provider.spent.questions == 1


def test_whether_to_retry(provider: Provider, claude: anthropic.Anthropic) -> None:
    """The provider's word decides whether the SDK tries again."""
    never = told_whether_to_retry(overloaded(), False)
    provider.then(told_whether_to_retry(rate_limited(milliseconds=1), True), never)
    with pytest.raises(anthropic.OverloadedError):
        ask_claude(claude.with_options(max_retries=2))
    assert len(provider.calls) == 2


def test_date(provider: Provider) -> None:
    """A reply has the provider's own date."""
    provider.now = datetime(2026, 5, 1, 12, tzinfo=UTC)
    reply = httpx2.get(f"{provider.openai_url}/models", headers={"authorization": "Bearer test-key"})
    assert reply.headers["date"] == "Fri, 01 May 2026 12:00:00 GMT"


def test_script_by_call(provider: Provider, claude: anthropic.Anthropic, gpt: openai.OpenAI) -> None:
    """A script speaks of calls to one place in their order, and leaves the others alone."""
    provider.then(None, overloaded(), to="POST /v1/messages")
    ask_claude(claude)
    ask_gpt(gpt)
    with pytest.raises(anthropic.OverloadedError):
        ask_claude(claude)
    ask_claude(claude)


def test_one_cluster_fails(provider: Provider, claude: anthropic.Anthropic) -> None:
    """A behaviour as an answer concerns one cluster alone; what was done is paid."""
    provider.answer = when("a", answers.in_turn(rate_limited(), dropped(), answers.distinct))
    for raised in (anthropic.RateLimitError, anthropic.APIConnectionError):
        with pytest.raises(raised):
            ask_claude(claude)
        claude.messages.create(**for_claude("c", "d"))
    ask_claude(claude)
    assert [call.behaviour for call in provider.calls] == [
        "rate limited", "", "dropped before the headers", "", "",
    ]  # fmt: skip
    assert provider.spent.questions == 4


def test_slow(provider: Provider, claude: anthropic.Anthropic) -> None:
    """A slow call waits for the test, is under way meanwhile, and may fail after all."""
    released = threading.Event()
    provider.then(slow(released), slow(released), slow(released, then=overloaded()))
    with ThreadPoolExecutor(3) as pool:
        asked = [pool.submit(ask_claude, claude) for _ in range(3)]
        provider.wait_for_calls(3, "POST /v1/messages")
        assert provider.spent.questions == 0
        released.set()
        failures = [each.exception() for each in asked]
    assert [type(failure) for failure in failures if failure] == [anthropic.OverloadedError]
    assert provider.most_at_once == 3
    assert provider.spent.questions == 2


def test_client_gives_up(provider: Provider, claude: anthropic.Anthropic) -> None:
    """A client that waits no longer gets nothing; the server goes on, works, and is paid."""
    released = threading.Event()
    provider.then(slow(released))
    with pytest.raises(anthropic.APITimeoutError):
        ask_claude(claude.with_options(timeout=0.05))
    released.set()
    ask_claude(claude)
    provider.wait_for_calls_done()
    assert provider.spent.questions == 2
