"""Embeddings over the wire: the real SDK, and what is believed of what comes back."""

import json
import threading
from typing import Any

import numpy as np
import pytest

from consolidator.embedding.openai import LONGEST_BYTES, OpenAI
from consolidator.embedding.port import EmbedderFailed
from tests.embedding.models import SMALL, answering, embedder_at
from tests.llm.models import Watch
from tests.providers import behaviours
from tests.providers.provider import Provider
from tests.providers.server import serving
from tests.providers.vectors import vector_of
from tests.providers.wire import Call, Refused

TEXTS = ["Ada drinks tea", "Bo", "我喜欢喝绿茶。", "🦉🌲", "Ada drinks tea and eats a cake", "  "]


def failure(embedder: OpenAI, *texts: str) -> str:
    with pytest.raises(EmbedderFailed) as failed:
        embedder.passages(texts or ["a", "b"])
    assert "\n" not in str(failed.value)
    return str(failed.value)


def test_what_the_server_gives(served: OpenAI, provider: Provider) -> None:
    """Each text gets the vector that the server gives it, of length 1, in the order of the texts."""
    assert served.dimension is None
    vectors = served.passages(TEXTS)
    assert vectors == pytest.approx(np.vstack([vector_of(text, SMALL) for text in TEXTS]), abs=1e-6)
    assert vectors.dtype == np.float32
    assert served.dimension == vectors.shape[1] == 1536
    assert np.abs(np.linalg.norm(vectors, axis=1) - 1).max() < 1e-6
    assert np.array_equal(served.queries(TEXTS), vectors)
    (call, _) = provider.calls_to("POST /v1/embeddings")
    assert call.body["model"] == SMALL


def test_alone_or_together(served: OpenAI) -> None:
    """A text's vector depends on it alone."""
    together = served.passages(TEXTS)
    assert np.abs(np.vstack([served.passages([text]) for text in TEXTS]) - together).max() <= 1e-6
    assert np.abs(served.passages(TEXTS[::-1])[::-1] - together).max() <= 1e-6


def test_no_texts(served: OpenAI, provider: Provider) -> None:
    """No texts ask nobody; an empty one, which the server would refuse, has a vector all the same."""
    assert served.passages([]).shape == (0, 0)
    assert provider.calls == []
    assert np.linalg.norm(served.passages([""])) == pytest.approx(1)


def test_many(served: OpenAI, provider: Provider) -> None:
    """Many texts go in few requests, none larger than the server takes, each text once."""
    texts = [f"text {number} " * (number % 40 + 1) for number in range(1, 700)]
    vectors = served.passages(texts)
    assert vectors.shape == (699, 1536)
    assert 6 <= len(provider.calls) <= 20
    assert sorted(provider.embedded) == sorted(texts)
    for place in (0, 350, 698):
        assert vectors[place] == pytest.approx(vector_of(texts[place], SMALL), abs=1e-6)


@pytest.mark.parametrize(
    ("model", "query", "passage"),
    [
        ("intfloat/multilingual-e5-small", "query: ", "passage: "),
        ("e5-base-v2", "query: ", "passage: "),
        ("nomic-embed-text:v1.5", "search_query: ", "search_document: "),
        ("text-embedding-3-small", "", ""),
        ("multilingual-e5-large-instruct", "Instruct: Given a question, retrieve passages that answer it\nQuery: ", ""),
        ("BAAI/bge-small-en-v1.5", "Represent this sentence for searching relevant passages: ", ""),
        ("bge-m3", "", ""),
    ],
)
def test_prefixes(provider: Provider, model: str, query: str, passage: str) -> None:
    """A model that was taught to read questions and passages differently is told which is which."""
    embedder = embedder_at(provider, model)
    embedder.queries(["tea?"])
    embedder.passages(["Ada drinks tea"])
    assert provider.embedded == [f"{query}tea?", f"{passage}Ada drinks tea"]


