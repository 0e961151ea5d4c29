"""
A few memories of a large scope, in which all that may answer a question are: what is ranked where the scope is not in
memory.

They are the nearest by meaning (pgvector), those that hold a rare word of the question (tsvector), those taken in after
the last that pgvector knows, and what is linked to the nearest or was said with them. They are ranked as the whole
scope would be, but that the means of all vectors and of the lengths of texts are those of a few.
"""

import numpy as np
import sqlalchemy as sa

from consolidator.recall.index import Integers
from consolidator.recall.ranking import Asked
from consolidator.recall.stretches import stretches_of
from consolidator.recall.terms import forms, terms
from consolidator.recall.times import times_in
from consolidator.store.nearest import FROM_ROWS, is_kept, nearest, newest_kept, rows_kept
from consolidator.store.recall import Shelf, said_at, said_in
from consolidator.store.search import holding
from consolidator.store.tables import associations, memories
from consolidator.store.vectors import vector_parts

MOST_IN_MEMORY = 300_000  # vectors of a scope; more are not read into memory where pgvector keeps them
NEAREST, RARE, NEWEST, LINKED = 400, 1_000, 2_000, 100
BESIDE = 2_000
_SAMPLE = 1_500
_MOST_COUNTED = 100_000


def picked(conn: sa.Connection, shelf: Shelf, scope_key: int, asked: Asked) -> Shelf | None:
    """
    A shelf of these few; None where the scope is better read whole.

    That is where pgvector keeps no vectors or few, and where words alone are compared; up to 300,000 vectors also from
    the second question of a process on, since reading them then pays, and where the question names a time, since what
    was said then is found by nothing else.
    """
    if shelf.pinned is None or asked.vector is None or len(shelf.index) or not is_kept(conn, shelf.pinned):
        return None
    rows = rows_kept(conn)
    if rows <= MOST_IN_MEMORY:
        times = any(times_in(asked.query, now=asked.now, zone=asked.zone))
        if rows < FROM_ROWS or times or shelf.asked:
            return None
    shelf.asked += 1
    return pick(conn, shelf, scope_key, asked)


def pick(conn: sa.Connection, shelf: Shelf, scope_key: int, asked: Asked, *, most: int = NEAREST) -> Shelf:
    """The same, wherever pgvector keeps vectors. most: how many of the nearest."""
    assert shelf.pinned is not None
    assert asked.vector is not None
    conditions = _conditions(asked)
    keys = nearest(conn, scope_key, asked.vector, conditions=conditions, limit=most)
    of_scope = [memories.c.scope_key == scope_key, *conditions]
    near = keys[:LINKED]
    ends = (associations.c.memory_a, associations.c.memory_b)
    for here, there in (ends, ends[::-1]):
        keys += conn.scalars(sa.select(there).where(here.in_(near)).limit(NEWEST))
    newest = sa.select(memories.c.key).where(*of_scope, memories.c.key > newest_kept(conn))
    keys += conn.scalars(newest.order_by(memories.c.key.desc()).limit(NEWEST))
    held: dict[str, int] = {}
    for term in dict.fromkeys(terms(asked.query)):
        some = conn.scalars(sa.select(memories.c.key).where(*of_scope, holding(forms(term))).limit(RARE + 1)).all()
        keys += some if len(some) <= RARE else []
        every = sa.select(memories.c.key).where(of_scope[0], holding(forms(term))).limit(_MOST_COUNTED).subquery()
        held[term] = conn.scalar(sa.select(sa.func.count()).select_from(every)) or 0
    every_key, at = said_in(conn, scope_key)
    stretches = stretches_of(at)
    keys += _beside(every_key, stretches, [*near, *keys[-RARE:]])
    few = Shelf(shelf.pinned)
    few.take(conn, scope_key, sorted(set(keys).intersection(every_key.tolist())))
    sample = every_key[:: len(every_key) // _SAMPLE + 1].tolist()
    vectors = [each for _, each in vector_parts(conn, scope_key, shelf.pinned, sample)]
    whole = len(few.index) == len(every_key)
    few.index.stand_for(every_key, stretches, held, None if whole or not vectors else np.concatenate(vectors))
    return few


def _beside(keys: Integers, stretches: Integers, found: list[int]) -> list[int]:
    """What was said with some memories, stretch by stretch, the first first."""
    sizes = np.bincount(stretches, minlength=1)
    order = np.argsort(stretches, kind="stable")
    ends = np.cumsum(sizes)
    places = np.minimum(np.searchsorted(keys, found), len(keys) - 1)
    chosen: list[int] = []
    for stretch in dict.fromkeys(stretches[places[keys[places] == found]].tolist()):
        if len(chosen) < BESIDE:
            chosen += keys[order[ends[stretch] - sizes[stretch] : ends[stretch]]].tolist()
    return chosen


def _conditions(asked: Asked) -> list[sa.ColumnElement[bool]]:
    found = [memories.c.created_at <= asked.now]
    if not asked.deep:
        found.append(memories.c.status == "active")
    if asked.types is not None:
        found.append(memories.c.type.in_(list(asked.types)))
    if asked.since is not None:
        found.append(said_at() >= asked.since)
    if asked.until is not None:
        found.append(said_at() <= asked.until)
    return found
