"""Whether another memory says the same: seen when a text is remembered, judged by the night."""

import numpy as np
from numpy.typing import NDArray

from consolidator.day.place import Place
from consolidator.merging.alignment import Statements, covers
from consolidator.merging.facts import facts_of
from consolidator.merging.guard import differ
from consolidator.recall.terms import terms
from consolidator.store.recall import rows_of
from consolidator.store.search import search_keys
from consolidator.store.vectors import Pin, vectors_of
from consolidator.words import words

NEAR = 0.95  # cosine from which two texts may say the same
MOST_LOOKED_AT = 8
_LONGEST = 2_000  # characters: what is longer is no near duplicate worth looking for


def nearest(place: Place, name: str, text: str, pinned: Pin | None, vector: NDArray[np.float32] | None) -> str | None:
    """
    The id of an active memory of the scope that says the same in other words: cosine >= 0.95 and equal facts.

    It is looked for among the memories that hold every second of the text's longest words, the even or the odd ones: of
    two that say the same hardly a word differs. None where there is none, or no vector.
    """
    if pinned is None or vector is None or not vector.any() or len(text) > _LONGEST:
        return None
    with place.store.read() as conn:
        scope_key = place.key(conn)
        if scope_key is None:
            return None
        keys: set[int] = set()
        for query in _halves(text):
            found_by = search_keys(conn, query, scope_key, MOST_LOOKED_AT, statuses=["active"], all_words=True)
            keys.update(key for key, _ in found_by)
        found, vectors = vectors_of(conn, scope_key, pinned, sorted(keys))
        cosines = vectors @ vector
        rows = rows_of(conn, [int(key) for key, cosine in zip(found, cosines, strict=True) if cosine >= NEAR])
    best = sorted(zip(cosines.tolist(), found.tolist(), strict=True), reverse=True)
    for _, key in best:
        row = rows.get(key)
        if row is not None and row.id != name and not differ(row.content, text):
            return row.id
    return None


def _halves(text: str) -> list[str]:
    """Two queries, each of every second word of a text, the longest of them and no more than six."""
    said = sorted({"".join(word) for word in words(text)}, key=lambda word: (-len(word), word))
    return [" ".join(said[start::2][:6]) for start in range(min(2, len(said)))]


def says_all(text: str, part: str) -> bool:
    """Whether a text still says all that another one says: every fact, every word, every negation."""
    whole, facts = facts_of(text), facts_of(part)
    if not {*terms(part)} <= {*terms(text)} or not all(covers(whole, fact) for fact in facts.found):
        return False
    return not Statements(whole.clauses).lack(facts.clauses)
