"""One question, one answer: both protocols as the real SDKs speak them."""

import base64
import json
from typing import Any, Literal

import anthropic
import numpy as np
import openai
import pytest
from anthropic.types import Message, ModelInfo
from openai.types import CreateEmbeddingResponse, Model
from openai.types.chat import ChatCompletion
from pydantic import BaseModel

from tests.providers import answers
from tests.providers.answers import Said
from tests.providers.models import problems
from tests.providers.provider import Provider


class Dropped(BaseModel):
    fact: str
    because: str


class Verdict(BaseModel):
    verdict: Literal["merge", "update", "distinct"]
    text: str
    kept: list[str]
    dropped: list[Dropped]


MEMORIES = [
    {"number": 1, "observed": "2026-04-01", "content": "Ana has seen the repository [91K stars] on 3 May."},
    {"number": 2, "observed": "2026-05-01", "content": 'A memory that says {"content": "x"} and "quotes" ✨'},
]
PROMPT = (
    f"Some [prose], then data:\n<memories>\n{json.dumps(MEMORIES, ensure_ascii=False, indent=1)}\n</memories>\nEnd."
)
JOINED = " ".join(memory["content"] for memory in MEMORIES)


def ask_claude(client: anthropic.Anthropic, **more: Any) -> Any:
    return client.messages.with_raw_response.create(
        model="claude-sonnet-5-5",
        max_tokens=2000,
        system="You merge memories.",
        messages=[{"role": "user", "content": PROMPT}],
        output_config={"format": {"type": "json_schema", "schema": anthropic.transform_schema(Verdict)}},
        **more,
    )


def ask_gpt(client: openai.OpenAI, **more: Any) -> Any:
    return client.chat.completions.with_raw_response.create(
        model="gpt-5.4-mini",
        max_completion_tokens=2000,
        messages=[{"role": "system", "content": "You merge."}, {"role": "user", "content": PROMPT}],
        response_format={
            "type": "json_schema",
            "json_schema": {"name": "verdict", "strict": True, "schema": strict_schema()},
        },
        **more,
    )


def strict_schema() -> dict[str, Any]:
    return openai.pydantic_function_tool(Verdict)["function"]["parameters"]  # type: ignore[return-value]


def test_message(provider: Provider, claude: anthropic.Anthropic) -> None:
    """A message that the SDK parses into the asked model, and whose every field its own type knows."""
    raw = ask_claude(claude)
    assert problems(Message, raw.http_response.content) == []
    message = raw.parse()
    assert Verdict.model_validate_json(message.content[0].text).text == JOINED
    assert (message.stop_reason, message.usage.service_tier) == ("end_turn", "standard")
    (asked,) = provider.asked
    assert asked.sources == MEMORIES
    assert message.usage.input_tokens == asked.input_tokens == provider.spent.input_tokens
    assert provider.calls[0].headers["authorization"] == "Bearer test-key"
    assert raw.headers["request-id"] == "req_00000001"


def test_message_parsed(claude: anthropic.Anthropic) -> None:
    """The SDK's own way to ask for a model is accepted, and gives one."""
    message = claude.messages.parse(
        model="claude-sonnet-5-5",
        max_tokens=2000,
        messages=[{"role": "user", "content": PROMPT}],
        output_format=Verdict,
    )
    assert message.parsed_output.text == JOINED


def test_completion(provider: Provider, gpt: openai.OpenAI) -> None:
    """A completion whose content is the asked JSON, and whose every field the SDK's type knows."""
    raw = ask_gpt(gpt)
    assert problems(ChatCompletion, raw.http_response.content) == []
    completion = raw.parse()
    assert Verdict.model_validate_json(completion.choices[0].message.content).text == JOINED
    assert completion.choices[0].finish_reason == "stop"
    assert completion.usage.total_tokens == sum(provider.spent[1:3])
    assert raw.headers["x-request-id"]


def test_completion_parsed(provider: Provider, gpt: openai.OpenAI) -> None:
    """The SDK's own way to ask for a model is accepted, and gives one."""
    completion = gpt.chat.completions.parse(
        model="gpt-5.4-mini", messages=[{"role": "user", "content": PROMPT}], response_format=Verdict
    )
    assert completion.choices[0].message.parsed.text == JOINED


