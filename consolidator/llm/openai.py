"""OpenAI's models, and those of every server that speaks its protocol: chat completions, and batches of them."""

import json
from collections.abc import Container, Iterator, Mapping
from functools import partial
from itertools import takewhile
from types import ModuleType
from typing import Any

from consolidator.instants import SECOND
from consolidator.llm.client import CLOCKS_DIFFER, Client, id_in, lines_in, mapping, whole
from consolidator.llm.port import BatchState, ModelFailed, Reply
from consolidator.llm.trying import Stuck
from consolidator.merging.asking import Question, Stop

_STOPS: dict[str, Stop] = {"length": "cut off", "content_filter": "refused"}
_ENDPOINT = "/v1/chat/completions"
_UNDER_WAY = ("validating", "in_progress", "finalizing", "cancelling")
_PAGE = 100


class OpenAI(Client):
    """A model at OpenAI, or at a server that speaks its protocol."""

    provider = "openai"
    manners = ("json_schema", "json_object", "json_object with max_tokens")
    most_in_batch = 50_000
    most_bytes_in_batch = 200_000_000

    def submit(self, questions: Mapping[str, Question], token: str) -> str:
        """Hand in a batch; its id."""
        lines = "".join(
            json.dumps(
                {
                    "custom_id": name,
                    "method": "POST",
                    "url": _ENDPOINT,
                    "body": self._request(question, self.manners[self._manner]),
                }
            )
            + "\n"
            for name, question in self._named(questions, token).items()
        )
        self._insist_on_size(lines)
        client = self._client()
        file = (f"{token}.jsonl", lines.encode(), "application/jsonl")
        uploaded = self._read(lambda: client.files.with_raw_response.create(file=file, purpose="batch"))
        return id_in(
            self._read(
                lambda: client.batches.with_raw_response.create(
                    input_file_id=id_in(uploaded),
                    endpoint=_ENDPOINT,
                    completion_window="24h",
                    metadata={"token": token},
                ),
                repeatable=False,
            )
        )

    def find_batch(self, token: str, *, since: int, known: Container[str] = ()) -> str | None:
        """The id of the batch that was handed in with the token, which stands in its metadata."""
        found = (each for each in self._batches_since(since - CLOCKS_DIFFER) if each.get("id") not in known)
        return next((id_in(each) for each in found if mapping(each.get("metadata")).get("token") == token), None)

    def collect(self, batch_id: str) -> BatchState:
        """How a batch fares, and its answers once it has ended."""
        client = self._client()
        batch = self._read(lambda: client.batches.with_raw_response.retrieve(batch_id))
        counts = mapping(batch.get("request_counts"))
        counted = f"{whole(counts.get('completed'))} of {whole(counts.get('total'))} answered"
        status = str(batch.get("status"))
        if status in _UNDER_WAY:
            return BatchState(False, {}, f"{status}: {counted}")
        lines = []
        for name in ("output_file_id", "error_file_id"):
            if batch.get(name):
                lines += self._lines(str(batch[name]))
        worked = any(mapping(line.get("response")).get("status_code") == 200 for line in lines)
        answers = {
            line["custom_id"].partition("_")[2]: self._answer(line, worked)
            for line in lines
            if isinstance(line.get("custom_id"), str)
        }
        problems = mapping(batch.get("errors")).get("data") or ()
        why = "; ".join(str(mapping(each).get("message") or mapping(each).get("code")) for each in problems)
        return BatchState(True, answers, f"{status}: {counted}" + (f" ({why})" if why else ""))

    def _batches_since(self, since: int) -> Iterator[Mapping[str, Any]]:
        """The batches made since then, the newest first."""
        made = self._pages("after", partial(self._client().batches.with_raw_response.list, limit=_PAGE))
        return takewhile(lambda batch: whole(batch.get("created_at")) * SECOND >= since, made)

    def _lines(self, file_id: str) -> list[dict[str, Any]]:
        """The lines of a file of results; none where it is gone."""
        files = self._client().files.with_raw_response
        try:
            return lines_in(self._tried(lambda: files.content(file_id).http_response.content))
        except Stuck as stuck:
            if stuck.trouble.status == 404:
                return []
            raise self._failure(stuck.trouble, "") from None

    def _answer(self, line: Mapping[str, Any], worked: bool) -> Reply | ModelFailed:
        response, error = mapping(line.get("response")), mapping(line.get("error"))
        if not response:
            return ModelFailed("unavailable", f"the batch ended before the question was asked ({error.get('code')})")
        if response.get("status_code") == 200:
            reply = self._reply_in(response.get("body"))
            return reply or ModelFailed("unavailable", f"{self.who} answered with something that is no reply")
        words = json.dumps(response.get("body"))
        return self._failed_item(whole(response.get("status_code")) or 500, words, worked=worked)

    def _sdk(self) -> tuple[ModuleType, type[Exception]]:
        import openai

        return openai, openai.OpenAIError

    def _connect(self, timeout: Any) -> Any:
        import openai

        access = self.access
        return openai.OpenAI(api_key=access.key, base_url=access.base_url, timeout=timeout, max_retries=0)

    def _request(self, question: Question, manner: str) -> dict[str, Any]:
        limit = "max_tokens" if manner.endswith("max_tokens") else "max_completion_tokens"
        schema = {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": question.schema}}
        return {
            "model": self.name,
            "messages": [
                {"role": "system", "content": question.system},
                {"role": "user", "content": question.prompt},
            ],
            limit: question.max_tokens,
            "response_format": schema if manner == "json_schema" else {"type": "json_object"},
        }

    def _send(self, question: Question, manner: str) -> bytes:
        completions = self._client().chat.completions.with_raw_response
        return bytes(completions.create(**self._request(question, manner)).http_response.content)

    def _reply_in(self, document: Any) -> Reply | None:
        choices = mapping(document).get("choices")
        choice = mapping(choices[0]) if isinstance(choices, list) and choices else {}
        message = mapping(choice.get("message"))
        if not message:
            return None
        content, refusal = message.get("content"), message.get("refusal")
        usage = mapping(document.get("usage"))
        return Reply(
            text=content if isinstance(content, str) else str(refusal or ""),
            input_tokens=whole(usage.get("prompt_tokens")),
            output_tokens=whole(usage.get("completion_tokens")),
            model=str(document.get("model") or self.name),
            stop="refused" if refusal else _STOPS.get(str(choice.get("finish_reason")), "end"),
        )
