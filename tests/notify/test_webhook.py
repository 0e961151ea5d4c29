"""A webhook's receiver can know whom a message is from, that it is fresh, and whether it had it before."""

import base64
import hashlib
import hmac
import threading
from collections.abc import Callable

import pytest

from consolidator.instants import SECOND
from consolidator.notify.message import message_of
from consolidator.notify.outcome import DELIVERED, Outcome
from consolidator.notify.parts import parcels_of, parts_of
from consolidator.notify.send import send
from consolidator.report import as_json, from_json
from tests.notify.conftest import NOW
from tests.notify.kinds import SECRET, webhook
from tests.notify.nights import NIGHTS, huge
from tests.notify.servers import Answer, Server

KEY = b"a key of thirty-two bytes length"
WHSEC = "whsec_" + base64.b64encode(KEY).decode()


def send_to(url: str, *, name: str = "wild", level: str = "detailed", now: int = NOW, **options: object) -> Outcome:
    channel = webhook(url, **options)
    message = message_of({**NIGHTS, "huge": huge}[name](), level=level)
    assert message
    (payload,) = parts_of(message, channel)
    (parcel,) = parcels_of(payload, channel, key="run-7:hook:1", now=now, late=False)
    return send(channel, parcel, emit=print)


@pytest.mark.parametrize(("secret", "key"), [(WHSEC, KEY), ("plain words", b"plain words"), ("whsec_?", b"whsec_?")])
def test_a_receiver_can_check_the_signature(secret: str, key: bytes, server: Callable[..., Server]) -> None:
    """HMAC-SHA256 over id, timestamp and the very bytes of the body."""
    here = server()
    assert send_to(here.url + "/in?x=1", secret=secret) == DELIVERED
    (request,) = here.arrived
    assert (request.method, request.path) == ("POST", "/in?x=1")
    name, stamp = request.headers["webhook-id"], request.headers["webhook-timestamp"]
    assert name == request.headers["idempotency-key"] == "run-7:hook:1"
    assert stamp == str(NOW // SECOND)
    signed = f"{name}.{stamp}.".encode() + request.body
    expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    assert request.headers["webhook-signature"] == f"v1,{expected}"
    assert request.headers["content-type"] == "application/json; charset=utf-8"


def test_each_try_has_a_timestamp_of_its_own_and_the_same_id(server: Callable[..., Server]) -> None:
    """Fresh, and known again."""
    here = server()
    for now in (NOW, NOW + 3600 * SECOND):
        send_to(here.url, secret="s", now=now)
    first, second = here.arrived
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    assert first.headers["webhook-timestamp"] != second.headers["webhook-timestamp"]
    assert first.headers["webhook-signature"] != second.headers["webhook-signature"]
    assert first.body == second.body


def test_without_a_secret_nothing_is_signed(server: Callable[..., Server]) -> None:
    """And nothing pretends to be."""
    here = server()
    send_to(here.url)
    assert "webhook-signature" not in here.arrived[0].headers


def test_the_document_holds_the_report_as_the_level_allows(server: Callable[..., Server]) -> None:
    """Whole at `detailed`, in one piece however long; without memory text below."""
    here = server()
    send_to(here.url, name="huge")
    send_to(here.url, name="wild", level="summary")
    whole, brief = (request.json for request in here.arrived)
    assert from_json(whole["report"]) == from_json(as_json(huge()))
    assert (whole["type"], whole["run_id"], whole["level"]) == ("night", huge().run_id, "detailed")
    assert whole["text"].count("\n") > 100
    assert "Not bold" in str(whole)
    assert "Not bold" not in str(brief)
    assert set(brief) == {"id", "type", "run_id", "level", "title", "text", "markdown", "report"}


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_takes_neither_signature_nor_body_elsewhere(
    status: int, server: Callable[..., Server], internet: Callable[..., Server]
) -> None:
    """It is a failure that is said."""
    evil = internet("evil.example", lambda _: Answer())
    here = server(lambda _: Answer(status, b"", {"Location": "https://evil.example/steal"}))
    outcome = send_to(here.url, secret=SECRET)
    assert outcome.reason.startswith(f"answered {status}, a redirect, which is not followed")
    assert (outcome.delivered, outcome.for_good) == (False, False)
    assert (len(here.arrived), len(evil.arrived)) == (1, 0)


def test_an_unknown_certificate_is_refused_before_anything_is_said(internet: Callable[..., Server]) -> None:
    """A known one is not."""
    bad = internet("bad.example", lambda _: Answer(), trusted=False)
    good = internet("good.example", lambda _: Answer())
    outcome = send_to("https://bad.example/in", secret=SECRET)
    assert "its certificate is not trusted" in outcome.reason
    assert not bad.arrived
    assert send_to("https://good.example/in") == DELIVERED
    assert len(good.arrived) == 1


def test_a_certificate_of_another_name_is_refused(internet: Callable[..., Server]) -> None:
    """Trusted, but not for this host."""
    server = internet("right.example", lambda _: Answer())
    outcome = send_to(f"https://127.0.0.1:{server.port}/in")
    assert "its certificate is not trusted" in outcome.reason


def test_a_receiver_that_takes_too_long_is_left(server: Callable[..., Server]) -> None:
    """After the time that is set."""
    hold = threading.Event()
    here = server(lambda _: Answer(hold=hold))
    try:
        assert send_to(here.url, timeout_seconds=0.2).reason == "no answer within 0.2 s"
    finally:
        hold.set()


@pytest.mark.parametrize(
    ("answer", "for_good", "seconds"),
    [
        (Answer(429, b"", {"Retry-After": "60"}), False, 60.0),
        (Answer(503, b"", {"Retry-After": "7"}), False, 7.0),
        (Answer(500), False, 0.0),
        (Answer(408), False, 0.0),
        (Answer(410, b"gone"), True, 0.0),
        (Answer(401), True, 0.0),
    ],
)
def test_trouble_that_passes_is_told_from_a_refusal(
    answer: Answer, for_good: bool, seconds: float, server: Callable[..., Server]
) -> None:
    """And how long to wait is kept."""
    outcome = send_to(server(lambda _: answer).url)
    assert (outcome.delivered, outcome.for_good, outcome.wait_seconds) == (False, for_good, seconds)


def test_what_a_receiver_repeats_is_told_without_secrets(server: Callable[..., Server]) -> None:
    """Neither the key nor what stands in the address."""
    here = server(lambda _: Answer(400, f"no: {SECRET} and hunter2hunter2".encode()))
    outcome = send_to(f"{here.url}/hunter2hunter2", secret=SECRET)
    assert outcome.reason == "answered 400 (Bad Request): no: *** and ***"
