"""The clock on the wall, for a memory that was given no other."""

from datetime import UTC, datetime

from consolidator.instants import from_datetime


def wall_clock() -> int:
    """The time in microseconds since 1970."""
    return from_datetime(datetime.now(UTC))
