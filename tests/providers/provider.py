"""The provider behind the server: what a test scripts, what it was asked, what it was paid."""

import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from tests.providers import anthropic_api, openai_api, vectors
from tests.providers.answers import Answer, Said, concatenate
from tests.providers.behaviours import LONGEST_WAIT_SECONDS, Behaviour
from tests.providers.sources import prompt_of, sources_of
from tests.providers.wire import Call, Failing, Refused, Reply, first_tokens, json_reply, tokens_of


@dataclass
class Asked:
    """
    One question that the model worked on. call: the number of the call that asked it; batch, custom_id: where it came
    in a batch; paid: false for an item of a batch that failed, expired or was cancelled.
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
    paid: bool = True

    @property
    def contents(self) -> tuple[str, ...]:
        return tuple(sorted(source["content"] for source in self.sources))


class Spent(NamedTuple):
    """What has to be paid: questions, their tokens, and the tokens of embeddings."""

    questions: int
    input_tokens: int
    output_tokens: int
    embedding_tokens: int


class Wrong(NamedTuple):
    """A behaviour that waits for a matching call; None lets that call pass. always: it stays."""

    to: str
    behaviour: Behaviour | None
    always: bool


class Provider:
    """Both providers at one address. See the docstring of tests.providers for how a test uses it."""

    def __init__(self, address: str = "") -> None:
        self.address = address
        self.key: str | None = "test-key"
        self.answer: Answer = concatenate
        self.vector_of: Callable[[str, str, int | None], np.ndarray] = vectors.vector_of
        self.complaints: list[str] = []
        self.on_call: Callable[[Call], None] = lambda call: None
        self._calls: list[Call] = []
        self._asked: list[Asked] = []
        self._embedded: list[tuple[Call, list[str], int]] = []
        self._script: list[Wrong] = []
        self._under_way = self._most_at_once = 0
        self._waited_for: set[threading.Event] = set()
        self._stopped = False
        self._changed = threading.Condition()

    # What a test says.

    def then(self, *behaviours: Behaviour | None, to: str = "POST *") -> None:
        """
        The next calls that match go so, one each in this order; None is a call that goes well.

        to: a pattern over method and path, as in `POST /v1/messages` or `GET /v1/batches*`.
        """
        with self._changed:
            self._script += [Wrong(to, behaviour, always=False) for behaviour in behaviours]

    def always(self, behaviour: Behaviour, *, to: str = "POST *") -> None:
        """From now on every call that matches goes so, until `heal`."""
        with self._changed:
            self._script.append(Wrong(to, behaviour, always=True))

    def heal(self) -> None:
        """Nothing goes wrong from now on."""
        with self._changed:
            self._script.clear()

    # What a test asks.

    @property
    def anthropic_url(self) -> str:
        return self.address

    @property
    def openai_url(self) -> str:
        return f"{self.address}/v1"

    @property
    def anthropic_environ(self) -> dict[str, str]:
        """The variables that Anthropic's SDK reads."""
        return {"ANTHROPIC_API_KEY": self.key or "any", "ANTHROPIC_BASE_URL": self.anthropic_url}

    @property
    def openai_environ(self) -> dict[str, str]:
        """The variables that OpenAI's SDK reads."""
        return {"OPENAI_API_KEY": self.key or "any", "OPENAI_BASE_URL": self.openai_url}

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
    def paid(self) -> list[Asked]:
        return [asked for asked in self.asked if asked.paid]

    @property
    def embedded(self) -> list[str]:
        """The texts that vectors were paid for, in order."""
        with self._changed:
            return [text for _, texts, _ in self._embedded for text in texts]

    @property
    def spent(self) -> Spent:
        paid = self.paid
        with self._changed:
            embedding_tokens = sum(tokens for _, _, tokens in self._embedded)
        return Spent(
            len(paid),
            sum(each.input_tokens for each in paid),
            sum(each.output_tokens for each in paid),
            embedding_tokens,
        )

    def paid_twice(self) -> list[tuple[str, ...]]:
        """The clusters whose very same prompt was paid more than once."""
        seen: dict[tuple[str, str], int] = {}
        twice = []
        for asked in self.paid:
            key = (asked.protocol, asked.prompt)
            seen[key] = seen.get(key, 0) + 1
            if seen[key] == 2:
                twice.append(asked.contents)
        return twice

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

    # What the server does.

    def come_in(self, method: str, target: str, query: dict[str, str], headers: dict[str, str], body: Any) -> Call:
        with self._changed:
            call = Call(len(self._calls) + 1, method, target, query, headers, body)
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
        self.on_call(call)

    def handle(self, call: Call) -> tuple[Reply, Behaviour | None]:
        """The reply, and how it is to go wrong on its way."""
        protocol = protocol_of(call)
        behaviour = self._behaviour_for(call)
        try:
            if behaviour and behaviour.fails and not behaviour.done:
                raise Failing(behaviour)
            reply = self._work(call, protocol)
            behaviour = call.goes_wrong or behaviour
            if behaviour and (behaviour.status or behaviour.raw):
                reply = failed(behaviour, call, protocol)
        except Failing as failing:
            behaviour = failing.behaviour
            reply = failed(behaviour, call, protocol)
        except Refused as refused:
            if refused.complaint:
                with self._changed:
                    self.complaints.append(f"{call.method} {call.path}: {refused.message}")
            reply = protocol.refusal(refused, call)
        if behaviour:
            call.behaviour = behaviour.name
        headers = {protocol.REQUEST_ID_HEADER: protocol.request_id(call), **reply.headers}
        return Reply(reply.status, reply.body, reply.content_type, headers), behaviour

    def _work(self, call: Call, protocol: ModuleType) -> Reply:
        protocol.check_headers(call, self.key)
        for method, pattern, work in protocol.ROUTES:
            if method == call.method and re.fullmatch(pattern, call.path):
                if method == "POST" and call.headers.get("content-type", "").startswith("application/json"):
                    check_json(call.body)
                return work(self, call)
        raise Refused(404, f"Not found: {call.method} {call.path}")

    def _behaviour_for(self, call: Call) -> Behaviour | None:
        """What the script says, after the wait it says."""
        with self._changed:
            at = next((at for at, wrong in enumerate(self._script) if matches(call, wrong.to)), None)
            if at is None:
                return None
            behaviour = (self._script[at] if self._script[at].always else self._script.pop(at)).behaviour
        if behaviour:
            self._wait(behaviour)
        return behaviour.then if behaviour and behaviour.then else behaviour

    def ask(
        self, call: Call, protocol: str, body: dict[str, Any], limit: int | None, custom_id: str | None = None
    ) -> tuple[Said, Asked]:
        """What the model says, at most `limit` tokens of it. From now on it is paid. Failing where it goes wrong."""
        sources = sources_of(body)
        said = self._said(self.answer, sources, body)
        call.goes_wrong = said.sent_as
        text = said.text or said.refusal or ""
        output_tokens = max(1, tokens_of(text))
        if said.stop is None:
            cut = limit is not None and output_tokens > limit
            said = replace(said, stop="cut off", text=first_tokens(text, limit)) if cut else replace(said, stop="end")
            output_tokens = min(output_tokens, limit or output_tokens)
        prompt = prompt_of(body)
        with self._changed:
            number = len(self._asked) + 1
            asked = Asked(
                number, call.number, protocol, body, sources, prompt, text, tokens_of(prompt), output_tokens, custom_id
            )
            self._asked.append(asked)
        return said, asked

    def _said(self, outcome: Any, sources: list[dict[str, Any]], body: dict[str, Any]) -> Said:
        if callable(outcome):
            return self._said(outcome(sources, body), sources, body)
        if isinstance(outcome, Behaviour):
            self._wait(outcome)
            if outcome.fails and not outcome.done:
                raise Failing(outcome)
            said = self._said(outcome.then or concatenate, sources, body)
            return replace(said, sent_as=outcome) if outcome.fails else said
        return said_of(outcome)

    def embedded_now(self, call: Call, texts: list[str], tokens: int) -> None:
        with self._changed:
            self._embedded.append((call, texts, tokens))

    def _wait(self, behaviour: Behaviour) -> None:
        if behaviour.released is None:
            return
        with self._changed:
            self._waited_for.add(behaviour.released)
            if self._stopped:
                behaviour.released.set()
        behaviour.released.wait(behaviour.at_most_seconds)

    def stop_waiting(self) -> None:
        with self._changed:
            self._stopped = True
            for event in self._waited_for:
                event.set()


def said_of(outcome: Mapping[str, Any] | str | Said) -> Said:
    if isinstance(outcome, Said):
        return outcome
    return Said(outcome if isinstance(outcome, str) else json_text(outcome))


def json_text(value: Any) -> str:
    return json_reply(value).body.decode()


def check_json(body: Any) -> None:
    if not isinstance(body, dict):
        raise Refused(400, "The request body is not valid JSON.")


def matches(call: Call, pattern: str) -> bool:
    return fnmatchcase(f"{call.method} {call.path}", pattern)


def protocol_of(call: Call) -> ModuleType:
    anthropic = call.path.startswith("/v1/messages") or "anthropic-version" in call.headers
    return anthropic_api if anthropic else openai_api


def failed(behaviour: Behaviour, call: Call, protocol: ModuleType) -> Reply:
    if behaviour.raw:
        status, content_type, body = behaviour.raw
        return Reply(status, body, content_type, behaviour.headers)
    if behaviour.status is None:
        return Reply(500, b"")  # never seen: the connection is dropped
    return protocol.failure(behaviour, call)
