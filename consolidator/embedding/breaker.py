"""
A circuit breaker around an embedder that is not on this machine.

After a few failures in a row nobody waits for it any more: it is open, and fails at once. After a while one call is
let through; if it succeeds all are again, if not it stays open for as long again.
"""

from collections.abc import Callable, Sequence
from threading import Lock

from consolidator.embedding.port import Embedder, EmbedderFailed, Vectors

FAILURES = 2
SECONDS = 30.0


class Breaker:
    """
    The port to an embedder behind it. Threads may share it.

    failures: how many in a row open it; seconds: for how long. clock: seconds, only ever growing.
    """

    def __init__(
        self,
        embedder: Embedder,
        *,
        clock: Callable[[], float],
        failures: int = FAILURES,
        seconds: float = SECONDS,
    ) -> None:
        self._embedder, self._clock = embedder, clock
        self._most, self._seconds = failures, seconds
        self._lock = Lock()
        self._failed = 0
        self._until: float | None = None
        self._why = ""

    @property
    def model(self) -> str:
        return self._embedder.model

    @property
    def dimension(self) -> int | None:
        return self._embedder.dimension

    @property
    def local(self) -> bool:
        return self._embedder.local

    @property
    def is_open(self) -> bool:
        """Whether a call would fail at once."""
        with self._lock:
            return self._until is not None and self._clock() < self._until

    def passages(self, texts: Sequence[str]) -> Vectors:
        """The vectors of texts to keep. EmbedderFailed at once while it is open."""
        return self._through(self._embedder.passages, texts)

    def queries(self, texts: Sequence[str]) -> Vectors:
        """The vectors of texts to look for. EmbedderFailed at once while it is open."""
        return self._through(self._embedder.queries, texts)

    def _through(self, call: Callable[[Sequence[str]], Vectors], texts: Sequence[str]) -> Vectors:
        with self._lock:
            if self._until is not None:
                left = self._until - self._clock()
                if left > 0:
                    raise EmbedderFailed(f"{self._why}; tried again in {left:.0f} s")
                self._until = self._clock() + self._seconds  # this call is the one let through; the others still fail
        try:
            vectors = call(texts)
        except EmbedderFailed as failed:
            with self._lock:
                self._failed += 1
                self._why = str(failed)
                if self._failed >= self._most:
                    self._until = self._clock() + self._seconds
            raise
        with self._lock:
            self._failed, self._until = 0, None
        return vectors
