"""Recall: what a scope remembers that answers a query, best first, within a budget. Records and changes nothing."""

from collections.abc import Collection
from dataclasses import dataclass, field

import sqlalchemy as sa

from consolidator.embedding.port import Embedder, EmbedderFailed
from consolidator.errors import BadInput
from consolidator.instants import format_instant
from consolidator.laws.clock import Rates
from consolidator.recall.choosing import Budget
from consolidator.recall.index import Floats
from consolidator.recall.need import no_need
from consolidator.recall.picking import picked
from consolidator.recall.ranking import Asked, Ranked, ranked
from consolidator.recall.scoring import USUAL, Weights
from consolidator.recall.terms import marked
from consolidator.store.engine import Store
from consolidator.store.recall import shelf_of
from consolidator.store.tables import scopes
from consolidator.store.vectors import Pin, usual_pin

LIMIT = 10


@dataclass(frozen=True, slots=True)
class Result:
    """A memory that was recalled. score in [0, 1]; parts: what it is the sum of (`PARTS`), where that was asked for."""

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
    least_score: float | None = None,
) -> Recalled:
    """
    What a scope remembers that answers a query, best first. Nothing is recorded or changed.

    scope: its canonical text. now: strengths, links and temporal states are those of then, and what was taken in
    later is not seen. embedder: None, or one that fails, leaves words alone, and the result says so; it is asked only
    where the store has vectors of its model. limit, words, tokens: budgets; a memory that does not fit is passed over.
    deep: archived and superseded ones too, marked by their status. since, until: when it was observed, else created.
    upcoming_first: what is still to come or under way goes before the rest, the nearest first.
    least_score: how far a memory must answer by meaning, words and times, by itself and with the best said beside it,
    before strength counts. None: 0.15, or where words alone are compared one word in common. Measured on conversations
    (`bench/recall.py`): 0.15 loses none of the evidence otherwise found, and leaves out 79 % of what questions about
    nothing in them would bring up and 29 % of what questions about other lives would; 0.2 leaves out 96 % and 58 %, and
    loses 0.3 %, but also short facts about which one asks in quite other words. BadInput where no time is meant.
    """
    insist_on_span(since, until)
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
    asked = Asked(
        query, vector, now, zone, rates, Budget(limit, words, tokens),
        deep=deep, types=types, since=since, until=until, upcoming_first=upcoming_first, least_score=least_score,
        weights=weights,
    )  # fmt: skip
    shelf = shelf_of(store, scope_key, pinned)
    with shelf.lock, store.read() as conn:
        few = picked(conn, shelf, scope_key, asked)
        if few is None:
            shelf.refresh(conn, scope_key)
        if few is None and not len(shelf.index):
            return Recalled(query, reason="there is nothing in this scope yet")
        best, some = ranked(conn, few or shelf, scope_key, asked)
    reason = None
    if not best:
        reason = "nothing fits the budget" if some else "nothing that is remembered answers this"
    mode = "bm25_only" if vector is None else "hybrid"
    return Recalled(query, [_result(each, explain=explain) for each in best], reason, mode, because)


def _result(ranked: Ranked, *, explain: bool) -> Result:
    row = ranked.row
    return Result(
        row.id, row.key, row.content, round(ranked.score, 6), row.type, row.status, round(ranked.strength, 6),
        row.created_at, row.observed_at, ranked.state.state, ranked.state.anchor,
        {name: round(part, 6) + 0.0 for name, part in ranked.parts.items()} if explain else None,
    )  # fmt: skip


def insist_on_span(since: int | None, until: int | None) -> None:
    """BadInput where there is no time from `since` to `until`."""
    if since is not None and until is not None and since > until:
        raise BadInput(
            f"since {format_instant(since)} is later than until {format_instant(until)}; no time lies between them"
        )


def _vector(query: str, embedder: Embedder | None, pinned: Pin | None, why: str) -> tuple[Floats | None, str | None]:
    """The vector of a query, or why there is none."""
    if embedder is None:
        return None, why or "there is no embedder"
    if pinned is None:
        return None, "the store has no vectors of this model yet; `consolidate embed` makes them"
    try:
        vector = embedder.queries([marked(query)])[0]
    except EmbedderFailed as error:
        return None, str(error)
    if vector.shape != (pinned.dimension,):
        return None, f"the embedder gives {len(vector)} numbers and the store's vectors have {pinned.dimension}"
    return (vector, None) if vector.any() else (None, "the model cannot read this query")
