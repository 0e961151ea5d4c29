"""
Writing back what the nights have made of a source's memories, over what is still there as it was when last pulled.

What was edited over there since is left alone and reported: the next pull takes it in. What stays of a merge is
written, and read again, before anything that it takes the place of goes: at no instant is a text in neither. What is
gone over there is never brought back. Of records that say the same all but one are told as superseded by that one.
"""

from collections.abc import Hashable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace

from consolidator.errors import BadInput
from consolidator.laws.clock import Rates
from consolidator.sources.carry import Carrier, Planned
from consolidator.sources.ours import Teller, Told
from consolidator.sources.planned import Agenda, Step, agenda_of
from consolidator.sources.port import Image, KeepsBook, KeepsSome, NeedsVector, Options, Source
from consolidator.sources.reading import Progress
from consolidator.sources.settle import AT_ONCE, settle
from consolidator.store.bulk import portions
from consolidator.store.engine import Store
from consolidator.store.locks import Clock, hold_source
from consolidator.store.pushes import new_push_id, removed_images
from consolidator.store.sourced import ASIDE, LEFT, find_source, note_told

_EDITED = "was edited over there since it was last pulled"
_LOST = "is no more over there; the next pull archives it here"
_GOING = ("retired", "copy")


@dataclass(frozen=True, slots=True)
class Pushed:
    """
    What a push wrote: records made, written and removed, and how many say already what they should (unchanged).

    push_id: by which it is undone; None where nothing was to be written. conflicts: what was left alone, a line each.
    planned: of a dry run, what would be written, a line each.
    """

    push_id: str | None
    written: int
    made: int
    removed: int
    unchanged: int
    conflicts: tuple[str, ...]
    notes: tuple[str, ...]
    planned: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """3 where something was left alone."""
        return 3 if self.conflicts else 0


