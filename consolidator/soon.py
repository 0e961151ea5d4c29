"""What is about to fade: told, not decided."""

from consolidator.instants import NIGHT, format_instant
from consolidator.laws.clock import CONSOLIDATED, WORKING
from consolidator.steps.prune import protected
from consolidator.store import gather
from consolidator.tonight import Night

SOON = 7 * NIGHT
MOST = 1000


def note_fading(night: Night) -> None:
    """Note how many unprotected memories fade within 7 nights if nothing happens, and when the first does."""
    clock, now = night.clock, night.now
    many, first = 0, float("inf")
    for kind in (WORKING, CONSOLIDATED):
        low, high = float(clock.age(now, kind)), float(clock.age(now + SOON, kind))
        stored = gather.fading_soon(night.conn, night.scope.key, kind, (low, high), now=now, most=MOST)
        ages = [age for key, age in stored if key not in night.memories]
        known = [row for row in night.memories.values() if row.kind == kind and row.status == "active"]
        ages += [
            row.fades_age
            for row in known
            if row.fades_age is not None and low < row.fades_age <= high and not protected(row, now)
        ]
        many += len(ages)
        if ages:
            first = min(first, float(clock.when(min(ages), kind)))
    if many:
        count = f"{many}" if many < MOST else f"{MOST} or more"
        day = format_instant(int(min(first, now + SOON)))[:10]
        night.notes["decay"] = (f"{count} about to fade within 7 nights, the first on {day}",)
