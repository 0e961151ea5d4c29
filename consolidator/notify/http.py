"""One POST: no redirect followed, no certificate waved through, no address in a log."""

import logging
from collections.abc import Mapping
from contextlib import suppress

from pydantic import SecretStr

from consolidator.notify.outcome import Outcome, answered, said_in, unreachable, wait_asked

AGENT = "consolidator"
_READ_AT_MOST = 4096


def post(url: SecretStr, body: bytes, headers: Mapping[str, str], *, seconds: float, now: int) -> Outcome:
    """
    Post a JSON body. A redirect is an answer like any other: what is signed or secret goes to no other host.

    Proxies and certificates of the environment count; a .netrc does not.
    """
    import requests

    quiet_libraries()
    try:
        with requests.Session() as session:
            answer = session.post(
                url.get_secret_value(),
                data=body,
                headers={"Content-Type": "application/json; charset=utf-8", "User-Agent": AGENT, **headers},
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
