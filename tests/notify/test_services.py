"""Each service's own server, as real as its rules, takes what is sent, and what it says is understood."""

import io
import logging
import re
import threading
import time
from collections.abc import Callable, Iterator
from urllib.parse import parse_qs

import pytest

from consolidator.errors import BadInput
from consolidator.instants import SECOND, format_instant, to_datetime
from consolidator.notify.channels import Channel
from consolidator.notify.message import Message, message_of
from consolidator.notify.outcome import Outcome
from consolidator.notify.parts import parcels_of, parts_of
from consolidator.notify.send import send
from tests.notify import servers
from tests.notify.conftest import NOW
from tests.notify.kinds import APPRISE, HOOK, SECRET, apprise
from tests.notify.nights import NIGHTS
from tests.notify.servers import Answer, Server


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """What a program's log gets that asks every library for all it can say."""
    written = io.StringIO()
    root, handler = logging.getLogger(), logging.StreamHandler(written)
    level = root.level
    root.addHandler(handler)
    root.setLevel(0)
    yield written
    root.setLevel(level)
    root.removeHandler(handler)


def message(name: str = "wild", level: str = "detailed") -> Message:
    found = message_of(NIGHTS[name](), level=level)
    assert found
    return found


def send_all(channel: Channel, told: Message) -> list[Outcome]:
    """Every part, one after the other."""
    return [
        send(channel, parcel, emit=print)
        for payload in parts_of(told, channel)
        for parcel in parcels_of(payload, channel, key="key", now=NOW, late=False)
    ]


def texts_of(channel: Channel, told: Message) -> list[str]:
    return [
        parcel.text
        for payload in parts_of(told, channel)
        for parcel in parcels_of(payload, channel, key="key", now=NOW, late=False)
    ]


NAMED: dict[str, tuple[str, servers.Rule, Callable[[servers.Request], str]]] = {
    "slack": ("hooks.slack.com", servers.slack, lambda r: r.json["attachments"][0]["blocks"][0]["text"]["text"]),
    "discord": ("discord.com", servers.discord, lambda r: r.json["content"]),
    "telegram": ("api.telegram.org", servers.telegram, lambda r: r.json["text"]),
    "teams": (
        "prod.example",
        lambda _: Answer(202, b""),
        lambda r: r.json["attachments"][0]["content"]["body"][-1]["text"],
    ),
    "guilded": ("media.guilded.gg", servers.discord, lambda r: r.json["content"]),
    "google chat": ("chat.googleapis.com", lambda _: Answer(), lambda r: r.json["text"]),
    "webex": ("api.ciscospark.com", lambda _: Answer(), lambda r: r.json["markdown"]),
    "zulip": (
        "ours.zulipchat.com",
        lambda _: Answer(200, b'{"result":"success"}'),
        lambda r: parse_qs(r.body.decode())["content"][0],
    ),
    "rocket.chat": ("rocket.example", lambda _: Answer(200, b'{"success":true}'), lambda r: r.json["text"]),
}
ADDRESSES = APPRISE | {
    "guilded": f"guilded://4174216298/{SECRET}",
    "google chat": f"gchat://workspace/{SECRET}/{SECRET}",
    "webex": f"webex://{(SECRET * 4)[:80]}",
    "zulip": f"zulip://bot@ours/{'s3cr3ttokenS3CR3TTOK' * 2:.32}/night",
    "rocket.chat": f"rockets://{SECRET}/{SECRET}@rocket.example/#night?mode=webhook",
}


@pytest.mark.parametrize("service", NAMED)
def test_a_named_service_gets_exactly_what_was_written_for_it(service: str, internet: Callable[..., Server]) -> None:
    """Over TLS, under its own name: every part, untouched by what lies between, with no address of a picture."""
    name, rule, text_of = NAMED[service]
    server = internet(name, rule)
    channel, told = apprise(ADDRESSES[service]), message()
    assert all(outcome.delivered for outcome in send_all(channel, told))
    assert [text_of(request) for request in server.arrived] == texts_of(channel, told)
    for request in server.arrived:
        assert SECRET[:20] in request.path or "authorization" in request.headers
        assert b"apprise" not in request.body.lower()
        assert request.headers["user-agent"] == "consolidator"


