"""Memories of ours as a push tells them: with their strengths and temporal states as of the push."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import sqlalchemy as sa

from consolidator.embedding.choose import kept_as
from consolidator.laws.clock import ASSOCIATION, Clock, Rates
from consolidator.laws.fading import DEAD
from consolidator.laws.pace import AGED_BY, Ageing
from consolidator.laws.strength import strength_at
from consolidator.sources.planned import Agenda
from consolidator.sources.port import Options, Ours, Source
from consolidator.store.clocks import read_clock
from consolidator.store.engine import Store, keyed
from consolidator.store.readers import temporal_of
from consolidator.store.tables import DIRECT, associations, embeddings, identities, memories, scopes


class Told(NamedTuple):
    """A memory as it is told, and its revision then."""

    ours: Ours
    revision: int


class Teller:
    """Tells memories to a source, as of a moment."""

    def __init__(self, store: Store, source: Source, options: Options, *, now: int, rates: Rates) -> None:
        self.store, self.source, self.options = store, source, options
        self.now, self.rates = now, rates
        self._clocks: dict[int, Clock] = {}

    def tell(self, keys: Iterable[int], agenda: Agenda) -> dict[int, Told]:
        """These memories, by key, with what binds them to records over there. What is gone by now is left out."""
        with self.store.read() as conn:
            told = self._plain(conn, sorted({*keys}))
            links = self._links(conn, told, agenda) if self.source.asks_for_links else {}
        return {
            key: one._replace(
                ours=replace(
                    one.ours,
                    heir=next(iter(agenda.records.get(agenda.heirs.get(key, 0), ())), None),
                    merged_from=agenda.sources.get(key, ()),
                    links=links.get(key, ()),
                )
            )
            for key, one in told.items()
        }

    def with_vectors(self, told: Mapping[int, Told]) -> dict[int, Told]:
        """The same with vectors of the source's own model: those that are here, else made anew where that can be."""
        vectors: dict[int, bytes] = {}
        if self.source.model is not None:
            with self.store.read() as conn:
                asked = keyed(conn, key=sorted(told))
                query = sa.select(embeddings.c.memory_key, embeddings.c.vector)
                query = query.join(asked, asked.c.key == embeddings.c.memory_key)
                vectors = dict(conn.execute(query.where(embeddings.c.model == kept_as(self.source.model))).all())
        lacking = [key for key in told if key not in vectors]
        if lacking and self.options.vectors_of is not None:
            made = self.options.vectors_of([told[key].ours.content for key in lacking])
            vectors |= {key: np.ascontiguousarray(row, "<f4").tobytes() for key, row in zip(lacking, made, strict=True)}
        return {key: one._replace(ours=replace(one.ours, vector=vectors.get(key))) for key, one in told.items()}

    def _plain(self, conn: sa.Connection, keys: Sequence[int]) -> dict[int, Told]:
        asked = keyed(conn, key=keys)
        query = (
            sa.select(memories, identities.c.hash, scopes.c.scope, scopes.c.time_zone)
            .join(asked, asked.c.key == memories.c.key)
            .join(identities, identities.c.key == memories.c.key)
            .join(scopes, scopes.c.key == memories.c.scope_key)
        )
        by_scope: dict[int, list[sa.RowMapping]] = defaultdict(list)
        for row in conn.execute(query).mappings():
            by_scope[row["scope_key"]].append(row)
        told: dict[int, Told] = {}
        for scope_key, rows in by_scope.items():
            strengths = strength_at(
                self._clock(conn, scope_key),
                [row["strength"] for row in rows],
                [row["strength_at"] for row in rows],
                self.now,
                Ageing(*([row[name] for row in rows] for name in AGED_BY)),
            )
            for row, strength in zip(rows, strengths.tolist(), strict=True):
                told[row["key"]] = Told(_ours(row, strength, self.now), row["revision"])
        return told

    def _clock(self, conn: sa.Connection, scope_key: int) -> Clock:
        """The clock of a scope, read once for a push: that asks for all that no night has seen."""
        if scope_key not in self._clocks:
            self._clocks[scope_key] = read_clock(conn, scope_key, now=self.now, rates=self.rates)
        return self._clocks[scope_key]

    def _links(
        self, conn: sa.Connection, told: Mapping[int, Told], agenda: Agenda
    ) -> dict[int, tuple[tuple[str, float], ...]]:
        """The direct links of these memories to those that have a record over there, as of now."""
        found: dict[int, dict[str, float]] = defaultdict(dict)
        ends = (associations.c.memory_a, associations.c.memory_b)
        for here, there in (ends, ends[::-1]):
            asked = keyed(conn, key=sorted(told))
            columns = (associations.c.scope_key, here, there, associations.c.weight, associations.c.weight_at)
            query = sa.select(*columns).join(asked, asked.c.key == here).where(DIRECT)
            for scope_key, key, far, weight, at in conn.execute(query):
                records = agenda.records.get(far)
                weight = (
                    float(strength_at(self._clock(conn, scope_key), weight, at, self.now, ASSOCIATION))
                    if records
                    else 0.0
                )
                if records and weight >= DEAD:
                    found[key][records[0]] = weight
        return {key: tuple(sorted(links.items())) for key, links in found.items()}


def _ours(row: sa.RowMapping, strength: float, now: int) -> Ours:
    state = temporal_of(row, zone=row["time_zone"], now=now)
    return Ours(
        id=row["hash"],
        scope=row["scope"],
        content=row["content"],
        type=row["type"],
        created_at=row["created_at"],
        strength=strength,
        status=row["status"],
        because=row["archived_because"],
        consolidated=row["consolidated"],
        pinned=row["pinned"],
        observed_at=row["observed_at"],
        temporal_state=state.state,
        temporal_anchor=state.anchor,
        temporal_end=state.end,
        expires_at=row["expires_at"],
        importance=row["importance"],
        topics=tuple(row["topics"] or ()),
        metadata=row["metadata"],
    )
