"""Batches of both providers: under way until the test ends them, each item as the test says."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import count
from typing import TYPE_CHECKING, Any, Literal

from tests.providers import anthropic_api, openai_api
from tests.providers.sources import prompt_of, sources_of
from tests.providers.wire import Call, Failing, Refused, json_lines

if TYPE_CHECKING:
    from tests.providers.provider import Provider

Outcome = Literal["processing", "succeeded", "errored", "canceled", "expired", "missing"]
PROTOCOLS = {
    "anthropic": (anthropic_api.check_message, anthropic_api.answered),
    "openai": (openai_api.check_completion, openai_api.answered),
}


@dataclass
class Item:
    """One question of a batch. reply: what the model said; status, message: why it is errored."""

    custom_id: str
    body: dict[str, Any]
    outcome: Outcome = "processing"
    reply: dict[str, Any] | None = None
    status: int = 500
    message: str = "Internal server error"

    @property
    def contents(self) -> tuple[str, ...]:
        return tuple(sorted(source["content"] for source in sources_of(self.body)))

    @property
    def prompt(self) -> str:
        return prompt_of(self.body)


@dataclass
class Batch:
    """Times are in seconds. failed: why the whole of it was not begun (OpenAI)."""

    id: str
    protocol: str
    call: Call
    items: list[Item]
    made_at: int
    ended_at: int | None = None
    cancelled_at: int | None = None
    archived_at: int | None = None
    metadata: dict[str, str] | None = None
    input_file_id: str = ""
    state: Literal["under way", "canceling", "ended", "failed"] = "under way"
    failed: list[dict[str, Any]] = field(default_factory=list)
    output_file_id: str | None = None
    error_file_id: str | None = None

    def having(self, outcome: Outcome) -> list[Item]:
        return [item for item in self.items if item.outcome == outcome]

    @property
    def out_of_order(self) -> list[Item]:
        """The items that have a result, in an order that is none."""
        given = [item for item in self.items if item.outcome not in ("processing", "missing")]
        return sorted(given, key=lambda item: sha256(item.custom_id.encode()).digest())


@dataclass(frozen=True)
class File:
    id: str
    made_at: int
    name: str
    purpose: str
    content: bytes


class Batches:
    """
    at_once: each batch ends as soon as it is made; page_size: how many a list shows at most, whatever is asked.
    """

    def __init__(self, provider: "Provider") -> None:
        self.at_once = False
        self.page_size = 100
        self._provider = provider
        self._made: list[Batch] = []
        self._files: dict[str, File] = {}
        self._numbers = count(1)
        self._lock = threading.RLock()

    # What a test says and asks.

    @property
    def made(self) -> list[Batch]:
        """The oldest first."""
        with self._lock:
            return list(self._made)

    @property
    def under_way(self) -> list[Batch]:
        return [batch for batch in self.made if batch.state in ("under way", "canceling")]

    def end(
        self, outcome: Outcome | Callable[[Item], Outcome | None] | None = None, *, only: Batch | None = None
    ) -> None:
        """
        All batches that are under way end (or `only` that one): the model answers now.

        outcome: of all items, or of each, as a function of it; None: answered (of a batch that was cancelled: not).
        An item that is `missing` is in no results. A Behaviour as an answer makes it errored.
        """
        for batch in self.under_way:
            if only is None or batch is only:
                for item in batch.items:
                    said = outcome(item) if callable(outcome) else outcome
                    self._finish(batch, item, said or ("canceled" if batch.state == "canceling" else "succeeded"))
                self._close(batch)

    def fail(self, message: str, *, code: str = "token_limit_exceeded") -> None:
        """OpenAI does not begin the batches that are under way."""
        for batch in self.under_way:
            batch.state = "failed"
            batch.failed.append({"code": code, "line": None, "message": message, "param": None})

    def archive(self, batch: Batch) -> None:
        """Its results are gone."""
        batch.archived_at = self._provider.seconds
        for name in (batch.output_file_id, batch.error_file_id):
            if name:
                self.delete_file(name)

    def lose(self, batch: Batch) -> None:
        """Nobody knows of it any longer."""
        with self._lock:
            self._made.remove(batch)

    # What the protocols do.

    def add(self, protocol: str, call: Call, items: list[Item], **more: Any) -> Batch:
        with self._lock:
            number = next(self._numbers)
            name = f"msgbatch_{number:08}" if protocol == "anthropic" else f"batch_{number:08}"
            batch = Batch(name, protocol, call, items, self._provider.seconds, **more)
            self._made.append(batch)
        for item in items:
            try:
                PROTOCOLS[protocol][0](item.body)
            except Refused as refused:
                self._provider.complain(f"batch item {item.custom_id}: {refused.message}")
        return batch

    def made_now(self, batch: Batch) -> None:
        """The reply about a new batch has been written."""
        if self.at_once and batch.state == "under way":
            self.end(only=batch)

    def find(self, protocol: str, name: str) -> Batch | None:
        return next((batch for batch in self.made if (batch.protocol, batch.id) == (protocol, name)), None)

    def page(self, protocol: str, limit: str | None, after: str | None, before: str | None = None) -> tuple[list, bool]:
        """The newest first, and whether there are more. before: the page that ends before that one."""
        known = [batch for batch in reversed(self.made) if batch.protocol == protocol]
        names = [batch.id for batch in known]
        size = min(int(limit or 20), self.page_size)
        if before is not None:
            end = names.index(before) if before in names else 0
            return known[max(0, end - size) : end], end > size
        start = names.index(after) + 1 if after in names else 0
        return known[start : start + size], len(known) > start + size

    def cancel(self, batch: Batch) -> None:
        batch.state, batch.cancelled_at = "canceling", self._provider.seconds

    def keep_file(self, name: str, purpose: str, content: bytes) -> File:
        with self._lock:
            file = File(f"file-{next(self._numbers):08}", self._provider.seconds, name, purpose, content)
            self._files[file.id] = file
        return file

    @property
    def files(self) -> dict[str, File]:
        with self._lock:
            return dict(self._files)

    def delete_file(self, name: str) -> None:
        with self._lock:
            del self._files[name]

    def _finish(self, batch: Batch, item: Item, outcome: Outcome) -> None:
        check, answered = PROTOCOLS[batch.protocol]
        item.outcome = outcome
        if outcome == "succeeded":
            try:
                check(item.body)
                item.reply = answered(self._provider, batch.call, item.body, item.custom_id)
            except (Failing, Refused) as error:
                item.outcome = "errored"
                item.status, item.message = error.reason

    def _close(self, batch: Batch) -> None:
        """OpenAI's batch has a file of the answered items and one of the others; each only where it has a line."""
        if batch.protocol == "openai":
            given = batch.out_of_order
            output = [openai_api.line_of(item) for item in given if item.outcome == "succeeded"]
            errors = [openai_api.line_of(item) for item in given if item.outcome != "succeeded"]
            if output:
                batch.output_file_id = self._keep_lines(f"{batch.id}_output.jsonl", output)
            if errors:
                batch.error_file_id = self._keep_lines(f"{batch.id}_error.jsonl", errors)
        batch.ended_at = self._provider.seconds
        batch.state = "ended"

    def _keep_lines(self, name: str, lines: list[dict[str, Any]]) -> str:
        return self.keep_file(name, "batch_output", json_lines(lines)).id
