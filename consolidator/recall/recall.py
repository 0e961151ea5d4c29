"""Recall: what a scope remembers that answers a query, best first, within a budget. Records and changes nothing."""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import sqlalchemy as sa

from consolidator.embedding.port import Embedder, EmbedderFailed
from consolidator.instants import NIGHT
from consolidator.laws.clock import CONSOLIDATED, WORKING, Rates
from consolidator.laws.strength import strength_at
from consolidator.laws.temporal import temporal
from consolidator.recall.choosing import Budget, diversified, fitting
from consolidator.recall.need import no_need
from consolidator.recall.scoring import FULL, USUAL, Parts, Weights, echoed, own, together
from consolidator.recall.spreading import LEAST_SEED, activations
from consolidator.recall.terms import names_in, terms
from consolidator.recall.times import nearness, times_in
from consolidator.store.engine import Store
from consolidator.store.recall import Row, Shelf, links_from, rows_of, shelf_of
from consolidator.store.tables import scopes
from consolidator.store.vectors import Pin, usual_pin

LIMIT = 10
LEAST_SCORE = 0.1  # of a memory by itself, before strength: less is no answer
FROM_STRENGTH = 0.3  # the share of a score that follows strength; the rest stays, so that old but right ones are found
RECENT_NIGHTS = 30.0  # after which recency, where it is asked for, has halved
_SEEDS = 20


@dataclass(frozen=True, slots=True)
class Result:
    """A memory that was recalled. score in [0, 1]; parts: what it is made of, where that was asked for."""

    id: str
    key: int
    content: str
    score: float
    type: str
    status: str
    strength: float
    created_at: int
    observed_at: int | None
    temporal_state: str
    temporal_anchor: str | None
    parts: dict[str, float] | None = None


