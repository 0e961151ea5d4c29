"""A dead man's switch is told what happened, and never where its address could be read."""

import threading
from collections.abc import Callable

from pydantic import SecretStr

from consolidator.notify.outcome import Outcome
from consolidator.notify.ping import ping as _ping
from tests.notify.conftest import NOW
from tests.notify.kinds import SECRET
from tests.notify.servers import Answer, Server


def ping(server: Server, *, reason: str = "", seconds: float = 10) -> Outcome:
    return _ping(SecretStr(f"{server.url}/ping/{SECRET}"), seconds=seconds, now=NOW, reason=reason)


def test_it_asks_for_the_address(server: Callable[..., Server]) -> None:
    """By GET; with a reason by POST, as one line of text that is not too long."""
    here = server()
    assert ping(here).delivered
    assert ping(here, reason="the store\nis\x1b gone " + "x" * 900).delivered
    first, second = here.arrived
    assert (first.method, first.path, first.body) == ("GET", f"/ping/{SECRET}", b"")
    assert (second.method, second.headers["content-type"]) == ("POST", "text/plain; charset=utf-8")
    assert second.body.startswith(b"the store is")
    assert len(second.body) < 220
    assert b"\n" not in second.body


def test_it_is_tried_three_times(server: Callable[..., Server]) -> None:
    """Where that can help: a refusal for good is one."""
    here = server()
    here.told = [Answer(500), Answer(503)]
    assert ping(here).delivered
    assert len(here.arrived) == 3
    here.rule = lambda _: Answer(500)
    assert not ping(here).delivered
    assert len(here.arrived) == 6
    here.rule = lambda _: Answer(404)
    assert not ping(here).delivered
    assert len(here.arrived) == 7


def test_no_address_is_no_failure() -> None:
    """And asks nobody."""
    assert _ping(None, seconds=1, now=NOW).delivered


def test_whoever_does_not_answer_is_not_waited_for(server: Callable[..., Server]) -> None:
    """The reason says how long it was, and nothing of the address."""
    here, hold = server(), threading.Event()
    here.rule = lambda _: Answer(hold=hold)
    outcome = ping(here, seconds=0.05)
    hold.set()
    assert outcome.reason == "no answer within 0.05 s"


def test_a_redirect_is_not_followed(server: Callable[..., Server]) -> None:
    """The address is a secret of the host that it names."""
    here, elsewhere = server(), server()
    here.rule = lambda _: Answer(302, headers={"Location": elsewhere.url})
    outcome = ping(here)
    assert not outcome.delivered
    assert SECRET not in outcome.reason
    assert elsewhere.arrived == []


def test_nobody_there() -> None:
    """Is said without the address."""
    outcome = _ping(SecretStr(f"http://127.0.0.1:1/{SECRET}"), seconds=1, now=NOW)
    assert not outcome.delivered
    assert SECRET not in outcome.reason
