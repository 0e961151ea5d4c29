"""Requests that the real providers would not take are answered 400, and are complaints."""

from copy import deepcopy
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from tests.providers.provider import Provider
from tests.providers.questions import CLAUDE, GPT, Verdict, for_claude, for_gpt, prompt


def with_schema(body: dict[str, Any], change: Any) -> dict[str, Any]:
    """The same request with its schema changed."""
    body = deepcopy(body)
    form = body.get("output_config", {}).get("format") or body["response_format"]["json_schema"]
    change(form["schema"])
    return body


def loosen(schema: dict[str, Any]) -> None:
    schema["additionalProperties"] = True


def loosen_within(schema: dict[str, Any]) -> None:
    del schema["$defs"]["Dropped"]["additionalProperties"]


def bound(schema: dict[str, Any]) -> None:
    schema["properties"]["text"]["minLength"] = 1


def many(schema: dict[str, Any]) -> None:
    schema["properties"]["kept"]["minItems"] = 3


def optional(schema: dict[str, Any]) -> None:
    schema["required"].remove("kept")


def any_type(schema: dict[str, Any]) -> None:
    del schema["properties"]["text"]["type"]


def point_nowhere(schema: dict[str, Any]) -> None:
    schema["properties"]["dropped"]["items"] = {"$ref": "#/$defs/Nothing"}


@pytest.mark.parametrize(
    "body",
    [
        for_claude("a", temperature=0.3),
        for_claude("a", max_tokens="12"),
        for_claude("a", max_tokens=0),
        for_claude("a", messages=[]),
        for_claude("a", messages=[{"role": "user", "content": ""}], system=""),
        for_claude("a", messages=[{"role": "robot", "content": "x"}]),
        for_claude("a", messages=[{"role": "user", "content": [{"type": "text", "txt": "x"}]}]),
        for_claude("a", messages=[{"role": "user", "content": "a"}, {"role": "assistant", "content": "{"}]),
        for_claude("a", output_config={"format": {"type": "json_schema"}}),
        for_claude("a", output_config={"format": {"type": "json_schema", "schema": Verdict.model_json_schema()}}),
        for_claude("a", response_format={"type": "json_object"}),
        {"model": CLAUDE, "messages": [{"role": "user", "content": "x"}]},
        *(
            with_schema(for_claude("a"), change)
            for change in (loosen, loosen_within, bound, many, any_type, point_nowhere)
        ),
    ],
)
def test_messages(provider: Provider, claude: anthropic.Anthropic, body: dict[str, Any]) -> None:
    """A message with an unknown, missing or wrong parameter or an unsupported schema is refused, and is not paid."""
    with pytest.raises(anthropic.BadRequestError) as raised:
        claude.post("/v1/messages", body=body, cast_to=object)
    assert raised.value.type == "invalid_request_error"
    assert len(provider.complaints) == 1
    assert provider.spent.questions == 0
    provider.complaints.clear()


@pytest.mark.parametrize(
    "body",
    [
        for_gpt("a", system="x"),
        for_gpt("a", temperature="hot"),
        for_gpt("a", max_tokens=12),
        for_gpt("a", messages=[]),
        for_gpt("a", messages=[{"role": "user"}]),
        for_gpt("a", response_format={"type": "json_object"}, messages=[{"role": "user", "content": "merge"}]),
        for_gpt("a", response_format={"type": "json_schema", "json_schema": {"name": "a b", "schema": {}}}),
        for_gpt("a", output_config={}),
        {"model": GPT},
        *(
            with_schema(for_gpt("a"), change)
            for change in (loosen, loosen_within, bound, optional, any_type, point_nowhere)
        ),
    ],
)
def test_completions(provider: Provider, gpt: openai.OpenAI, body: dict[str, Any]) -> None:
    """A completion with an unknown, missing or wrong parameter or an unsupported schema is refused, and is not paid."""
    with pytest.raises(openai.BadRequestError) as raised:
        gpt.post("/chat/completions", body=body, cast_to=object)
    assert raised.value.type == "invalid_request_error"
    assert len(provider.complaints) == 1
    assert provider.spent.questions == 0
    provider.complaints.clear()


