"""Mail, through a real server on this machine."""

import email
import email.policy
import ssl
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
import trustme
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult, LoginPassword

from consolidator.notify.message import message_of
from consolidator.notify.outcome import DELIVERED, Outcome
from consolidator.notify.parts import parcels_of, parts_of
from consolidator.notify.send import send
from tests.notify.conftest import NOW
from tests.notify.kinds import apprise
from tests.notify.nights import NIGHTS

PASSWORD = "pa55word-PA55WORD"


class Box:
    """Takes mails, or says why not."""

    def __init__(self) -> None:
        self.mails: list[Any] = []
        self.answer = "250 OK"

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Any) -> str:  # noqa: N802
        self.mails.append(email.message_from_bytes(envelope.content, policy=email.policy.default))
        return self.answer


class AnyPort(Controller):
    """On a port that is free."""

    def _trigger_server(self) -> None:
        assert self.server
        self.port = self.server.sockets[0].getsockname()[1]
        super()._trigger_server()


Post = Callable[..., tuple[Box, int]]


@pytest.fixture
def post(authority: trustme.CA) -> Iterator[Post]:
    """Starts a mail server; gives its box and its port."""
    with ExitStack() as stack:

        def start(*, tls: trustme.CA | None = None, login: bool = False) -> tuple[Box, int]:
            box, options = Box(), {}
            if tls:
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                tls.issue_cert("localhost", "127.0.0.1").configure_cert(context)
                options["tls_context"] = context

            def known(_server: Any, _session: Any, _envelope: Any, _mechanism: str, data: Any) -> AuthResult:
                right = isinstance(data, LoginPassword) and data.password == PASSWORD.encode()
                return AuthResult(success=right, handled=right)

            if login:
                options |= {"authenticator": known, "auth_required": True, "auth_require_tls": False}
            controller = AnyPort(box, hostname="127.0.0.1", port=0, **options)
            controller.start()
            stack.callback(controller.stop)
            return box, controller.port

        yield start


def send_to(port: int, name: str, level: str, *, scheme: str = "mailto", user: str = "") -> Outcome:
    channel = apprise(
        f"{scheme}://{user}127.0.0.1:{port}/?from=night@mail.example&to=ada@mail.example", timeout_seconds=5
    )
    message = message_of(NIGHTS[name](), level=level)
    assert message
    (payload,) = parts_of(message, channel)
    (parcel,) = parcels_of(payload, channel, key="key", now=NOW, late=False)
    return send(channel, parcel, emit=print)


def test_a_mail_holds_the_text_as_it_is_under_the_nights_title(post: Post) -> None:
    """Whole, in every script, and the title once."""
    box, port = post()
    assert send_to(port, "wild", "detailed") == DELIVERED
    (mail,) = box.mails
    message = message_of(NIGHTS["wild"](), level="detailed")
    assert message
    assert mail["subject"] == message.title
    assert mail["to"] == "ada@mail.example"
    assert mail.get_content_type() == "text/plain"
    first, *rest = message.text.splitlines()
    assert first.startswith(f"{message.title}, run ")
    assert mail.get_content().rstrip().splitlines() == [f"Run {first.rpartition(' ')[2]}", *rest]


def test_a_mail_that_is_refused_is_a_failure(post: Post) -> None:
    """It is said, and tried again."""
    box, port = post()
    box.answer = "451 mailbox full"
    outcome = send_to(port, "quiet", "summary")
    assert not outcome.delivered
    assert not outcome.for_good
    assert "mailbox full" in outcome.reason


@pytest.mark.filterwarnings("ignore:Requiring AUTH")
def test_a_wrong_password_is_said_and_not_repeated(post: Post) -> None:
    """Neither the password nor how it is sent."""
    _, port = post(login=True)
    outcome = send_to(port, "quiet", "summary", user="ada:wrong-WRONG-word@")
    assert not outcome.delivered
    assert "535" in outcome.reason
    assert "wrong-WRONG-word" not in outcome.reason


@pytest.mark.filterwarnings("ignore:Requiring AUTH")
def test_the_right_password_is_taken(post: Post) -> None:
    """By the same server."""
    box, port = post(login=True)
    assert send_to(port, "quiet", "summary", user=f"ada:{PASSWORD}@") == DELIVERED
    assert len(box.mails) == 1


def test_a_mail_server_with_an_unknown_certificate_is_refused(post: Post) -> None:
    """No mail and no password goes there."""
    box, port = post(tls=trustme.CA())
    outcome = send_to(port, "quiet", "summary", scheme="mailtos", user=f"ada:{PASSWORD}@")
    assert "certificate" in outcome.reason.lower()
    assert not box.mails


def test_a_mail_server_that_is_not_there_is_said() -> None:
    """In words."""
    outcome = send_to(9, "quiet", "summary")
    assert "refused" in outcome.reason.lower()
