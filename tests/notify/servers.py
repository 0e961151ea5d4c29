"""Servers that record what arrives and answer as they are told: over TLS under the services' own names, or plainly."""

import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from xml.etree import ElementTree


@dataclass(frozen=True)
class Request:
    """What arrived. headers: by lower-case name."""

    method: str
    host: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Answer:
    """What is answered. hold: waits for this before answering; the test sets it at its end."""

    status: int = 200
    body: bytes = b"{}"
    headers: dict[str, str] = field(default_factory=dict)
    hold: threading.Event | None = None


Rule = Callable[[Request], Answer]


@dataclass
class Server:
    """A server under way. `told`: answers to give first, in order; then the rule's."""

    port: int
    rule: Rule
    arrived: list[Request] = field(default_factory=list)
    told: list[Answer] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def answer(self, request: Request) -> Answer:
        self.arrived.append(request)
        return self.told.pop(0) if self.told else self.rule(request)


@contextmanager
def serving(rule: Rule = lambda _: Answer(), *, tls: ssl.SSLContext | None = None) -> Iterator[Server]:
    """A server on this machine until the end of the block."""
    server: Server

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            request = Request(self.command, headers.get("host", ""), self.path, headers, body)
            answer = server.answer(request)
            if answer.hold:
                answer.hold.wait(30)
            try:
                self.send_response(answer.status)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(answer.body)))
                self.end_headers()
                self.wfile.write(answer.body)
            except OSError:
                self.close_connection = True  # it did not wait

        do_GET = do_POST = do_PUT = _serve  # noqa: N815

        def log_message(self, *_: Any) -> None:
            pass

    class Quiet(ThreadingHTTPServer):
        daemon_threads = True

        def get_request(self) -> Any:
            connection, address = super().get_request()
            return (tls.wrap_socket(connection, server_side=True) if tls else connection), address

        def handle_error(self, *_: Any) -> None:
            pass  # a client that does not trust the certificate hangs up

    http = Quiet(("127.0.0.1", 0), Handler)
    server = Server(http.server_address[1], rule)
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        http.shutdown()
        http.server_close()
        thread.join(5)


def slack(request: Request) -> Answer:
    """As an incoming webhook: blocks of at most 3,000 characters, entities and nothing else between < and >."""
    block = request.json["attachments"][0]["blocks"][0]
    if block["type"] != "section" or block["text"]["type"] not in ("mrkdwn", "plain_text"):
        return Answer(400, b"invalid_blocks")
    if not 0 < len(block["text"]["text"]) <= 3_000 or "<" in block["text"]["text"]:
        return Answer(400, b"invalid_blocks")
    return Answer(200, b"ok")


def discord(request: Request) -> Answer:
    """As a webhook: at most 2,000 characters, 204 without a body."""
    if not 0 < len(request.json["content"]) <= 2_000:
        return Answer(400, b'{"message": "Invalid Form Body", "code": 50035}')
    return Answer(204, b"")


def telegram(request: Request) -> Answer:
    """As the Bot API: at most 4,096 UTF-16 units of text, and tags that are closed."""
    document = request.json
    try:
        root = ElementTree.fromstring(f"<m>{document['text']}</m>")
        known = {each.tag for each in root.iter()} <= {"m", "b", "code"}
    except ElementTree.ParseError:
        known = False
    if document.get("parse_mode") != "HTML" or not known:
        return Answer(400, b'{"ok":false,"error_code":400,"description":"Bad Request: can\'t parse entities"}')
    if len("".join(root.itertext()).encode("utf-16-le")) > 2 * 4_096:
        return Answer(400, b'{"ok":false,"error_code":400,"description":"Bad Request: message is too long"}')
    return Answer(200, b'{"ok":true,"result":{}}')


def ntfy(request: Request) -> Answer:
    """As a server: JSON with a topic, at most 4,096 bytes of message."""
    if len(request.json["message"].encode()) > 4_096:
        return Answer(413, b'{"code":41301,"http":413,"error":"payload too large"}')
    return Answer(200, b'{"id":"x","event":"message"}')


def matrix(request: Request) -> Answer:
    """As a homeserver that knows one room."""
    if "/login" in request.path:
        return Answer(200, b'{"access_token":"mx","user_id":"@u:home","home_server":"home"}')
    if "/join" in request.path:
        return Answer(200, b'{"room_id":"!r:home"}')
    if "/send/" in request.path:
        return Answer(200, b'{"event_id":"$e"}')
    return Answer(200, b"{}")
