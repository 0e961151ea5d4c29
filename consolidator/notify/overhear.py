"""
What is said on the wire and in the log while Apprise sends, which itself answers only yes or no.

Requests made in such a stretch follow no redirect, and after an answer "too many requests" there are no further ones.
Whatever else in this process sends requests or logs is left alone.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from consolidator.notify.http import quiet_libraries
from consolidator.notify.outcome import TOO_MANY, Outcome, answered, failed, said_in, unreachable, wait_asked

_SHOWN_OF_A_BODY = 4096
_DETAILS = ("Socket Exception: ", "I/O Exception: ")


@dataclass
class Overheard:
    """Answers in their order (status, Retry-After, body), errors of the network, and what the log warns of."""

    answers: list[tuple[int, str | None, bytes]] = field(default_factory=list)
    errors: list[Exception] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    details: list[str] = field(default_factory=list)

    def outcome(self, *, seconds: float, now: int) -> Outcome:
        """Why sending failed, as far as can be known: the worst answer, else the error, else the log's words."""
        for status, header, body in reversed(self.answers):
            if status >= 300:
                return answered(status, wait_seconds=wait_asked(header, body, now), said=said_in(body))
        if self.errors:
            return unreachable(self.errors[-1], seconds=seconds)
        said = said_in(self.answers[-1][2]) if self.answers else ""
        reasons = [said, *self.details[-1:], *self.warnings[-1:]]
        return failed(next(filter(None, reasons), "not taken, and no reason was given"))


_listener: ContextVar[Overheard | None] = ContextVar("_listener", default=None)


@contextmanager
def overhearing() -> Iterator[Overheard]:
    """Listen in this thread until the end of the block."""
    _listen_to_requests()
    listen_to_log()
    heard = Overheard()
    token = _listener.set(heard)
    try:
        yield heard
    finally:
        _listener.reset(token)


@cache
def _listen_to_requests() -> None:
    import requests

    original = requests.Session.send

    def send(self: requests.Session, request: requests.PreparedRequest, **options: Any) -> requests.Response:
        heard = _listener.get()
        if heard is None:
            return original(self, request, **options)
        if any(status == TOO_MANY for status, *_ in heard.answers):
            raise requests.ConnectionError("asked to wait")
        options["allow_redirects"] = False
        try:
            answer = original(self, request, **options)
        except (requests.RequestException, OSError) as error:
            heard.errors.append(error)
            raise
        header = answer.headers.get("Retry-After")
        heard.answers.append((answer.status_code, header, answer.content[:_SHOWN_OF_A_BODY]))
        return answer

    requests.Session.send = send  # type: ignore[method-assign]


@cache
def listen_to_log() -> None:
    """From now on Apprise's log stays here: it names addresses and holds whole messages."""
    quiet_libraries()
    logger = logging.getLogger("apprise")
    logger.propagate = False
    logger.setLevel(logging.DEBUG)
    logger.addHandler(_Ear())


class _Ear(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        heard = _listener.get()
        if heard is None:
            return
        text = record.getMessage()
        if record.levelno >= logging.WARNING:
            heard.warnings.append(text)
        else:
            heard.details += [text.removeprefix(start) for start in _DETAILS if text.startswith(start)]