def push(
    store: Store,
    source: Source,
    *,
    options: Options,
    now: int,
    wall_clock: Clock,
    rates: Rates,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> Pushed:
    """
    Tell a source what has changed here since it was last told, with strengths as of `now`.

    BadInput where it is only read, or was never pulled. ScopeHeld while another pull or push of it is under way.
    dry_run: look, and write nothing anywhere (a store opened for reading will do).
    """
    if source.ways == "read":
        raise BadInput(f"{source.url}: a source of this kind is only read, nothing is written back to it")
    with store.read() as conn:
        found = find_source(conn, source.url)
    if found is None or found.pulled_at is None:
        raise BadInput(f"{source.url}: was never pulled into this store; `consolidate pull` it first")
    key = int(found.key)
    with nullcontext() if dry_run else hold_source(store, key, wall_clock=wall_clock):
        if not dry_run:
            settle(store, source, key, at=wall_clock())
        if isinstance(source, KeepsBook) and found.since:
            source.counted_until(found.since)
        carrier = Carrier(store, source, key, new_push_id(now), now, wall_clock)
        teller = Teller(store, source, options, now=now, rates=rates)
        return _Push(carrier, teller, dry_run=dry_run, progress=progress).run()


class _Push:
    """A push under way."""

    def __init__(self, carrier: Carrier, teller: Teller, *, dry_run: bool, progress: Progress | None) -> None:
        self.carrier, self.teller, self.dry_run, self.progress = carrier, teller, dry_run, progress
        self.store, self.source, self.key = carrier.store, carrier.source, carrier.source_key
        self.planned: list[str] = []
        self.unchanged = self.looked_at = 0
        self.reported: set[str] = set()
        self.vectors: dict[int, bytes | None] = {}
        with self.store.read() as conn:
            self.agenda: Agenda = agenda_of(conn, self.key, everything=self.source.tells_decay)
        made = [step.key for step in self.agenda.puts if step.kind == "made" and step.key is not None]
        new = self.teller.with_vectors(self.teller.tell(made, self.agenda))
        self.vectors = {key: one.ours.vector for key, one in new.items()}
        self.agenda.name({key: self.source.new_id(one.ours) for key, one in new.items()})

    def run(self) -> Pushed:
        """All of it: the texts that stay first."""
        self._look_at_groups()
        for some in (*portions(self.agenda.puts, AT_ONCE), *portions(self.agenda.retires, AT_ONCE)):
            planned = self._plan(some)
            if self.dry_run:
                self.planned += [_line(one, self.agenda.stays) for one in planned]
            else:
                self.carrier.carry(planned)
            self.looked_at += len(some)
            if self.progress:
                self.progress("writing", self.looked_at, len(self.agenda.puts) + len(self.agenda.retires))
        if not self.dry_run:
            self.carrier.finish()
        counts = self.carrier.counts
        return Pushed(
            push_id=None if self.carrier.push is None else self.carrier.push_id,
            written=counts["written"],
            made=counts["made"],
            removed=counts["removed"],
            unchanged=self.unchanged,
            conflicts=tuple(self.carrier.conflicts),
            notes=tuple(self.carrier.notes),
            planned=tuple(self.planned),
        )

    def _look_at_groups(self) -> None:
        """Leave every group of which a record is not as we know it."""
        bound = [step for step in (*self.agenda.puts, *self.agenda.retires) if step.group is not None and step.id]
        for some in portions([*self.agenda.checks, *(step for step in bound if step.kind != "made")], AT_ONCE):
            there = self.source.look([step.id for step in some])
            for step in some:
                self._is_as_known(step, there.get(step.id))

    def _is_as_known(self, step: Step, there: Image | None) -> bool:
        """Whether a record is as it was when last pulled or written; if not, it is reported and left alone."""
        why = self._conflict(step, there)
        if why is None:
            return True
        if step.id not in self.reported and (step.group is not None or there is not None):
            self.carrier.leave(step, why)
            self.reported.add(step.id)
        return False

    def _conflict(self, step: Step, there: Image | None) -> str | None:
        if step.kind == "made":
            return None
        row = self.agenda.rows[step.id]
        if there is None:
            bound = isinstance(step.group, int) and step.kind != "copy"
            return _LOST if step.kind == "written" or bound else None
        return None if self.source.fingerprint(there) in (row.fingerprint, row.expected) else _EDITED

    def _plan(self, steps: Sequence[Step]) -> list[Planned]:
        """What is to be written of these; what says already what it should is noted as told."""
        steps = [step for step in steps if step.group is None or step.group not in self.carrier.failed]
        new = {step.id: self.agenda.sources.get(step.key or 0) for step in steps if step.kind in ("made", "returned")}
        models = {name for sources in new.values() for name in sources or ()}
        there = self.source.look([*(step.id for step in steps), *models])
        told = self.teller.tell((step.key for step in steps if step.key is not None), self.agenda)
        absent = {*(step.id for step in steps if step.kind == "returned"), *models} - there.keys()
        with self.store.read() as conn:
            were = removed_images(conn, self.key, absent)
        planned: list[Planned] = []
        equal: dict[str, int] = {}
        without: set[Hashable] = set()
        for step in steps:
            image = there.get(step.id)
            if step.group in without or not self._is_as_known(step, image):
                continue
            if step.kind in ("forgotten", "unmade"):
                if image is not None and isinstance(self.source, KeepsSome) and self.source.is_only_read(step.id):
                    self.carrier.notes.append(
                        f"{step.id}: was forgotten here, and is only read; take it out over there"
                    )
                elif image is not None:
                    planned.append(Planned(step, image, None, None))
                continue
            one = told.get(step.key or 0)
            if one is None or (one.ours.status == "active") != (step.kind != "retired"):
                continue  # it has changed since it was looked up: the next push tells it
            if image is None and step.kind in _GOING:
                continue
            base = were.get(step.id) if image is None and step.kind == "returned" else image
            like = (there.get(name) or were.get(name) for name in new.get(step.id) or ())
            after = self._rendered(step, one, base, next(filter(None, like), None) if base is None else None)
            is_copy = step.kind == "copy"
            if after is None and step.kind not in _GOING:
                without.add(step.group)
            elif after == image:
                equal[step.id] = LEFT if is_copy else one.revision
            else:
                planned.append(Planned(step, image, after, ASIDE if is_copy else one.revision))
        self.carrier.failed |= without - {None}
        self._note_told(equal)
        return planned

    def _rendered(self, step: Step, told: Told, base: Image | None, like: Image | None) -> Image | None:
        """None for a text that stays: it cannot be held over there, and why is noted."""
        ours = told.ours
        if step.kind == "made":
            ours = replace(ours, vector=self.vectors.get(step.key or 0))
        elif step.kind == "copy":
            ours = replace(ours, status="superseded", heir=self.agenda.stays[step.key or 0])
        try:
            after = self.source.render(ours, base, like, now=self.teller.now)
        except NeedsVector:
            model = self.source.model or "of the source"
            self.carrier.notes.append(
                f"{ours.id[:12]}: not written, for it has no vector of the model {model}; set the model and its key"
            )
            return None
        if after is None and step.kind not in _GOING:
            self.carrier.notes.append(f"{ours.id[:12]}: not written, for it cannot be held over there")
        return after

    def _note_told(self, equal: dict[str, int]) -> None:
        self.unchanged += len(equal)
        behind = {name: told for name, told in equal.items() if self.agenda.rows[name].revision != told}
        if behind and not self.dry_run:
            with self.store.write() as conn:
                note_told(conn, self.key, behind)


def _line(planned: Planned, stays: Mapping[int, str]) -> str:
    what = "removed" if planned.after is None else "made" if planned.before is None else "written"
    because = {
        "made": "it takes the place of others",
        "written": "what is held here has changed",
        "returned": "it is active here again",
        "retired": "it is not active here",
        "copy": f"it says the same as {stays.get(planned.step.key or 0)}",
        "unmade": "the merge that made it was undone",
        "forgotten": "it was forgotten here",
    }[planned.step.kind]
    return f"{planned.step.id}: {what}, for {because}"
