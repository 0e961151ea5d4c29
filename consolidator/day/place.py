"""One scope of an open store, as a memory and its turns share it."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from time import monotonic
from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from consolidator.embedding.breaker import Breaker
from consolidator.embedding.choose import Choice, embedder_of
from consolidator.embedding.port import EmbedderFailed, Vectors
from consolidator.exchange.desk import Desk
from consolidator.laws.clock import Rates
from consolidator.settings import Settings
from consolidator.store.engine import Store
from consolidator.store.tables import scopes
from consolidator.store.vectors import Pin, pin_of

INSERTS: dict[str, Callable[[sa.Table], Any]] = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}
HASTE_SECONDS = 5.0  # an agent waits: a remote embedder that is slower than this counts as failed


class Place:
    """
    A scope of a store, with the settings and the clock by which it is used; safe in several threads.

    scope: canonical. clock: gives the time in microseconds; no other is read. ticks: seconds that only grow, by which
    an embedder that failed is left alone for a while.
    """

    def __init__(
        self,
        store: Store,
        scope: str,
        *,
        settings: Settings,
        clock: Callable[[], int],
        ticks: Callable[[], float] = monotonic,
    ) -> None:
        self.store, self.scope, self.settings, self.now = store, scope, settings, clock
        self.rates = Rates(**settings.rates.model_dump())
        self._ticks = ticks
        self._writing = Lock()  # threads of one process wait here in turn; SQLite's own waiting knows no order
        self._breakers: dict[str, Breaker] = {}
        self._key: int | None = None
        self._pin: Pin | None = None
        self._pin_read = False

    def pinned(self) -> Pin | None:
        """
        What the store is pinned to, read once, and the key of the scope until that is known.

        A store that goes over to another model meanwhile is noticed when a vector is written (`forget_pin`).
        """
        if not self._pin_read or self._key is None:
            with self.store.read() as conn:
                self._pin, self._pin_read = pin_of(conn), True
                self.key(conn)
        return self._pin

    def forget_pin(self) -> None:
        """Have the pin read anew."""
        self._pin_read = False

    @contextmanager
    def write(self) -> Iterator[sa.Connection]:
        """One short transaction."""
        with self._writing, self.store.write() as conn:
            yield conn

    def key(self, conn: sa.Connection) -> int | None:
        """The key of the scope; None before something was written to it."""
        if self._key is None:
            self._key = conn.scalar(sa.select(scopes.c.key).where(scopes.c.scope == self.scope))
        return self._key

    def key_to_write(self, conn: sa.Connection) -> int:
        """The key of the scope, which is made where it is new."""
        if self._key is None:  # not kept before it is committed
            return Desk(conn).scope_key(self.scope)
        return self._key

    def local_vectors(self) -> Callable[[Sequence[str]], Vectors] | None:
        """What gives vectors without network or cost, to compare a reply by; None where there is no such model."""
        embedder = self.embedder().embedder
        if embedder is None or not embedder.local:
            return None

        def passages(texts: Sequence[str]) -> Vectors:
            try:
                return embedder.passages(texts)
            except EmbedderFailed:  # words alone then
                return np.zeros((len(texts), 1), np.float32)

        return passages

    def embedder(self) -> Choice:
        """The embedder of the store, in haste; one that is not on this machine stands behind a breaker."""
        with self.store.read() as conn:
            return self.embedder_by(pin_of(conn))

    def embedder_by(self, pinned: Pin | None) -> Choice:
        """The same, by the pin of the store."""
        settings = self.settings.embedding
        hasty = settings.model_copy(update={"timeout_seconds": min(settings.timeout_seconds, HASTE_SECONDS)})
        choice = embedder_of(hasty, pinned, os.environ, retries=0)
        if choice.embedder is None or choice.embedder.local:
            return choice
        breaker = self._breakers.setdefault(choice.embedder.model, Breaker(choice.embedder, clock=self._ticks))
        return choice._replace(embedder=breaker)
