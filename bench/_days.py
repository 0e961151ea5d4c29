"""What was shown and rated in turns: the last twenty days of the known memories, and the day before the night."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from consolidator.instants import NIGHT as ONE_NIGHT
from consolidator.instants import SECOND
from consolidator.laws.strength import CONFIDENCE

TOUCHED, TURNS, SHOWN = 5_000, 600, 10
REVIVED, CORRECTIONS = 100, 60
PAST_TURNS, PAST_NIGHTS = 1_200, 20

MODES = np.array(["auto_injected", "tool_search_returned", "tool_get"], object)
EXPLICIT = np.array(["agent_feedback_positive", "agent_feedback_neutral", "agent_feedback_negative"], object)


@dataclass
class Days:
    """Turns by index, the past first; exposures and attributions as columns, of turns and memories by index."""

    turn_at: NDArray[np.int64]
    is_today: NDArray[np.bool_]
    exposures: dict[str, NDArray[Any]]
    attributions: dict[str, NDArray[Any]]
    last_rated: NDArray[np.int64]


def draw_days(
    rng: Generator,
    popularity: NDArray[np.float64],
    active: NDArray[np.bool_],
    new: NDArray[np.bool_],
    *,
    night: int,
) -> Days:
    """
    1,200 turns by popularity alone, of active memories; then a day of 600 turns with ten memories each.

    5,000 memories are touched that day, the new ones and some archived ones among them: each once, in part beside
    memories met in turns before, and the popular ones again and again.
    """
    chance = np.where(active & ~new, popularity, 0.0)
    past = [rng.choice(len(chance), SHOWN, replace=False, p=chance / chance.sum()) for _ in range(PAST_TURNS)]
    span = ((night - PAST_NIGHTS * ONE_NIGHT), night - int(1.2 * ONE_NIGHT))
    past_at = np.sort(rng.integers(*span, PAST_TURNS))
    today = _today(rng, chance, active, new, past)
    day_at = np.sort(rng.integers(night - int(0.75 * ONE_NIGHT), night - ONE_NIGHT // 6, TURNS))
    turn_at = np.concatenate([past_at, day_at])
    turn = np.repeat(np.arange(PAST_TURNS + TURNS), SHOWN)
    memory = np.concatenate([*past, *today])
    is_today = np.arange(len(turn_at)) >= PAST_TURNS
    mode = rng.choice(3, len(turn), p=(0.6, 0.3, 0.1))
    again = rng.random(len(turn)) < 0.25
    exposures = _exposures(
        rng,
        np.concatenate([turn, turn[again]]),
        np.concatenate([memory, memory[again]]),
        np.concatenate([mode, (mode[again] + 1) % 3]),
    )
    evidence = MODES[mode]
    rated = rng.random(len(turn)) < 0.08
    opinion = EXPLICIT[rng.choice(3, len(turn), p=(0.7, 0.1, 0.2))]
    correct = rng.permutation(np.flatnonzero(turn_at[turn] > night - 4 * ONE_NIGHT))
    correct = correct[~is_today[turn[correct]]][:CORRECTIONS]
    columns = [
        (turn, memory, evidence, turn_at[turn] + 30 * SECOND, is_today[turn]),
        (turn[rated], memory[rated], opinion[rated], turn_at[turn[rated]] + 90 * SECOND, is_today[turn[rated]]),
        (
            turn[correct],
            memory[correct],
            opinion[correct],
            np.full(CORRECTIONS, night - ONE_NIGHT // 4),
            np.ones(CORRECTIONS, bool),
        ),
    ]
    names = ("turn", "memory", "evidence", "at", "is_today")
    attributions = {name: np.concatenate(parts) for name, parts in zip(names, zip(*columns, strict=True), strict=True)}
    attributions["confidence"] = np.array([CONFIDENCE[name] for name in attributions["evidence"]])
    last = np.zeros(len(popularity), np.int64)
    before = ~attributions["is_today"]
    np.maximum.at(last, attributions["memory"][before], attributions["at"][before])
    exposures["is_today"], exposures["at"] = is_today[exposures["turn"]], turn_at[exposures["turn"]]
    return Days(turn_at, is_today, exposures, attributions, last)


def _today(
    rng: Generator,
    chance: NDArray[np.float64],
    active: NDArray[np.bool_],
    new: NDArray[np.bool_],
    past: list[NDArray[np.int64]],
) -> list[list[int]]:
    fresh = np.flatnonzero(new)
    gone = rng.permutation(np.flatnonzero(~active))[:REVIVED]
    usual = rng.choice(len(chance), TOUCHED - len(fresh) - len(gone), replace=False, p=chance / chance.sum())
    untouched = set(np.concatenate([fresh, gone, usual]).tolist())
    popular = np.where(np.isin(np.arange(len(chance)), usual), chance**1.3, 0.0)
    met: dict[int, list[int]] = {}
    for shown in past:
        for one in shown.tolist():
            met.setdefault(one, []).extend(shown.tolist())
    queue = rng.permutation(sorted(untouched)).tolist()
    turns = []
    for i in range(TURNS):
        wanted = TOUCHED * (i + 1) // TURNS - TOUCHED * i // TURNS
        turn: list[int] = []
        while len(turn) < wanted:
            one = queue.pop()
            if one not in untouched:
                continue
            beside = [other for other in dict.fromkeys(met.get(one, ())) if other in untouched and other != one]
            for other in [one, *beside[:3]][: wanted - len(turn)]:
                turn.append(other)
                untouched.discard(other)
        more = rng.choice(len(chance), 2 * SHOWN, replace=False, p=popular / popular.sum()).tolist()
        turns.append((turn + [one for one in more if one not in turn])[:SHOWN])
    return turns


def _exposures(
    rng: Generator, turn: NDArray[np.int64], memory: NDArray[np.int64], mode: NDArray[np.int64]
) -> dict[str, NDArray[Any]]:
    found = np.array(["hybrid", "bm25_only", None], object)
    return {
        "turn": turn,
        "memory": memory,
        "mode": MODES[mode],
        "score": np.where(mode == 2, None, np.round(rng.uniform(0.3, 0.95, len(turn)), 4).astype(object)),
        "retrieval_mode": found[rng.choice(3, len(turn), p=(0.7, 0.15, 0.15))],
    }
