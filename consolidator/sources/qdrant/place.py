"""Where a collection is: a server or a folder, opened as one client that speaks in lines."""

import json
import os
import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from qdrant_client import QdrantClient
from qdrant_client.common.client_exceptions import QdrantException
from qdrant_client.http.exceptions import ApiException, ResponseHandlingException, UnexpectedResponse
from qdrant_client.models import Distance, VectorParams

from consolidator.errors import BadInput, ConsolidatorError, StoreUnreachable

COLLECTION = "memory-smart"
USUAL = f"http://localhost:6333/{COLLECTION}"
PORT = 6333
PATIENCE_SECONDS = 30
IN_USE = "another program uses it; end that, or use a Qdrant server"


@dataclass(frozen=True, slots=True)
class Collection:
    """
    An open collection. where: its place, canonical and without anything secret. local: it is a folder, which no other
    program can use meanwhile. size: of its vectors.
    """

    client: QdrantClient
    name: str
    where: str
    local: bool
    size: int


@contextmanager
def opened(place: str, token: str | None) -> Iterator[Collection]:
    """The collection at a place. BadInput where there is none, or its points are not as memory-smart has them."""
    place = place or USUAL
    with _server(place, token) if "://" in place else _folder(place) as found:
        client, name, where, local = found
        with in_lines(where):
            if local and not client.collection_exists(name):
                raise BadInput(f"{where}: there is no such collection in this folder; name it after a #")
            config = client.get_collection(name).config.params.vectors
        yield Collection(client, name, where, local, _size_of(config, where))


@contextmanager
def in_lines(where: str, *, writing: bool = False) -> Iterator[None]:
    """What goes wrong with a Qdrant, as one line. writing: some of it may be written by then."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that local mode is slow with many points; that a key goes over http
            yield
    except (ApiException, QdrantException) as error:
        failure = StoreUnreachable if isinstance(error, ResponseHandlingException) else BadInput
        told = f"{where}: {_told(error)}"
        if writing:
            raise ConsolidatorError(f"{told}; what is written already the next push knows") from error
        raise failure(told) from error


@contextmanager
def _server(place: str, token: str | None) -> Iterator[tuple[QdrantClient, str, str, bool]]:
    try:
        parts = urlsplit(place)
        host, port = parts.hostname, parts.port or PORT
    except ValueError:
        parts, host, port = urlsplit(""), None, 0
    prefix, _, name = parts.path.rstrip("/").rpartition("/")
    if parts.scheme not in ("http", "https") or not host:
        raise BadInput(f"{place}: is no place of a Qdrant; write e.g. {USUAL}")
    if parts.username or parts.password or parts.query:
        raise BadInput(f"{parts.scheme}://{host}: a key does not belong into the URL; set it as this source's token")
    at = f"[{host}]" if ":" in host else host
    base, name = f"{parts.scheme}://{at}:{port}{prefix}", name or COLLECTION
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        client = QdrantClient(url=base, api_key=token, timeout=PATIENCE_SECONDS, check_compatibility=False)
    with closing(client):
        yield client, name, f"{base}/{name}", False


@contextmanager
def _folder(place: str) -> Iterator[tuple[QdrantClient, str, str, bool]]:
    path, _, name = place.partition("#")
    folder, name = Path(os.path.abspath(os.path.expanduser(path))).resolve(), name or COLLECTION
    if not (folder / "meta.json").is_file():  # the client would make one
        raise BadInput(f"{folder}: there is no Qdrant in this folder (no meta.json)")
    try:
        _insist_on_nobody_there(folder)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            client = QdrantClient(path=str(folder))
    except RuntimeError:
        raise BadInput(f"{folder}: {IN_USE}") from None
    except BadInput:
        raise
    except OSError as error:
        raise BadInput(f"{folder}: cannot be opened ({error.strerror})") from None
    except Exception as error:  # noqa: BLE001 - it reads pickles, which can raise anything
        raise BadInput(f"{folder}: not a Qdrant folder that can be read ({_first_line(error)})") from None
    with closing(client):
        yield client, name, f"{folder}#{name}", True


def _insist_on_nobody_there(folder: Path) -> None:
    """The client itself asks for this lock when it has read everything. BadInput where another has it."""
    import portalocker  # it looks for folders to write to, which not every machine has

    lock = folder / ".lock"
    if not lock.exists():
        return
    with open(lock, "r+") as file:
        try:
            portalocker.lock(file, portalocker.LockFlags.EXCLUSIVE | portalocker.LockFlags.NON_BLOCKING)
        except portalocker.LockException:
            raise BadInput(f"{folder}: {IN_USE}") from None
        portalocker.unlock(file)


def _size_of(config: object, where: str) -> int:
    if not isinstance(config, VectorParams) or config.multivector_config is not None:
        raise BadInput(f"{where}: its points have named or several vectors, and those of memory-smart have one")
    if config.distance != Distance.COSINE:
        raise BadInput(f"{where}: its vectors are compared by {config.distance}, and those of memory-smart by Cosine")
    return config.size


def _told(error: Exception) -> str:
    if isinstance(error, ResponseHandlingException):
        source = error.source
        kind = "does not answer" if "timed out" in str(source).lower() else "cannot be reached"
        return f"{kind} ({_first_line(source)}); is a Qdrant running there?"
    if not isinstance(error, UnexpectedResponse):
        return _first_line(error)
    if error.status_code in (401, 403):
        return f"refuses the key ({error.status_code}); set this source's token to one that may read and write"
    if error.status_code == 404:
        return "there is no such collection there"
    return f"answers {error.status_code} ({_answer(error)})"


def _answer(error: UnexpectedResponse) -> str:
    try:
        return str(error.structured()["status"]["error"])[:200]
    except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError):
        return error.reason_phrase or "no reason"


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [""])[0][:200] or type(error).__name__
