"""Batches of both providers through the real SDKs: made, found, ended, expired, cancelled, and made without a word."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import anthropic
import openai
import pytest
from anthropic.types.messages import DeletedMessageBatch, MessageBatch, MessageBatchIndividualResponse
from openai.types import Batch, FileDeleted, FileObject
from openai.types.chat import ChatCompletion

from tests.providers import answers
from tests.providers.batches import Item
from tests.providers.behaviours import dropped, overloaded
from tests.providers.models import problems
from tests.providers.provider import Provider
from tests.providers.questions import for_claude, for_gpt

CLUSTERS = {f"t1-{number}": (f"fact {number}", f"fact {number} again") for number in range(5)}


def make_for_claude(client: anthropic.Anthropic, clusters: dict[str, tuple[str, ...]] = CLUSTERS) -> MessageBatch:
    raw = client.messages.batches.with_raw_response.create(
        requests=[{"custom_id": name, "params": for_claude(*contents)} for name, contents in clusters.items()]
    )
    assert problems(MessageBatch, raw.http_response.content) == []
    return raw.parse()


def make_for_gpt(client: openai.OpenAI, **more: Any) -> Batch:
    lines = [
        {"custom_id": name, "method": "POST", "url": "/v1/chat/completions", "body": for_gpt(*contents)}
        for name, contents in CLUSTERS.items()
    ]
    content = "\n".join(json.dumps(line, ensure_ascii=False) for line in lines).encode()
    file = client.files.with_raw_response.create(file=("night.jsonl", content), purpose="batch")
    assert problems(FileObject, file.http_response.content) == []
    return make_of_file(client, file.parse().id, **more)


def make_of_file(client: openai.OpenAI, file_id: str, **more: Any) -> Batch:
    raw = client.batches.with_raw_response.create(
        input_file_id=file_id,
        endpoint="/v1/chat/completions",
        completion_window="24h",
        metadata={"token": "t1"},
        **more,
    )
    assert problems(Batch, raw.http_response.content) == []
    return raw.parse()


def looked_at(client: openai.OpenAI, name: str) -> Batch:
    raw = client.batches.with_raw_response.retrieve(name)
    assert problems(Batch, raw.http_response.content) == []
    return raw.parse()


def lines_of(client: openai.OpenAI, file_id: str) -> dict[str, Any]:
    return {line["custom_id"]: line for line in map(json.loads, client.files.content(file_id).text.splitlines())}


def each_differently(item: Item) -> Any:
    outcomes = ("succeeded", "errored", "canceled", "expired", "missing")
    return outcomes[int(item.custom_id[-1])]


def test_message_batch(provider: Provider, claude: anthropic.Anthropic) -> None:
    """A batch is in progress until the test ends it; then each item has a result, unordered."""
    batch = make_for_claude(claude)
    assert (batch.processing_status, batch.request_counts.processing) == ("in_progress", 5)
    assert provider.spent.questions == 0
    provider.batches.end()
    raw = claude.messages.batches.with_raw_response.retrieve(batch.id)
    assert problems(MessageBatch, raw.http_response.content) == []
    assert (raw.parse().processing_status, raw.parse().request_counts.succeeded) == ("ended", 5)
    results = list(claude.messages.batches.results(batch.id))
    assert {result.custom_id for result in results} == set(CLUSTERS) != [result.custom_id for result in results]
    assert [result.custom_id for result in results] != list(CLUSTERS)
    for result in results:
        assert problems(MessageBatchIndividualResponse, result.to_json(exclude_unset=True).encode()) == []
        assert json.loads(result.result.message.content[0].text)["text"] == " ".join(CLUSTERS[result.custom_id])
    assert provider.spent.questions == 5
    assert results[0].result.message.usage.service_tier == "batch"


def test_message_batch_in_parts(provider: Provider, claude: anthropic.Anthropic) -> None:
    """Each item may fare differently; what is not answered is not paid."""
    batch = make_for_claude(claude)
    provider.batches.end(each_differently)
    counts = claude.messages.batches.retrieve(batch.id).request_counts
    assert (counts.succeeded, counts.canceled, counts.expired) == (1, 1, 1)
    results = {result.custom_id: result for result in claude.messages.batches.results(batch.id)}
    assert {name: result.result.type for name, result in results.items()} == {
        "t1-0": "succeeded", "t1-1": "errored", "t1-2": "canceled", "t1-3": "expired",
    }  # fmt: skip
    assert results["t1-1"].result.error.error.type == "api_error"
    for result in results.values():
        assert problems(MessageBatchIndividualResponse, result.to_json(exclude_unset=True).encode()) == []
    assert provider.spent.questions == 1


def test_message_batch_cancelled(provider: Provider, claude: anthropic.Anthropic) -> None:
    """A cancelled batch is canceling until it ends; it may be deleted then, and is not known any longer."""
    batch = make_for_claude(claude)
    assert claude.messages.batches.cancel(batch.id).processing_status == "canceling"
    provider.batches.end()
    assert claude.messages.batches.retrieve(batch.id).request_counts.canceled == 5
    deleted = claude.messages.batches.with_raw_response.delete(batch.id)
    assert problems(DeletedMessageBatch, deleted.http_response.content) == []
    with pytest.raises(anthropic.NotFoundError):
        claude.messages.batches.retrieve(batch.id)


def test_message_batch_unheard_of(provider: Provider, claude: anthropic.Anthropic) -> None:
    """A batch whose making was never confirmed is in the list, there to be known by its items once it has ended."""
    provider.then(dropped("before the headers"))
    with pytest.raises(anthropic.APIConnectionError):
        make_for_claude(claude)
    provider.batches.end()
    (batch,) = claude.messages.batches.list()
    assert {result.custom_id for result in claude.messages.batches.results(batch.id)} == set(CLUSTERS)


def test_message_batches_in_pages(provider: Provider, claude: anthropic.Anthropic) -> None:
    """The list is in pages, the newest first, each batch once."""
    made = [make_for_claude(claude, {f"t{number}": ("a", "b")}).id for number in range(5)]
    provider.batches.page_size = 2
    assert [batch.id for batch in claude.messages.batches.list()] == made[::-1]
    assert len(provider.calls_to("GET /v1/messages/batches")) == 3
    before = claude.messages.batches.list(before_id=made[0], limit=2)
    assert [batch.id for batch in before.data] == [made[2], made[1]]
    assert before.has_more


def test_message_batch_twice(provider: Provider, claude: anthropic.Anthropic) -> None:
    """The same question in two batches, or in a batch and beside it, is paid twice."""
    make_for_claude(claude)
    assert provider.paid_twice() == []
    claude.messages.create(**for_claude(*CLUSTERS["t1-2"]))
    assert provider.paid_twice() == [CLUSTERS["t1-2"]]


def test_batch(provider: Provider, gpt: openai.OpenAI) -> None:
    """A batch goes from validating to completed, with an output file that has each item once, unordered."""
    batch = make_for_gpt(gpt)
    assert (batch.status, looked_at(gpt, batch.id).status) == ("validating", "in_progress")
    provider.batches.end()
    batch = looked_at(gpt, batch.id)
    assert (batch.status, batch.error_file_id) == ("completed", None)
    assert (batch.usage.input_tokens, batch.usage.output_tokens) == provider.spent[1:3]
    lines = lines_of(gpt, batch.output_file_id)
    assert set(lines) == set(CLUSTERS)
    assert list(lines) != list(CLUSTERS)
    for name, line in lines.items():
        assert (line["response"]["status_code"], line["error"]) == (200, None)
        assert problems(ChatCompletion, json.dumps(line["response"]["body"]).encode()) == []
        content = line["response"]["body"]["choices"][0]["message"]["content"]
        assert json.loads(content)["text"] == " ".join(CLUSTERS[name])
    file = gpt.files.with_raw_response.retrieve(batch.output_file_id)
    assert problems(FileObject, file.http_response.content) == []
    assert file.parse().bytes == len(gpt.files.content(batch.output_file_id).content)


def test_batch_in_parts(provider: Provider, gpt: openai.OpenAI) -> None:
    """What was not answered is in the error file; the batch that expires keeps what it has."""
    batch = make_for_gpt(gpt)
    provider.batches.end(each_differently)
    batch = looked_at(gpt, batch.id)
    assert batch.status == "expired"
    assert set(lines_of(gpt, batch.output_file_id)) == {"t1-0"}
    errors = lines_of(gpt, batch.error_file_id)
    assert errors["t1-1"]["response"]["status_code"] == 500
    assert errors["t1-2"]["error"]["code"] == "batch_cancelled"
    assert errors["t1-3"]["error"]["code"] == "batch_expired"
    assert "t1-4" not in errors
    assert provider.spent.questions == 1


def test_batch_cancelled(provider: Provider, gpt: openai.OpenAI) -> None:
    """A cancelled batch is cancelling until it ends, without an output file."""
    batch = make_for_gpt(gpt)
    assert gpt.batches.cancel(batch.id).status == "cancelling"
    provider.batches.end()
    batch = looked_at(gpt, batch.id)
    assert (batch.status, batch.output_file_id) == ("cancelled", None)
    with pytest.raises(openai.ConflictError):
        gpt.batches.cancel(batch.id)


def test_batch_fails(provider: Provider, gpt: openai.OpenAI) -> None:
    """A batch that is not begun says why; so does one with a bad line in its file."""
    batch = make_for_gpt(gpt)
    provider.batches.fail("Enqueued token limit reached")
    assert looked_at(gpt, batch.id).errors.data[0].message == "Enqueued token limit reached"
    line = json.dumps({"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": for_gpt("a", "b")})
    content = f"{line}\n{line}\nno JSON\n".encode()
    batch = make_of_file(gpt, gpt.files.create(file=("x.jsonl", content), purpose="batch").id)
    assert batch.status == "validating"
    batch = looked_at(gpt, batch.id)
    assert batch.status == "failed"
    assert [(each.line, each.code) for each in batch.errors.data] == [
        (2, "duplicate_custom_id"), (3, "invalid_json_line"),
    ]  # fmt: skip
    assert len(provider.complaints) == 2
    provider.complaints.clear()


def test_batch_unheard_of(provider: Provider, gpt: openai.OpenAI) -> None:
    """A batch whose making was never confirmed is found by its metadata, on whatever page it is."""
    provider.then(dropped("before the headers"), to="POST /v1/batches")
    with pytest.raises(openai.APIConnectionError):
        make_for_gpt(gpt)
    for _ in range(3):
        make_for_gpt(gpt)
    provider.batches.page_size = 2
    found = [batch for batch in gpt.batches.list() if batch.metadata == {"token": "t1"}]
    assert len(found) == 4
    assert len(provider.calls_to("GET /v1/batches")) == 2
    assert provider.paid_twice() == sorted(CLUSTERS.values())


def test_answer_fails_in_batch(provider: Provider, claude: anthropic.Anthropic, gpt: openai.OpenAI) -> None:
    """An answer that goes wrong is an item that is errored; the others are answered."""
    provider.answer = answers.when("fact 3", overloaded())
    provider.batches.at_once = True
    first, second = make_for_claude(claude), make_for_gpt(gpt)
    results = {result.custom_id: result.result for result in claude.messages.batches.results(first.id)}
    assert results["t1-3"].error.error.type == "overloaded_error"
    batch = looked_at(gpt, second.id)
    assert (batch.status, batch.request_counts.failed) == ("completed", 1)
    assert lines_of(gpt, batch.error_file_id)["t1-3"]["response"]["status_code"] == 529
    assert provider.spent.questions == 8


def test_bad_item_in_batch(provider: Provider, claude: anthropic.Anthropic) -> None:
    """Parameters that are not acceptable are an item that is errored, and a complaint."""
    batch = claude.messages.batches.create(requests=[{"custom_id": "a", "params": for_claude("a", max_tokens=0)}])
    provider.batches.end()
    (result,) = claude.messages.batches.results(batch.id)
    assert result.result.error.error.type == "invalid_request_error"
    assert len(provider.complaints) == 1
    provider.complaints.clear()


def test_files(provider: Provider, gpt: openai.OpenAI) -> None:
    """A file comes back as it was sent, byte for byte, until it is deleted."""
    content = b'{"a": "\xc3\xa9"}\r\n--boundary\r\n\n\x00\xff'
    file = gpt.files.create(file=("x.jsonl", content), purpose="batch")
    assert gpt.files.content(file.id).content == content
    assert [each.id for each in gpt.files.list(purpose="batch")] == [file.id]
    deleted = gpt.files.with_raw_response.delete(file.id)
    assert problems(FileDeleted, deleted.http_response.content) == []
    with pytest.raises(openai.NotFoundError):
        gpt.files.content(file.id)


def test_expired(provider: Provider, claude: anthropic.Anthropic, gpt: openai.OpenAI) -> None:
    """A batch that expired whole has no answer at all, and costs nothing."""
    first, second = make_for_claude(claude), make_for_gpt(gpt)
    provider.batches.end("expired")
    assert {result.result.type for result in claude.messages.batches.results(first.id)} == {"expired"}
    batch = looked_at(gpt, second.id)
    assert (batch.status, batch.output_file_id) == ("expired", None)
    assert set(lines_of(gpt, batch.error_file_id)) == set(CLUSTERS)
    assert provider.spent.questions == 0


def test_archived(provider: Provider, claude: anthropic.Anthropic, gpt: openai.OpenAI) -> None:
    """The results of an archived batch are gone, the batch itself is not."""
    first, second = make_for_claude(claude), make_for_gpt(gpt)
    provider.batches.end()
    for batch in provider.batches.made:
        provider.batches.archive(batch)
    assert claude.messages.batches.retrieve(first.id).results_url is None
    with pytest.raises(openai.NotFoundError):
        gpt.files.content(looked_at(gpt, second.id).output_file_id)


def test_times(provider: Provider, claude: anthropic.Anthropic, gpt: openai.OpenAI) -> None:
    """The provider lives in the time that the test says."""
    provider.now = datetime(2026, 5, 1, 2, tzinfo=UTC)
    first, second = make_for_claude(claude), make_for_gpt(gpt)
    provider.now += timedelta(hours=3)
    provider.batches.end()
    batch = claude.messages.batches.retrieve(first.id)
    assert (batch.created_at, batch.ended_at - batch.created_at) == (
        provider.now - timedelta(hours=3),
        timedelta(hours=3),
    )
    assert looked_at(gpt, second.id).completed_at - second.created_at == 3 * 3600


def test_lost_batch(provider: Provider, claude: anthropic.Anthropic, gpt: openai.OpenAI) -> None:
    """Nobody knows of a lost batch."""
    make_for_claude(claude)
    make_for_gpt(gpt)
    for batch in provider.batches.made:
        provider.batches.lose(batch)
    assert list(claude.messages.batches.list()) == list(gpt.batches.list()) == []
