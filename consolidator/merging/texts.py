"""A memory as the merge sees it: what it says, when it was observed, how strong it is at the time of the night."""

from typing import NamedTuple

Anchor = tuple[str | None, str | None, str | None, str | None]


class Text(NamedTuple):
    """
    One memory of a cluster.

    id: the hash of its content; observed_at: microseconds, when it was observed, else taken in; strength: at now;
    anchor: temporal_anchor, temporal_end, recurrence, recurrence_start; merged: it was written from others or has
    absorbed some; new: taken in since the last pass.
    """

    key: int
    id: str
    content: str
    type: str
    observed_at: int
    strength: float
    anchor: Anchor
    merged: bool
    new: bool