def local(service: str, port: int) -> str:
    """The URL of a service that may be anywhere."""
    return {
        "mattermost": f"mmost://127.0.0.1:{port}/{SECRET}",
        "ntfy": f"ntfy://ada:{SECRET}@127.0.0.1:{port}/night",
        "matrix": f"matrix://ada:{SECRET}@127.0.0.1:{port}/#room",
        "json": f"json://127.0.0.1:{port}/in",
        "gotify": f"gotify://127.0.0.1:{port}/{SECRET}",
    }[service]


@pytest.mark.parametrize(
    ("service", "rule", "text_of"),
    [
        ("mattermost", lambda _: Answer(200, b"ok"), lambda r: r.json["text"]),
        ("ntfy", servers.ntfy, lambda r: r.json["message"]),
        ("matrix", servers.matrix, lambda r: r.json["formatted_body"]),
        ("json", lambda _: Answer(), lambda r: r.json["message"]),
        ("gotify", lambda _: Answer(), lambda r: r.json["message"]),
    ],
)
def test_a_service_on_this_machine_gets_exactly_what_was_written_for_it(
    service: str, rule: servers.Rule, text_of: Callable[[servers.Request], str], server: Callable[..., Server]
) -> None:
    """Every part, untouched by what lies between."""
    here = server(rule)
    channel, told = apprise(local(service, here.port)), message()
    assert all(outcome.delivered for outcome in send_all(channel, told))
    got = [request for request in here.arrived if service != "matrix" or "/send/" in request.path]
    assert [text_of(request) for request in got] == texts_of(channel, told)
    if service in ("ntfy", "json", "gotify"):
        assert got[0].json["title"] == told.title
    if service == "matrix":
        assert "**Not bold**" in got[0].json["body"]


@pytest.mark.parametrize("service", ["slack", "discord", "telegram"])
def test_too_many_requests_are_not_followed_by_another(service: str, internet: Callable[..., Server]) -> None:
    """Not even where Apprise would try once more; how long to wait is read where the service says it."""
    name, rule, _ = NAMED[service]
    server = internet(name, rule)
    server.told += {
        "slack": [Answer(429, b"rate_limited", {"Retry-After": "30"})],
        "discord": [Answer(429, b'{"message":"You are being rate limited.","retry_after":30.0,"global":false}')],
        "telegram": [Answer(429, b'{"ok":false,"error_code":429,"parameters":{"retry_after":30}}')],
    }[service]
    (outcome,) = send_all(apprise(APPRISE[service]), message("quiet", "summary"))
    assert (outcome.delivered, outcome.for_good, outcome.wait_seconds) == (False, False, 30.0)
    assert outcome.reason.startswith("answered 429 (Too Many Requests)")
    assert len(server.arrived) == 1


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("120", 120.0),
        ("0.5", 0.5),
        (to_datetime(NOW + 90 * SECOND).strftime("%a, %d %b %Y %H:%M:%S GMT"), 90.0),
        (to_datetime(NOW - 90 * SECOND).strftime("%a, %d %b %Y %H:%M:%S GMT"), 0.0),
        ("soon", 0.0),
        ("-5", 0.0),
        ("99999999999", 7 * 86_400.0),
        ("nan", 0.0),
    ],
)
def test_how_long_to_wait_is_read_in_seconds_or_as_a_date(
    header: str, seconds: float, server: Callable[..., Server]
) -> None:
    """By the given clock; never into the past, never for more than a week."""
    here = server(lambda _: Answer(503, b"", {"Retry-After": header}))
    (outcome,) = send_all(apprise(local("ntfy", here.port)), message("quiet", "summary"))
    assert outcome.wait_seconds == seconds, format_instant(NOW)


