"""What goes over the wire, whoever's protocol it is: calls, replies, refusals, tokens."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tests.providers.behaviours import Behaviour

NOW = datetime(2026, 9, 21, 2, tzinfo=UTC)  # what a provider takes for now, until the test says
DAY_SECONDS = 86_400


@dataclass
class Call:
    """
    One request as it came in, in the order of their numbers, and how it fared.

    headers: names in small letters; body: parsed JSON, the fields of a form, or bytes; status: None where no whole
    reply was sent; behaviour, goes_wrong: what went wrong on purpose.
    """

    number: int
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any
    status: int | None = None
    behaviour: str = ""
    goes_wrong: Behaviour | None = None


@dataclass(frozen=True)
class Reply:
    status: int
    body: bytes
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)


class Refused(Exception):
    """The request is not acceptable: answered in the provider's own shape. complaint: a client should never send it."""

    def __init__(self, status: int, message: str, *, code: str | None = None, complaint: bool = True) -> None:
        super().__init__(message)
        self.status, self.message, self.code, self.complaint = status, message, code, complaint

    @property
    def reason(self) -> tuple[int, str]:
        return self.status, self.message


class Failing(Exception):
    """The answer for this call is that it goes wrong."""

    def __init__(self, behaviour: Behaviour) -> None:
        super().__init__(behaviour.name)
        self.behaviour = behaviour

    @property
    def reason(self) -> tuple[int, str]:
        return self.behaviour.status or 500, self.behaviour.message or "Internal server error"


def json_reply(value: Any, status: int = 200, **headers: str) -> Reply:
    return Reply(status, as_json(value).encode("utf-8", "replace"), headers=headers)


def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def json_lines(values: list[Any]) -> bytes:
    return b"".join(as_json(value).encode("utf-8", "replace") + b"\n" for value in values)


def tokens_of(text: str) -> int:
    """Four bytes a token, rounded up."""
    return -(-len(text.encode("utf-8", "replace")) // 4)


def first_tokens(text: str, tokens: int) -> str:
    return text.encode()[: tokens * 4].decode("utf-8", "ignore")
