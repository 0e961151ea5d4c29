"""The vectors by which a night compares memories: made where they lack, read with the texts, counted for the report."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from consolidator.embedding.choose import Choice, embedder_of, spell
from consolidator.embedding.fill import embed_missing
from consolidator.embedding.port import EmbedderFailed
from consolidator.merging.texts import Text
from consolidator.settings import Embedding
from consolidator.store.engine import Store
from consolidator.store.vectors import pin_of, usual_pin, vectors_of
from consolidator.terms import Stop

Matrix = NDArray[np.float32]
Vectors = Callable[[Sequence[Text]], tuple[Matrix | None, NDArray[np.bool_]]]


@dataclass
class Comparing:
    """
    The embedder of one run, chosen when it is first needed.

    Where there is none, or it fails, what is stored and words are compared, and `failures` and `why_none` say so.
    advance: is told how many texts this run has embedded.
    """

    settings: Embedding
    environ: Mapping[str, str]
    advance: Callable[[int], object] | None = None
    made: int = 0
    failures: dict[str, None] = field(default_factory=dict)
    _choice: Choice | None = None

    def choose(self, store: Store) -> Choice:
        """The embedder for this store. BadInput where the settings name another than it is pinned to."""
        if self._choice is None:
            with store.read() as conn:
                self._choice = embedder_of(self.settings, pin_of(conn), self.environ)
        return self._choice

    @property
    def name(self) -> str | None:
        """The model whose vectors are compared, as a person names it."""
        return spell(self._choice.model) if self._choice and self._choice.model else None

    @property
    def why_none(self) -> str:
        """Why no vectors are made; empty where they are, or nobody wants them."""
        missing = self._choice is not None and self._choice.embedder is None and self._choice.model is not None
        return self._choice.why if self._choice and missing else ""

    def embed(self, store: Store, scope_key: int, stop: Stop) -> int:
        """Embed the active memories of a scope that lack a vector, batch by batch until it is to stop; how many."""
        embedder = self.choose(store).embedder
        if embedder is None or self.failures:
            return 0
        filled = embed_missing(store, scope_key, embedder, advance=self._count, stop=stop)
        if filled.why:
            self.failures[f"no new vectors: {filled.why}"] = None
        return filled.embedded

    def _count(self, texts: int) -> None:
        self.made += texts
        if self.advance:
            self.advance(self.made)

    def of(self, conn: sa.Connection, scope_key: int, *, embeds: bool = False) -> Vectors:
        """
        Gives the vectors of texts of a scope. embeds: those that lack are made in memory, by a local embedder only.
        """
        choice = self._choice
        pinned = usual_pin(conn, choice.model) if choice and choice.model else None
        keys, stored = vectors_of(conn, scope_key, pinned) if pinned else (np.zeros(0, np.int64), None)

        def give(texts: Sequence[Text]) -> tuple[Matrix | None, NDArray[np.bool_]]:
            asked = np.array([text.key for text in texts], np.int64)
            has = np.isin(asked, keys)
            lacking = [text.content for text, one in zip(texts, has.tolist(), strict=True) if not one]
            made = self._in_memory(lacking) if embeds else None
            width = stored.shape[1] if stored is not None else made.shape[1] if made is not None else 0
            if not width:
                return None, has
            matrix = np.zeros((len(texts), width), np.float32)
            if stored is not None:
                matrix[has] = stored[np.searchsorted(keys, asked[has])]
            if made is not None and made.shape[1] == width:
                matrix[~has] = made
                has = np.asarray(matrix.any(axis=1), np.bool_)
            return matrix, has

        return give

    def _in_memory(self, contents: Sequence[str]) -> Matrix | None:
        embedder = self._choice.embedder if self._choice else None
        if embedder is None or not embedder.local or not contents or self.failures:
            return None
        try:
            return embedder.passages(contents)
        except EmbedderFailed as failed:
            self.failures[f"no new vectors: {failed}"] = None
            return None

    def vector(self, text: str) -> tuple[str, Matrix] | None:
        """The vector of a text that was written; None where the next night makes it."""
        embedder = self._choice.embedder if self._choice else None
        if embedder is None or self.failures:
            return None
        try:
            return embedder.model, embedder.passages([text])[0]
        except EmbedderFailed as failed:
            self.failures[f"no new vectors: {failed}"] = None
            return None
