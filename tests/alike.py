"""Memories that say the same: six ways to say one thing, and pairs that share no word with another pair."""

from collections.abc import Sequence
from typing import Any

from tests.lives import memory

SIX = [
    "Ada is allergic to penicillin.",
    "Ada has an allergy to penicillin.",
    "Ada has a penicillin allergy.",
    "Penicillin: Ada is allergic to it.",
    "Ada reported that she is allergic to penicillin.",
    "Ada's allergy is to penicillin.",
]

# Each differs from its twin in one word, so that neither contains the other, and no fact is in one alone.
PAIRS = [
    (
        f"The spare key of the boat house lies {where} the third stone by the old gate.",
        f"The spare key of the boat house lies {other} the third stone by the old gate.",
    )
    for where, other in [("under", "beneath")]
] + [
    (
        "Wei drinks his morning coffee black and strong from a blue enamel mug.",
        "Wei takes his morning coffee black and strong from a blue enamel mug.",
    ),
    (
        "Choir rehearsals begin on Wednesday evenings in the parish hall with scales.",
        "Choir rehearsals start on Wednesday evenings in the parish hall with scales.",
    ),
    (
        "Otso outgrew both leg pads during winter and needs larger ones for floorball.",
        "Otso outgrew both leg pads during winter and wants larger ones for floorball.",
    ),
    (
        "Every invoice for restored charts goes first to Maija, who archives copies.",
        "Every invoice for restored charts goes first to Maija, who files copies.",
    ),
    (
        "Salted liquorice makes Henna ill, so nobody should offer her any sweets.",
        "Salted liquorice makes Henna sick, so nobody should offer her any sweets.",
    ),
]


def pairs(count: int, at: float = 0, **more: Any) -> list[dict[str, Any]]:
    """So many pairs, taken in on a day, each a little later than the one before."""
    texts = [text for pair in PAIRS[:count] for text in pair]
    return [memory(text, at + number / 100, **more) for number, text in enumerate(texts)]


def joined(pair: Sequence[str]) -> str:
    """What the tests' provider makes of a pair: both, in order of their ids or times."""
    return " ".join(pair)