@dataclass(frozen=True, slots=True)
class Recalled:
    """
    What was recalled, in order of rank. reason: why nothing was; mode: "hybrid", or "bm25_only" where words alone
    were compared, and `because` why.
    """

    query: str
    results: list[Result] = field(default_factory=list)
    reason: str | None = None
    mode: str = "hybrid"
    because: str | None = None


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What may be recalled."""

    now: int
    deep: bool
    types: Collection[str] | None
    since: int | None
    until: int | None


def recall(
    store: Store,
    scope: str,
    query: str,
    *,
    now: int,
    embedder: Embedder | None,
    rates: Rates,
    why_no_embedder: str = "",
    limit: int | None = LIMIT,
    words: int | None = None,
    tokens: int | None = None,
    deep: bool = False,
    types: Collection[str] | None = None,
    since: int | None = None,
    until: int | None = None,
    upcoming_first: bool = False,
    weights: Weights = USUAL,
    explain: bool = False,
) -> Recalled:
    """
    What a scope remembers that answers a query, best first. Nothing is recorded or changed.

    scope: its canonical text. now: strengths, links and temporal states are those of then, and what was taken in
    later is not seen. embedder: None, or one that fails, leaves words alone, and the result says so; it is asked only
    where the store has vectors of its model. limit, words, tokens: budgets; a memory that does not fit is passed over.
    deep: archived and superseded ones too, marked by their status. since, until: when it was observed, else created.
    upcoming_first: what is still to come or under way goes before the rest, the nearest first.
    """
    needless = no_need(query)
    if needless is not None:
        return Recalled(query, reason=f"this needs no memory: {needless}")
    with store.read() as conn:
        found = conn.execute(sa.select(scopes.c.key, scopes.c.time_zone).where(scopes.c.scope == scope)).one_or_none()
        if found is None:
            return Recalled(query, reason="there is nothing in this scope yet")
        scope_key, zone = found
        pinned = usual_pin(conn, embedder.model) if embedder is not None else None
    vector, because = _vector(query, embedder, pinned, why_no_embedder)
    if vector is None:
        pinned = None
    wanted = _Wanted(now, deep, types, since, until)
    shelf = shelf_of(store, scope_key, pinned)
    with shelf.lock, store.read() as conn:
        shelf.refresh(conn, scope_key)
        if not len(shelf.index):
            return Recalled(query, reason="there is nothing in this scope yet")
        results = _ranked(
            conn, shelf, scope_key, zone, query, vector, wanted, rates, weights,
            budget=Budget(limit, words, tokens), upcoming_first=upcoming_first, explain=explain,
        )  # fmt: skip
    fits = fitting([each.content for each in results], Budget(limit, words, tokens))
    reason = None
    if not results:
        reason = "nothing that is remembered answers this"
    elif not fits:
        reason = "nothing fits the budget"
    return Recalled(
        query, [results[place] for place in fits], reason, "bm25_only" if vector is None else "hybrid", because
    )


def _vector(
    query: str, embedder: Embedder | None, pinned: Pin | None, why: str
) -> tuple["np.typing.NDArray[np.float32] | None", str | None]:
    """The vector of a query, or why there is none."""
    if embedder is None:
        return None, why or "there is no embedder"
    if pinned is None:
        return None, "the store has no vectors of this model yet; `consolidate embed` makes them"
    try:
        vector = embedder.queries([query])[0]
    except EmbedderFailed as error:
        return None, str(error)
    if vector.shape != (pinned.dimension,):
        return None, f"the embedder gives {len(vector)} numbers and the store's vectors have {pinned.dimension}"
    return (vector, None) if vector.any() else (None, "the model cannot read this query")


def parts_of(
    shelf: Shelf, query: str, vector: Any, *, now: int, zone: str, eligible: Any, weights: Weights = USUAL
) -> Parts:
    """What the scores of a shelf's rows are made of; -inf as meaning where a row may not be recalled."""
    index = shelf.index
    bm25, ideal = index.words(terms(query))
    by_words = bm25 / np.float32(max(float(bm25[eligible].max(initial=0.0)), ideal, 1e-9))
    if vector is None:
        meaning = np.zeros(len(index), np.float32)
    else:
        meaning = echoed(index, vector, index.meaning(vector), eligible, weights.echo)
    names = np.isin(index.first_terms, index.numbers(names_in(query))).astype(np.float32)
    times = nearness(times_in(query, now=now, zone=zone), index.said_at, zone=zone)
    return Parts(np.where(eligible, meaning, -np.inf).astype(np.float32), by_words, names, times)


def _eligible(shelf: Shelf, wanted: _Wanted) -> Any:
    said_at = shelf.index.said_at
    found = shelf.created_at <= wanted.now
    if not wanted.deep:
        found &= shelf.active
    if wanted.since is not None:
        found &= said_at >= wanted.since
    if wanted.until is not None:
        found &= said_at <= wanted.until
    if wanted.types is not None:
        found &= np.isin(np.array(shelf.types), list(wanted.types))
    return found


