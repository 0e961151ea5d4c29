"""What the merge step of one scope found, did and left, for the report."""

from collections.abc import Sequence
from dataclasses import replace

from consolidator.asked import Asked
from consolidator.plan import Merge, content_hash
from consolidator.report.report import VERBS, Example, StepReport
from consolidator.report.tame import NAME_LENGTH, TEXT_LENGTH, one_line, short

STEP = "merge"
GROUPS = 20  # told of each scope; the counts count all
TO_ASK = "to_ask"
WAITING = "waiting"
_DONE = {"merge": "merged", "update": "updated", "absorb": "absorbed"}
_ORDER = ("merged", "updated", "absorbed", "rejected", "distinct", TO_ASK, WAITING)


def merge_report(merges: Sequence[Merge], asked: Asked, because: str, notes: tuple[str, ...]) -> StepReport:
    """
    The step in one scope. merges: as they were written, or are planned. because: why, where it did nothing.

    superseded and held_back count memories, all else groups of them.
    """
    verbs = [verb_of(merge) for merge in merges]
    gone = {one.row for merge in merges for one in merge.decisions if one.verb == "superseded"}
    counts = {verb: verbs.count(verb) for verb in VERBS[STEP]}
    counts |= {
        "superseded": len(gone),
        "carried_over": verbs.count(WAITING),
        "held_back": asked.held_back,
    }
    if TO_ASK in verbs:
        counts[TO_ASK] = verbs.count(TO_ASK)
    told = sorted(merges, key=lambda merge: _ORDER.index(verb_of(merge)))[:GROUPS]
    return StepReport(
        step=STEP,
        counts=counts,
        because_nothing=None if any(counts.values()) else because,
        notes=notes,
        groups=tuple(map(_group, told)),
        all_groups=len(merges),
        asked=_tamed(asked),
    )


def verb_of(merge: Merge) -> str:
    """What became of a group of memories, in a word."""
    if merge.decisions:
        return _DONE[merge.verdict]
    if merge.verdict == WAITING and merge.how == "written":
        return TO_ASK
    return merge.verdict


def _group(merge: Merge) -> Example:
    written = bool(merge.decisions and merge.text)
    stays = content_hash(merge.text) if written else None
    return Example(
        verb=verb_of(merge),
        because=one_line(merge.because),
        id=stays,
        text=one_line(merge.text, TEXT_LENGTH) if written else None,
        members=tuple(
            (one_line(name, NAME_LENGTH), one_line(text, TEXT_LENGTH))
            for name, text in zip(merge.ids, merge.texts, strict=True)
            if name != stays
        ),
        guard=tuple(map(one_line, merge.guard)),
    )


def _tamed(asked: Asked) -> Asked:
    return replace(
        asked,
        waiting={one_line(reason): count for reason, count in asked.waiting.items()},
        model=short(asked.model, NAME_LENGTH),
        embedder=short(asked.embedder, NAME_LENGTH),
        failures=tuple(map(one_line, asked.failures)),
    )
