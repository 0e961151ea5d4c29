"""
The order in which the memories of a scope answer a question, and what each score is made of.

A score is the sum of its parts, so that a person can add it up again: see `PARTS`.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from consolidator.instants import NIGHT
from consolidator.laws.clock import Rates
from consolidator.laws.pace import Ageing
from consolidator.laws.strength import strength_at
from consolidator.laws.temporal import Temporal, temporal
from consolidator.recall.choosing import Budget, diversified, fitting
from consolidator.recall.index import Floats, Index
from consolidator.recall.scoring import FULL, USUAL, Parts, Weights, answering, echoed, own, together
from consolidator.recall.spreading import LEAST_SEED, activations
from consolidator.recall.terms import names_in, terms
from consolidator.recall.times import nearness, times_in
from consolidator.store.recall import Row, Shelf, links_from, rows_of

LEAST_SCORE = 0.15  # chosen as `recall` tells
FROM_STRENGTH = 0.3  # the share of a score that follows strength; the rest stays, so that old but right ones are found
RECENT_NIGHTS = 30.0  # after which recency, where it is asked for, has halved
SEEDS = 20
FEWEST_NAMED, NAMED_SHARE = 3, 0.05  # so many memories, and so large a share, begin with what is a name

PARTS = {
    "meaning": "how near its meaning is to the question's",
    "words": "how many of the question's words it has, the rare ones counting more",
    "names": "it begins with a name of the question",
    "times": "it was said in, or near, a time that the question names",
    "beside": "how well the best of what was said with it answers",
    "over": "what these exceed 1 by, taken away",
    "linked": "what links to other good answers add",
    "strength": "taken away for what has faded, at most three tenths",
    "recency": "taken away for age, where recency is asked for",
    "importance": "taken away for lack of importance, where that is asked for",
    "repeats": "taken away for what a better one nearly says already",
}

Doubles = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, and which memories may answer it. vector: None compares words alone; zone: of the scope."""

    query: str
    vector: Floats | None
    now: int
    zone: str
    rates: Rates
    budget: Budget
    deep: bool = False
    types: Collection[str] | None = None
    since: int | None = None
    until: int | None = None
    upcoming_first: bool = False
    least_score: float | None = None
    weights: Weights = USUAL


class Ranked(NamedTuple):
    """A memory with its score, what that is the sum of, its strength and its state in time at `now`."""

    row: Row
    score: float
    parts: dict[str, float]
    strength: float
    state: Temporal


def ranked(conn: sa.Connection, shelf: Shelf, scope_key: int, asked: Asked) -> tuple[list[Ranked], bool]:
    """The best answers that fit the budget, in order, and whether there was any at all."""
    eligible = _eligible(shelf, asked)
    if not eligible.any():
        return [], False
    index, weights = shelf.index, asked.weights
    if asked.vector is None:
        weights = weights._replace(words=1.0)
    parts = parts_of(shelf, asked, eligible=eligible, weights=weights)
    alone = own(parts, weights)
    scores: Floats = together(alone, index.stretches(), weights) / np.float32(FULL)  # -inf stays
    answers = eligible & _answers(shelf, asked, parts, weights)
    top = _best(np.where(answers, scores, np.float32(-np.inf)), asked.budget.rows)
    clock = shelf.clock(conn, scope_key, now=asked.now, rates=asked.rates)
    seeds = {int(index.keys[place]): float(scores[place]) for place in top[:SEEDS] if scores[place] >= LEAST_SEED}
    active = activations(seeds, links_from(conn, list(seeds), clock, now=asked.now))
    linked = [index.place(key) for key in active if index.holds(key)]
    places = [int(place) for place in dict.fromkeys([*top.tolist(), *linked]) if eligible[place]]
    fresh = rows_of(conn, [int(index.keys[place]) for place in places])
    for place in places:  # what was archived, or forgotten, since the last look
        row = fresh.get(int(index.keys[place]))
        shelf.there[place] = row is not None
        shelf.active[place] = row is not None and row.status == "active"
    kept = np.array(
        [place for place in places if int(index.keys[place]) in fresh and (asked.deep or shelf.active[place])]
    )
    if not len(kept):
        return [], False
    rows = [fresh[key] for key in index.keys[kept].tolist()]
    strengths = strength_at(
        clock, [row.strength for row in rows], [row.strength_at for row in rows], asked.now,
        Ageing.of(rows),
    )  # fmt: skip
    found = _found(parts, alone, scores, kept, weights)
    found = {name: np.where(answers[kept], part, 0.0) for name, part in found.items()}
    passed = np.array([active.get(row.key, 0.0) for row in rows])
    found |= _lived(found, passed, strengths, rows, weights, now=asked.now)
    total = np.sum(list(found.values()), axis=0)
    budget = asked.budget
    only_counted = budget.limit is not None and budget[1:] == (None, None) and not asked.upcoming_first
    order = diversified(total, index.vectors(kept), most=budget.limit or 0 if only_counted else len(kept))
    states = {place: _state(rows[place], asked) for place, _ in order} if asked.upcoming_first else {}
    if asked.upcoming_first:
        order.sort(key=lambda each: _when(states[each[0]]))
    chosen = [order[at] for at in fitting([rows[place].content for place, _ in order], budget)]
    return [
        Ranked(
            rows[place],
            score,
            {name: float(part[place]) for name, part in found.items()} | {"repeats": score - float(total[place])},
            float(strengths[place]),
            states.get(place) or _state(rows[place], asked),
        )
        for place, score in chosen
    ], True


