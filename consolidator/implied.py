"""What the links of a night imply: the legs around what changed, read as far as they can matter, and judged."""

from collections.abc import Collection, Iterable

import networkx as nx

from consolidator.laws.association import INFERRED_FROM, Inference, Pair
from consolidator.laws.clock import ASSOCIATION, NEVER
from consolidator.laws.fading import DEAD, value_at
from consolidator.plan import Values
from consolidator.steps import associate
from consolidator.store import legs as leg_rows
from consolidator.store.overlay import Overlay
from consolidator.tonight import Night


def infer_links(
    night: Night, *, archived: Collection[int] = (), revived: Collection[int] = (), rows: Overlay | None = None
) -> None:
    """
    Judge what links that changed, and memories that were archived (or superseded) or revived, imply; decide it.

    rows: how links and memories are read, where decisions of before are not in the store yet.
    """
    stored, now = rows or Overlay(night.conn), night.now
    archived, revived = frozenset(archived), frozenset(revived)
    age = float(night.clock.age(now, ASSOCIATION))
    legs: nx.Graph = nx.Graph()
    weights = value_at(age, [row.fades_age or 0.0 for row in night.links.values()], floor=DEAD).tolist()
    strong = (leg for leg in zip(night.links, weights, strict=True) if leg[1] >= INFERRED_FROM)
    legs.add_weighted_edges_from((a, b, weight) for (a, b), weight in strong)
    unseen: dict[int, list[tuple[Pair, float]]] = {}
    for pair, row in night.links_unseen.items():
        weight = float(value_at(age, night.link_ages.get(pair, -NEVER), floor=DEAD))
        if weight >= INFERRED_FROM and not row.inferred and pair not in night.links:
            for end in pair:
                unseen.setdefault(end, []).append((pair, weight))

    def load(middles: Iterable[int]) -> None:
        asked = set(middles)
        stored.legs_of(legs, asked, age=age, changed=night.links)
        for (a, b), weight in (leg for middle in asked for leg in unseen.get(middle, ())):
            legs.add_edge(a, b, weight=weight)

    met = set(night.memories)
    closed = {row.key for row in night.memories.values() if row.status != "active"}

    def inference() -> Inference:
        closed.update(stored.not_active(legs.nodes - met))
        met.update(legs)
        return Inference(legs, closed=frozenset(closed), named=stored.ids_of)

    def revisions(asked: Iterable[Pair]) -> dict[Pair, int | None]:
        return {pair: row.revision for pair, row in stored.links_of(asked).items()}

    touched = {end for pair in night.links for end in pair} | revived
    load(touched)
    changed = [*night.links, *((min(a, b), max(a, b)) for a, b in legs.edges(revived))]
    altered = frozenset(changed)
    implied = inference().around(changed)
    there = stored.links_of(implied)
    fades = {pair: night.link_ages.get(pair, row.fades_age) for pair, row in there.items()}
    direct = {pair for pair, row in there.items() if not row.inferred and (fades[pair] or age) >= age}
    direct |= night.links.keys() | {pair for pair, row in there.items() if row.weight_at > now}
    dead = {pair: row for pair, row in there.items() if not row.inferred and pair not in direct}
    fates: dict[int, int] = {}
    fated = archived | revived
    for decision in night.decisions:
        if decision.table == "memories" and decision.row[0] in fated:
            fates.setdefault(decision.row[0], decision.revision or 0)
    judged = {pair: row for pair, row in there.items() if row.inferred}
    for pair, row in stored.inferred_via(touched).items():
        if any((min(end, row.via or 0), max(end, row.via or 0)) in altered for end in pair):
            judged[pair] = row
    judged |= stored.inferred_via(archived) | stored.inferred_between(archived)
    judged = {pair: row for pair, row in judged.items() if pair not in direct and row.weight_at <= now}
    fresh = associate.newly_implied(inference(), implied, judged, direct)
    load({end for pair in judged.keys() | fresh.keys() for end in pair})
    known = inference()
    load({middle for pair in judged for middle in known.between(pair)})
    load({middle for pair, (weight, _) in fresh.items() for middle in known.between(pair, least=weight)})
    decisions = associate.infer(
        inference(),
        implied,
        judged,
        direct,
        dead=dead,
        revisions=revisions,
        fates=fates,
        scope_key=night.scope.key,
        clock=night.clock,
        now=now,
    )
    night.decisions += decisions
    for pair in judged.keys() | {(decision.row[0], decision.row[1]) for decision in decisions}:
        night.link_ages.pop(pair, None)


def count_dead(night: Night, age: float) -> int:
    """How many direct links are dead, at an age of their clock, when this night is over."""
    changed = [one for one in night.decisions if one.table == "associations"]
    revived = sum(not one.before.get("inferred") and _is_dead(one.before, age) for one in changed if one.before)
    died = sum(one.verb == "linked" and _is_dead(one.after, age) for one in changed if one.after)
    seen = [pair for pair, row in night.links_unseen.items() if not row.inferred and pair in night.link_ages]
    died += sum(night.link_ages[pair] < age for pair in seen)
    return leg_rows.count_dead(night.conn, night.scope.key, age) - revived + died


def _is_dead(columns: Values, age: float) -> bool:
    fades = columns.get("fades_age")
    return fades is not None and fades < age
