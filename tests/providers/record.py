"""What came in, what the model was asked, and what that costs."""

import threading
from collections import Counter
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from tests.providers.batches import Batches, Item
from tests.providers.behaviours import LONGEST_WAIT_SECONDS
from tests.providers.wire import Call


@dataclass
class Asked:
    """
    One question that the model worked on, which is paid. call: the number of the call that asked it; custom_id: where
    that call made a batch.
    """

    number: int
    call: int
    protocol: str
    body: dict[str, Any]
    sources: list[dict[str, Any]]
    prompt: str
    said: str
    input_tokens: int
    output_tokens: int
    custom_id: str | None = None

    @property
    def contents(self) -> tuple[str, ...]:
        return tuple(sorted(source["content"] for source in self.sources))


class Spent(NamedTuple):
    """What has to be paid: questions, their tokens, and the tokens of embeddings."""

    questions: int
    input_tokens: int
    output_tokens: int
    embedding_tokens: int


class Record:
    """Of one provider."""

    batches: Batches

    def __init__(self) -> None:
        self.complaints: list[str] = []
        self._calls: list[Call] = []
        self._asked: list[Asked] = []
        self._embedded: list[tuple[str, int]] = []
        self._under_way = self._most_at_once = 0
        self._changed = threading.Condition()

    @property
    def calls(self) -> list[Call]:
        with self._changed:
            return list(self._calls)

    def calls_to(self, pattern: str) -> list[Call]:
        """Those whose method and path match, as in `POST /v1/messages`."""
        return [call for call in self.calls if matches(call, pattern)]

    @property
    def asked(self) -> list[Asked]:
        with self._changed:
            return list(self._asked)

    @property
    def embedded(self) -> list[str]:
        """The texts that vectors were paid for, in order."""
        with self._changed:
            return [text for text, _ in self._embedded]

    @property
    def spent(self) -> Spent:
        with self._changed:
            return Spent(
                len(self._asked),
                sum(asked.input_tokens for asked in self._asked),
                sum(asked.output_tokens for asked in self._asked),
                sum(tokens for _, tokens in self._embedded),
            )

    def paid_twice(self) -> list[tuple[str, ...]]:
        """The clusters whose very same prompt was paid, or is under way in a batch, more than once."""
        bought: list[Asked | Item] = list(self.asked)
        for batch in self.batches.made:
            bought += batch.having("processing")
        times = Counter(each.prompt for each in bought)
        return sorted({each.contents for each in bought if times[each.prompt] > 1})

    @property
    def most_at_once(self) -> int:
        """How many calls were under way at the same time, at most."""
        return self._most_at_once

    def wait_for_calls(self, number: int, to: str = "*", *, at_most_seconds: float = LONGEST_WAIT_SECONDS) -> None:
        """Until so many calls that match have come in. AssertionError where they do not."""
        with self._changed:
            came = self._changed.wait_for(
                lambda: sum(matches(call, to) for call in self._calls) >= number, at_most_seconds
            )
        assert came, f"only {len(self.calls_to(to))} of {number} calls to {to} came in {at_most_seconds} s"

    def wait_for_calls_done(self, *, at_most_seconds: float = LONGEST_WAIT_SECONDS) -> None:
        """Until no call is under way. AssertionError where some stay."""
        with self._changed:
            assert self._changed.wait_for(lambda: not self._under_way, at_most_seconds), "calls are still under way"

    def come_in(self, method: str, path: str, query: dict[str, str], headers: dict[str, str], body: Any) -> Call:
        with self._changed:
            call = Call(len(self._calls) + 1, method, path, query, headers, body)
            self._calls.append(call)
            self._under_way += 1
            self._most_at_once = max(self._most_at_once, self._under_way)
            self._changed.notify_all()
        return call

    def go_out(self, call: Call, status: int | None) -> None:
        with self._changed:
            call.status = status
            self._under_way -= 1
            self._changed.notify_all()

    def complain(self, what: str) -> None:
        with self._changed:
            self.complaints.append(what)

    def note_question(self, **known: Any) -> Asked:
        with self._changed:
            asked = Asked(len(self._asked) + 1, **known)
            self._asked.append(asked)
        return asked

    def note_embedding(self, texts_and_tokens: list[tuple[str, int]]) -> None:
        with self._changed:
            self._embedded += texts_and_tokens


def matches(call: Call, pattern: str) -> bool:
    return fnmatchcase(f"{call.method} {call.path}", pattern)
