"""A dead man's switch, such as healthchecks: it is told when a night begins, ends well or fails, and misses it else."""

from pydantic import SecretStr

from consolidator.notify.http import get, post
from consolidator.notify.outcome import DELIVERED, Outcome
from consolidator.notify.patience import within
from consolidator.report.tame import one_line

_TRIES = 3
_REASON_LENGTH = 200


def ping(url: SecretStr | None, *, seconds: float, now: int, reason: str = "") -> Outcome:
    """
    Ask for an address, up to three times; where there is a reason, it is sent along, as text in a POST.

    No address: nothing is done, which succeeds. The outcome repeats nothing of the address.
    """
    outcome = DELIVERED
    if url is None:
        return outcome
    for _ in range(_TRIES):
        outcome = within(2 * seconds, lambda: _once(url, seconds, now, reason))
        if outcome.delivered or outcome.for_good:
            break
    return outcome


def _once(url: SecretStr, seconds: float, now: int, reason: str) -> Outcome:
    if not reason:
        return get(url, seconds=seconds, now=now)
    body = one_line(reason, _REASON_LENGTH).encode()
    return post(url, body, {"Content-Type": "text/plain; charset=utf-8"}, seconds=seconds, now=now)
