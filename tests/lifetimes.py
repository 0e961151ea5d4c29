"""Made-up lives for the laws: memories, turns and ratings, each with when it happened and when it was recorded."""

import hashlib
import random
from dataclasses import dataclass
from itertools import pairwise

from consolidator.exchange.records import AttributionLine, ExposureLine, MemoryLine
from consolidator.instants import NIGHT, SECOND, format_instant
from consolidator.laws.strength import CONFIDENCE
from tests.oracle import Line

START = 1_772_323_200 * SECOND  # 2026-03-01
HOUR = 3600 * SECOND


@dataclass(frozen=True)
class Recorded:
    """Lines that came to be known together at `at`; `happened`: the time of each activity among them."""

    at: int
    lines: tuple[Line, ...]
    happened: tuple[int, ...]


def life(seed: int, *, days: int = 40, memories: int = 7, turns: int = 30, leaves: bool = True) -> list[Recorded]:
    """A life of `days`, in order of recording: late records, corrections, leaves, anchors, pins, crowded turns."""
    chance = random.Random(seed)
    away = _away(chance, days) if leaves else []

    def moment(low: int = START) -> int:
        while True:
            at = chance.randrange(low, START + days * NIGHT, 1000)
            if not any(a <= at < b for a, b in away):
                return at

    known = [
        _memory(chance, number, moment(START) if number > 3 else START + number * HOUR) for number in range(memories)
    ]
    recorded = [Recorded(line.strength_at or 0, (line,), (line.strength_at or 0,)) for line in known]
    for number in range(turns):
        recorded += _turn(chance, number, known, moment())
    return sorted(recorded, key=lambda one: one.at)


def _away(chance: random.Random, days: int) -> list[tuple[int, int]]:
    begins = START + chance.randrange(3, max(4, days // 2)) * NIGHT
    return [(begins, begins + chance.randrange(8, 20) * NIGHT)]


def _memory(chance: random.Random, number: int, at: int) -> MemoryLine:
    content = f"memory {number} 🌿 第{number}"
    anchored = chance.random() < 0.3
    return MemoryLine(
        0,
        "{}",
        hashlib.sha256(content.encode()).hexdigest(),
        content,
        "fact",
        at,
        strength=chance.choice([1.0, 1.0, 0.4, 0.08]),
        strength_at=at,
        consolidated=chance.random() < 0.25,
        pinned=chance.random() < 0.1,
        temporal_state="future" if anchored else "none",
        temporal_anchor=format_instant(at + chance.randrange(30) * NIGHT) if anchored else None,
        expires_at=at + chance.randrange(5, 40) * NIGHT if chance.random() < 0.1 else None,
    )


def _turn(chance: random.Random, number: int, known: list[MemoryLine], at: int) -> list[Recorded]:
    session, turn, message = f"s{number // 3}", f"t{number}", f"m{number:03}"
    shown = chance.sample(known, chance.randrange(1, min(len(known), 6)))
    exposures, implicit, corrections = [], [], []
    for i, memory in enumerate(shown):
        mode = chance.choice(["hybrid", "hybrid", "bm25_only"])
        score = chance.choice([0.2, 0.5, 0.5, 0.9])
        seen = at + i * SECOND
        exposures.append(ExposureLine(0, "{}", session, turn, memory.id, "auto_injected", seen, score, mode))
        evidence = "auto_injected"
        if chance.random() < 0.3:
            exposures.append(ExposureLine(0, "{}", session, turn, memory.id, "tool_get", seen + SECOND))
            evidence = "tool_get"
        implicit.append(_rating(message, session, turn, memory, evidence, at + 60 * SECOND))
        for _ in range(chance.choice([0, 0, 0, 1, 2])):
            verdict = chance.choice(["positive", "neutral", "negative"])
            when = at + chance.randrange(1, 12) * NIGHT // 3
            corrections.append(_rating(message, session, turn, memory, f"agent_feedback_{verdict}", when))
    late = chance.choice([0, 0, 0, NIGHT, 3 * NIGHT, 9 * NIGHT])
    told = at + 61 * SECOND + late
    events = (*exposures, *implicit)
    records = [Recorded(told, events, tuple(one.at for one in events))]
    for one in corrections:
        delay = chance.choice([0, 0, NIGHT, 5 * NIGHT])
        records.append(Recorded(max(one.at, told) + delay, (one,), (one.at,)))
    return records


def _rating(message: str, session: str, turn: str, memory: MemoryLine, evidence: str, at: int) -> AttributionLine:
    return AttributionLine(0, "{}", message, turn, memory.id, evidence, CONFIDENCE[evidence], at, session)


def without_activity_in_closed_pauses(records: list[Recorded], nights: list[int]) -> list[Recorded]:
    """The records of a life but those that, when first seen by one of `nights`, lie in a pause closed before."""
    kept: list[Recorded] = []
    seen: list[int] = []
    closed: list[tuple[int, int]] = []
    waiting = sorted(records, key=lambda one: one.at)
    for night in nights:
        fresh = [one for one in waiting if one.at <= night]
        waiting = [one for one in waiting if one.at > night]
        fresh = [one for one in fresh if not any(a < at < b for at in one.happened for a, b in closed)]
        kept += fresh
        seen = sorted({*seen, *(at for one in fresh for at in one.happened if at <= night)})
        closed = [(a + 7 * NIGHT, b) for a, b in pairwise(seen) if b - a > 7 * NIGHT]
    return kept
