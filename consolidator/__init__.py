"""
The night shift of an agent's memory.

While the agent sleeps, `consolidator` replays the day's use of every memory, strengthens what helped, lets the
rest fade, and in the morning says what it did, why, and how to take it back.
"""

__version__ = "0.1.0"
