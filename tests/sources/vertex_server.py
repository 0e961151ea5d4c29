"""
Vertex AI Memory Bank's wire protocol (v1beta1, REST) on 127.0.0.1, for the SDK of `google-cloud-aiplatform` 2.7.

    with serving(VertexServer()) as server:
        client = agentplatform.Client(
            project=PROJECT, location=LOCATION, credentials=google.oauth2.credentials.Credentials("any token"),
            http_options={"base_url": server.address},
        )
        client.memory_banks.memories.create(name=server.engine, fact="...", scope={"user": "ada"})

What is in the bank a test reads and sets by `server.bank`, under `server.lock` where a client is at work.
`server.calls` are the requests in order. `server.order(Fault(...))` has a coming request go wrong.
"""

import json
import re
import socket
import socketserver
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from tests.sources.vertex_bank import Bank
from tests.sources.vertex_fields import Json, Refused, spelled_out, stamp

PROJECT, LOCATION = "atlas-project", "europe-west4"
ENGINE = f"projects/{PROJECT}/locations/{LOCATION}/reasoningEngines/4242"
LOOK_FOR_STOP_SECONDS = 0.02
LONGEST_HOLD_SECONDS = 60.0

_ENGINE = r"projects/[^/]+/locations/[^/]+/reasoningEngines/[^/:]+"
_MEMORY = rf"{_ENGINE}/memories/[^/:]+"
_TYPE = "type.googleapis.com/google.cloud.aiplatform.v1beta1."


@dataclass
class Fault:
    """
    What goes wrong with the next `times` requests whose "METHOD path" matches `on`.

    status: this error is the reply, and nothing is done. hold: the request waits for it first; `reached` is set by
    then. late: its operation is done, and its effect seen, only when it has been asked for so often. failed: its
    operation ends in this error, and nothing is done. lost: it is done, and the connection ends without a reply.
    """

    on: str = ""
    times: int = 1
    status: int | None = None
    hold: threading.Event | None = None
    late: int = 0
    failed: Refused | None = None
    lost: bool = False
    reached: threading.Event = field(default_factory=threading.Event)


@dataclass(frozen=True)
class Call:
    method: str
    path: str
    query: dict[str, str]
    body: Json
    token: str | None


@dataclass
class Operation:
    """A long-running one. asked_for: how often it still answers that it is not done. work: what is then done."""

    name: str
    kind: str
    asked_for: int
    work: Callable[[], Json | None] | None
    outcome: Json = field(default_factory=dict)


