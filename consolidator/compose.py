"""
Compose: a language model is asked about what needs writing, within the budget; each verdict is told as it comes.

Nothing is read, open or locked while a model thinks: it is asked in threads that know no store, a few at a time. A
reply is kept as soon as it is here, before it is looked at, so that no other night pays for it again.
"""

from collections import deque
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Literal, NamedTuple

from consolidator.llm.budget import Refused, Reservation, Spending, cost, most_of, taken_by
from consolidator.llm.port import Model, ModelFailed, Reply, request_hash
from consolidator.merging.asking import BadAnswer, Question, question, read_answer
from consolidator.merging.proof import prove
from consolidator.plan import Usage
from consolidator.propose import Proposal
from consolidator.terms import ANY_TERMS, Stop

IN_A_BATCH = "in a batch; the next run after it has ended, or `consolidate collect`, takes its answer in"
GRACE_SECONDS = 30.0  # for answers under way, once it is to stop
LOOKS_UP_SECONDS = 1.0  # how soon that is noticed
FAILURES_IN_A_ROW = 3  # with no answer between them: the provider is down, and the rest waits

Verdict = Literal["merge", "update", "distinct", "rejected", "waiting", "expected"]


class Composed(NamedTuple):
    """What became of a proposal. because: why, in words. text: what was written. failed: the provider's fault."""

    proposal: Proposal
    verdict: Verdict
    because: str
    text: str = ""
    usage: Usage = Usage()
    failed: bool = False


@dataclass(frozen=True)
class Asker:
    """
    Whom to ask, and how. scope: whose budget it is. names: those that the scope knows, for the proof.

    kept: a reply by the hash of its request, None where there is none. keep: keeps one, with the memories asked about.
    in_batches: hashes of requests that a batch will answer. stop: why nothing more is to be asked, if so.
    """

    model: Model
    spending: Spending
    concurrency: int
    scope: Hashable
    names: frozenset[str]
    kept: Callable[[str], Reply | None]
    keep: Callable[[str, Reply, Collection[int]], object]
    in_batches: Collection[str] = ()
    stop: Stop = ANY_TERMS.stop


class Talk:
    """One proposal on its way: what is asked next, and what that has taken so far."""

    def __init__(self, proposal: Proposal) -> None:
        """Asked in vain on an earlier night, it is asked once; else a second time if the first answer is bad."""
        self.proposal = proposal
        self.problems: tuple[str, ...] = (proposal.problem,) if proposal.tries else ()
        self.attempt = 2 * proposal.tries + 1  # each night that failed asked twice
        self.last = proposal.tries > 0
        self.calls: list[Reply] = []
        self.kept = 0

    def question(self) -> Question:
        """What is asked next."""
        asked = self.proposal
        return question(asked.texts, asked.differences, problems=self.problems, attempt=self.attempt)

    def ended(self, asker: Asker, verdict: Verdict, because: str, text: str = "", *, failed: bool = False) -> Composed:
        """The end, with what it took."""
        taken = [taken_by(reply) for reply in self.calls]
        usage = Usage(
            len(self.calls),
            self.kept,
            sum(each.input for each in taken),
            sum(each.output for each in taken),
            sum(cost(each, asker.spending.price) or 0.0 for each in taken),
        )
        return Composed(self.proposal, verdict, because, text, usage, failed)

    def heard(self, reply: Reply, *, paid_now: bool) -> None:
        """Count a reply, paid in this pass or before."""
        if paid_now:
            self.calls.append(reply)
        else:
            self.kept += 1

    def wrong(self, asker: Asker, *problems: str) -> Composed | None:
        """The end, or None: to be asked once more, told what was wrong."""
        if self.last:
            return self.ended(asker, "rejected", "; ".join(problems))
        self.problems, self.attempt, self.last = problems, self.attempt + 1, True
        return None

    def judged(self, asker: Asker, reply: Reply) -> Composed | None:
        """What a reply comes to; None where it is to be asked once more."""
        try:
            answer = read_answer(reply.text, reply.stop)
        except BadAnswer as bad:
            return self.wrong(asker, bad.what)
        if answer.verdict == "distinct":
            return self.ended(asker, "distinct", "the model finds them to be different things")
        problems = prove(self.proposal.texts, answer.text, answer.dropped, answer.verdict, asker.names)
        if problems:
            return self.wrong(asker, *problems)
        because = {
            "merge": "they say the same, and the text holds all of it",
            "update": "the newer replaces the older, and the text holds all that stays",
        }[answer.verdict]
        return self.ended(asker, answer.verdict, because, answer.text)


