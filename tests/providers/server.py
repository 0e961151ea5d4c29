"""The server on 127.0.0.1: HTTP/1.1 with connections kept open, a thread for each."""

import json
import re
import socket
import socketserver
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from tests.providers.behaviours import Behaviour
from tests.providers.provider import Provider
from tests.providers.wire import Reply

LOOK_FOR_STOP_SECONDS = 0.02


class Server(socketserver.ThreadingTCPServer):
    """Closing it ends every connection and waits for its threads."""

    allow_reuse_address = True
    request_queue_size = 256
    daemon_threads = False
    block_on_close = True

    def __init__(self, provider: Provider, port: int = 0) -> None:
        self.provider = provider
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        super().__init__(("127.0.0.1", port), Handler)
        provider.address = f"http://127.0.0.1:{self.server_address[1]}"

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def end_connections(self) -> None:
        with self._lock:
            for connection in self._open:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """What the server itself does wrong, or the answer of a test, is a complaint; the connection is closed."""
        self.provider.complain(f"the test server itself failed: {sys.exception()!r}")


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "consolidator-test-provider"
    sys_version = ""
    disable_nagle_algorithm = True
    wbufsize = -1
    server: Server

    def do_GET(self) -> None:
        self._exchange()

    do_POST = do_DELETE = do_GET  # noqa: N815

    def handle(self) -> None:
        with suppress(ConnectionError, ValueError):
            super().handle()

    def finish(self) -> None:
        with suppress(ConnectionError, ValueError):
            super().finish()

    def _exchange(self) -> None:
        provider = self.server.provider
        parts = urlsplit(self.path)
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = body_of(headers, self.rfile.read(int(headers.get("content-length", 0))))
        query = dict(parse_qsl(parts.query))
        call = provider.come_in(self.command, unquote(parts.path), query, headers, body)
        try:
            reply, behaviour = provider.handle(call)
        except Exception:
            provider.go_out(call, None)
            raise
        whole = not (behaviour and (behaviour.breaks or behaviour.length_off))
        # All is written down before the client hears of it, so that what it knows a test can see.
        provider.go_out(call, reply.status if whole else None)
        try:
            self._send(reply, behaviour)
        except ConnectionError:
            call.status = None
            self.close_connection = True

    def _send(self, reply: Reply, behaviour: Behaviour | None) -> None:
        breaks = behaviour.breaks if behaviour else None
        off = behaviour.length_off if behaviour else 0
        if breaks != "before the headers":
            self.send_response(reply.status)
            self.send_header("content-type", reply.content_type)
            self.send_header("content-length", str(max(0, len(reply.body) + off)))
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.end_headers()
        if breaks is None:
            self.wfile.write(reply.body)
        elif breaks == "half the body":
            self.wfile.write(reply.body[: len(reply.body) // 2])
        self.wfile.flush()
        if breaks or off:
            self.close_connection = True

    def date_time_string(self, timestamp: float | None = None) -> str:
        """The `date` of a reply: the provider's, not the machine's."""
        return format_datetime(self.server.provider.now, usegmt=True)

    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002
        """Nothing: the provider remembers its calls."""


def body_of(headers: dict[str, str], raw: bytes) -> Any:
    """Parsed where it is JSON or a form, else as it came."""
    kind = headers.get("content-type", "")
    if kind.startswith("application/json") and raw:
        with suppress(ValueError):
            return json.loads(raw)
    boundary = re.search(r'boundary="?([^";]+)', kind)
    if kind.startswith("multipart/form-data") and boundary:
        return dict(form_fields(raw, boundary[1].encode()))
    return raw


def form_fields(raw: bytes, boundary: bytes) -> Iterator[tuple[str, Any]]:
    """The fields of a form: text, or (file name, bytes)."""
    for part in (b"\r\n" + raw).split(b"\r\n--" + boundary)[1:-1]:
        head, _, content = part.removeprefix(b"\r\n").partition(b"\r\n\r\n")
        given = dict(re.findall(r'(name|filename)="([^"]*)"', head.decode()))
        yield given["name"], (given["filename"], content) if "filename" in given else content.decode()


@contextmanager
def serving(provider: Provider, port: int = 0) -> Iterator[Provider]:
    """The provider reachable at its address; afterwards no thread and no socket is left."""
    with Server(provider, port) as server:
        thread = threading.Thread(target=server.serve_forever, args=(LOOK_FOR_STOP_SECONDS,), name="test provider")
        thread.start()
        try:
            yield provider
        finally:
            provider.stop_waiting()
            server.shutdown()
            server.end_connections()
            thread.join()
