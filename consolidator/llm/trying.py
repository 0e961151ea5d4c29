"""Calling a provider: tried again where that can help, never for longer than a limit, and failed in words."""

import random
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from itertools import count
from typing import NamedTuple, TypeVar

from consolidator.llm.port import Kind

LONGEST_SECONDS = 300.0
FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 8.0

# What error messages say, as far as the status alone does not tell.
_ACCOUNT = re.compile(r"credit|billing|quota|spend.limit|payment", re.IGNORECASE)
_TOO_LONG = re.compile(
    r"context.?(?:length|window|size)|too (?:long|large|many tokens)|maximum.{0,40}(?:length|tokens)", re.IGNORECASE
)
_RULES = re.compile(r"content.?(?:filter|policy|management)|safety|invalid_prompt", re.IGNORECASE)
_MANNER = re.compile(
    r"response_format|output_(?:config|format)|schema|grammar|structured|max_completion_tokens", re.IGNORECASE
)

T = TypeVar("T")


@dataclass(frozen=True)
class Patience:
    """
    How long to try: so many times more, and none that would begin later than `longest_seconds` after the first.

    wait: sleeps so many seconds; true where there is to be no further try. clock: seconds, only ever growing.
    """

    retries: int
    wait: Callable[[float], object]
    longest_seconds: float = LONGEST_SECONDS
    clock: Callable[[], float] = time.monotonic


class Trouble(NamedTuple):
    """
    What an exception of an SDK means. what: for people. said: the provider's message.

    again: another try may help, after so many seconds where the provider says so. begun: work may have been done.
    manner: it is about the way of asking for an answer, not about the question.
    """

    kind: Kind
    what: str
    status: int = 0
    said: str = ""
    again: bool = False
    after: float | None = None
    begun: bool = True
    manner: bool = False


class Stuck(Exception):
    """A call that did not succeed, however often it was tried: what the last try met."""

    def __init__(self, trouble: Trouble) -> None:
        super().__init__(trouble.what)
        self.trouble = trouble


def tried(
    call: Callable[[], T],
    errors: tuple[type[Exception], ...],
    trouble_of: Callable[[Exception], Trouble],
    patience: Patience,
    *,
    repeatable: bool = True,
) -> T:
    """
    What a call gives; Stuck where it goes on failing.

    repeatable false: tried again only where the provider surely did nothing.
    """
    began = patience.clock()
    for attempt in count():
        try:
            return call()
        except errors as error:
            trouble = trouble_of(error)
        pause = _pause(attempt) if trouble.after is None else trouble.after
        again = trouble.again and (repeatable or not trouble.begun) and attempt < patience.retries
        if not again or patience.clock() - began + pause > patience.longest_seconds or patience.wait(pause):
            raise Stuck(trouble) from None
    raise AssertionError("unreachable")


def _pause(attempt: int) -> float:
    """Twice as long each time, up to a limit; up to a quarter less, so that many do not come back at once."""
    longest = min(FIRST_PAUSE_SECONDS * 2.0 ** min(attempt, 10), LONGEST_PAUSE_SECONDS)
    return longest * (1 - random.random() / 4)


def trouble_of_status(
    who: str, status: int, headers: Mapping[str, str], said: str, words: str, *, worked: bool
) -> Trouble:
    """
    What an error status means. who: the model, for people. said: the provider's message, words: with all its codes.

    worked: whether the model has answered before, so that a request that it does not take is the question's fault.
    """
    kind, again, manner = _meaning(status, words, worked)
    if headers.get("x-should-retry") in ("true", "false"):
        again = kind == "unavailable" and headers["x-should-retry"] == "true"
    what = {429: " (too many requests)", 529: " (overloaded)"}.get(status, "") if again else ""
    return Trouble(
        kind=kind,
        what=f"{who} answered {status}{what}",
        status=status,
        said=said,
        again=again,
        after=seconds_to_wait(headers),
        begun=status not in (408, 429, 503, 529),
        manner=manner,
    )


def _meaning(status: int, words: str, worked: bool) -> tuple[Kind, bool, bool]:
    """The kind of failure, whether another try may help, and whether it is about the manner of asking."""
    if status == 402 or (status in (400, 403, 429) and _ACCOUNT.search(words)):
        return "misconfigured", False, False
    if status in (408, 409, 429) or status >= 500:
        return "unavailable", True, False
    if status == 413 or (status in (400, 422) and _TOO_LONG.search(words)):
        return "unusable", False, False
    if status in (400, 403, 422) and _RULES.search(words):
        return "refused", False, False
    if status in (400, 422) and _MANNER.search(words):
        return "misconfigured", False, True
    return "unusable" if status in (400, 422) and worked else "misconfigured", False, False


def seconds_to_wait(headers: Mapping[str, str]) -> float | None:
    """What `retry-after` asks for: milliseconds, seconds, or a date, which is held against the answer's own date."""
    for header, divisor in (("retry-after-ms", 1000), ("retry-after", 1)):
        try:
            seconds = float(headers.get(header, "")) / divisor
        except ValueError:
            continue
        return seconds if seconds >= 0 else None
    try:
        until, said_at = (parsedate_to_datetime(headers.get(name, "")) for name in ("retry-after", "date"))
        return max(0.0, (until - said_at).total_seconds())
    except (TypeError, ValueError):
        return None
