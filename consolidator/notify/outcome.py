"""What became of sending a message, and why, in words that repeat no secret."""

import json
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from http import HTTPStatus

from consolidator.instants import SECOND, from_datetime
from consolidator.unreached import why_unreached

TOO_MANY = 429
_PASSING = {408, 409, 425, TOO_MANY}  # of the 400s: may be otherwise a while later
_LONGEST_WAIT_SECONDS = 7 * 86_400
_SAID_LENGTH = 160


@dataclass(frozen=True, slots=True)
class Outcome:
    """
    delivered: whether the other side took it. reason: why not; whoever keeps or shows it hides secrets first.

    for_good: trying the same again cannot help. wait_seconds: how long the other side asks to be left alone.
    """

    delivered: bool
    reason: str = ""
    for_good: bool = False
    wait_seconds: float = 0.0


DELIVERED = Outcome(delivered=True)


def failed(reason: str, *, for_good: bool = False, wait_seconds: float = 0.0) -> Outcome:
    """A message that was not taken."""
    return Outcome(delivered=False, reason=reason, for_good=for_good, wait_seconds=wait_seconds)


def answered(status: int, *, wait_seconds: float = 0.0, said: str = "") -> Outcome:
    """The outcome of an HTTP answer. said: what the other side gave as a reason."""
    if 200 <= status < 300:
        return DELIVERED
    if 300 <= status < 400:
        return failed(f"answered {status}, a redirect, which is not followed; write the new address in the settings")
    try:
        name = HTTPStatus(status).phrase
    except ValueError:
        name = "no known status"
    reason = f"answered {status} ({name})" + (f": {said.strip()}" if said.strip() else "")
    return failed(reason, for_good=400 <= status < 500 and status not in _PASSING, wait_seconds=wait_seconds)


def wait_asked(header: str | None, body: bytes, now: int) -> float:
    """
    Seconds to wait by a Retry-After header, in seconds or as a date, or by a JSON body's `retry_after`; 0: none.

    Discord and Telegram say it in the body too, Telegram one level down.
    """
    asked = 0.0
    if header is not None:
        with suppress(ValueError, TypeError, OverflowError):
            asked = float(header) if _is_number(header) else _seconds_until(header, now)
    if not asked:
        document = _document(body)
        for part in (document, document.get("parameters")):
            if isinstance(part, dict) and isinstance(part.get("retry_after"), int | float):
                asked = float(part["retry_after"])
    return min(max(asked, 0.0), _LONGEST_WAIT_SECONDS) if asked == asked else 0.0


def said_in(body: bytes) -> str:
    """What an answer gives as a reason: a field of its JSON, else its text where it is short."""
    document = _document(body)
    for name in ("description", "error", "message", "detail", "errcode"):
        value = document.get(name)
        if isinstance(value, str) and value.strip():
            return value
        if isinstance(value, dict) and isinstance(value.get("message"), str):
            return str(value["message"])
    text = body.decode(errors="replace").strip()
    return "" if len(text) > _SAID_LENGTH or text.startswith(("<", "{", "[")) else text


def unreachable(error: BaseException, *, seconds: float) -> Outcome:
    """The outcome where no answer came."""
    return failed(why_unreached(error, seconds=seconds))


def _is_number(text: str) -> bool:
    return text.strip().replace(".", "", 1).isdecimal()


def _seconds_until(date: str, now: int) -> float:
    moment = parsedate_to_datetime(date)
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    return (from_datetime(moment) - now) / SECOND


def _document(body: bytes) -> dict[str, object]:
    with suppress(ValueError, RecursionError):
        document = json.loads(body)
        if isinstance(document, dict):
            return document
    return {}