def first_question(proposal: Proposal) -> Question:
    """What a night asks about a proposal at first."""
    return Talk(proposal).question()


class _Call(NamedTuple):
    talk: Talk
    request: str
    room: Reservation


_Arrived = tuple[_Call, Reply | ModelFailed | BaseException]


def compose(proposals: Iterable[Proposal], asker: Asker) -> Iterator[Composed]:
    """
    What a model makes of proposals, asked in their order, told in that of the answers.

    A bad answer is asked for once more, naming what was wrong with it; one that fails costs its own proposal alone.
    What does not fit into the budget waits, and so does the rest where the provider is down or misconfigured, or where
    it is to stop: then answers under way are waited for a little longer, and kept for another night.
    """
    todo = deque(map(Talk, proposals))
    arrived: SimpleQueue[_Arrived] = SimpleQueue()
    flying: list[Talk] = []
    in_a_row = 0
    down = ""
    try:
        while todo or flying:
            stops = asker.stop()
            while todo and (stops or len(flying) < asker.concurrency):
                talk = todo.popleft()
                if stops or down:
                    yield talk.ended(asker, "waiting", stops or down, failed=not stops)
                    continue
                asked = talk.question()
                request = request_hash(asker.model, asked)
                reply = asker.kept(request)
                if reply is not None:
                    talk.heard(reply, paid_now=False)
                    if (ended := talk.judged(asker, reply)) is None:
                        todo.appendleft(talk)
                    else:
                        yield ended
                    continue
                if request in asker.in_batches:
                    yield talk.ended(asker, "waiting", IN_A_BATCH)
                    continue
                room = asker.spending.reserve(asker.scope, most_of(asked))
                if not isinstance(room, Refused):
                    _send(asker.model, asked, _Call(talk, request, room), arrived)
                    flying.append(talk)
                elif flying:  # what is under way may take less than was reserved for it
                    todo.appendleft(talk)
                    break
                else:
                    yield talk.ended(asker, "waiting", f"the budget is spent: {room.because}")
            calls = _kept_at_once(arrived, asker) if flying else []
            if flying and not calls:
                yield from (talk.ended(asker, "waiting", f"{asker.stop()}") for talk in flying)
                return
            for (talk, _, _), came in calls:
                flying.remove(talk)
                if isinstance(came, Reply):
                    in_a_row = 0
                    ended = talk.judged(asker, came)
                elif came.retry_later:
                    in_a_row += 1
                    if came.kind == "misconfigured" or in_a_row >= FAILURES_IN_A_ROW:
                        down = came.what
                    ended = talk.ended(asker, "waiting", came.what, failed=True)
                else:
                    ended = talk.wrong(asker, came.what)
                if ended is None:
                    todo.appendleft(talk)
                else:
                    yield ended
    finally:
        with suppress(Empty):
            while flying:
                _keep(arrived.get_nowait(), asker)


def _send(model: Model, asked: Question, call: _Call, arrived: SimpleQueue[_Arrived]) -> None:
    """Ask in a thread of its own, which ends with the process."""

    def ask() -> None:
        try:
            arrived.put((call, model.ask(asked)))
        except BaseException as fault:  # noqa: BLE001 - whatever it is, who waits is told
            arrived.put((call, fault))

    Thread(target=ask, name="asking", daemon=True).start()


def _kept_at_once(arrived: SimpleQueue[_Arrived], asker: Asker) -> list[tuple[_Call, Reply | ModelFailed]]:
    """Wait for an answer; it and all that have come with it are kept. None of them: it is to stop, and none came."""
    came: list[tuple[_Call, Reply | ModelFailed]] = []
    patience = GRACE_SECONDS
    while not came and patience > 0:
        with suppress(Empty):
            came.append(_keep(arrived.get(timeout=LOOKS_UP_SECONDS), asker))
            while True:
                came.append(_keep(arrived.get_nowait(), asker))
        if asker.stop():
            patience -= LOOKS_UP_SECONDS
    return came


def _keep(came: _Arrived, asker: Asker) -> tuple[_Call, Reply | ModelFailed]:
    call, reply = came
    if isinstance(reply, Reply):
        call.room.settle(taken_by(reply))
        call.talk.heard(reply, paid_now=True)
        asker.keep(call.request, reply, [text.key for text in call.talk.proposal.texts])
        return call, reply
    call.room.release()
    if isinstance(reply, ModelFailed):
        return call, reply
    raise reply
