"""One request: no redirect followed, no certificate waved through, no address in a log."""

import logging
from collections.abc import Mapping
from contextlib import suppress

from pydantic import SecretStr

from consolidator.notify.outcome import Outcome, answered, said_in, unreachable, wait_asked

AGENT = "consolidator"
_READ_AT_MOST = 4096


def post(url: SecretStr, body: bytes, headers: Mapping[str, str], *, seconds: float, now: int) -> Outcome:
    """
    Post a body, JSON unless the headers say otherwise.

    A redirect is an answer like any other: what is signed or secret goes to no other host. Proxies and certificates of
    the environment count; a .netrc does not.
    """
    named = {"Content-Type": "application/json; charset=utf-8", **headers}
    return _exchanged("POST", url, body, named, seconds=seconds, now=now)


def get(url: SecretStr, *, seconds: float, now: int) -> Outcome:
    """Ask for an address, by the same rules."""
    return _exchanged("GET", url, None, {}, seconds=seconds, now=now)


def _exchanged(
    method: str, url: SecretStr, body: bytes | None, headers: Mapping[str, str], *, seconds: float, now: int
) -> Outcome:
    import requests

    quiet_libraries()
    try:
        with requests.Session() as session:
            answer = session.request(
                method,
                url.get_secret_value(),
                data=body,
                headers={"User-Agent": AGENT, **headers},
                timeout=seconds,
                allow_redirects=False,
                stream=True,
                auth=lambda request: request,
            )
            said = b""
            with answer, suppress(requests.RequestException, OSError):  # it answered; what it says is an extra
                said = next(answer.iter_content(_READ_AT_MOST), b"")
    except (requests.RequestException, OSError) as error:
        return unreachable(error, seconds=seconds)
    wait = wait_asked(answer.headers.get("Retry-After"), said, now)
    return answered(answer.status_code, wait_seconds=wait, said=said_in(said))


def quiet_libraries() -> None:
    """The libraries below log addresses, and so tokens, where a program asks for their debugging."""
    logging.getLogger("urllib3").setLevel(logging.INFO)