def test_long_text(served: OpenAI, provider: Provider) -> None:
    """A text longer than the server takes is embedded by as much of its beginning as it takes; the others whole."""
    long = "".join(f"{number:09} " for number in range(20_000))
    dense = "🦉山" * 10_000
    vectors = served.passages(["short", long, dense])
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1, 1])
    assert vectors[0] == pytest.approx(vector_of("short", SMALL), abs=1e-6)
    embedded = {text[:9]: text for text in provider.embedded}
    assert long.startswith(embedded["000000000"])
    assert 4_000 <= len(embedded["000000000"]) <= LONGEST_BYTES
    assert dense.startswith(embedded["🦉山" * 4 + "🦉"])
    assert np.array_equal(served.passages([dense])[0], vectors[2])
    provider.complaints.clear()  # the server was asked for more than it takes, to find out how much that is


def test_small_server(served: OpenAI, provider: Provider) -> None:
    """A server that takes few texts and few words at once gets them in halves; each text still has its vector."""
    behave = provider.vector_of
    texts = [f"{number} some words" for number in range(40)] + ["many words " * 200]

    def small(text: str, model: str, dimensions: int | None) -> np.ndarray:
        if len(text) > 600:
            raise Refused(413, "input is too large")
        return behave(text, model, dimensions)

    provider.vector_of = small
    vectors = served.passages(texts)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(41))
    assert vectors[7] == pytest.approx(vector_of(texts[7], SMALL), abs=1e-6)
    provider.complaints.clear()


def test_refused_text(served: OpenAI, provider: Provider) -> None:
    """A text that is refused while others are taken has a vector of zeros, and they have theirs."""
    behave = provider.vector_of

    def filtering(text: str, model: str, dimensions: int | None) -> np.ndarray:
        if "forbidden" in text:
            raise Refused(400, "The request was rejected by the content filter (safety).")
        return behave(text, model, dimensions)

    provider.vector_of = filtering
    lengths = np.linalg.norm(served.passages(["a", "forbidden", "b"]), axis=1)
    assert lengths == pytest.approx([1, 0, 1])
    assert np.linalg.norm(embedder_at(provider).passages(["forbidden"]), axis=1) == pytest.approx([0])
    provider.complaints.clear()


def test_refuses_all(served: OpenAI, provider: Provider) -> None:
    """A server that refuses every request has failed, after few of them, and what it says is told."""
    provider.always(behaviours.error(400, "this model embeds nothing"))
    assert "answered 400: this model embeds nothing" in failure(served, *map(str, range(64)))
    assert len(provider.calls) < 20


@pytest.mark.parametrize("texts", [["Ada's secret is that she likes liquorice"]])
def test_quotes_nothing(served: OpenAI, provider: Provider, texts: list[str]) -> None:
    """A failure does not repeat a memory that the server quotes."""
    provider.always(behaviours.error(400, f"cannot embed: {texts[0]}"))
    assert "liquorice" not in failure(served, *texts)


@pytest.mark.parametrize(
    ("behaviour", "words", "calls"),
    [
        (behaviours.key_refused(), "answered 401", 1),
        (behaviours.no_such_model(), "answered 404", 1),
        (behaviours.error(403, "not from there"), "answered 403: not from there", 1),
        (behaviours.server_error(), "answered 500", 3),
        (behaviours.rate_limited(seconds=1), "answered 429 (too many requests)", 3),
        (behaviours.rate_limited(seconds=7200), "answered 429", 1),
        (behaviours.quota_spent(), "credit balance", 1),
        (behaviours.html_page(502), "answered 502", 3),
        (behaviours.html_page(200), "holds no vectors", 1),
        (behaviours.not_json(), "holds no vectors", 1),
        (behaviours.empty_body(), "holds no vectors", 1),
        (behaviours.dropped(), "gave no answer: the connection broke off", 3),
        (behaviours.half_a_body(), "gave no answer: the connection broke off", 3),
    ],
    ids=lambda value: value.name if isinstance(value, behaviours.Behaviour) else None,
)
def test_failures(provider: Provider, behaviour: behaviours.Behaviour, words: str, calls: int) -> None:
    """A failure is one line that names the model and what happened; what may pass is tried again, and then no more."""
    provider.always(behaviour)
    said = failure(embedder_at(provider, retries=2))
    assert f"openai:{SMALL} at 127.0.0.1" in said
    assert words in said
    assert len(provider.calls) == calls