class VertexServer:
    """
    The service: one bank, one lock, what it was asked and what is to go wrong.

    token: the only one that is right. at_once: an operation is done in the reply that begins it, else in the next one.
    """

    def __init__(self, *, engine: str = ENGINE, token: str | None = None, at_once: bool = False) -> None:
        self.at_once = at_once
        self.engine = engine
        self.token = token
        self.bank = Bank([engine])
        self.lock = threading.RLock()
        self.calls: list[Call] = []
        self.faults: list[Fault] = []
        self.complaints: list[str] = []
        self.address = ""
        self._operations: dict[str, Operation] = {}

    def order(self, fault: Fault) -> Fault:
        with self.lock:
            self.faults.append(fault)
        return fault

    def remember(self, fact: str, scope: dict[str, str], **about: Any) -> str:
        """A memory as another client makes it; its name."""
        with self.lock:
            return str(self.bank.create(self.engine, {"fact": fact, "scope": scope, **about})["name"])

    def answer(self, call: Call) -> tuple[int, Json, bool]:
        """The status, the reply, and whether it is lost on the way."""
        with self.lock:
            self.calls.append(call)
            fault = self._fault(call)
        if fault and fault.hold:
            fault.reached.set()
            fault.hold.wait(LONGEST_HOLD_SECONDS)
        with self.lock:
            try:
                if self.token is not None and call.token != self.token:
                    raise Refused(401, "Request had invalid authentication credentials.")
                if fault and fault.status:
                    raise Refused(fault.status, "The service was told to refuse this.")
                reply = deepcopy(self._route(call, fault or Fault()))
            except Refused as refused:
                return refused.code, {"error": refused.status}, False
        if fault:
            fault.reached.set()
        return 200, reply, bool(fault and fault.lost)

    def _fault(self, call: Call) -> Fault | None:
        for fault in self.faults:
            if fault.times > 0 and re.search(fault.on, f"{call.method} {call.path}"):
                fault.times -= 1
                return fault
        return None

    def _route(self, call: Call, fault: Fault) -> Json:
        bank, path, body = self.bank, call.path, call.body
        routes: tuple[tuple[str, str, Callable[[str], Json]], ...] = (
            ("GET", _MEMORY, bank.get),
            ("GET", rf"({_ENGINE})/memories", lambda parent: bank.page(parent, call.query)),
            ("GET", rf"({_MEMORY})/revisions", lambda name: bank.revisions_of(name, call.query)),
            ("GET", rf"{_MEMORY}/revisions/[^/:]+", bank.revision),
            ("GET", rf"{_ENGINE}/(?:memories/[^/:]+/)?operations/[^/:]+", self._operation),
            ("POST", rf"({_ENGINE})/memories", lambda parent: self._create(parent, call, fault)),
            ("PATCH", _MEMORY, lambda name: self._patch(name, call, fault)),
            ("DELETE", _MEMORY, lambda name: self._delete(name, fault)),
            ("POST", rf"({_MEMORY}):rollback", lambda name: self._rollback(name, body, fault)),
            ("POST", rf"({_ENGINE})/memories:generate", lambda parent: self._begin(
                parent, "GenerateMemories", lambda: bank.generate(parent, body), fault)),
            ("POST", rf"({_ENGINE})/memories:purge", lambda parent: self._begin(
                parent, "PurgeMemories", lambda: bank.purge(parent, body), fault)),
            ("POST", rf"({_ENGINE})/memories:retrieve", lambda parent: bank.retrieve(parent, body)),
        )  # fmt: skip
        for method, pattern, handler in routes:
            found = re.fullmatch(rf"/v1(?:beta1)?/(?:{pattern})", path)
            if method == call.method and found:
                return handler(found[1] if found.re.groups else path.split("/", 2)[2])
        raise Refused(404, f"{call.method} {path} was not found on this server.")

    def _create(self, parent: str, call: Call, fault: Fault) -> Json:
        def work() -> Json:
            return {"name": self.bank.create(parent, call.body, call.query.get("memoryId"))["name"]}

        return self._begin(parent, "CreateMemory", work, fault, answers="Memory")

    def _patch(self, name: str, call: Call, fault: Fault) -> Json:
        def work() -> Json:
            return {"name": self.bank.patch(name, call.body, call.query.get("updateMask"))["name"]}

        return self._begin(name, "UpdateMemory", work, fault, answers="Memory")

    def _delete(self, name: str, fault: Fault) -> Json:
        return self._begin(name, "DeleteMemory", lambda: self.bank.delete(name), fault)

    def _rollback(self, name: str, body: Json, fault: Fault) -> Json:
        if not body.get("targetRevisionId"):
            raise Refused(400, "target_revision_id is required.")
        return self._begin(name, "RollbackMemory", lambda: self.bank.rollback(name, body["targetRevisionId"]), fault)

    def _begin(
        self, under: str, kind: str, work: Callable[[], Json | None], fault: Fault, *, answers: str | None = None
    ) -> Json:
        """
        An operation whose work is done, unless the fault says otherwise; what can be refused at once is.
        """
        name = f"{under}/operations/{len(self._operations) + 1_000_000_007}"
        operation = Operation(name, answers or f"{kind}Response", fault.late, work)
        if kind == "DeleteMemory" and not fault.late:
            operation.kind = "protobuf.Empty"
        if fault.failed:
            operation.work, operation.outcome = None, {"error": {"code": 13, "message": fault.failed.message}}
        elif not fault.late:
            self._perform(operation)
        self._operations[name] = operation
        return self._shown(operation, kind, done=self.at_once and operation.work is None)

    def _perform(self, operation: Operation) -> None:
        assert operation.work is not None
        done = operation.work() or {}
        prefix = "type.googleapis.com/google." if operation.kind == "protobuf.Empty" else _TYPE
        operation.work, operation.outcome = None, {"response": {"@type": f"{prefix}{operation.kind}", **done}}

    def _operation(self, name: str) -> Json:
        operation = self._operations.get(name)
        if operation is None:
            raise Refused(404, f"Operation {name} does not exist.")
        if operation.asked_for > 0:
            operation.asked_for -= 1
            return self._shown(operation, operation.kind, done=False)
        if operation.work:
            try:
                self._perform(operation)
            except Refused as refused:
                operation.work, operation.outcome = None, {"error": {"code": 9, "message": refused.message}}
        return self._shown(operation, operation.kind, done=True)

    def _shown(self, operation: Operation, kind: str, *, done: bool) -> Json:
        at = stamp(self.bank.now)
        metadata = {"@type": f"{_TYPE}{kind}OperationMetadata", "genericMetadata": {"createTime": at, "updateTime": at}}
        return {"name": operation.name, "metadata": metadata, **({"done": True, **operation.outcome} if done else {})}


class _Server(socketserver.ThreadingTCPServer):
    """Closing it ends every connection and waits for its threads."""

    allow_reuse_address = True
    daemon_threads = False
    block_on_close = True

    def __init__(self, vertex: VertexServer) -> None:
        self.vertex = vertex
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        super().__init__(("127.0.0.1", 0), _Handler)

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
        """What the server itself does wrong is a complaint; the connection is closed."""
        self.vertex.complaints.append(f"the test server itself failed: {sys.exception()!r}")


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    server: _Server

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        kind, _, token = self.headers.get("authorization", "").partition(" ")
        body = spelled_out(json.loads(raw)) if raw else {}
        call = Call(self.command, unquote(parts.path), dict(parse_qsl(parts.query)), body, token if kind else None)
        status, reply, lost = self.server.vertex.answer(call)
        if lost:
            self.close_connection = True
            return
        out = json.dumps(reply, ensure_ascii=False).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json; charset=UTF-8")
        self.send_header("content-length", str(len(out)))
        self.end_headers()
        self.wfile.write(out)

    do_POST = do_PATCH = do_DELETE = do_GET  # noqa: N815

    def handle(self) -> None:
        with suppress(ConnectionError, ValueError):
            super().handle()

    def finish(self) -> None:
        with suppress(ConnectionError, ValueError):
            super().finish()

    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002
        """Nothing: the server remembers its calls."""


@contextmanager
def serving(vertex: VertexServer) -> Iterator[VertexServer]:
    """The service reachable at its address; afterwards no thread and no socket is left, and it has no complaint."""
    with _Server(vertex) as server:
        vertex.address = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, args=(LOOK_FOR_STOP_SECONDS,), name="test vertex")
        thread.start()
        try:
            yield vertex
        finally:
            for fault in vertex.faults:
                if fault.hold:
                    fault.hold.set()
            server.shutdown()
            server.end_connections()
            thread.join()
    assert not vertex.complaints, vertex.complaints
