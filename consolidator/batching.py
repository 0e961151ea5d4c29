"""
Batches: questions handed in tonight, and answers taken in by a later run, for half the price.

What is handed in is written down before and named after, so that a night that is killed in between finds its batch
again by a token. Answers are kept like any others; a pass then finds them where it asks the same question, that is
where its memories are as they were.
"""

import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from consolidator.compose import IN_A_BATCH, Asker, Composed, Talk
from consolidator.instants import NIGHT
from consolidator.llm.budget import Refused, Tokens, cost, most_of
from consolidator.llm.port import Model, ModelFailed, Reply, request_hash
from consolidator.merging.asking import Question
from consolidator.propose import Proposal
from consolidator.settings import Price
from consolidator.store import batches, replies
from consolidator.store.batches import Batch, Request
from consolidator.store.engine import Store
from consolidator.store.merges import keys_of
from consolidator.store.run import Run

ANSWERS_LAST_NIGHTS = 29  # at Anthropic; longer than that no provider tells them
NOT_TONIGHT = "not handed in yet; the next run does that"

ModelOf = Callable[[str, str], Model | None]


@dataclass
class TakenIn:
    """
    What came of the batches of a scope. under_way: hashes of requests that are still to be answered. fresh: of those
    answered just now. failed: what those requests met that got no reply. notes, failures: in words.
    """

    under_way: set[str] = field(default_factory=set)
    fresh: set[str] = field(default_factory=set)
    failed: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


def take_in(store: Store, scope_key: int, model_of: ModelOf, *, now: int) -> TakenIn:
    """
    Look at the batches of a scope, and keep the answers of those that have ended. Doing it again changes nothing.

    model_of: the client for a provider and a model, None where there is no key.
    """
    taken = TakenIn()
    with store.read() as conn:
        waiting = batches.open_batches(conn, scope_key)
    for batch in waiting:
        _take_in(store, scope_key, batch, model_of(batch.provider, batch.model), taken, now=now)
    return taken


def _take_in(store: Store, scope_key: int, batch: Batch, model: Model | None, taken: TakenIn, *, now: int) -> None:
    hashes = {one.hash for one in batch.requests.values()}
    if now - batch.submitted_at > ANSWERS_LAST_NIGHTS * NIGHT:
        batches.end_batch(store, batch.key, batches.LOST, at=now)
        taken.notes.append(f"the answers of a batch at {batch.provider} were not taken in for too long and are lost")
        return
    if model is None:
        taken.under_way |= hashes
        taken.failures.append(f"a batch is at {batch.provider}, but there is no key for it")
        return
    try:
        batch_id = batch.batch_id or _found(store, batch, model)
        state = model.collect(batch_id) if batch_id else None
    except ModelFailed as failed:
        taken.under_way |= hashes
        taken.failures.append(failed.what)
        return
    if state is None:
        batches.end_batch(store, batch.key, batches.LOST, at=now)
    elif not state.ended:
        taken.under_way |= hashes
        taken.notes.append(f"batch {batch_id} at {batch.provider}: {state.what}")
    else:
        _keep(store, scope_key, batch, state.answers, taken, now=now)
        batches.end_batch(store, batch.key, batches.ENDED, at=now)
        taken.notes.append(f"batch {batch_id} at {batch.provider}: {state.what}")


def _found(store: Store, batch: Batch, model: Model) -> str | None:
    """The id of a batch whose handing in was cut short; None where the provider has none of that token."""
    with store.read() as conn:
        known = batches.known_batches(conn, batch.provider)
    batch_id = model.find_batch(batch.token, since=batch.submitted_at, known=known)
    if batch_id:
        batches.name_batch(store, batch.key, batch_id)
    return batch_id


def _keep(
    store: Store, scope_key: int, batch: Batch, answers: Mapping[str, Reply | ModelFailed], taken: TakenIn, *, now: int
) -> None:
    with store.read() as conn:
        keys = keys_of(conn, scope_key, {name for one in batch.requests.values() for name in one.members})
    for name, asked in batch.requests.items():
        answer = answers.get(name)
        if isinstance(answer, Reply):
            if keys.keys() >= {*asked.members}:  # none was forgotten
                replies.keep(store, asked.hash, answer, [keys[one] for one in asked.members], at=now)
                taken.fresh.add(asked.hash)
        elif answer is not None and not answer.retry_later:
            taken.failed[asked.hash] = answer.what


def compose_in_batch(
    proposals: Iterable[Proposal],
    asker: Asker,
    taken: TakenIn,
    hand_in: Callable[[Mapping[str, Question], Mapping[str, Request]], str] | None,
) -> Iterator[Composed]:
    """
    What a model has made of proposals by now; what it has not been asked is handed in at the end, and waits.

    hand_in: gives why it failed, else nothing; None: nothing is handed in.
    """
    asked: dict[str, tuple[Talk, Question, Request]] = {}
    for proposal in proposals:
        talk = Talk(proposal)
        ended = None
        while ended is None:
            question = talk.question()
            request = request_hash(asker.model, question)
            reply = asker.kept(request)
            if reply is not None:
                talk.heard(reply, paid_now=request in taken.fresh)
                ended = talk.judged(asker, reply)
            elif request in taken.failed:
                ended = talk.wrong(asker, taken.failed[request])
            elif request in asker.in_batches:
                ended = talk.ended(asker, "waiting", IN_A_BATCH)
            elif hand_in is None:
                ended = talk.ended(asker, "waiting", NOT_TONIGHT)
            else:
                room = asker.spending.reserve(asker.scope, most_of(question))
                if isinstance(room, Refused):
                    ended = talk.ended(asker, "waiting", f"the budget is spent: {room.because}")
                else:
                    room.settle(most_of(question))
                    members = tuple(text.id for text in proposal.texts)
                    asked[f"q{len(asked)}"] = talk, question, Request(request, members)
                    break
        if ended is not None:
            yield ended
    if asked and hand_in is not None:
        if stops := asker.stop():
            yield from (talk.ended(asker, "waiting", stops) for talk, _, _ in asked.values())
            return
        questions = {name: question for name, (_, question, _) in asked.items()}
        why = hand_in(questions, {name: request for name, (_, _, request) in asked.items()})
        if not why:
            taken.notes.append(_handed_in([most_of(each) for each in questions.values()], asker.spending.price))
        for talk, _, _ in asked.values():
            yield talk.ended(asker, "waiting", why or IN_A_BATCH, failed=bool(why))


def _handed_in(most: Sequence[Tokens], price: Price | None) -> str:
    whole = Tokens(sum(each.input for each in most), sum(each.output for each in most))
    usd = cost(whole, price)
    money = "at a price that is not known" if usd is None else f"${usd:.4f}" if usd else "no cost"
    questions = "1 question was" if len(most) == 1 else f"{len(most):,} questions were"
    return f"{questions} handed in as a batch: at most {whole.input:,} tokens in, {whole.output:,} out, {money}"


def hand_in(
    store: Store,
    run: Run,
    scope_key: int,
    model: Model,
    at: int,
    questions: Mapping[str, Question],
    requests: Mapping[str, Request],
) -> str:
    """
    Hand questions in as one batch. Returns why that failed, else nothing.

    Where it failed, the batch may have been made all the same; the next pass asks the provider.
    """
    token = secrets.token_hex(16)
    named = (model.provider, model.name)
    key = batches.intend(store, run, scope_key, model=named, token=token, requests=requests, at=at)
    try:
        batch_id = model.submit(questions, token)
    except ModelFailed as failed:
        return failed.what
    batches.name_batch(store, key, batch_id)
    return ""
