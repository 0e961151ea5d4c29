"""Merge: write once what several memories say. The step has its place in the night and no law yet."""

from consolidator.plan import Decision


def merge() -> tuple[list[Decision], str]:
    """No decisions, and why."""
    return [], "merging is not part of this version: texts that say the same thing stay apart"
