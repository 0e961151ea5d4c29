"""What the tests of recall remember."""

from typing import Any

from consolidator.embedding.minilm import MiniLM
from consolidator.embedding.port import Embedder
from consolidator.laws.clock import Rates
from consolidator.recall.recall import Recalled, recall
from consolidator.scopes import EMPTY
from consolidator.store.engine import Store
from tests.lives import day, memory, name

ALLERGY = "Ada is allergic to penicillin."
TEA = "Bo likes green tea in the morning."
CAR = "The car is parked on level 3."
OLD_CAR = "The car is parked on level 2."
MOVE = "Ada moved to Lisbon with her sister."
TRIP = "Ada flies to Oslo."
KEYS = "The spare keys hang in the blue cupboard."

LINES = [
    memory(ALLERGY, 1),
    memory(TEA, 3, type="preference"),
    memory(CAR, 5, strength=0.2),
    memory(OLD_CAR, 4, status="superseded", superseded_by=name(CAR)),
    memory(MOVE, 20),
    memory(TRIP, 21, temporal_anchor="2100-01-01"),
    memory(KEYS, 9, status="archived", archived_because="faded"),
    {
        "kind": "association", "memory_a": min(name(ALLERGY), name(TEA)), "memory_b": max(name(ALLERGY), name(TEA)),
        "weight": 0.9, "weight_at": memory("", 40)["created_at"],
    },
]  # fmt: skip


def ask(store: Store, query: str, *, embedder: Embedder | None = MiniLM(), **more: Any) -> Recalled:  # noqa: B008
    """Recall on the fortieth day."""
    return recall(store, EMPTY, query, **{"now": day(40), "embedder": embedder, "rates": Rates(), **more})


def texts(found: Recalled) -> list[str]:
    """What was recalled, in order."""
    return [each.content for each in found.results]
