"""
Keyword search over the memories, in every script, the same on both stores.

Neither database cuts text as the other does, and neither cuts Chinese, Japanese, Korean or Thai. So words are cut
by `consolidator/words.py`, on the way in (`searchable`, kept in `memories.words`) and on the way out (a query). What is
written without spaces is kept letter by letter and found as a phrase.
"""

import re
from collections.abc import Iterable, Sequence
from functools import reduce
from itertools import islice, pairwise
from typing import Any

import sqlalchemy as sa

from consolidator.store.tables import memories
from consolidator.words import words

# Groups of phrases: every group matches, by any of its phrases.
Way = list[list[list[str]]]

# A Postgres text vector holds at most 1 MiB, each word with up to 6 bytes about it, and is slow long before.
LARGEST_VECTOR_BYTES, BYTES_ABOUT_A_WORD = 250_000, 6
MOST_QUERY_WORDS = MOST_QUERY_LETTERS = 50
MOST_QUERY_PIECES = 100

# What both databases cut as we do, so that it need not be kept twice.
_PLAIN = re.compile(
    r"(?:(?:[A-Za-z]{1,200}+|[0-9]{1,200}+)(?:[,;:!?'\"()\s]++|\.(?=\s|\Z)|\Z)|[,;:!?'\"()\s])*+", re.ASCII
)
_LARGEST_PLAIN = LARGEST_VECTOR_BYTES // 4


def searchable(text: str) -> str | None:
    """The words of a text for `memories.words`; None where the databases find the same words in the text itself."""
    if len(text) <= _LARGEST_PLAIN and _PLAIN.fullmatch(text):
        return None
    kept: list[str] = []
    room = LARGEST_VECTOR_BYTES
    for word in words(text):
        for token in word:
            room -= len(token.encode()) + BYTES_ABOUT_A_WORD
            if room < 0:
                return " ".join(kept)
            kept.append(token)
    return " ".join(kept)


def search_keys(
    connection: sa.Connection,
    query: str,
    scope_key: int | None,
    limit: int,
    *,
    statuses: Sequence[str] | None = None,
    all_words: bool = False,
) -> list[tuple[int, float]]:
    """
    The memories that hold the words of a query, best first: (key, rank).

    First those that hold it as a phrase (rank 3 to 4), then those that hold all of its words (2 to 3), then any
    (1 to 2), which is slow where a word is common; all_words: only the second. scope_key None: in every scope;
    statuses None: in every status. A query is words, never operators.
    """
    asked = [word[:MOST_QUERY_LETTERS] for word in islice(words(query), MOST_QUERY_WORDS)]
    if not asked or limit < 1:
        return []
    pieces = [piece for word in asked for piece in _pieces(word)]
    ways: tuple[Way, Way, Way] = (
        [[[token for word in asked for token in word]]],
        [[word] for word in asked],
        [[list(piece) for piece in dict.fromkeys(map(tuple, pieces))][:MOST_QUERY_PIECES]],
    )
    found: dict[int, float] = {}
    tried: list[Way] = []
    for tier, way in zip((3, 2, 1), ways, strict=True):
        if way in tried or len(found) >= limit or (all_words and tier != 2):
            continue
        tried.append(way)
        for key, score in _match(connection, way, scope_key, limit, statuses):
            found.setdefault(key, tier + score / (1 + score))
    return list(found.items())[:limit]


def _pieces(word: list[str]) -> list[list[str]]:
    """A word, or the pairs of letters of a long stretch without spaces, any of which may be what was meant."""
    return [word] if len(word) <= 2 else [list(pair) for pair in pairwise(word)]


def _match(
    connection: sa.Connection, way: Way, scope_key: int | None, limit: int, statuses: Sequence[str] | None
) -> list[tuple[int, float]]:
    """The best matches of every group of `way`; a group matches by any of its phrases. Scores are 0 or more."""
    matches = _in_postgres(way) if connection.dialect.name == "postgresql" else _in_sqlite(way)
    if scope_key is not None:
        matches = matches.where(memories.c.scope_key == scope_key)
    if statuses is not None:
        matches = matches.where(memories.c.status.in_(statuses))
    rows = connection.execute(matches.order_by(sa.desc("score"), memories.c.key).limit(limit))
    return [(row.key, max(row.score, 0.0)) for row in rows]


def _in_sqlite(way: Way) -> sa.Select[tuple[int, float]]:
    groups = [" OR ".join(f'"{" ".join(phrase)}"' for phrase in group) for group in way]
    wanted = " AND ".join(f"({group})" for group in groups)
    index = sa.table("memory_words", sa.column("rowid", sa.BigInteger), sa.column("memory_words", sa.Text))
    score = sa.literal_column("-bm25(memory_words)", sa.Double)
    return (
        sa.select(memories.c.key, score.label("score"))
        .select_from(index.join(memories, memories.c.key == index.c.rowid))
        .where(index.c.memory_words.match(wanted))
    )


def holding(forms: Sequence[str]) -> sa.ColumnElement[bool]:
    """Whether a memory holds any of these words, or pairs of letters of a script without spaces. On Postgres."""
    pairs = {form: not form.isascii() and len(form) == 2 for form in forms}
    wanted = [sa.func.phraseto_tsquery(_SIMPLE, " ".join(form) if pairs[form] else form) for form in forms]
    return _vector().bool_op("@@")(_joined("||", wanted))


_SIMPLE: sa.ColumnElement[str] = sa.literal_column("'simple'")


def _vector() -> sa.ColumnElement[Any]:
    return sa.func.to_tsvector(_SIMPLE, sa.func.coalesce(memories.c.words, memories.c.content))


def _in_postgres(way: Way) -> sa.Select[tuple[int, float]]:
    vector = _vector()
    groups = [[sa.func.phraseto_tsquery(_SIMPLE, " ".join(phrase)) for phrase in group] for group in way]
    wanted = _joined("&&", [_joined("||", group) for group in groups])
    score = sa.func.ts_rank(vector, wanted, type_=sa.Double)
    return sa.select(memories.c.key, score.label("score")).where(vector.bool_op("@@")(wanted))


def _joined(operator: str, queries: Iterable[sa.ColumnElement[Any]]) -> sa.ColumnElement[Any]:
    return reduce(lambda one, other: one.op(operator)(other), queries)
