"""
The purge: what is long counted goes, and no strength and no weight is another for it, now or on any later night.

That holds for all that is told within the ages of what goes. What is told later acts on what was left, as what is
earlier than a base does; and where a merge is undone after what it had counted was purged, news of before it find the
links without that (30 nights later 0.04 of a weight is left). A turn that goes on after it was purged links what is new
in it alone.

Exposures go some nights after they were counted; ratings, the archive and journals only where that is asked for. What
was counted is found from its oldest end by an index (`ix_exposures_counted`), so that an ordinary purge reads the
exposures of the night that comes of age, however many there are. Every transaction is short and whole: killed at any
instant, the next purge finds all or nothing of each and does the rest.
"""

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TypeVar

import sqlalchemy as sa

from consolidator.errors import ScopeHeld
from consolidator.instants import NIGHT
from consolidator.laws.clock import ASSOCIATION
from consolidator.perform import scope_keys
from consolidator.report.words import counted
from consolidator.scopes import spell
from consolidator.settings.jobs import PurgeJob
from consolidator.steps.purge import purge_ratings, purge_turns
from consolidator.store import purge_pushes as push_rows
from consolidator.store import purge_ratings as rating_rows
from consolidator.store import purge_rest as rest_rows
from consolidator.store import purge_turns as turn_rows
from consolidator.store.clocks import load_clock
from consolidator.store.dead import ROWS_A_TRANSACTION
from consolidator.store.engine import Store
from consolidator.store.find import Scope, find_scopes
from consolidator.store.forget import forget
from consolidator.store.locks import hold_scope

TURNS_AT_ONCE = 250  # each leaves the weights of 66 pairs at most: within 20,000 rows
FORGOTTEN_AT_ONCE = 100

WallClock = Callable[[], int]
Stop = Callable[[], str | None]  # the reason to stop
Batch = Counter[str]  # what a transaction deleted, by the fields of Purged
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Purged:
    """
    How much of each kind went, and what did not.

    exposures, attributions: rows. memories: of the archive. parted: memories that stay, of which a deleted one was
    written. journals, pushes: runs and pushes that cannot be undone any more. left: scopes left out, and why, a line
    each. stopped: why it ended early.
    """

    exposures: int = 0
    attributions: int = 0
    memories: int = 0
    parted: int = 0
    journals: int = 0
    pushes: int = 0
    left: tuple[str, ...] = ()
    stopped: str | None = None

    @property
    def some(self) -> bool:
        """Whether anything went, or was left."""
        return self != Purged(stopped=self.stopped)

    @property
    def words(self) -> str:
        """What went, in a sentence."""
        told = [
            (self.exposures, counted(self.exposures, "old exposure", "old exposures") + " deleted"),
            (self.attributions, counted(self.attributions, "old rating", "old ratings") + " folded into strengths"),
            (self.memories, counted(self.memories, "archived memory", "archived memories") + " deleted"),
            (self.parted, "the merges of " + counted(self.parted, "memory", "memories") + " can no longer be undone"),
            (self.journals, counted(self.journals, "old night", "old nights") + " can no longer be undone"),
            (self.pushes, counted(self.pushes, "old push", "old pushes") + " can no longer be undone"),
        ]
        went = ", ".join(words for number, words in told if number)
        return f"Purged: {went}." if went else "Nothing was old enough to be purged."


def purge_store(
    store: Store,
    job: PurgeJob,
    *,
    now: int,
    wall_clock: WallClock,
    scopes: Sequence[str] | None = None,
    stop: Stop = lambda: None,
) -> Purged:
    """
    Purge these scopes (canonical; None: all) by the ages of a job; journals, which belong to none, with all of them.

    A scope that a night holds is left out with a note. stop: asked between transactions.
    """
    gone: Batch = Counter()
    left: list[str] = []
    stopped = stop()
    with closing(_batches(store, job, scopes, left, now=now, wall_clock=wall_clock)) as batches:
        while not stopped and (batch := next(batches, None)) is not None:
            gone += batch
            stopped = stop()
    return Purged(**gone, left=tuple(left), stopped=stopped)


def _batches(
    store: Store, job: PurgeJob, scopes: Sequence[str] | None, left: list[str], *, now: int, wall_clock: WallClock
) -> Generator[Batch, None, None]:
    asked = scope_keys(store, scopes)
    with store.read() as conn:
        found = {scope.key: scope for scope in find_scopes(conn, None)}
        rated = {}
        if job.attributions_nights is not None:
            rated = rating_rows.memories_rated_before(conn, _before(now, job.attributions_nights))
    for key in asked:
        try:
            yield from _scope(store, job, found[key], rated.get(key, ()), now=now, wall_clock=wall_clock)
        except ScopeHeld as holding:
            left.append(f"{spell(found[key].text)}: {holding}")
    if job.journal_nights is not None and scopes is None:
        yield from _journals(store, horizon=_before(now, job.journal_nights), now=now)
        yield from _pushes(store, horizon=_before(now, job.journal_nights), now=now)


def _before(now: int, nights: int) -> int:
    return now - nights * NIGHT