@pytest.mark.parametrize(
    ("answer", "reason", "for_good"),
    [
        (Answer(500, b"<html>oh</html>"), "answered 500 (Internal Server Error)", False),
        (Answer(404, b"no_service"), "answered 404 (Not Found): no_service", True),
        (Answer(403, b'{"error": "invalid_token"}'), "answered 403 (Forbidden): invalid_token", True),
        (Answer(200, b'{"ok": false, "error": "channel_not_found"}'), "channel_not_found", False),
        (Answer(302, b"", {"Location": "https://evil.example/"}), "answered 302, a redirect, which is not", False),
        (Answer(400, f"bad {SECRET[:24]} \x1b[31m".encode()), "answered 400 (Bad Request): bad *** ␛[31m", True),
    ],
)
def test_what_a_service_says_is_told_without_its_secrets(
    answer: Answer, reason: str, for_good: bool, internet: Callable[..., Server]
) -> None:
    """A refusal for good is told from trouble that passes."""
    server = internet("hooks.slack.com", lambda _: answer)
    evil = internet("evil.example", lambda _: Answer())
    (outcome,) = send_all(apprise(f"slack://{HOOK}"), message("quiet", "summary"))
    assert not outcome.delivered
    assert outcome.reason.startswith(reason)
    assert outcome.for_good is for_good
    assert SECRET[:20] not in outcome.reason
    assert (len(server.arrived), len(evil.arrived)) == (1, 0)


def test_an_unknown_certificate_is_refused_and_said(internet: Callable[..., Server]) -> None:
    """Nothing is sent to it."""
    server = internet("discord.com", servers.discord, trusted=False)
    (outcome,) = send_all(apprise(APPRISE["discord"]), message("quiet", "summary"))
    assert re.fullmatch(r"refused: its certificate is not trusted \(.*certificate.*\)", outcome.reason)
    assert not outcome.for_good
    assert not server.arrived


def test_a_service_that_does_not_answer_is_waited_for_no_longer_than_set(server: Callable[..., Server]) -> None:
    """And what is said names no address."""
    hold = threading.Event()
    here = server(lambda _: Answer(hold=hold))
    try:
        channel = apprise(local("ntfy", here.port), timeout_seconds=0.2)
        (outcome,) = send_all(channel, message("quiet", "summary"))
    finally:
        hold.set()
    assert outcome == Outcome(delivered=False, reason="no answer within 0.2 s")


def test_a_service_that_is_not_there_is_said(server: Callable[..., Server]) -> None:
    """With what to look at."""
    (outcome,) = send_all(apprise("ntfy://ada:pass@127.0.0.1:9/night"), message("quiet", "summary"))
    assert outcome.reason == "nobody answers there; check that it runs, and its port"


@pytest.mark.parametrize(
    "url", ["nonsense://SECRETSECRET", "tgram://SECRETSECRET", "SECRETSECRET", "https://x.example/SECRETSECRET"]
)
def test_an_address_that_means_nothing_is_refused_without_a_word_of_it(
    url: str, capfd: pytest.CaptureFixture[str], log: io.StringIO
) -> None:
    """Neither in the reason, nor on standard error, nor in a log."""
    with pytest.raises(BadInput) as refused:
        send_all(apprise(url), message("quiet", "summary"))
    printed = capfd.readouterr()
    assert "SECRETSECRET" not in str(refused.value) + printed.out + printed.err + log.getvalue()


def test_no_secret_reaches_a_log(
    internet: Callable[..., Server], log: io.StringIO, capfd: pytest.CaptureFixture[str]
) -> None:
    """Even where a program asks every library for all it can say."""
    server = internet("hooks.slack.com", lambda _: Answer(500))
    send_all(apprise(f"slack://{HOOK}"), message("quiet", "summary"))
    assert server.arrived
    printed = capfd.readouterr()
    assert SECRET[:20] not in log.getvalue() + printed.out + printed.err
    assert "A quiet night" not in log.getvalue()


def test_nothing_is_slept(internet: Callable[..., Server], monkeypatch: pytest.MonkeyPatch) -> None:
    """Apprise's own waiting between messages is the outbox's work."""

    def never(seconds: float) -> None:
        raise AssertionError(f"slept {seconds} s")

    monkeypatch.setattr(time, "sleep", never)
    server = internet("discord.com", servers.discord)
    server.told.append(Answer(429, b"", {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "4102444800"}))
    channel = apprise(APPRISE["discord"])
    assert [outcome.delivered for outcome in send_all(channel, message("quiet", "summary"))] == [False]
    assert all(outcome.delivered for outcome in send_all(channel, message()))
