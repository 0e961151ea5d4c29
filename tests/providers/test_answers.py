"""One question, one answer: both protocols as the real SDKs speak them."""

import json
from typing import Any

import anthropic
import numpy as np
import openai
import pytest
from anthropic.types import Message, ModelInfo
from openai.types import CreateEmbeddingResponse, Model
from openai.types.chat import ChatCompletion

from tests.providers import answers
from tests.providers.answers import Said
from tests.providers.models import problems
from tests.providers.provider import Provider
from tests.providers.questions import CLAUDE, GPT, Verdict, for_claude, for_gpt, prompt

CONTENTS = ("Ana has seen the repository [91K stars] on 3 May.", '{"content": "x"} and "quotes" ✨')
JOINED = " ".join(CONTENTS)


def test_message(provider: Provider, claude: anthropic.Anthropic) -> None:
    """A message holds the asked JSON, and its every field is known to the SDK's type."""
    raw = claude.messages.with_raw_response.create(**for_claude(*CONTENTS))
    assert problems(Message, raw.http_response.content) == []
    message = raw.parse()
    assert Verdict.model_validate_json(message.content[0].text).text == JOINED
    assert (message.stop_reason, message.usage.service_tier) == ("end_turn", "standard")
    (asked,) = provider.asked
    assert asked.contents == tuple(sorted(CONTENTS))
    assert (message.usage.input_tokens, message.usage.output_tokens) == provider.spent[1:3]
    assert provider.calls[0].headers["authorization"] == "Bearer test-key"
    assert raw.headers["request-id"]


def test_completion(provider: Provider, gpt: openai.OpenAI) -> None:
    """A completion holds the asked JSON, and its every field is known to the SDK's type."""
    raw = gpt.chat.completions.with_raw_response.create(**for_gpt(*CONTENTS))
    assert problems(ChatCompletion, raw.http_response.content) == []
    completion = raw.parse()
    assert Verdict.model_validate_json(completion.choices[0].message.content).text == JOINED
    assert completion.choices[0].finish_reason == "stop"
    assert completion.usage.total_tokens == sum(provider.spent[1:3])
    assert raw.headers["x-request-id"]


def test_parsed(provider: Provider, claude: anthropic.Anthropic, gpt: openai.OpenAI) -> None:
    """The SDKs' own ways to ask for a model are accepted, and give one."""
    messages = [{"role": "user", "content": prompt(*CONTENTS)}]
    message = claude.messages.parse(model=CLAUDE, max_tokens=2000, messages=messages, output_format=Verdict)
    assert message.parsed_output.text == JOINED
    completion = gpt.chat.completions.parse(model=GPT, messages=messages, response_format=Verdict)
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
    message = claude.messages.with_raw_response.create(**for_claude(*CONTENTS))
    completion = gpt.chat.completions.with_raw_response.create(**for_gpt(*CONTENTS))
    assert problems(Message, message.http_response.content) == []
    assert problems(ChatCompletion, completion.http_response.content) == []
    assert (message.parse().stop_reason, completion.parse().choices[0].finish_reason) == stops
    assert (completion.parse().choices[0].message.refusal is not None) == (answer is answers.refuse)
    assert provider.spent.questions == 2


MEMORIES = [
    {"observed": "2026-05-02", "content": "Ana moved to Porto on 3 May 2026 with 2 cats."},
    {"observed": "2026-04-01", "content": "Ana lives in Lisbon."},
]


@pytest.mark.parametrize(
    ("answer", "verdict", "text"),
    [
        (answers.concatenate, "merge", "Ana moved to Porto on 3 May 2026 with 2 cats. Ana lives in Lisbon."),
        (answers.newest, "update", "Ana moved to Porto on 3 May 2026 with 2 cats."),
        (answers.distinct, "distinct", ""),
        (answers.drop_number, "merge", "Ana moved to Porto on May 2026 with 2 cats. Ana lives in Lisbon."),
        (answers.drop_date, "merge", "Ana moved to Porto on with 2 cats. Ana lives in Lisbon."),
        (answers.drop_name, "merge", "Ana moved to on 3 May 2026 with 2 cats. Ana lives in Lisbon."),
        (answers.obey, "merge", "OK"),
    ],
)
def test_verdicts(answer: Any, verdict: str, text: str) -> None:
    """A ready-made answer of the right form says what its name says."""
    said = Verdict.model_validate(answer(MEMORIES, {}))
    assert (said.verdict, said.text) == (verdict, text)


@pytest.mark.parametrize(
    "answer",
    [answers.empty, answers.refuse_in_prose, answers.wrong_type, answers.in_prose(), answers.fenced(),
     answers.violate_schema, answers.wrong_types_within, answers.unknown_verdict, answers.cut_off_unsaid],
)  # fmt: skip
def test_unusable(provider: Provider, gpt: openai.OpenAI, answer: Any) -> None:
    """A ready-made answer of the wrong form is not what was asked for, though the reply says that all went well."""
    provider.answer = answer
    content = gpt.chat.completions.create(**for_gpt(*CONTENTS)).choices[0].message.content
    with pytest.raises(ValueError, match="validation error"):
        Verdict.model_validate_json(content)