def _ranked(
    conn: sa.Connection,
    shelf: Shelf,
    scope_key: int,
    zone: str,
    query: str,
    vector: Any,
    wanted: _Wanted,
    rates: Rates,
    weights: Weights,
    *,
    budget: Budget,
    upcoming_first: bool,
    explain: bool,
) -> list[Result]:
    index, now = shelf.index, wanted.now
    eligible = _eligible(shelf, wanted)
    if not eligible.any():
        return []
    if vector is None:
        weights = weights._replace(words=1.0)
    parts = parts_of(shelf, query, vector, now=now, zone=zone, eligible=eligible, weights=weights)
    alone = own(parts, weights)
    scores = np.where(eligible, together(alone, index.stretches(), weights), -np.inf) / FULL
    answers = eligible & (alone >= LEAST_SCORE)
    if vector is None:
        answers &= parts.words > 0
    top = _best(np.where(answers, scores, -np.inf), budget.rows)
    clock = shelf.clock(conn, scope_key, now=now, rates=rates)
    seeds = {int(index.keys[place]): float(scores[place]) for place in top[:_SEEDS] if scores[place] >= LEAST_SEED}
    active = activations(seeds, links_from(conn, list(seeds), clock, now=now))
    linked = [index.place(key) for key in active if index.holds(key)]
    places = [int(place) for place in dict.fromkeys([*top.tolist(), *linked]) if eligible[place]]
    fresh = rows_of(conn, [int(index.keys[place]) for place in places])
    kept = [place for place in places if (row := fresh.get(int(index.keys[place]))) and _may(row, wanted)]
    for place in places:  # what was archived, or forgotten, since the last look
        row = fresh.get(int(index.keys[place]))
        shelf.active[place] = row is not None and row.status == "active"
    if not kept:
        return []
    these = [fresh[int(index.keys[place])] for place in kept]
    relevance = np.clip(np.where(answers[kept], scores[kept], 0.0).astype(np.float64), 0.0, 1.0)
    passed = np.array([active.get(row.key, 0.0) for row in these])
    relevance = 1 - (1 - relevance) * (1 - passed)
    strengths = strength_at(
        clock, [row.strength for row in these], [row.strength_at for row in these], now,
        np.where([row.consolidated for row in these], CONSOLIDATED, WORKING),
    )  # fmt: skip
    final = relevance * (1 - FROM_STRENGTH + FROM_STRENGTH * strengths) * _asked_for(these, weights, now=now)
    order = diversified(final, index.vectors(np.array(kept)), most=len(kept))
    if not upcoming_first:
        fits = fitting([these[place].content for place, _ in order], budget)
        order = [order[at] for at in fits] or order[:1]
    results = []
    for place, score in order:
        row, at = these[place], kept[place]
        state = temporal(
            row.temporal_state, row.temporal_anchor, row.temporal_end, row.recurrence, row.recurrence_start,
            zone=zone, now=now,
        )  # fmt: skip
        said = None
        if explain:
            said = {
                "meaning": round(float(parts.meaning[at]), 4),
                "words": round(float(parts.words[at]), 4),
                "names": round(float(parts.names[at]), 4),
                "times": round(float(parts.times[at]), 4),
                "alone": round(float(alone[at]), 4),
                "beside": round(float(scores[at] * FULL - alone[at]), 4),
                "linked": round(float(passed[place]), 4),
                "relevance": round(float(relevance[place]), 4),
                "strength": round(float(strengths[place]), 4),
            }
        results.append(
            Result(
                row.id,
                row.key,
                row.content,
                round(score, 6),
                row.type,
                row.status,
                round(float(strengths[place]), 6),
                row.created_at,
                row.observed_at,
                state.state,
                state.anchor,
                said,
            )
        )
    if upcoming_first:
        results.sort(key=lambda each: _when(each))
    return results


def _may(row: Row, wanted: _Wanted) -> bool:
    return wanted.deep or row.status == "active"


def _asked_for(rows: list[Row], weights: Weights, *, now: int) -> Any:
    """By how much recency and importance, where they are asked for, raise each score."""
    age = np.array([max(0, now - (row.created_at if row.observed_at is None else row.observed_at)) for row in rows])
    recent = np.exp2(-age / NIGHT / RECENT_NIGHTS)
    important = np.array([0.5 if row.importance is None else row.importance for row in rows])
    raised = 1 + weights.recency * recent + weights.importance * np.clip(important, 0.0, 1.0)
    return raised / (1 + weights.recency + weights.importance)


def _when(result: Result) -> tuple[int, str]:
    """Upcoming ones first, the nearest first; the rest stay in their order."""
    upcoming = result.temporal_state in ("future", "present")
    return (0, result.temporal_anchor or "") if upcoming else (1, "")


def _best(scores: Any, most: int) -> Any:
    """The places of the best scores, best first; those of -inf are none. Ties: the first place."""
    among = np.sort(np.argpartition(-scores, most)[:most]) if len(scores) > most else np.arange(len(scores))
    among = among[np.isfinite(scores[among])]
    return among[np.argsort(-scores[among], kind="stable")]
