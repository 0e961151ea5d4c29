"""
A Qdrant server for tests, as its REST interface is documented: what it is asked is read by the client's own models,
and done by the client's local mode in memory. Only what a source asks for.
"""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import RLock, Thread
from typing import Any

from pydantic import BaseModel, TypeAdapter
from qdrant_client import QdrantClient, models

KEY = "a key of the server"


class Server:
    """url: where it listens. client: its points, to be used under `lock`. before_update: called before it updates."""

    def __init__(self) -> None:
        self.client, self.lock = QdrantClient(":memory:"), RLock()
        self.key: str | None = None
        self.asked: list[tuple[str, str, Any]] = []
        self.before_update: Callable[[], object] = lambda: None
        self.fails_with: int | None = None
        self.url = ""

    def answer(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        self.asked.append((method, path, body))
        if self.fails_with is not None:
            return self.fails_with, "something is wrong with the disk"
        found = re.fullmatch(r"/collections/([^/]+)(/.*)?", path)
        if found is None or not self.client.collection_exists(found[1]):
            return 404, f"Not found: Collection `{found and found[1]}` doesn't exist!"
        name, below = found[1], found[2] or ""
        try:
            if (method, below) == ("POST", "/points/batch"):
                self.before_update()
            with self.lock:
                return 200, self._done(name, method, below, body)
        except (ValueError, KeyError) as error:
            return 400, str(error)

    def _done(self, name: str, method: str, below: str, body: Any) -> Any:
        match (method, below):
            case ("GET", ""):
                return self.client.get_collection(name)
            case ("POST", "/points/scroll"):
                asked = models.ScrollRequest(**body)
                page = self.client.scroll(
                    name, limit=asked.limit or 10, offset=asked.offset, with_payload=bool(asked.with_payload),
                    with_vectors=bool(asked.with_vector),
                )  # fmt: skip
                return models.ScrollResult(points=page[0], next_page_offset=page[1])
            case ("POST", "/points"):
                ids = models.PointRequest(**body)
                return self.client.retrieve(name, ids.ids, with_payload=True, with_vectors=bool(ids.with_vector))
            case ("POST", "/points/batch"):
                updates = TypeAdapter(models.UpdateOperations).validate_python(body)
                self.client.batch_update_points(name, updates.operations)
                done = models.UpdateResult(operation_id=len(self.asked), status=models.UpdateStatus.COMPLETED)
                return [done] * len(updates.operations)
        raise ValueError(f"{method} {below} is nothing that a source asks for")


@contextmanager
def serving() -> Iterator[Server]:
    """A server without a collection, until the end of the block."""
    server = Server()
    with ThreadingHTTPServer(("127.0.0.1", 0), _handler(server)) as http:
        thread = Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        server.url = f"http://127.0.0.1:{http.server_port}"
        try:
            yield server
        finally:
            http.shutdown()
            thread.join()
            server.client.close()


def _handler(server: Server) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            if server.key is not None and self.headers.get("api-key") != server.key:
                return self._send(401, b"Must provide an API key or an Authorization bearer token")
            status, result = server.answer(self.command, self.path.partition("?")[0], body)
            told = {"result": _json(result), "status": "ok"} if status == 200 else {"status": {"error": result}}
            return self._send(status, json.dumps({"time": 0.0, **told}).encode())

        do_GET = do_POST = do_PUT = _answer  # noqa: N815

        def _send(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            """Nothing is logged."""

    return Handler


def _json(result: Any) -> Any:
    if isinstance(result, BaseModel):
        return result.model_dump(mode="json")
    return [_json(each) for each in result] if isinstance(result, list) else result
