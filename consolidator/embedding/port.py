"""The port: what every embedder does, and how it fails."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from consolidator.errors import ConsolidatorError

Vectors = NDArray[np.float32]


class EmbedderFailed(ConsolidatorError):
    """No vectors, and in one line why. What is stored stays, and words are there without vectors."""


class Embedder(Protocol):
    """
    Turns texts into vectors: float32[n, dimension], in the order of the texts, each of length 1; or of zeros, which
    says that this model cannot read the text.

    A text's vector depends on the text alone, not on those beside it. Some models read a question differently from
    what answers it: `queries` is for what is looked for, `passages` for what is kept.

    model: by which vectors are kept; those of different models are never compared. dimension: None before the first
    vector is known. local: no network and no cost. EmbedderFailed where there are no vectors.
    """

    @property
    def model(self) -> str: ...

    @property
    def dimension(self) -> int | None: ...

    @property
    def local(self) -> bool: ...

    def passages(self, texts: Sequence[str]) -> Vectors: ...

    def queries(self, texts: Sequence[str]) -> Vectors: ...
