"""
The night shift of an agent's memory.

While the agent sleeps, `consolidator` replays the day's use of every memory, strengthens what helped, lets the
rest fade, and in the morning says what it did, why, and how to take it back. By day an agent remembers, recalls and
rates through `Memory`.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from consolidator.day.memory import Memory as Memory

__all__ = ["Memory"]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """`Memory`, imported when it is first asked for: the commands need not wait for it."""
    if name == "Memory":
        from consolidator.day.memory import Memory

        return Memory
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
