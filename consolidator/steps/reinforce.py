"""Reinforce: replay what the day said of each memory, extending its head or starting again from its base."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from consolidator.laws.clock import Clock
from consolidator.laws.pace import Ageing
from consolidator.laws.strength import EXPLICIT, LEARNING_RATE, effective, replay
from consolidator.plan import Decision, Events
from consolidator.steps.rows import Memories, Memory, change, fading_ages, strengths


class Attribution(NamedTuple):
    """
    A rating of one memory by one message; `new` where no night has counted it, `mode` its factor.

    given: the factor came with the rating, so it is not for a night to keep, nor for an undo to take.
    """

    key: int
    memory: int
    message: str
    evidence: str
    confidence: float
    at: int
    mode: float
    new: bool
    given: bool = False


def reinforce(
    memories: Memories,
    attributions: Mapping[int, Sequence[Attribution]],
    rewritten: frozenset[int],
    *,
    bases: Mapping[int, float] | None = None,
    clock: Clock,
    now: int,
) -> tuple[list[Decision], dict[int, Memory]]:
    """
    The head of each rated memory is the replay of its effective attributions in order of time.

    attributions: by memory, the new ones; all of them where one is late, corrects another, or the memory is in
    `rewritten` (its head lies where the clock's past has changed, or how fast it ages has): such memories are replayed
    from their base. bases: of memories whose base itself is another now.
    Returns the decisions and the memories as they then are.
    """
    rated = sorted(attributions)
    rows = [memories[key] for key in rated]
    based = [memories[key]._replace(base_strength=(bases or {}).get(key, memories[key].base_strength)) for key in rated]
    whole = [key in rewritten or _from_base(memories[key], attributions[key]) for key in rated]
    strength, since = _replay(based, [attributions[key] for key in rated], whole, clock)
    heads = zip(rows, strength.tolist(), since.tolist(), strict=True)
    moved = [row._replace(strength=value, strength_at=at) for row, value, at in heads]
    ages = fading_ages(clock, moved).tolist()
    before, after = strengths(clock, rows, now).tolist(), strengths(clock, moved, now).tolist()
    decisions, changed = [], {}
    for i, row in enumerate(rows):
        fresh = [one for one in attributions[row.key] if one.new]
        events = Events(attributions=tuple((one.key, row.key, None if one.given else one.mode) for one in fresh))
        head = {"strength": moved[i].strength, "strength_at": moved[i].strength_at}
        if based[i].base_strength != row.base_strength:
            head["base_strength"] = based[i].base_strength
        same = all(getattr(row, name) == value for name, value in head.items())
        if same and not (row.kept or row.spared or row.anew):
            if fresh:
                decisions.append(
                    Decision("reinforce", "seen", "", (), None, None, None, "already in the strength", events=events)
                )
            continue
        because = _because(fresh, whole[i], before[i], after[i], row)
        touched = {"kept": False, "spared": False} if fresh and (row.kept or row.spared) else {}
        touched |= {"anew": False} if row.anew else {}
        decision, changed[row.key] = change(
            row, "reinforce", "reinforced", because, events=events, fades_age=ages[i], **head, **touched
        )
        decisions.append(decision)
    return decisions, changed


def is_explicit(one: Attribution) -> bool:
    """Whether a rating was given as one, not told by what was shown and used."""
    return one.evidence in EXPLICIT


def _from_base(memory: Memory, attributions: Sequence[Attribution]) -> bool:
    return any(not one.new or one.at <= memory.strength_at for one in attributions)


def _replay(
    rows: Sequence[Memory], attributions: Sequence[Sequence[Attribution]], whole: Sequence[bool], clock: Clock
) -> tuple[np.ndarray, np.ndarray]:
    flat = [(i, one) for i, given in enumerate(attributions) for one in given]
    memory = np.array([i for i, _ in flat], np.int64)
    confidence = np.array([one.confidence for _, one in flat])
    chosen, at = effective(
        memory,
        [one.message for _, one in flat],
        [is_explicit(one) for _, one in flat],
        confidence,
        [one.at for _, one in flat],
        [one.key for _, one in flat],
    )
    mode = np.array([one.mode for _, one in flat])
    amount = LEARNING_RATE * confidence[chosen] * mode[chosen] if flat else np.empty(0)
    return replay(
        clock,
        [row.base_strength if anew else row.strength for row, anew in zip(rows, whole, strict=True)],
        [row.base_at if anew else row.strength_at for row, anew in zip(rows, whole, strict=True)],
        Ageing.of(rows),
        memory[chosen],
        at,
        amount,
    )


def _because(fresh: Sequence[Attribution], whole: bool, before: float, after: float, row: Memory) -> str:
    counts = Counter(one.evidence for one in fresh)
    other = "its importance or type changed" if row.anew else "the clock's past changed"
    evidence = ", ".join(f"{count} {name}" for name, count in sorted(counts.items())) or other
    anew = "; replayed from its base" if whole else ""
    return f"{evidence}{anew}: strength {before:.3f} -> {after:.3f}"