def test_tries_again(provider: Provider) -> None:
    """What passes is no failure, and the server is given the time it asks for."""
    watch = Watch()
    provider.then(behaviours.rate_limited(seconds=7), behaviours.overloaded(), behaviours.half_a_body())
    assert embedder_at(provider, watch=watch).passages(["a"]).shape == (1, 1536)
    assert watch.waits[0] == 7
    assert len(watch.waits) == 3


def test_too_slow(provider: Provider) -> None:
    """A server that does not answer in time has failed, and the time is told."""
    released = threading.Event()
    provider.always(behaviours.slow(released))
    assert "within 0.2 s" in failure(embedder_at(provider, retries=0, timeout_seconds=0.2))
    released.set()


def test_nobody_there() -> None:
    """A server that is not there has failed."""
    with serving(Provider()) as gone:
        embedder = embedder_at(gone, retries=1)
    assert "gave no answer: nobody answers there; check that it runs" in failure(embedder)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (answering([1, 0]), "1 vectors for 2 texts"),
        (answering([1, 0], [0, 1], [1, 1]), "3 vectors for 2 texts"),
        (answering([1, 0], [0, 1], indexes=[0, 0]), "which vector is whose"),
        (answering([1, 0], [0, 1], indexes=[1, 2]), "which vector is whose"),
        (answering([1, 0], [0, 1], indexes=[None, 1]), "which vector is whose"),
        (answering([1, 0], [0, 1], indexes=[[0], 1]), "which vector is whose"),
        (answering([1, 0], [0, 1, 2]), "no rows of numbers"),
        (answering([], []), "no rows of numbers"),
        (answering([1, 0], None), "no rows of numbers"),
        (answering([1, 0], ["1", "0"]), "no rows of numbers"),
        (answering([1, 0], [True, False]), "no rows of numbers"),
        (answering([1, 0], [[1], [0]]), "no rows of numbers"),
        (answering([1, 0], "AACAPwAAAAA="), "no rows of numbers"),
        (answering([1, 0], [0, 0]), "a vector of zeros"),
        (answering([1, 0], [float("nan"), 0]), "past all bounds"),
        (answering([1, 0], [float("inf"), 0]), "past all bounds"),
        (answering([1, 0], [1e300, 1e300]), "past all bounds"),
        (answering([1, 0], [10**400, 0]), "past all bounds"),
        (answering([1, 0, 0], [0, 1, 0]), "vectors of 3 numbers, 1536 before"),
    ],
)
def test_believed(served: OpenAI, provider: Provider, answer: behaviours.Behaviour, words: str) -> None:
    """Of an answer that cannot be right nothing is used."""
    if "before" in words:
        served.passages(["first"])
    provider.then(answer)
    assert words in failure(served)


def test_order_of_indexes(served: OpenAI, provider: Provider) -> None:
    """The index says which vector is whose, in whatever order they come; any length becomes 1."""
    provider.then(answering([0, 3], [-2, 0], indexes=[1, 0]))
    assert served.passages(["a", "b"]).tolist() == [[-1, 0], [0, 1]]


def test_other_forms(served: OpenAI, provider: Provider) -> None:
    """An answer with nothing but vectors and indexes is enough."""
    body: dict[str, Any] = {"data": [{"index": 0, "embedding": [3, 4]}]}
    provider.then(behaviours.Behaviour("bare", raw=(200, "text/plain", json.dumps(body).encode())))
    assert served.passages(["a"])[0] == pytest.approx([0.6, 0.8])


def test_key_and_body(served: OpenAI, provider: Provider) -> None:
    """The key goes in its header, the texts as they are, and floats are asked for."""
    served.passages(["Zażółć 🦉"])
    call: Call = provider.calls[0]
    assert call.headers["authorization"] == "Bearer test-key"
    assert call.body == {"model": SMALL, "input": ["Zażółć 🦉"], "encoding_format": "float"}