@pytest.mark.parametrize(
    ("answer", "stops"),
    [
        (answers.concatenate, ("end_turn", "stop")),
        (answers.refuse, ("refusal", "stop")),
        (answers.filtered, ("refusal", "content_filter")),
        (answers.cut_off, ("max_tokens", "length")),
        (answers.cut_off_unsaid, ("end_turn", "stop")),
        (answers.empty, ("end_turn", "stop")),
        (answers.gigantic, ("end_turn", "stop")),
        (lambda sources, request: "word " * 3000, ("max_tokens", "length")),
        (answers.refuse_in_prose, ("end_turn", "stop")),
    ],
)
def test_stops(
    provider: Provider, claude: anthropic.Anthropic, gpt: openai.OpenAI, answer: Any, stops: tuple[str, str]
) -> None:
    """Whatever the model says and why it stopped, the reply has the SDK's form."""
    provider.answer = answer
    message = claude.messages.with_raw_response.create(
        model="claude-sonnet-5-5", max_tokens=2000, messages=[{"role": "user", "content": PROMPT}]
    )
    completion = ask_gpt(gpt)
    assert (
        problems(Message, message.http_response.content)
        == problems(ChatCompletion, completion.http_response.content)
        == []
    )
    assert (message.parse().stop_reason, completion.parse().choices[0].finish_reason) == stops
    assert (completion.parse().choices[0].message.refusal is not None) == (answer is answers.refuse)
    assert provider.spent.questions == 2


def test_embeddings(provider: Provider, gpt: openai.OpenAI) -> None:
    """Numbers and base64 say the same; vectors have length 1; equal texts are equal, others as near as their words."""
    texts = [
        "Ana likes green tea a lot",
        "Ana likes black tea a lot",
        "The build broke on Tuesday",
        "猫は魚が好き",
        "✨",
    ]
    raw = gpt.embeddings.with_raw_response.create(model="text-embedding-3-small", input=texts, encoding_format="float")
    assert problems(CreateEmbeddingResponse, raw.http_response.content) == []
    given = np.array([each.embedding for each in raw.parse().data])
    asked = np.array(
        [each.embedding for each in gpt.embeddings.create(model="text-embedding-3-small", input=texts).data]
    )
    assert provider.calls[1].body["encoding_format"] == "base64"
    np.testing.assert_allclose(given, asked, rtol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(given, axis=1), 1, rtol=1e-6)
    assert given[0] @ given[1] > 0.7 > 0.2 > given[0] @ given[2]
    short = gpt.embeddings.create(model="text-embedding-3-small", input=texts[0], dimensions=256).data[0].embedding
    np.testing.assert_allclose(short, given[0][:256] / np.linalg.norm(given[0][:256]), rtol=1e-5)
    assert len(gpt.embeddings.create(model="of-a-local-server", input="x").data[0].embedding) == 384
    assert provider.spent.questions == 0
    assert provider.embedded == [*texts, *texts, texts[0], "x"]
    whole = base64.b64decode(
        json.loads(gpt.embeddings.with_raw_response.create(model="m", input="x").http_response.content)["data"][0][
            "embedding"
        ]
    )
    assert len(whole) == 4 * 384


def test_models(provider: Provider, claude: anthropic.Anthropic, gpt: openai.OpenAI) -> None:
    """Each SDK finds the models of its own provider at the same path."""
    first = claude.models.with_raw_response.retrieve("claude-sonnet-5-5")
    assert problems(ModelInfo, first.http_response.content) == []
    assert "claude-sonnet-5-5" in [model.id for model in claude.models.list()]
    second = gpt.models.with_raw_response.retrieve("text-embedding-3-small")
    assert problems(Model, second.http_response.content) == []
    assert "text-embedding-3-small" in [model.id for model in gpt.models.list()]
    with pytest.raises(anthropic.NotFoundError):
        claude.models.retrieve("claude-2")
    with pytest.raises(openai.NotFoundError):
        gpt.models.retrieve("gpt-2")


def test_said_of_own(provider: Provider, claude: anthropic.Anthropic) -> None:
    """A test's own answer sees the memories and the request, and may say anything."""
    provider.answer = lambda sources, request: Said(f"{len(sources)} {request['max_tokens']}")
    message = claude.messages.create(
        model="claude-sonnet-5-5",
        max_tokens=20,
        messages=[{"role": "user", "content": [{"type": "text", "text": PROMPT}]}],
    )
    assert message.content[0].text == "2 20"