def parts_of(shelf: Shelf, asked: Asked, *, eligible: Flags, weights: Weights) -> Parts:
    """What the scores of a shelf's rows are made of; -inf as meaning where a row may not be recalled."""
    index = shelf.index
    bm25, ideal = index.words(terms(asked.query))
    by_words = bm25 / np.float32(max(float(bm25[eligible].max(initial=0.0)), ideal, 1e-9))
    plain = np.zeros(len(index), np.float32) if asked.vector is None else index.meaning(asked.vector)
    plain = np.where(eligible, plain, np.float32(-np.inf))
    moved = plain if asked.vector is None else echoed(index, asked.vector, plain, weights.echo)
    names = _named(index, asked.query).astype(np.float32)
    times = nearness(times_in(asked.query, now=asked.now, zone=asked.zone), index.said_at, zone=asked.zone)
    return Parts(moved, by_words, names, times, plain)


def _named(index: Index, query: str) -> Flags:
    """
    Which memories begin with a name of the question.

    Where none of them does, as in a question written all small, whatever word of it many memories begin with is a name.
    """
    firsts = index.first_terms
    found: Flags = np.isin(firsts, index.numbers([] if query.isupper() else names_in(query)))
    if not found.any():
        least = max(FEWEST_NAMED, len(firsts) * NAMED_SHARE)
        for number in index.numbers(list(dict.fromkeys(terms(query)))):
            named = firsts == number
            if np.count_nonzero(named) >= least:
                found |= named
    return found


def _answers(shelf: Shelf, asked: Asked, parts: Parts, weights: Weights) -> Flags:
    """Which memories answer at all, before strength. Words alone: one in common is enough, where no more is asked."""
    if asked.vector is not None:
        least = LEAST_SCORE if asked.least_score is None else asked.least_score
        return answering(parts, shelf.index.stretches(), weights) >= least
    found: Flags = parts.words > 0
    if asked.least_score is not None:
        found &= answering(parts, shelf.index.stretches(), weights) >= asked.least_score
    return found


def _eligible(shelf: Shelf, asked: Asked) -> Flags:
    """Which memories may be recalled."""
    said_at = shelf.index.said_at
    found: Flags = (shelf.created_at <= asked.now) & (shelf.there if asked.deep else shelf.active)
    if asked.since is not None:
        found &= said_at >= asked.since
    if asked.until is not None:
        found &= said_at <= asked.until
    if asked.types is not None:
        found &= shelf.of_types(asked.types)
    return found


def _found(
    parts: Parts, alone: Floats, scores: Floats, kept: NDArray[np.int64], weights: Weights
) -> dict[str, Doubles]:
    """What each of some rows has by itself and by what was said with it; together at most 1, at least 0."""
    own_parts = {
        "meaning": parts.meaning[kept],
        "words": weights.words * parts.words[kept],
        "names": weights.names * parts.names[kept],
        "times": weights.times * parts.times[kept],
        "beside": scores[kept] * FULL - alone[kept],
    }
    found = {name: part.astype(np.float64) / FULL for name, part in own_parts.items()}
    total = np.sum(list(found.values()), axis=0)
    return found | {"over": np.clip(total, 0.0, 1.0) - total}


def _lived(
    found: dict[str, Doubles], passed: Doubles, strengths: Doubles, rows: list[Row], weights: Weights, *, now: int
) -> dict[str, Doubles]:
    """What links add, and what fading takes away; age and lack of importance too, where they are asked about."""
    relevance = np.sum(list(found.values()), axis=0)
    linked = (1 - relevance) * passed
    faded = (relevance + linked) * FROM_STRENGTH * (strengths - 1)
    left = relevance + linked + faded
    age = np.array([max(0, now - (row.created_at if row.observed_at is None else row.observed_at)) for row in rows])
    recent = np.exp2(-age / NIGHT / RECENT_NIGHTS)
    important = np.clip(np.array([0.5 if row.importance is None else row.importance for row in rows]), 0.0, 1.0)
    whole = 1 + weights.recency + weights.importance
    return {
        "linked": linked,
        "strength": faded,
        "recency": left * weights.recency * (recent - 1) / whole,
        "importance": left * weights.importance * (important - 1) / whole,
    }


def _state(row: Row, asked: Asked) -> Temporal:
    return temporal(
        row.temporal_state, row.temporal_anchor, row.temporal_end, row.recurrence, row.recurrence_start,
        zone=asked.zone, now=asked.now,
    )  # fmt: skip


def _when(state: Temporal) -> tuple[int, str]:
    """Upcoming ones first, the nearest first; the rest stay in their order."""
    return (0, state.anchor or "") if state.state in ("future", "present") else (1, "")


def _best(scores: Floats, most: int) -> NDArray[np.int64]:
    """The places of the best scores, best first; those of -inf are none. Ties: the first place."""
    among = np.sort(np.argpartition(-scores, most)[:most]) if len(scores) > most else np.arange(len(scores))
    among = among[np.isfinite(scores[among])]
    return among[np.argsort(-scores[among], kind="stable")]
