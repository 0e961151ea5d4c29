"""Which of the best memories are given: different ones, as many as fit."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from consolidator.recall.index import Floats

NEAR_IDENTICAL = 0.85  # cosine above which one of two says little that is new
BYTES_A_TOKEN = 4
LEAST_ROWS, MOST_ROWS = 50, 400


def diversified(scores: NDArray[np.float64], vectors: Floats, *, most: int) -> list[tuple[int, float]]:
    """
    The places of the scores and what is left of each, best first: what nearly repeats a better one steps back.

    scores: float64[k]; vectors: float32[k, d], zeros for one without. Each counts less by what its cosine to the
    nearest of those before it is above 0.85. Ties: the first place.
    """
    left = scores.astype(np.float64).copy()
    nearest = np.full(len(scores), -1.0)
    chosen: list[tuple[int, float]] = []
    for _ in range(min(most, len(scores))):
        stepped = left - np.maximum(nearest - NEAR_IDENTICAL, 0) * scores
        place = int(np.argmax(stepped))
        chosen.append((place, float(stepped[place])))
        left[place] = -np.inf
        if vectors.size:
            nearest = np.maximum(nearest, np.vecdot(vectors, vectors[place]))
    return chosen


class Budget(NamedTuple):
    """At most so many memories, words (separated by spaces) and tokens (four bytes each, about); None: any number."""

    limit: int | None = None
    words: int | None = None
    tokens: int | None = None

    @property
    def rows(self) -> int:
        """How many memories are looked at closely to fill it."""
        return min(max(LEAST_ROWS, 3 * (self.limit or 0), (self.words or 0) // 3, (self.tokens or 0) // 4), MOST_ROWS)


def fitting(contents: Sequence[str], budget: Budget) -> list[int]:
    """The places of texts that fit, in order; one that does not fit is passed over for a shorter one behind."""
    limit, words, tokens = budget
    chosen: list[int] = []
    for place, content in enumerate(contents):
        if limit is not None and len(chosen) >= limit:
            break
        size_in_words, size_in_tokens = len(content.split()), tokens_of(content)
        if (words is not None and size_in_words > words) or (tokens is not None and size_in_tokens > tokens):
            continue
        words = None if words is None else words - size_in_words
        tokens = None if tokens is None else tokens - size_in_tokens
        chosen.append(place)
    return chosen


def tokens_of(content: str) -> int:
    """About how many tokens a model reads in a text."""
    return -(-len(content.encode()) // BYTES_A_TOKEN)
