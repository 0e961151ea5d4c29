"""
How well each memory answers a query: by meaning, by words, by who and when is named, and by what was said with it.

The constants were chosen on conversations with questions, each on all but the one that it was then tried on
(`bench/recall.py`).
"""

from typing import NamedTuple

import numpy as np

from consolidator.recall.index import Floats, Index, Integers


class Weights(NamedTuple):
    """
    What each part counts beside meaning, which counts 1.

    words: BM25 as a share of what a short text with all words of the question would have, or of the best if that has
    more. names: the memory begins with a name of the question. times: how near to a time that the question names it
    was said. echo: how far the question is moved to its best answer.
    stretch: the best of all that was said with it, in one sitting.
    recency, importance: off, unless asked for.
    """

    words: float = 0.3
    names: float = 0.2
    times: float = 0.5
    echo: float = 0.2
    stretch: float = 0.6
    recency: float = 0.0
    importance: float = 0.0


USUAL = Weights()
ECHOED_ROWS = 2_000
FULL = 2.0  # what a memory has that is all that was asked for, among others that are


class Parts(NamedTuple):
    """
    float32[n] each: what a score is made of, before weights. A row that is left out has -inf as `meaning` and `plain`.

    plain: the meaning to the question itself, before it is moved towards its best answer.
    """

    meaning: Floats
    words: Floats
    names: Floats
    times: Floats
    plain: Floats


def echoed(index: Index, query: Floats, meaning: Floats, echo: float) -> Floats:
    """The meaning of each row to a query moved a little towards its best answer; only the best rows are looked at."""
    best = int(np.argmax(meaning))
    if not echo or meaning[best] <= 0:
        return meaning
    rows = np.arange(len(meaning))
    if len(meaning) > ECHOED_ROWS:
        rows = np.argpartition(-meaning, ECHOED_ROWS)[:ECHOED_ROWS]
        rows.sort()
    to_best = index.meaning_of(rows, index.vectors(np.array([best]))[0])
    moved = meaning.copy()
    moved[rows] += np.float32(echo) * to_best
    length = np.float32(np.sqrt(1 + echo * echo + 2 * echo * float(meaning[best])))
    return moved / length


def own(parts: Parts, weights: Weights) -> Floats:
    """float32[n]: each row's score by itself."""
    found: Floats = parts.meaning + np.float32(weights.words) * parts.words
    found += np.float32(weights.names) * parts.names + np.float32(weights.times) * parts.times
    return found


def together(scores: Floats, stretches: Integers, weights: Weights) -> Floats:
    """
    The scores, each with a share of the best of its stretch: where one memory answers, those said with it may too.

    scores: float32[n]; -inf where a row does not count. stretches: int64[n], the number of each row's.
    """
    if not len(scores):
        return scores
    best = np.zeros(int(stretches.max()) + 1, np.float32)
    np.maximum.at(best, stretches, scores)
    found: Floats = scores + np.float32(weights.stretch) * best[stretches]
    return found


def answering(parts: Parts, stretches: Integers, weights: Weights) -> Floats:
    """
    float32[n]: how far each memory answers the question itself, by its own and by the best said with it.

    Meaning is that to the question as it was asked, and names do not count: all that is remembered of Ada names her,
    whatever is asked. -inf where a row is left out.
    """
    bare = weights._replace(names=0.0)
    found: Floats = together(own(parts._replace(meaning=parts.plain), bare), stretches, bare) / np.float32(FULL)
    return found