def _scope(
    store: Store, job: PurgeJob, scope: Scope, rated: Sequence[tuple[int, int]], *, now: int, wall_clock: WallClock
) -> Iterator[Batch]:
    turns: list[turn_rows.Counted] = []
    archived = []
    with store.read() as conn:
        if job.exposures_nights is not None:
            horizon = turn_rows.first_waiting(conn, scope.key, before=_before(now, job.exposures_nights))
            turns = turn_rows.turns_counted_before(conn, scope.key, horizon)
        if job.archive_nights is not None:
            archived = rest_rows.archived_before(conn, scope, _before(now, job.archive_nights))
    if turns or rated:
        with hold_scope(store, scope.key, wall_clock=wall_clock):
            if turns:
                yield from _exposures(store, scope.key, turns, horizon=horizon)
            if job.attributions_nights is not None:
                yield from _attributions(
                    store, scope.key, rated, horizon=_before(now, job.attributions_nights), now=now
                )
    for start in range(0, len(archived), FORGOTTEN_AT_ONCE):
        some = archived[start : start + FORGOTTEN_AT_ONCE]
        done = forget(store, some, now=now, wall_clock=wall_clock, unwanted=False)
        yield Counter(memories=len(done.ids), parted=len(done.sources))


def _exposures(store: Store, scope_key: int, turns: Sequence[turn_rows.Counted], *, horizon: int) -> Iterator[Batch]:
    """
    Delete what is counted and of before `horizon` in a scope that is held, the oldest turns first.

    What an agent adds to meanwhile stays until the next time.
    """
    kept: list[int] = []  # turns that stay hold back what comes after them
    portions = list(_portions(turns, lambda turn: turn.rows, most=TURNS_AT_ONCE))
    for number, portion in enumerate(portions, start=1):
        before = min(horizon, portions[number][0].first_at) if number < len(portions) else horizon
        asked = [*kept, *(turn.key for turn in portion)]
        with store.read() as conn:
            clock = load_clock(conn, scope_key)
            read = turn_rows.read_turns(conn, asked, horizon=horizon, before=before)
        going, heads = purge_turns(read.turns, read.links, read.pasts, read.ends, read.names, clock=clock)
        gone = None
        if going:
            with store.write() as conn:
                gone = turn_rows.delete_exposures(conn, scope_key, read, going, heads, clock)
        kept = asked if gone is None else [key for key in asked if key not in going]
        yield Counter(exposures=gone or 0)
    with store.read() as conn:
        clock = load_clock(conn, scope_key)
        since = turn_rows.first_counted(conn, kept, before=horizon)
    with store.write() as conn:
        turn_rows.delete_faded_pasts(conn, scope_key, age=float(clock.age(since, ASSOCIATION)))


def _attributions(
    store: Store, scope_key: int, rated: Sequence[tuple[int, int]], *, horizon: int, now: int
) -> Iterator[Batch]:
    """Fold ratings of before `horizon` into the bases of these memories of a scope that is held, and delete them."""
    for portion in _portions(rated, lambda one: one[1], most=ROWS_A_TRANSACTION):
        gone = 1
        while gone:
            with store.read() as conn:
                clock = load_clock(conn, scope_key)
                read = rating_rows.read_ratings(conn, (key for key, _ in portion), horizon=horizon, now=now)
            folded = [
                (one, *purge_ratings(one.memory, one.ratings, before=horizon, most=ROWS_A_TRANSACTION, clock=clock))
                for one in read
            ]
            with store.write() as conn:
                gone = rating_rows.delete_ratings(conn, scope_key, folded)
            yield Counter(attributions=gone)


def _journals(store: Store, *, horizon: int, now: int) -> Iterator[Batch]:
    """Delete the journals of the runs of before `horizon`."""
    with store.read() as conn:
        keys = rest_rows.runs_with_journal(conn, horizon)
    yield from _closed(store, keys, "journals", rest_rows.close_journal, rest_rows.delete_journal, now=now)


def _pushes(store: Store, *, horizon: int, now: int) -> Iterator[Batch]:
    """Delete what pushes of before `horizon` have kept, but for what brings back a memory that is put away."""
    with store.read() as conn:
        keys = push_rows.pushes_before(conn, horizon)
    yield from _closed(store, keys, "pushes", push_rows.close_push, push_rows.delete_images, now=now)


def _closed(
    store: Store,
    keys: Iterable[int],
    what: str,
    close: Callable[..., bool],
    delete: Callable[[sa.Connection, int], bool],
    *,
    now: int,
) -> Iterator[Batch]:
    """Close each of these against an undo, and then delete, in transactions of their own, what it would have needed."""
    for key in keys:
        with store.write() as conn:
            closed = close(conn, key, now=now)
        yield Counter({what: closed})
        gone = False
        while not gone:
            with store.write() as conn:
                gone = delete(conn, key)
            yield Counter()


def _portions(given: Iterable[T], rows: Callable[[T], int], *, most: int) -> Iterator[list[T]]:
    """What goes into one transaction: so many at most, and no more rows than one may have."""
    portion: list[T] = []
    size = 0
    for one in given:
        if portion and (len(portion) == most or size + rows(one) > ROWS_A_TRANSACTION):
            yield portion
            portion, size = [], 0
        portion.append(one)
        size += rows(one)
    if portion:
        yield portion
