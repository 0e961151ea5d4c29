"""Anthropic's models: messages with structured output, and Message Batches."""

import json
from collections.abc import Container, Iterator, Mapping
from functools import partial
from itertools import takewhile
from types import ModuleType
from typing import Any

from consolidator.instants import parse_instant
from consolidator.llm.client import CLOCKS_DIFFER, Client, id_in, lines_in, mapping, parsed, whole
from consolidator.llm.port import BatchState, ModelFailed, Reply
from consolidator.merging.asking import Question, Stop

_STOPS: dict[str, Stop] = {
    "max_tokens": "cut off",
    "model_context_window_exceeded": "cut off",
    "refusal": "refused",
}
_STATUSES = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "overloaded_error": 529,
}
_PARTS_OF_INPUT = ("", "cache_creation_", "cache_read_")
_PAGE = 100


class Anthropic(Client):
    """A model at Anthropic, or at a server that speaks its protocol."""

    provider = "anthropic"
    manners = ("json_schema", "words alone")
    most_in_batch = 100_000
    most_bytes_in_batch = 256_000_000

    def submit(self, questions: Mapping[str, Question], token: str) -> str:
        """Hand in a batch; its id."""
        requests = [
            {"custom_id": name, "params": self._request(question, self.manners[self._manner])}
            for name, question in self._named(questions, token).items()
        ]
        self._insist_on_size(json.dumps(requests))
        batches = self._client().messages.batches.with_raw_response
        return id_in(self._read(lambda: batches.create(requests=requests), repeatable=False))

    def find_batch(self, token: str, *, since: int, known: Container[str] = ()) -> str | None:
        """
        The id of the batch that was handed in with the token.

        Anthropic knows no name for a batch but its custom ids, and tells them only once it has ended: until then,
        a batch of that time that is under way may be the one.
        """
        unsure = False
        for batch in self._batches_since(since - CLOCKS_DIFFER):
            batch_id = id_in(batch)
            if batch_id in known:
                continue
            if batch.get("processing_status") != "ended":
                unsure = True
            elif batch.get("results_url") and self._first_name(batch_id).startswith(f"{token}_"):
                return batch_id
        if unsure:
            raise ModelFailed("unavailable", f"{self.who} has a batch under way that may be the one looked for")
        return None

    def collect(self, batch_id: str) -> BatchState:
        """How a batch fares, and its answers once it has ended."""
        batches = self._client().messages.batches
        batch = self._read(lambda: batches.with_raw_response.retrieve(batch_id))
        counts = mapping(batch.get("request_counts"))
        counted = ", ".join(f"{count} {name}" for name, count in counts.items() if count) or "no counts"
        if batch.get("processing_status") != "ended":
            return BatchState(False, {}, f"under way: {counted}")
        if not batch.get("results_url"):
            return BatchState(True, {}, "ended, and its results are gone")

        def results() -> bytes:
            with batches.with_streaming_response.results(batch_id) as response:
                return bytes(response.read())

        lines = [line for line in lines_in(self._done(results)) if isinstance(line.get("custom_id"), str)]
        worked = any(mapping(line.get("result")).get("type") == "succeeded" for line in lines)
        answers = {
            line["custom_id"].partition("_")[2]: self._answer(mapping(line.get("result")), worked) for line in lines
        }
        return BatchState(True, answers, f"ended: {counted}")

    def _batches_since(self, since: int) -> Iterator[Mapping[str, Any]]:
        """The batches made since then, the newest first."""
        batches = self._client().messages.batches.with_raw_response
        made = self._pages("after_id", partial(batches.list, limit=_PAGE))
        return takewhile(lambda batch: parse_instant(str(batch.get("created_at"))) >= since, made)

    def _first_name(self, batch_id: str) -> str:
        """The custom id of the first result of a batch: no more of it is read."""
        batches = self._client().messages.batches

        def first_line() -> bytes:
            line = b""
            with batches.with_streaming_response.results(batch_id) as response:
                for chunk in response.iter_bytes():
                    head, end, _ = chunk.partition(b"\n")
                    line += head
                    if end:
                        break
            return line

        return str(mapping(parsed(self._done(first_line))).get("custom_id"))

    def _answer(self, result: Mapping[str, Any], worked: bool) -> Reply | ModelFailed:
        kind = result.get("type")
        if kind == "succeeded":
            reply = self._reply_in(result.get("message"))
            return reply or ModelFailed("unavailable", f"{self.who} answered with something that is no reply")
        if kind == "errored":
            error = mapping(mapping(result.get("error")).get("error"))
            status = _STATUSES.get(str(error.get("type")), 500)
            return self._failed_item(status, str(error.get("message")), worked=worked)
        return ModelFailed("unavailable", f"the batch ended before the question was asked ({kind})")

    def _sdk(self) -> tuple[ModuleType, type[Exception]]:
        import anthropic

        return anthropic, anthropic.AnthropicError

    def _connect(self, timeout: Any) -> Any:
        import anthropic

        access = self.access
        return anthropic.Anthropic(
            api_key=access.key,
            auth_token=access.token,
            base_url=access.base_url,
            timeout=timeout,
            max_retries=0,
        )

    def _request(self, question: Question, manner: str) -> dict[str, Any]:
        request: dict[str, Any] = {
            "model": self.name,
            "max_tokens": question.max_tokens,
            "system": question.system,
            "messages": [{"role": "user", "content": question.prompt}],
        }
        if manner == "json_schema":
            request["output_config"] = {"format": {"type": "json_schema", "schema": question.schema}}
        return request

    def _send(self, question: Question, manner: str) -> bytes:
        messages = self._client().messages.with_raw_response
        return bytes(messages.create(**self._request(question, manner)).http_response.content)

    def _reply_in(self, document: Any) -> Reply | None:
        if not isinstance(document, dict) or not isinstance(document.get("content"), list):
            return None
        blocks = [block for block in map(mapping, document["content"]) if block.get("type") == "text"]
        usage = mapping(document.get("usage"))
        return Reply(
            text="".join(str(block.get("text") or "") for block in blocks),
            input_tokens=sum(whole(usage.get(f"{part}input_tokens")) for part in _PARTS_OF_INPUT),
            output_tokens=whole(usage.get("output_tokens")),
            model=str(document.get("model") or self.name),
            stop=_STOPS.get(str(document.get("stop_reason")), "end"),
        )
