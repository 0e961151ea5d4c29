"""Ratings that go across a merge: what a message said of a memory before, and of the merged one after, counts once."""

from collections.abc import Collection

from consolidator.steps.lives import base_without, decide_messages, made_of
from consolidator.steps.reinforce import Attribution
from consolidator.store.lives import lives_of, merged_among
from consolidator.tonight import Night


def carry_over(night: Night, given: dict[int, list[Attribution]], replayed: Collection[int]) -> dict[int, float]:
    """
    Settle what was corrected across merges, for memories that are replayed from their base.

    given: by memory the ratings to be replayed, set right here. Returns the bases that are others now.
    """
    merged = merged_among(night.conn, replayed)
    if not merged:
        return {}
    lives = lives_of(night.conn, merged)
    bases = {}
    for memory in sorted(merged & given.keys()):
        held = [one for key, number in made_of(lives, memory) for one in lives[key][number].ratings]
        given[memory], corrected = decide_messages(held, given[memory])
        if corrected:
            bases[memory] = base_without(lives, memory, corrected, clock=night.clock)
    return bases