def test_answers_by_cluster(provider: Provider, gpt: openai.OpenAI) -> None:
    """An answer may be for one cluster alone, and change from one time to the next."""
    provider.answer = answers.when("Ana", answers.in_turn(answers.invent_number, answers.distinct), answers.newest)

    def said(*contents: str) -> str:
        completion = gpt.chat.completions.create(**for_gpt(*contents))
        return Verdict.model_validate_json(completion.choices[0].message.content).verdict

    assert [said("Ana", "b"), said("c", "d"), said("b", "Ana"), said("Ana", "b"), said("Ana", "x")] == [
        "merge", "update", "distinct", "distinct", "merge",
    ]  # fmt: skip
    assert provider.paid_twice() == [("Ana", "b")]


def test_thoughts(provider: Provider, claude: anthropic.Anthropic, gpt: openai.OpenAI) -> None:
    """Thoughts are a block of their own, or tokens that are counted; local servers say them aloud."""
    provider.answer = answers.thoughtful()
    raw = claude.messages.with_raw_response.create(**for_claude(*CONTENTS))
    assert problems(Message, raw.http_response.content) == []
    assert [block.type for block in raw.parse().content] == ["thinking", "text"]
    assert gpt.chat.completions.create(**for_gpt(*CONTENTS)).usage.completion_tokens_details.reasoning_tokens > 0
    provider.answer = answers.thinking_aloud()
    assert gpt.chat.completions.create(**for_gpt(*CONTENTS)).choices[0].message.content.startswith("<think>")


def test_no_schema(provider: Provider, gpt: openai.OpenAI) -> None:
    """A server that knows no structured output says so; that is no complaint about the client."""
    loose = {"messages": [{"role": "user", "content": "JSON"}], "response_format": {"type": "json_object"}}
    provider.answer = answers.knows_no_schema()
    with pytest.raises(openai.BadRequestError, match="response_format"):
        gpt.chat.completions.create(**for_gpt())
    gpt.chat.completions.create(**for_gpt(**loose))
    provider.answer = answers.knows_no_form()
    with pytest.raises(openai.BadRequestError, match="response_format"):
        gpt.chat.completions.create(**for_gpt(**loose))
    gpt.chat.completions.create(**for_gpt(response_format={"type": "text"}))


def test_said_of_own(provider: Provider, claude: anthropic.Anthropic) -> None:
    """A test's own answer sees the memories and the request, and may say anything."""
    provider.answer = lambda sources, request: Said(f"{len(sources)} {request['max_tokens']}")
    blocks = [{"type": "text", "text": prompt(*CONTENTS)}]
    message = claude.messages.create(**for_claude(messages=[{"role": "user", "content": blocks}]))
    assert message.content[0].text == "2 2000"


def test_embeddings(provider: Provider, gpt: openai.OpenAI) -> None:
    """Numbers and base64 say the same; vectors have length 1; equal texts are equal, others as near as their words."""
    texts = [
        "Ana likes green tea a lot",
        "Ana likes black tea a lot",
        "The build broke on Tuesday",
        "猫は魚が好き",
        "✨",
    ]
    asked = {"model": "text-embedding-3-small", "input": texts}
    raw = gpt.embeddings.with_raw_response.create(**asked, encoding_format="float")
    assert problems(CreateEmbeddingResponse, raw.http_response.content) == []
    given = np.array([each.embedding for each in raw.parse().data])
    of_base64 = gpt.embeddings.with_raw_response.create(**asked)
    assert isinstance(json.loads(of_base64.http_response.content)["data"][0]["embedding"], str)
    np.testing.assert_allclose(given, [each.embedding for each in of_base64.parse().data], rtol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(given, axis=1), 1, rtol=1e-6)
    assert given[0] @ given[1] > 0.7 > 0.2 > given[0] @ given[2]
    short = gpt.embeddings.create(**{**asked, "input": texts[0]}, dimensions=256).data[0].embedding
    np.testing.assert_allclose(short, given[0][:256] / np.linalg.norm(given[0][:256]), rtol=1e-5)
    assert len(gpt.embeddings.create(model="of-a-local-server", input="x").data[0].embedding) == 384
    assert provider.embedded == [*texts, *texts, texts[0], "x"]
    assert provider.spent.questions == 0 < provider.spent.embedding_tokens


def test_models(provider: Provider, claude: anthropic.Anthropic, gpt: openai.OpenAI) -> None:
    """Each SDK finds the models of its own provider at the same path."""
    first = claude.models.with_raw_response.retrieve(CLAUDE)
    assert problems(ModelInfo, first.http_response.content) == []
    assert CLAUDE in [model.id for model in claude.models.list()]
    second = gpt.models.with_raw_response.retrieve(GPT)
    assert problems(Model, second.http_response.content) == []
    assert GPT in [model.id for model in gpt.models.list()]
    with pytest.raises(anthropic.NotFoundError):
        claude.models.retrieve("claude-2")
    with pytest.raises(openai.NotFoundError):
        gpt.models.retrieve("gpt-2")
