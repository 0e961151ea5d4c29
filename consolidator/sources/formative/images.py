"""
A memory of formative-memory as an image, and the image that says what we hold.

    memory      its row
    embedding   its vector, base64 of the blob; None: there is none
    links       [other memory, weight, created_at, last_updated_at], by the other memory
    aliases     [old memory, next memory, reason, created_at] of what leads to it, also by way of others, by the old one
    waiting     [message, row, time] of the ratings that no night over there has counted
    true_at     when all strengths over there were last true; None: never

Strengths and weights are as of the last consolidation, ours or theirs; the row of full-text search follows from the
memory's. What was merged away leaves an alias, and it is its heir's image that holds that.
"""

import sqlite3
from base64 import b64decode, b64encode
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from consolidator.exchange.fields import temporal_text
from consolidator.instants import format_instant
from consolidator.sources.formative.file import rows
from consolidator.sources.port import Image, Ours, fingerprint_of
from consolidator.store.bulk import portions

OWNED = ("strength", "consolidated", "temporal_state", "temporal_anchor")
_DECIDED = ("id", "content", "type", "source", "created_at", "temporal_anchor")
_AT_ONCE = 400


class Counted(NamedTuple):
    """Which ratings over there our store has taken in: those up to a row that are no later than a time."""

    row: int
    time: str

    def holds(self, row: int, time: str) -> bool:
        return row <= self.row and time <= self.time


NOTHING_COUNTED = Counted(0, "")


def images_of(conn: sqlite3.Connection, ids: Collection[str]) -> dict[str, Image]:
    """The memories of these ids as they are now; what is not there is left out."""
    found: dict[str, Image] = {}
    state = dict(conn.execute("SELECT key, value FROM state WHERE key = 'last_consolidation_at'").fetchall())
    for some in portions([*ids], _AT_ONCE):
        marks = ", ".join("?" * len(some))
        links = _grouped(conn, _LINKS.replace("MARKS", marks), [*some, *some])
        aliases = _grouped(conn, _ALIASES.replace("MARKS", marks), some)
        waiting = _grouped(conn, _WAITING.replace("MARKS", marks), some)
        for row in rows(conn, _MEMORIES.replace("MARKS", marks), some):
            blob = row.pop("_embedding")
            found[row["id"]] = {
                "memory": row,
                "embedding": None if blob is None else b64encode(blob).decode(),
                "links": links.get(row["id"], []),
                "aliases": aliases.get(row["id"], []),
                "waiting": waiting.get(row["id"], []),
                "true_at": state.get("last_consolidation_at"),
            }
    return found


def fingerprint_of_row(row: Mapping[str, Any]) -> str:
    """Of what its agent decided. A state follows from its anchor and the time, where there is an anchor."""
    told = {name: row[name] for name in _DECIDED}
    return fingerprint_of(told if row["temporal_anchor"] else {**told, "temporal_state": row["temporal_state"]})


def render(ours: Ours, there: Image | None, counted: Counted, *, now: int) -> Image | None:
    """
    The image that says what we hold. There is no state for what is archived: that is removed.

    An anchor is theirs unless ours means another time.
    """
    if ours.status != "active":
        return None
    at = milliseconds(now)
    image = there or _new(ours)
    memory = image["memory"] | {
        "strength": ours.strength,
        "consolidated": int(ours.consolidated),
        "temporal_state": ours.temporal_state,
    }
    if ours.temporal_anchor is not None and ours.temporal_anchor != anchor_of(memory["temporal_anchor"]):
        memory["temporal_anchor"] = ours.temporal_anchor
    return {
        "memory": memory,
        "embedding": image["embedding"],
        "links": [*_links(ours, image["links"], at)],
        "aliases": [*_aliases(ours, image["aliases"], at)],
        "waiting": [[message, row, time] for message, row, time in image["waiting"] if not counted.holds(row, time)],
        "true_at": at,
    }


def vector_of(image: Image) -> bytes | None:
    """The blob of its vector."""
    return None if image["embedding"] is None else b64decode(image["embedding"])


def milliseconds(instant: int) -> str:
    """As it writes its times: UTC, with three digits, so that they compare as texts. Cut, not rounded."""
    return format_instant(instant - instant % 1000)


def anchor_of(text: str | None) -> str | None:
    """An anchor that can be read; what cannot, formative-memory ignores too."""
    if text is None:
        return None
    for spelling in (text, f"{text}Z"):
        try:
            return temporal_text(spelling)
        except ValueError:
            continue
    return None


def _new(ours: Ours) -> Image:
    memory = {
        "id": ours.id,
        "type": ours.type,
        "content": ours.content,
        "temporal_state": ours.temporal_state,
        "temporal_anchor": ours.temporal_anchor,
        "created_at": milliseconds(ours.created_at),
        "strength": ours.strength,
        "source": "consolidation",
        "consolidated": int(ours.consolidated),
    }
    embedding = None if ours.vector is None else b64encode(ours.vector).decode()
    return {"memory": memory, "embedding": embedding, "links": [], "aliases": [], "waiting": [], "true_at": None}


def _links(ours: Ours, there: Iterable[list[Any]], at: str) -> Iterator[list[Any]]:
    """One whose weight has not changed keeps its times."""
    known = {other: (weight, made, changed) for other, weight, made, changed in there}
    for other, weight in sorted(ours.links):
        before, made, changed = known.get(other, (None, at, None))
        yield [other, weight, made, changed if weight == before else at]


def _aliases(ours: Ours, there: Iterable[list[Any]], at: str) -> Iterator[list[Any]]:
    known = {old: [old, *rest] for old, *rest in there}
    for old in sorted({*known, *ours.merged_from} - {ours.id}):
        yield known.get(old) or [old, ours.id, "merged", at]


def _grouped(conn: sqlite3.Connection, query: str, values: Sequence[str]) -> dict[str, list[list[Any]]]:
    """The rows of a query by their first column, without it."""
    found: dict[str, list[list[Any]]] = {}
    for key, *rest in conn.execute(query, values):
        found.setdefault(key, []).append(rest)
    return found


_MEMORIES = """
SELECT m.*, e.embedding AS _embedding
FROM memories m
LEFT JOIN memory_embeddings e ON e.id = m.id
WHERE m.id IN (MARKS)
"""
_LINKS = """
SELECT memory_a AS id, memory_b AS other, weight, created_at, last_updated_at
FROM associations
WHERE memory_a IN (MARKS)
UNION ALL
SELECT memory_b, memory_a, weight, created_at, last_updated_at
FROM associations
WHERE memory_b IN (MARKS)
ORDER BY other
"""
# By way of others too: what leads to it is not to be led there a second time.
_ALIASES = """
WITH RECURSIVE leads (heir, old_id, new_id, reason, created_at) AS (
    SELECT new_id, old_id, new_id, reason, created_at
    FROM memory_aliases
    WHERE new_id IN (MARKS)
    UNION
    SELECT leads.heir, a.old_id, a.new_id, a.reason, a.created_at
    FROM leads
    JOIN memory_aliases a ON a.new_id = leads.old_id
)
SELECT heir, old_id, new_id, reason, created_at FROM leads ORDER BY old_id
"""
_WAITING = """
SELECT memory_id, message_id, rowid, coalesce(updated_at, created_at)
FROM message_memory_attribution
WHERE memory_id IN (MARKS) AND reinforcement_applied = 0
ORDER BY message_id
"""
