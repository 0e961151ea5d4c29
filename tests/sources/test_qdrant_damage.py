"""What of memory-smart cannot be used: each is one line with exit code 2, and nothing is made or written."""

import os
import socket
from pathlib import Path
from typing import Any

import httpx
import pytest
from qdrant_client import QdrantClient, models
from qdrant_client.http.exceptions import ResponseHandlingException

from consolidator.embedding import minilm
from consolidator.errors import BadInput
from consolidator.sources.choose import open_source
from consolidator.sources.port import Options
from consolidator.sources.qdrant import source as qdrant
from tests.sources.qdrant_acts import COLD, folder, foreign
from tests.sources.qdrant_foreign import COLLECTION, QdrantForeign

__all__ = ["folder", "foreign"]


def refused(url: str, options: Options = COLD) -> str:
    with pytest.raises(BadInput) as error, open_source(url, options) as source:
        list(source.read(None).records)
    assert error.value.exit_code == 2
    assert "\n" not in str(error.value)
    return str(error.value)


def test_a_server_that_is_not_there_is_told() -> None:
    """With its place."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        told = refused(f"memory-smart:http://127.0.0.1:{port}/memory-smart")
    assert told.startswith(f"http://127.0.0.1:{port}/memory-smart: cannot be reached (")
    assert told.endswith("; is a Qdrant running there?")


def test_a_server_that_does_not_answer_is_told(foreign: QdrantForeign, monkeypatch: pytest.MonkeyPatch) -> None:
    """After its time."""

    def slow(*_args: object, **_more: object) -> None:
        raise ResponseHandlingException(httpx.ReadTimeout("timed out"))

    monkeypatch.setattr(QdrantClient, "get_collection", slow)
    assert "does not answer (timed out); is a Qdrant running there?" in refused(foreign.url)


def test_a_server_asks_for_its_key(foreign: QdrantForeign) -> None:
    """It is the source's token, and stands in no URL."""
    foreign.server.key = "the key"
    for options in (COLD, Options(token="another")):
        assert "refuses the key (401); set this source's token" in refused(foreign.url, options)
    with open_source(foreign.url, Options(token="the key")) as source:
        assert source.url == foreign.url
        assert "the key" not in repr(source.__dict__["options"])
    told = refused(foreign.url.replace("://", "://ada:secret@"))
    assert told.endswith("a key does not belong into the URL; set it as this source's token")
    assert "secret" not in told


def test_a_server_without_the_collection_or_in_trouble_is_told(foreign: QdrantForeign) -> None:
    """404 and 500."""
    assert refused(f"memory-smart:{foreign.server.url}/other").endswith("/other: there is no such collection there")
    foreign.server.fails_with = 500
    assert refused(foreign.url).endswith("answers 500 (something is wrong with the disk)")


@pytest.mark.parametrize(
    ("vectors", "told"),
    [
        ({"text": models.VectorParams(size=4, distance=models.Distance.COSINE)}, "have named or several vectors"),
        (
            models.VectorParams(size=4, distance=models.Distance.DOT),
            "are compared by Dot, and those of memory-smart by",
        ),
        (
            models.VectorParams(
                size=4,
                distance=models.Distance.COSINE,
                multivector_config=models.MultiVectorConfig(comparator=models.MultiVectorComparator.MAX_SIM),
            ),
            "have named or several vectors",
        ),
    ],
)
def test_a_collection_of_another_make_is_refused(foreign: QdrantForeign, vectors: Any, told: str) -> None:
    """memory-smart has one vector a point, compared by cosine."""
    foreign.server.client.create_collection("other", vectors)
    assert told in refused(f"memory-smart:{foreign.server.url}/other")


@pytest.mark.parametrize("model", ["openai:text-embedding-3-small", "minilm"])
def test_a_collection_of_another_size_of_vectors_is_refused(foreign: QdrantForeign, model: str) -> None:
    """Where the model of the settings is known to make others."""
    told = refused(foreign.url, Options(model=model))
    assert f"has vectors of 8 numbers, and {model} makes {1536 if model != 'minilm' else 384}" in told
    assert qdrant.SIZES[minilm.MODEL] == 384


@pytest.mark.parametrize("place", ["ftp://host/x", "http://", "http://host:x/y"])
def test_what_is_no_place_of_a_server_is_refused(place: str) -> None:
    """It shows how one is written."""
    assert "is no place of a Qdrant; write e.g. http://localhost:6333/memory-smart" in refused(f"memory-smart:{place}")


def points(folder: Path) -> dict[str, dict[str, Any]]:
    client = QdrantClient(path=str(folder))
    found = {str(point.id): point.payload or {} for point in client.scroll(COLLECTION)[0]}
    client.close()
    return found


def test_a_folder_that_cannot_be_used_is_refused(folder: Path) -> None:
    """Missing, and not made; without the collection; in use; and with a file that nobody understands."""
    missing = folder.parent / "missing"
    assert refused(f"memory-smart:{missing}") == f"{missing}: there is no Qdrant in this folder (no meta.json)"
    assert not missing.exists()
    assert "#other: there is no such collection in this folder" in refused(f"memory-smart:{folder}#other")
    client = QdrantClient(path=str(folder))
    assert refused(f"memory-smart:{folder}").endswith("another program uses it; end that, or use a Qdrant server")
    client.close()
    (folder / "meta.json").write_text('{"collections": {"cut')
    assert "not a Qdrant folder that can be read" in refused(f"memory-smart:{folder}")


def test_a_folder_that_cannot_be_written_to_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its lock is a file in it."""
    (folder / ".lock").unlink(missing_ok=True)
    os.mkdir(folder / ".lock")
    assert f"{folder}: cannot be opened (Is a directory)" in refused(f"memory-smart:{folder}")
