"""Health: how the service is doing, for whoever asks on this machine."""

import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer
from time import monotonic
from typing import Any

from consolidator.errors import BadInput
from consolidator.report.document import dumps

HOST = "127.0.0.1"
HUNG_SECONDS = 300.0


class Health:
    """
    What GET /health answers, 200 where all is well and 503 where not.

    The service shows it what is, each time it comes round; where it no longer does, that is what is wrong.
    """

    def __init__(self, port: int) -> None:
        """BadInput where the port is taken."""
        self.port = port
        self._shown: dict[str, Any] = {}
        self._at = monotonic()
        try:
            self._server = _Server((HOST, port), self)
        except OSError as error:
            raise BadInput(
                f"service.health_port: {HOST}:{port} cannot be used: {error.strerror}; name another port"
            ) from None
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def show(self, document: dict[str, Any]) -> None:
        """From now on, answer this."""
        self._shown, self._at = document, monotonic()

    def answer(self) -> tuple[HTTPStatus, dict[str, Any]]:
        """What is shown, unless that was too long ago."""
        shown, silent = self._shown, monotonic() - self._at
        if silent > HUNG_SECONDS:
            problems = [f"the scheduler has not come round for {silent:.0f} seconds", *shown.get("problems", [])]
            shown = shown | {"status": "failing", "problems": problems}
        return HTTPStatus.OK if shown.get("status") == "ok" else HTTPStatus.SERVICE_UNAVAILABLE, shown

    def close(self) -> None:
        """Answer nobody any more."""
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingTCPServer):
    allow_reuse_address = True  # what a service before us left behind; a port that somebody listens on stays taken
    daemon_threads = True

    def __init__(self, address: tuple[str, int], health: Health) -> None:
        self.health = health
        super().__init__(address, _Handler)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    server_version, sys_version = "consolidate", ""
    timeout = 5

    def do_GET(self) -> None:
        """
        Answer who asks this machine for /health.

        A page in a browser that has its name lead to 127.0.0.1 asks for another host: it is told nothing.
        """
        host = self.headers.get("Host", "").rpartition(":")[0] or self.headers.get("Host", "")
        if host not in (HOST, "localhost"):
            self._answer(HTTPStatus.FORBIDDEN, {"error": f"ask for http://{HOST}:{self.server.health.port}/health"})
        elif self.path != "/health":
            self._answer(HTTPStatus.NOT_FOUND, {"error": "there is /health"})
        else:
            self._answer(*self.server.health.answer())

    def _answer(self, status: HTTPStatus, document: dict[str, Any]) -> None:
        body = (dumps(document) + "\n").encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Nothing: who asks is no event."""
