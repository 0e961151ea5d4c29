"""
OpenAI's embedding models, and those of every server that speaks its embeddings API.

What comes back is looked at before it is believed. A request that is refused for what is in it is tried in halves, and
at last with less and less of its one text, so that neither a long text nor a small server stops the others.
"""

from collections.abc import Iterator, Sequence
from operator import itemgetter
from threading import Event
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from consolidator.embedding.port import EmbedderFailed, Vectors
from consolidator.embedding.reading import prefixes_of, readable
from consolidator.llm.client import Access, mapping, message_in, parsed
from consolidator.llm.trying import Patience, Stuck, Trouble, tried, trouble_of_status
from consolidator.unreached import why_unreached

RETRIES = 5
# OpenAI takes 8,192 tokens of a text and 300,000 in a request. A token is a byte at least, of prose four.
LONGEST_BYTES = 32_000
SHORTEST_BYTES = 250
_MOST_BYTES = 200_000
_MOST_TEXTS = 128
_SECONDS_TO_CONNECT = 10.0
_LONGEST_MESSAGE = 200
_TELLING_LENGTH = 24
_PROBE = "A text that nobody can object to."


class OpenAI:
    """The port to such a model. The SDK is imported when a first text is embedded."""

    local = False

    def __init__(self, model: str, access: Access, *, patience: Patience | None = None) -> None:
        self.model = model
        self.dimension: int | None = None
        self._access = access
        self._patience = patience or Patience(access.retries, Event().wait)
        self._prefixes = prefixes_of(model)

    @property
    def who(self) -> str:
        """The model and where it is, for people."""
        url = urlsplit(self._access.base_url or "")
        place = f"{url.netloc.rpartition('@')[2]}{url.path.rstrip('/')}"
        return f"openai:{self.model} at {place}" if place else f"openai:{self.model}"

    def passages(self, texts: Sequence[str]) -> Vectors:
        """The vectors of texts to keep; zeros for one that the server refuses while it takes others."""
        return self._vectors([self._prefixes.passage + text for text in texts])

    def queries(self, texts: Sequence[str]) -> Vectors:
        """The vectors of texts to look for."""
        return self._vectors([self._prefixes.query + text for text in texts])

    def _vectors(self, texts: Sequence[str]) -> Vectors:
        read = [_beginning(readable(text), LONGEST_BYTES) or " " for text in texts]  # an empty text is refused
        rows: dict[int, Any] = {}
        if read:
            with self._client() as client:
                for places in _batches([len(text.encode()) for text in read]):
                    rows |= zip(places, self._embedded(client, [read[place] for place in places]), strict=True)
        return np.array([rows[place] for place in range(len(rows))], np.float32).reshape(len(rows), self.dimension or 0)

    def _embedded(self, client: Any, texts: Sequence[str]) -> list[Any]:
        """A vector for each text, or zeros."""
        try:
            return list(self._checked(parsed(self._answer(client, texts)), len(texts)))
        except Stuck as stuck:
            if stuck.trouble.kind not in ("unusable", "refused"):
                raise self._failure(stuck.trouble, texts) from None
            trouble = stuck.trouble
        if len(texts) > 1:
            half = len(texts) // 2
            return self._embedded(client, texts[:half]) + self._embedded(client, texts[half:])
        size = len(texts[0].encode())
        if size > SHORTEST_BYTES:
            return self._embedded(client, [_beginning(texts[0], size // 2)])
        if texts[0] == _PROBE or not self._takes_others(client):
            raise self._failure(trouble, texts)
        return [np.zeros(self.dimension or 0, np.float32)]

    def _takes_others(self, client: Any) -> bool:
        """Whether it is the text that is refused, and not every request."""
        try:
            return bool(self._embedded(client, [_PROBE]))
        except EmbedderFailed:
            return False

    def _answer(self, client: Any, texts: Sequence[str]) -> bytes:
        import httpx2
        import openai

        def call() -> bytes:
            answer = client.embeddings.with_raw_response.create(
                model=self.model, input=list(texts), encoding_format="float"
            )
            return bytes(answer.http_response.content)

        return tried(call, (openai.OpenAIError, httpx2.HTTPError), self._trouble_of, self._patience)

    def _client(self) -> Any:
        """A connection for one call of the port, closed at its end."""
        import httpx2
        import openai

        seconds = self._access.timeout_seconds
        try:
            return openai.OpenAI(
                api_key=self._access.key,
                base_url=self._access.base_url,
                timeout=httpx2.Timeout(seconds, connect=min(seconds, _SECONDS_TO_CONNECT)),
                max_retries=0,
            )
        except (openai.OpenAIError, ValueError, OSError) as error:
            raise EmbedderFailed(f"{self.who} cannot be asked: {' '.join(str(error).split())}") from None

    def _checked(self, answer: Any, count: int) -> Vectors:
        """The vectors of an answer, in the order of the texts, of length 1. EmbedderFailed where they are none."""
        items = mapping(answer).get("data")
        if not isinstance(items, list):
            raise EmbedderFailed(f"{self.who} answered with something that holds no vectors; check its address")
        if len(items) != count:
            raise EmbedderFailed(f"{self.who} gave {len(items)} vectors for {count} texts; none was kept")
        indexes = [mapping(item).get("index") for item in items]
        if {*map(type, indexes)} != {int} or set(indexes) != set(range(count)):
            raise EmbedderFailed(f"{self.who} does not say which vector is whose; none was kept")
        rows = [item["embedding"] for item in sorted(items, key=itemgetter("index")) if _is_row(item.get("embedding"))]
        if len(rows) != count or len({*map(len, rows)}) != 1:
            raise EmbedderFailed(f"{self.who} gave vectors that are no rows of numbers; none was kept")
        try:
            vectors: NDArray[np.float64] = np.array(rows, np.float64)
        except OverflowError:
            vectors = np.full((count, len(rows[0])), np.inf)
        if self.dimension not in (None, vectors.shape[1]):
            raise EmbedderFailed(f"{self.who} gave vectors of {vectors.shape[1]} numbers, {self.dimension} before")
        with np.errstate(over="ignore"):
            lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not np.isfinite(lengths).all() or not (lengths > 0).all():
            raise EmbedderFailed(f"{self.who} gave a vector of zeros, or one with numbers past all bounds")
        self.dimension = vectors.shape[1]
        unit: Vectors = (vectors / lengths).astype(np.float32)
        return unit

    def _trouble_of(self, error: Any) -> Trouble:
        import httpx2
        import openai

        if isinstance(error, openai.APIStatusError):
            said = message_in(error.body)
            return trouble_of_status(
                self.who, error.status_code, error.response.headers, said, error.message, worked=True
            )
        if isinstance(error, openai.APITimeoutError | httpx2.TimeoutException):
            seconds = f"{self._access.timeout_seconds:g} s"
            return Trouble("unavailable", f"{self.who} gave no answer within {seconds}", again=True)
        if isinstance(error, openai.APIConnectionError | httpx2.HTTPError):
            why = why_unreached(error, seconds=self._access.timeout_seconds)
            return Trouble("unavailable", f"{self.who} gave no answer: {why}", again=True)
        return Trouble("misconfigured", f"{self.who} cannot be asked", said=str(error))

    def _failure(self, trouble: Trouble, texts: Sequence[str]) -> EmbedderFailed:
        """In words: what the server said is among them, unless it quotes a text."""
        said = " ".join(trouble.said.split())[:_LONGEST_MESSAGE]
        quotes = any(
            said[at : at + _TELLING_LENGTH] in text
            for at in range(max(1, len(said) - _TELLING_LENGTH + 1))
            for text in texts
        )
        return EmbedderFailed(trouble.what if quotes or not said else f"{trouble.what}: {said}")


def _is_row(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and {*map(type, value)} <= {int, float}


def _beginning(text: str, most_bytes: int) -> str:
    """As much of a text as fits, in whole letters."""
    return text.encode()[:most_bytes].decode(errors="ignore")


def _batches(sizes: Sequence[int]) -> Iterator[list[int]]:
    """The places of texts that go together in a request, the shortest first."""
    batch: list[int] = []
    filled = 0
    for place in sorted(range(len(sizes)), key=sizes.__getitem__):
        if batch and (len(batch) == _MOST_TEXTS or filled + sizes[place] > _MOST_BYTES):
            yield batch
            batch, filled = [], 0
        batch.append(place)
        filled += sizes[place]
    if batch:
        yield batch
