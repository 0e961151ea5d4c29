"""What may go wrong with a call, whatever the model would have said: refused, slow, broken off, or no JSON at all."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from email.utils import format_datetime
from typing import Any, Literal

Break = Literal["before the headers", "after the headers", "half the body"]
LONGEST_WAIT_SECONDS = 20.0

HTML = b"<!DOCTYPE html><html><head><title>502 Bad Gateway</title></head><body><h1>Bad Gateway</h1></body></html>"


@dataclass(frozen=True)
class Behaviour:
    """
    How one call fares.

    status: an error of the provider's own shape; raw: a reply of somebody between (status, content type, body);
    breaks: where the connection is dropped; length_off: by how much the content-length is wrong; done: the work was
    done, and is paid, before it goes wrong; released, at_most_seconds: wait for the event first; then: what comes
    after the wait, another behaviour or an answer.
    """

    name: str
    status: int | None = None
    message: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    raw: tuple[int, str, bytes] | None = None
    breaks: Break | None = None
    length_off: int = 0
    done: bool = False
    released: threading.Event | None = None
    at_most_seconds: float = LONGEST_WAIT_SECONDS
    then: Any = None

    @property
    def fails(self) -> bool:
        return bool(self.status or self.raw or self.breaks or self.length_off)


def rate_limited(
    *, seconds: float | None = None, milliseconds: float | None = None, until: datetime | None = None
) -> Behaviour:
    """
    429, with `retry-after` in seconds or as an HTTP date (UTC), with `retry-after-ms`, or with neither.

    The reply's own date is that of `provider.now`.
    """
    headers = {}
    if seconds is not None:
        headers["retry-after"] = f"{seconds:g}"
    if milliseconds is not None:
        headers["retry-after-ms"] = f"{milliseconds:g}"
    if until is not None:
        headers["retry-after"] = format_datetime(until, usegmt=True)
    return Behaviour("rate limited", 429, "This request would exceed your rate limit.", headers)


def quota_spent() -> Behaviour:
    """The account has no money left: 402 at Anthropic, 429 insufficient_quota at OpenAI."""
    return Behaviour("quota spent", 402, "Your credit balance is too low.")


def server_error(status: int = 500, *, done: bool = False) -> Behaviour:
    """500, 503 or 529 (overloaded). done: only after the work, which is paid."""
    message = "Overloaded" if status == 529 else "Internal server error"
    return Behaviour(f"server error {status}", status, message, done=done)


def overloaded() -> Behaviour:
    return server_error(529)


def key_refused() -> Behaviour:
    return Behaviour("key refused", 401, "invalid x-api-key")


def no_such_model() -> Behaviour:
    return Behaviour("no such model", 404, "model: not found")


def error(status: int, message: str) -> Behaviour:
    """Any other error, in the provider's own shape."""
    return Behaviour(f"error {status}", status, message)


def too_long() -> Behaviour:
    """The prompt does not fit: 400."""
    return error(400, "prompt is too long: the maximum context length is 200000 tokens")


def against_policy() -> Behaviour:
    """The prompt is refused by a filter: 400."""
    return error(400, "The request was rejected by the content filter (safety).")


def told_whether_to_retry(behaviour: Behaviour, retry: bool) -> Behaviour:
    """The same with `x-should-retry`."""
    return replace(behaviour, headers={**behaviour.headers, "x-should-retry": str(retry).lower()})


def html_page(status: int = 502) -> Behaviour:
    """The error page of a proxy; also thinkable with status 200."""
    return Behaviour(f"HTML page {status}", raw=(status, "text/html; charset=utf-8", HTML))


def not_json() -> Behaviour:
    """200 and `application/json`, but the body is none."""
    return Behaviour("not JSON", raw=(200, "application/json", b"upstream said: OK, see attachment"))


def empty_body() -> Behaviour:
    return Behaviour("empty body", raw=(200, "application/json", b""))


def dropped(where: Break = "before the headers", *, done: bool = True) -> Behaviour:
    """The connection dies. done: only after the work, which is paid; a batch is made, though nobody hears of it."""
    return Behaviour(f"dropped {where}", breaks=where, done=done or where != "before the headers")


def half_a_body() -> Behaviour:
    return dropped("half the body")


def wrong_length(off: int) -> Behaviour:
    """The content-length says so many bytes more (or fewer) than there are; then the connection ends."""
    return Behaviour(f"content-length {off:+}", length_off=off, done=True)


def slow(released: threading.Event, *, at_most_seconds: float = LONGEST_WAIT_SECONDS, then: Any = None) -> Behaviour:
    """Nothing is done before the test sets the event. A stop of the server sets it too."""
    return Behaviour("slow", released=released, at_most_seconds=at_most_seconds, then=then)