@pytest.mark.parametrize(
    "body",
    [
        {"model": "text-embedding-3-small", "input": [""]},
        {"model": "text-embedding-3-small", "input": []},
        {"model": "text-embedding-3-small", "input": ["x"] * 2049},
        {"model": "text-embedding-3-small", "input": "x " * 20_000},
        {"model": "text-embedding-3-small", "input": ["x " * 16_000] * 40},
        {"model": "text-embedding-3-small", "input": "x", "dimensions": 2000},
        {"model": "text-embedding-ada-002", "input": "x", "dimensions": 20},
        {"model": "text-embedding-3-small", "input": "x", "encoding_format": "hex"},
        {"model": "text-embedding-3-small"},
    ],
    ids=range(9),
)
def test_embeddings(provider: Provider, gpt: openai.OpenAI, body: dict[str, Any]) -> None:
    """What OpenAI does not embed is refused, and is not paid."""
    with pytest.raises(openai.BadRequestError):
        gpt.post("/embeddings", body=body, cast_to=object)
    assert provider.embedded == []
    assert len(provider.complaints) == 1
    provider.complaints.clear()


@pytest.mark.parametrize(
    "requests",
    [
        [],
        [{"custom_id": "a b", "params": for_claude("a")}],
        [{"custom_id": "a" * 65, "params": for_claude("a")}],
        [{"custom_id": "a", "params": for_claude("a")}] * 2,
        [{"custom_id": "a"}],
    ],
    ids=range(5),
)
def test_message_batches(provider: Provider, claude: anthropic.Anthropic, requests: list[Any]) -> None:
    """A batch without requests, or with an id that is bad or there twice, is refused."""
    with pytest.raises(anthropic.BadRequestError):
        claude.messages.batches.create(requests=requests)
    assert provider.batches.made == []
    provider.complaints.clear()


def test_batches(provider: Provider, gpt: openai.OpenAI) -> None:
    """A batch of a file that is not there or for something else, or with too much metadata, is refused."""
    good = gpt.files.create(file=("x.jsonl", b"{}"), purpose="batch").id
    other = gpt.files.create(file=("x.jsonl", b"{}"), purpose="user_data").id
    for file, metadata in (("file-nothing", {}), (other, {}), (good, {"a": "b" * 513})):
        with pytest.raises(openai.BadRequestError):
            gpt.batches.create(
                input_file_id=file, endpoint="/v1/chat/completions", completion_window="24h", metadata=metadata
            )
    with pytest.raises(openai.BadRequestError):
        gpt.files.create(file=("x.txt", b"{}"), purpose="batch")
    assert provider.batches.made == []
    assert len(provider.complaints) == 4
    provider.complaints.clear()


def test_loose_schema(provider: Provider, gpt: openai.OpenAI) -> None:
    """Without `strict` any schema is taken, and with none JSON is, where the prompt speaks of it."""
    schema = {"name": "verdict", "schema": Verdict.model_json_schema()}
    gpt.chat.completions.create(**for_gpt("a", response_format={"type": "json_schema", "json_schema": schema}))
    asked = [{"role": "user", "content": f"Answer in JSON. {prompt('a', 'b')}"}]
    gpt.chat.completions.create(**for_gpt(messages=asked, response_format={"type": "json_object"}))
    assert provider.spent.questions == 2


def test_wrong_key(provider: Provider, claude: anthropic.Anthropic, gpt: openai.OpenAI) -> None:
    """A wrong key is refused, which is no complaint."""
    with pytest.raises(anthropic.AuthenticationError):
        claude.with_options(api_key="wrong").messages.create(**for_claude("a"))
    with pytest.raises(openai.AuthenticationError):
        gpt.with_options(api_key="wrong").chat.completions.create(**for_gpt("a"))
    assert provider.spent.questions == 0


def test_no_key(provider: Provider) -> None:
    """No key at all, or no version of the protocol, is refused and a complaint; Anthropic takes x-api-key too."""
    url = f"{provider.anthropic_url}/v1/messages"
    version, key = {"anthropic-version": "2023-06-01"}, {"x-api-key": "test-key"}
    assert [httpx2.post(url, json=for_claude("a"), headers=headers).status_code for headers in (
        version, key, {**version, **key},
    )] == [401, 400, 200]  # fmt: skip
    assert httpx2.post(f"{provider.openai_url}/chat/completions", json=for_gpt("a")).status_code == 401
    assert len(provider.complaints) == 3
    provider.complaints.clear()


def test_any_key(provider: Provider) -> None:
    """A local server takes any key."""
    provider.key = None
    with openai.OpenAI(api_key="none", base_url=provider.openai_url) as gpt:
        gpt.chat.completions.create(**for_gpt("a"))


def test_nowhere(provider: Provider, gpt: openai.OpenAI) -> None:
    """What is not there is a 404 and a complaint."""
    with pytest.raises(openai.NotFoundError):
        gpt.responses.create(model=GPT, input="x")
    assert provider.complaints == ["POST /v1/responses: Not found: POST /v1/responses"]
    provider.complaints.clear()
