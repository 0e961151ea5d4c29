"""
The report of one night as one frozen value.

Every text in it is one harmless line of bounded length, so each rendering only adds the escapes of its form.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from zoneinfo import ZoneInfo

from consolidator.asked import NOTHING_ASKED, Asked
from consolidator.plan import STEPS, TOTALS

EXAMPLES = 5  # of each step
NOTES = 20  # of each step
STALE = 100  # listed of each scope; the totals count all
NIGHTS = 7  # compared with
SEEN = "seen"
_PERHAPS = {"merge"}  # a night may be without
NO_WORK = ("carried_over", "held_back")  # totals of what was left
VERBS = {
    "reinforce": ("reinforced",),
    "decay": ("clock",),
    "associate": ("linked", "inferred"),
    "shift": ("shifted",),
    "prune": ("archived", "revived", "unlinked"),
    "merge": ("merged", "updated", "absorbed", "superseded", "distinct", "rejected", "carried_over", "held_back"),
}


@dataclass(frozen=True, slots=True)
class Example:
    """
    One decision: its verb, its memory (two of them for a link, none for a clock), and why.

    why_left_out: where it was stale. A group of memories: id and text of the one that stays, members the (id, text) of
    the others, guard the facts in which they differ.
    """

    verb: str
    because: str
    id: str | None = None
    text: str | None = None
    other_id: str | None = None
    other_text: str | None = None
    why_left_out: str | None = None
    members: tuple[tuple[str, str], ...] = ()
    guard: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StepReport:
    """
    What one step did in one scope.

    counts: distinct rows by verb, zeros too. seen: events read without effect. because_nothing: given if and
    only if all counts are zero. groups: of memories that seemed to say the same, the first of `all_groups`. asked:
    what finding and merging them took.
    """

    step: str
    counts: Mapping[str, int]
    seen: int = 0
    examples: tuple[Example, ...] = ()
    because_nothing: str | None = None
    notes: tuple[str, ...] = ()
    groups: tuple[Example, ...] = ()
    all_groups: int = 0
    asked: Asked | None = None


@dataclass(frozen=True, slots=True)
class ScopeReport:
    """What the night did in one scope. stale: the first decisions that were left out."""

    scope: Mapping[str, str]
    steps: tuple[StepReport, ...] = ()
    stale: tuple[Example, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def quiet(self) -> bool:
        """Whether nothing was done and nothing left out."""
        return not self.stale and not any(any(step.counts.values()) for step in self.steps)


@dataclass(frozen=True, slots=True)
class Report:
    """
    One night, or a part of one. run_id: None in a dry run. totals: exactly the names of `plan.TOTALS`.

    earlier: the totals of up to seven runs of the same steps before, the newest first. error: what ended the night.
    steps: those it was asked for. time_zone: in which it tells its time. worded: what
    putting its message into words took.
    """

    run_id: str | None
    as_of: int
    dry_run: bool
    exit_code: int
    totals: Mapping[str, int]
    scopes: tuple[ScopeReport, ...] = ()
    earlier: tuple[Mapping[str, int], ...] = ()
    error: str | None = None
    steps: tuple[str, ...] = STEPS
    time_zone: str = "UTC"
    worded: Asked = NOTHING_ASKED

    @property
    def whole(self) -> bool:
        """Whether it is a night; else it is a part of one, as the shift by day is."""
        return set(STEPS) - _PERHAPS <= set(self.steps)

    @property
    def zone(self) -> ZoneInfo:
        """The zone of its times; UTC where this machine does not know it."""
        try:
            return ZoneInfo(self.time_zone)
        except (KeyError, ValueError, OSError):
            return ZoneInfo("UTC")

    @property
    def average(self) -> Mapping[str, float]:
        """The mean of each total over the earlier runs, to one digit; empty where there are none."""
        nights = len(self.earlier)
        return {name: round(sum(night[name] for night in self.earlier) / nights, 1) for name in TOTALS if nights}

    @property
    def stopped(self) -> bool:
        """Whether this is the seventh night in a row without any work, after one with some: true only once."""
        if self.dry_run or not self.whole or len(self.earlier) < NIGHTS:
            return False
        *silent, before = (self.totals, *self.earlier)
        return _worked(before) and not any(map(_worked, silent))

    @property
    def asked(self) -> Asked:
        """What merging took in all scopes together, and its message."""
        each = (step.asked for scope in self.scopes for step in scope.steps if step.asked)
        return reduce(Asked.plus, each, self.worded)

    @property
    def undoable(self) -> bool:
        """Whether the night wrote something that `undo` takes back."""
        return bool(self.run_id) and any(
            step.seen or any(count for verb, count in step.counts.items() if verb not in ("unlinked", *NO_WORK))
            for scope in self.scopes
            for step in scope.steps
        )


def whole_totals(totals: Mapping[str, int]) -> dict[str, int]:
    """Totals with exactly the names of `plan.TOTALS`, whichever version wrote them."""
    return {name: int(totals.get(name, 0)) for name in TOTALS}


def _worked(totals: Mapping[str, int]) -> bool:
    return any(count for name, count in totals.items() if name not in NO_WORK)
