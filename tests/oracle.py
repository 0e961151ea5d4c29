"""
A second reading of the laws: plain Python, no store, no arrays, everything known replayed at once.

It is slow and simple on purpose; what the nights leave behind is compared with it.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from consolidator.exchange.records import AttributionLine, ExposureLine, MemoryLine
from consolidator.instants import NIGHT, parse_instant

DAY_RATES = (0.906, 0.977, 0.9)
Rates = tuple[float, float, float] | tuple[float, float, float, str]  # factors, and a law by importance
Line = MemoryLine | ExposureLine | AttributionLine


@dataclass(frozen=True)
class OracleClock:
    """Half-lives since 1970 but for pauses; rates: (from, factors and law), the first since ever."""

    pauses: Sequence[tuple[float, float]]
    rates: Sequence[tuple[float, Rates]]

    @classmethod
    def of(cls, activity: Iterable[int], rates: Sequence[tuple[float, Rates]]) -> "OracleClock":
        known = sorted(set(activity))
        ends = [*known[1:], math.inf]
        return cls([(a + 7 * NIGHT, b) for a, b in zip(known, ends, strict=True) if b - a > 7 * NIGHT], rates)

    def age(self, at: float, kind: int) -> float:
        total = 0.0
        froms = [-math.inf, *(since for since, _ in self.rates[1:]), math.inf]
        for (start, end), (_, factors) in zip(pairwise(froms), self.rates, strict=True):
            low, high = max(start, 0.0), min(end, at)
            if high > low:
                paused = sum(max(0.0, min(high, b) - max(low, a)) for a, b in self.pauses)
                total += (high - low - paused) / NIGHT * -math.log2(float(factors[kind]))
        return total

    def lived(self, at: float, memory: MemoryLine) -> float:
        """Half-lives of a memory since 1970: each stretch of a law at the pace that this gives the memory."""
        kind = 1 if memory.consolidated else 0
        froms = [0.0, *(since for since, _ in self.rates[1:]), math.inf]
        return sum(
            pace(rates, memory) * (self.age(min(end, at), kind) - self.age(start, kind))
            for (start, end), (_, rates) in zip(pairwise(froms), self.rates, strict=True)
            if at > start
        )


def pace(rates: Rates, memory: MemoryLine) -> float:
    """How much faster than its clock a memory ages: by what its half-life is at the usual rate, in nights."""
    usual = math.log(0.5) / math.log(0.906)
    law = rates[3] if len(rates) > 3 else "off"
    if law == "off" or memory.importance is None:
        return 1.0
    if law == "memory-lancedb-pro":
        return usual / (30 * math.exp(1.5 * memory.importance))
    if law == "memory-new":
        lasting = {"observation": 0.6, "hypothesis": 0.7, "procedure": 0.8, "pattern": 1.5}.get(memory.type, 1.0)
        return usual / (50 * math.pow(memory.importance + 0.1, 1.5) * lasting)
    assert law == "twofold"
    return 2 / 4**memory.importance


def memory_of(importance: float | None, kind: str, *, consolidated: bool = False) -> MemoryLine:
    """A memory of which no more is told."""
    return MemoryLine(0, "{}", "", "", kind, 0, importance=importance, consolidated=consolidated)


@dataclass(frozen=True)
class Verdict:
    """strength at the moment asked, and whether the memory is active."""

    strength: float
    temporal_state: str
    status: str


def judge(
    lines: Sequence[Line], now: int, rates: Sequence[tuple[float, Rates]] = ((0, DAY_RATES),)
) -> tuple[dict[str, Verdict], dict[tuple[str, str], float]]:
    """Every memory's verdict and every living direct link's weight at `now`, from all lines that are given."""
    memories = {line.id: line for line in lines if isinstance(line, MemoryLine)}
    exposures = [line for line in lines if isinstance(line, ExposureLine) and line.at <= now]
    ratings = [line for line in lines if isinstance(line, AttributionLine)]
    activity = [line.strength_at or 0 for line in memories.values()]
    activity += [line.at for line in lines if not isinstance(line, MemoryLine)]
    clock = OracleClock.of([at for at in activity if at <= now], rates)
    verdicts = {key: _verdict(memory, lines, ratings, clock, now) for key, memory in memories.items()}
    return verdicts, _links([line for line in exposures if line.memory_id in memories], clock, now)


def _verdict(
    memory: MemoryLine, lines: Sequence[Line], ratings: Sequence[AttributionLine], clock: OracleClock, now: int
) -> Verdict:
    groups: dict[str, list[tuple[int, AttributionLine]]] = {}
    for row, rating in enumerate(ratings):
        if rating.memory_id == memory.id and rating.at <= now:
            groups.setdefault(rating.message_id, []).append((row, rating))
    events = []
    for message, rows in groups.items():
        explicit = [(rating.at, row, rating) for row, rating in rows if rating.evidence.startswith("agent_feedback")]
        best = max(explicit)[2] if explicit else max((rating for _, rating in rows), key=lambda one: one.confidence)
        modes = {
            line.retrieval_mode
            for line in lines
            if isinstance(line, ExposureLine)
            and (line.session_id, line.turn_id, line.memory_id) == (best.session_id, best.turn_id, memory.id)
        }
        mode = 0.5 if "bm25_only" in modes and "hybrid" not in modes else 1.0
        events.append((min(rating.at for _, rating in rows), message, 0.7 * best.confidence * mode))
    at, strength = memory.strength_at or 0, memory.strength
    for when, _, amount in sorted(events):
        when = max(when, at)
        strength *= 2.0 ** -(clock.lived(when, memory) - clock.lived(at, memory))
        strength, at = min(1.0, max(0.0, strength + amount)), when
    if now > at:
        strength *= 2.0 ** -(clock.lived(now, memory) - clock.lived(at, memory))
    state, protected = memory.temporal_state, memory.pinned
    if memory.temporal_anchor:
        begins = parse_instant(memory.temporal_anchor)
        state = "future" if now < begins else "present" if now < begins + NIGHT else "past"
        protected = protected or now < begins + 8 * NIGHT
    gone = memory.expires_at is not None and memory.expires_at <= now
    return Verdict(strength, state, "archived" if gone or (strength <= 0.05 and not protected) else "active")


def _links(exposures: Sequence[ExposureLine], clock: OracleClock, now: int) -> dict[tuple[str, str], float]:
    turns: dict[tuple[str, str], dict[str, list[ExposureLine]]] = {}
    for line in exposures:
        turns.setdefault((line.session_id, line.turn_id), {}).setdefault(line.memory_id, []).append(line)
    events = []
    for turn in turns.values():
        score = {key: max(math.inf if one.score is None else one.score for one in rows) for key, rows in turn.items()}
        best = sorted(turn, key=lambda key: (-score[key], key))[:12]
        for a in best:
            for b in best:
                if a < b:
                    at = max(min(one.at for one in turn[a]), min(one.at for one in turn[b]))
                    same = {one.mode for one in turn[a]} == {one.mode for one in turn[b]}
                    events.append((at, (a, b), 0.05 if same else 0.15))
    weights: dict[tuple[str, str], tuple[float, float]] = {}
    for at, pair, amount in sorted(events):
        weight, since = weights.get(pair, (0.0, at))
        weight *= 2.0 ** -(clock.age(at, 2) - clock.age(since, 2))
        weight = 0.0 if weight < 0.01 else weight
        weights[pair] = (weight + amount - weight * amount, at)
    moved = {pair: weight * 2.0 ** -(clock.age(now, 2) - clock.age(at, 2)) for pair, (weight, at) in weights.items()}
    return {pair: weight for pair, weight in moved.items() if weight >= 0.01}
