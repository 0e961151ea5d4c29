"""The provider behind the server: what it is told and what it replies."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from types import ModuleType
from typing import Any

import numpy as np

from tests.providers import anthropic_api, anthropic_batches, openai_api, openai_batches, vectors
from tests.providers.answers import Answer, Said, concatenate
from tests.providers.batches import Batches
from tests.providers.behaviours import Behaviour
from tests.providers.record import Asked, Record
from tests.providers.script import Script
from tests.providers.sources import prompt_of, sources_of
from tests.providers.wire import NOW, Call, Failing, Refused, Reply, as_json, first_tokens, tokens_of

ROUTES = {
    anthropic_api: anthropic_api.ROUTES + anthropic_batches.ROUTES,
    openai_api: openai_api.ROUTES + openai_batches.ROUTES,
}


class Provider(Script, Record):
    """Both providers at one address. The docstring of tests.providers says how a test uses it."""

    def __init__(self, *, answer: Answer = concatenate) -> None:
        Script.__init__(self)
        Record.__init__(self)
        self.address = ""
        self.key: str | None = "test-key"
        self.answer = answer
        self.now: datetime = NOW
        self.vector_of: Callable[[str, str, int | None], np.ndarray] = vectors.vector_of
        self.batches = Batches(self)

    @property
    def seconds(self) -> int:
        """Now, in seconds."""
        return int(self.now.timestamp())

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

    def handle(self, call: Call) -> tuple[Reply, Behaviour | None]:
        """The reply, and how it is to go wrong on its way."""
        protocol = protocol_of(call)
        behaviour = self.behaviour_for(call)
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
                self.complain(f"{call.method} {call.path}: {refused.message}")
            reply = protocol.refusal(refused, call)
        if behaviour:
            call.behaviour = behaviour.name
        headers = {protocol.REQUEST_ID_HEADER: protocol.request_id(call), **reply.headers}
        return replace(reply, headers=headers), behaviour

    def _work(self, call: Call, protocol: ModuleType) -> Reply:
        protocol.check_headers(call, self.key)
        for method, pattern, work in ROUTES[protocol]:
            if method == call.method and re.fullmatch(pattern, call.path):
                return work(self, call)
        raise Refused(404, f"Not found: {call.method} {call.path}")

    def ask(
        self, call: Call, protocol: str, body: dict[str, Any], limit: int | None, custom_id: str | None = None
    ) -> tuple[Said, Asked]:
        """What the model says, at most `limit` tokens of it. From now on it is paid. Failing where it goes wrong."""
        sources = sources_of(body)
        said = self._said(self.answer, sources, body)
        call.goes_wrong = said.sent_as
        text = said.text or said.refusal or ""
        output_tokens = max(1, tokens_of(text)) + tokens_of(said.thinking)
        if said.stop is None and limit and output_tokens > limit:
            said, output_tokens = replace(said, text=first_tokens(text, limit), stop="cut off"), limit
        prompt = prompt_of(body)
        asked = self.note_question(
            call=call.number,
            protocol=protocol,
            body=body,
            sources=sources,
            prompt=prompt,
            said=text,
            input_tokens=tokens_of(prompt),
            output_tokens=output_tokens,
            custom_id=custom_id,
        )
        return said, asked

    def _said(self, outcome: Any, sources: list[dict[str, Any]], body: dict[str, Any]) -> Said:
        if callable(outcome):
            return self._said(outcome(sources, body), sources, body)
        if isinstance(outcome, Behaviour):
            self.wait(outcome)
            if outcome.fails and not outcome.done:
                raise Failing(outcome)
            said = self._said(outcome.then or concatenate, sources, body)
            return replace(said, sent_as=outcome) if outcome.fails else said
        return said_of(outcome)


def said_of(outcome: Mapping[str, Any] | str | Said) -> Said:
    if isinstance(outcome, Said):
        return outcome
    return Said(outcome if isinstance(outcome, str) else as_json(outcome))


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
