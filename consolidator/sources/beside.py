"""What a push writes beside a record, where its system has no field of its own for it."""

from typing import Any

from consolidator.sources.port import Ours

KEY = "consolidator"


def beside(ours: Ours) -> dict[str, Any]:
    """What the night knows of a memory: its strength as of the push, and what is not as with most."""
    told: dict[str, Any] = {"strength": round(ours.strength, 4)}
    if ours.consolidated:
        told["consolidated"] = True
    if ours.temporal_state != "none":
        told["temporal_state"] = ours.temporal_state
    return told
