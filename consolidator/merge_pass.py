"""
The merge pass of one scope: embed what is new, propose, compose, and land each merge as soon as it is decided.

Nothing is open or locked while a model thinks. Each merge is decided on rows as they then are and applied by itself,
so that what changes meanwhile costs that one alone.
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import count

from consolidator.asked import Asked
from consolidator.batching import TakenIn, compose_in_batch, hand_in, take_in
from consolidator.book import Book
from consolidator.compose import IN_A_BATCH, Asker, Composed, compose, first_question
from consolidator.laws.clock import Clock, Rates
from consolidator.llm.budget import Refused, Tokens, cost, most_of
from consolidator.llm.port import Reply, request_hash
from consolidator.means import Means
from consolidator.plan import Merge, Paid, ScopePlan, Usage
from consolidator.propose import Proposed, propose
from consolidator.store import merges as reading
from consolidator.store import replies
from consolidator.store.batches import open_batches
from consolidator.store.clocks import read_clock
from consolidator.store.engine import Store
from consolidator.store.merges import Sight
from consolidator.store.overlay import Overlay
from consolidator.store.run import Run
from consolidator.terms import ANY_TERMS, Stop
from consolidator.unite import CHANGING, decide_merge

Land = Callable[[Merge], Merge]

NOTHING_NEW = "nothing came in or was recalled since the last night, and nothing waits"


@dataclass(frozen=True)
class Pass:
    """
    One night's way of merging. wall_clock: for what a provider dates. collects: only what waits is looked at, and
    nothing is handed in. stop: why no more is to be begun, if so.
    """

    store: Store
    means: Means
    rates: Rates
    now: int
    wall_clock: Callable[[], int]
    collects: bool = False
    stop: Stop = ANY_TERMS.stop


def run_pass(by: Pass, run: Run, part: ScopePlan, land: Land) -> ScopePlan:
    """
    The merge pass of a night whose other steps are applied. Returns the part with what was found and done.

    land: applies a decided merge, and gives it back as it was written, or waiting where it no longer held.
    """
    store, means, now = by.store, by.means, by.now
    stops = by.stop()
    taken = TakenIn() if stops else take_in(store, part.key, means.model_for, now=by.wall_clock())
    with store.read() as conn:
        sight = _seen(by, Overlay(conn), part)
    if why := stops or _why_nothing(part, sight, means, taken):
        return _quiet(part, sight, why, taken)
    embedded = means.comparing.embed(store, part.key, by.stop)
    if stops := by.stop():
        return _quiet(part, sight, stops, taken)
    with store.read() as conn:
        rows = Overlay(conn)
        sight = _seen(by, rows, part)
        clock = read_clock(conn, part.key, now=now, rates=by.rates)
        found = propose(rows, part, sight, clock=clock, now=now, vectors=means.comparing.of(conn, part.key))
        first = not replies.any_kept(conn)
    book = Book(found, first=first, embedded=embedded)
    keys = count(-1, -1)
    for merge in book.verdicts(_ask(by, run, part, found, taken)):
        if merge.verdict in CHANGING and (stops := by.stop()):
            merge = replace(merge, verdict="waiting", because=stops)
        elif merge.verdict in CHANGING:
            with store.read() as conn:
                merge = _decided(Overlay(conn), part, merge, key=next(keys), clock=clock, now=now)
            merge = merge if merge.verdict == "rejected" else land(merge)
        book.take(merge)
    return book.closed(part, sight, means, taken)


def preview_pass(by: Pass, part: ScopePlan, *, writes: bool) -> ScopePlan:
    """
    What the merge pass would do on top of a part that is decided and not applied. Nothing is written to the store.

    writes: the model is asked, so that the plan holds its texts; else the part says what asking would cost at most.
    """
    store, means, now = by.store, by.means, by.now
    with store.read() as conn:
        rows = Overlay(conn, part)
        taken = TakenIn({one.hash for each in open_batches(conn, part.key) for one in each.requests.values()})
        sight = _seen(by, rows, part)
        if why := _why_nothing(part, sight, means, taken):
            return _quiet(part, sight, why, taken)
        means.comparing.choose(store)
        clock = read_clock(conn, part.key, now=now, rates=by.rates)
        vectors = means.comparing.of(conn, part.key, embeds=True)
        found = propose(rows, part, sight, clock=clock, now=now, vectors=vectors)
    paid: list[Paid] = []
    composed = _ask(by, None, part, found, taken, paid) if writes else _expect(by, part, found, taken)
    in_order = sorted(composed, key=lambda one: one.proposal.order)
    with store.read() as conn:
        book = Book(found, first=not replies.any_kept(conn))
        keys = count(-1, -1)
        rows = Overlay(conn, part)
        for merge in book.verdicts(in_order):
            merge = _decided(rows, part, merge, key=next(keys), clock=clock, now=now)
            rows.take(merge.decisions)
            book.take(merge)
    return replace(book.closed(part, sight, means, taken), paid=tuple(paid))


def _seen(by: Pass, rows: Overlay, part: ScopePlan) -> Sight:
    sight = reading.look(rows, part, now=by.now)
    return sight._replace(fresh=(), changed=frozenset()) if by.collects else sight


def _decided(rows: Overlay, part: ScopePlan, merge: Merge, *, key: int, clock: Clock, now: int) -> Merge:
    merge = decide_merge(rows, part, merge, key=key, clock=clock, now=now)
    return replace(merge, how="none", tries=merge.tries + 1) if merge.verdict == "rejected" else merge


def _why_nothing(part: ScopePlan, sight: Sight, means: Means, taken: TakenIn) -> str:
    """Why no text needs to be read; empty where one does."""
    if "merge" in part.because_nothing:
        return part.because_nothing["merge"]
    if sight.changed:
        return ""
    if not sight.open:
        return NOTHING_NEW
    if means.choice.model is None:
        return means.why_no_model
    if taken.fresh or taken.failed:
        return ""
    if len(taken.under_way) >= len(sight.open):
        return IN_A_BATCH
    room = means.spending.reserve(part.key, Tokens(0, 0))
    if isinstance(room, Refused):
        return f"the budget is spent: {room.because}"
    room.release()
    return ""


def _quiet(part: ScopePlan, sight: Sight, why: str, taken: TakenIn) -> ScopePlan:
    count = len(sight.open)
    because = f"{count:,} group{' waits' if count == 1 else 's wait'}: {why}" if count else why
    return replace(
        part,
        settled=sight.gone,
        because_nothing={**part.because_nothing, "merge": because},
        notes={**part.notes, "merge": tuple(taken.notes)} if taken.notes else part.notes,
        asked=Asked(waiting={why: count} if count else {}, failures=tuple(taken.failures)),
    )


def _ask(
    by: Pass, run: Run | None, part: ScopePlan, found: Proposed, taken: TakenIn, paid: list[Paid] | None = None
) -> Iterator[Composed]:
    """
    What the model makes of what needs writing; without one, all of it waits.

    run: the run under way; None: nothing is written, and the replies go to `paid`.
    """

    def note(request: str, reply: Reply, members: Collection[int]) -> None:
        said = Paid(
            request, tuple(members), reply.text, reply.stop, reply.model, reply.input_tokens, reply.output_tokens
        )
        (paid if paid is not None else []).append(said)

    choice = by.means.choice
    if choice.model is None:
        yield from (Composed(one, "waiting", by.means.why_no_model) for one in found.to_write)
        return
    asker = Asker(
        choice.model,
        by.means.spending,
        by.means.merge.concurrency,
        part.key,
        found.names,
        partial(replies.kept, by.store),
        partial(replies.keep, by.store, at=by.now) if run else note,
        taken.under_way,
        by.stop,
    )
    if run and (by.collects or by.means.merge.mode == "batch"):
        handing = partial(hand_in, by.store, run, part.key, choice.model, by.wall_clock())
        yield from compose_in_batch(found.to_write, asker, taken, None if by.collects else handing)
        return
    yield from compose(found.to_write, asker)


def _expect(by: Pass, part: ScopePlan, found: Proposed, taken: TakenIn) -> Iterator[Composed]:
    """What asking would take at most, first tries alone."""
    choice, spending = by.means.choice, by.means.spending
    for proposal in found.to_write:
        if choice.model is None:
            yield Composed(proposal, "waiting", by.means.why_no_model)
            continue
        asked = first_question(proposal)
        request = request_hash(choice.model, asked)
        if request in taken.under_way:
            yield Composed(proposal, "waiting", IN_A_BATCH)
            continue
        if replies.kept(by.store, request):
            yield Composed(proposal, "expected", "its answer is kept", usage=Usage(kept=1))
            continue
        most = most_of(asked)
        room = spending.reserve(part.key, most)
        if isinstance(room, Refused):
            yield Composed(proposal, "waiting", f"the budget is spent: {room.because}")
            continue
        room.settle(most)
        usage = Usage(1, 0, most.input, most.output, cost(most, spending.price) or 0.0)
        yield Composed(proposal, "expected", f"{choice.model.name} is to be asked about them", usage=usage)
