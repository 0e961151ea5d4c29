"""Batches of both providers: handed in once, found again, collected item by item. The real SDKs ask."""

from datetime import timedelta

import pytest

from consolidator.instants import from_datetime
from consolidator.llm.client import Client
from consolidator.llm.port import ModelFailed, Reply
from consolidator.merging.asking import Question, question, read_answer
from tests.llm.models import Watch, cats, text
from tests.providers import answers
from tests.providers.behaviours import dropped, error, html_page, key_refused, overloaded, rate_limited, server_error
from tests.providers.provider import Provider

BATCHES = "POST *batches"


def asked(number: int) -> dict[str, Question]:
    """So many questions by custom ids."""
    return {
        str(at): question([text(1, f"Ada has {at} cats."), text(2, f"Ada owns {at} cats.")], []) for at in range(number)
    }


def since(provider: Provider) -> int:
    return from_datetime(provider.now)


def failure(call, *arguments, **named) -> ModelFailed:
    with pytest.raises(ModelFailed) as failed:
        call(*arguments, **named)
    return failed.value


def test_answered(model: Client, provider: Provider) -> None:
    """Each question gets its own answer, whatever the order they come in; asking again gives the same."""
    batch = model.submit(asked(5), "token-1")
    assert not model.collect(batch).ended
    provider.batches.end()
    state = model.collect(batch)
    assert state.ended
    assert set(state.answers) == set("01234")
    for name, reply in state.answers.items():
        assert isinstance(reply, Reply)
        assert read_answer(reply.text, reply.stop).text == f"Ada has {name} cats. Ada owns {name} cats."
        assert min(reply.input_tokens, reply.output_tokens) > 0
    assert model.collect(batch) == state
    assert provider.spent.questions == 5


def test_same_request(model: Client, provider: Provider) -> None:
    """A question in a batch is the very request that it would be live."""
    model.ask(cats())
    model.submit({"0": cats()}, "token-1")
    provider.batches.end()
    live, batched = (each.body for each in provider.asked)
    assert live == batched


def test_item_by_item(model: Client, provider: Provider) -> None:
    """What happened to one item is said of that one; what is in no results has no answer."""
    outcomes = iter(["succeeded", "errored", "expired", "canceled", "missing"])
    batch = model.submit(asked(5), "token-1")
    provider.batches.end(lambda item: next(outcomes))
    state = model.collect(batch)
    assert state.ended
    assert isinstance(state.answers["0"], Reply)
    for name, words in (("1", "500"), ("2", "expired"), ("3", "cancel")):
        failed = state.answers[name]
        assert isinstance(failed, ModelFailed)
        assert (failed.kind, failed.retry_later) == ("unavailable", True)
        assert words in failed.what
    assert "4" not in state.answers


@pytest.mark.parametrize("outcome", ["expired", "canceled", "errored"])
def test_all_gone(model: Client, provider: Provider, outcome: str) -> None:
    """A batch that brought nothing has ended, and every question may be asked again."""
    batch = model.submit(asked(2), "token-1")
    provider.batches.end(outcome)
    state = model.collect(batch)
    assert state.ended
    assert [isinstance(each, ModelFailed) and each.retry_later for each in state.answers.values()] == [True, True]


def test_errors_by_kind(model: Client, provider: Provider) -> None:
    """A question that the provider will not take is told from a provider that failed."""
    provider.answer = answers.when(
        "has 0",
        error(400, "prompt is too long"),
        answers.when("has 1", error(400, "odd"), answers.when("has 2", overloaded())),
    )
    batch = model.submit(asked(4), "token-1")
    provider.batches.end()
    kinds = {name: getattr(each, "kind", "reply") for name, each in model.collect(batch).answers.items()}
    assert kinds == {"0": "unusable", "1": "unusable", "2": "unavailable", "3": "reply"}


def test_all_misconfigured(model: Client, provider: Provider) -> None:
    """Where the model takes none of the requests, it is the settings' fault, and no question loses a try."""
    provider.answer = lambda sources, request: error(400, "no such parameter")
    batch = model.submit(asked(2), "token-1")
    provider.batches.end()
    assert {each.kind for each in model.collect(batch).answers.values()} == {"misconfigured"}


def test_bad_answers(model: Client, provider: Provider) -> None:
    """A refusal or half an answer in a batch is a reply, with its tokens, as live."""
    provider.answer = answers.when("has 0", answers.refuse, answers.cut_off)
    batch = model.submit(asked(2), "token-1")
    provider.batches.end()
    stops = {name: each.stop for name, each in model.collect(batch).answers.items() if isinstance(each, Reply)}
    assert stops == {"0": "refused", "1": "cut off"}


def test_found_again(model: Client, provider: Provider) -> None:
    """A batch whose id was lost is found by its token once it has ended, among others, on any page."""
    provider.batches.page_size = 2
    for number in range(3):
        model.submit(asked(1), f"before-{number}")
    batch = model.submit(asked(2), "token-1")
    for number in range(3):
        model.submit(asked(1), f"after-{number}")
    provider.batches.end()
    assert model.find_batch("token-1", since=since(provider)) == batch
    assert model.find_batch("token", since=since(provider)) is None
    assert model.find_batch("token-1", since=since(provider), known={batch}) is None


def test_found_under_way(model: Client, provider: Provider) -> None:
    """While it is under way OpenAI tells which batch it is; with Anthropic it cannot be told yet, and that is said."""
    batch = model.submit(asked(2), "token-1")
    if model.provider == "openai":
        assert model.find_batch("token-1", since=since(provider)) == batch
    else:
        assert failure(model.find_batch, "token-1", since=since(provider)).kind == "unavailable"
        assert model.find_batch("token-1", since=since(provider), known={batch}) is None


def test_only_recent(model: Client, provider: Provider) -> None:
    """Batches from before it was handed in are not looked through."""
    model.submit(asked(1), "old")
    provider.now += timedelta(days=3)
    assert model.find_batch("token-1", since=since(provider)) is None


def test_lost_reply(model: Client, provider: Provider) -> None:
    """A batch is never handed in twice: where the reply about it is lost, the token finds it."""
    provider.then(dropped(done=True), to=BATCHES)
    assert failure(model.submit, asked(2), "token-1").kind == "unavailable"
    (made,) = provider.batches.made
    provider.batches.end()
    assert model.find_batch("token-1", since=since(provider)) == made.id


@pytest.mark.parametrize("behaviour", [server_error(done=True), html_page(502)], ids=lambda each: each.name)
def test_unsure(model: Client, provider: Provider, behaviour) -> None:
    """An answer that leaves open whether the batch was made is not followed by another batch."""
    provider.then(behaviour, to=BATCHES)
    assert failure(model.submit, asked(1), "token-1").kind == "unavailable"
    assert len(provider.calls_to(BATCHES)) == 1


def test_surely_not_made(model: Client, provider: Provider, watch: Watch) -> None:
    """A provider that is too busy has made nothing, so that the batch is handed in again."""
    provider.then(rate_limited(seconds=2), overloaded(), to=BATCHES)
    model.submit(asked(1), "token-1")
    assert len(provider.batches.made) == 1
    assert watch.waits[0] == 2


def test_looked_up_patiently(model: Client, provider: Provider) -> None:
    """Looking at a batch is tried again as often as need be."""
    batch = model.submit(asked(1), "token-1")
    provider.batches.end()
    provider.then(server_error(), dropped(), to="GET *")
    assert model.collect(batch).ended


def test_misconfigured(model: Client, provider: Provider) -> None:
    """A key that is refused makes no batch, and is said."""
    provider.always(key_refused())
    assert failure(model.submit, asked(1), "token-1").kind == "misconfigured"
    provider.heal()
    assert provider.batches.made == []


def test_results_gone(model: Client, provider: Provider) -> None:
    """A batch whose results the provider no longer has has ended without answers."""
    batch = model.submit(asked(1), "token-1")
    provider.batches.end()
    provider.batches.archive(provider.batches.made[0])
    state = model.collect(batch)
    assert (state.ended, dict(state.answers)) == (True, {})


def test_not_begun(provider: Provider, model: Client) -> None:
    """A batch that OpenAI does not begin has ended without answers, and why is said."""
    if model.provider == "openai":
        batch = model.submit(asked(1), "token-1")
        provider.batches.fail("Enqueued token limit reached")
        state = model.collect(batch)
        assert (state.ended, dict(state.answers)) == (True, {})
        assert "Enqueued token limit reached" in state.what


def test_unknown_batch(model: Client, provider: Provider) -> None:
    """A batch that nobody knows is said to be none."""
    batch = model.submit(asked(1), "token-1")
    provider.batches.lose(provider.batches.made[0])
    assert "404" in failure(model.collect, batch).what


def test_nonsense(model: Client, provider: Provider) -> None:
    """Looking at a batch and getting a page of HTML is a failure for now."""
    batch = model.submit(asked(1), "token-1")
    provider.always(html_page(200), to="GET *")
    assert failure(model.collect, batch).kind == "unavailable"


def test_size(model: Client, provider: Provider) -> None:
    """More than a provider takes in one batch is refused before it is sent."""
    assert failure(model.submit, {}, "token-1").kind == "unusable"
    model.most_in_batch = 2  # type: ignore[misc]
    assert failure(model.submit, asked(3), "token-1").kind == "unusable"
    model.most_bytes_in_batch = 1000  # type: ignore[misc]
    assert failure(model.submit, asked(1), "token-1").kind == "unusable"
    assert provider.calls == []


@pytest.mark.parametrize(
    ("token", "name"), [("", "0"), ("a_b", "0"), ("x" * 33, "0"), ("t", ""), ("t", "x" * 32), ("t", "a.b")]
)
def test_names(model: Client, provider: Provider, token: str, name: str) -> None:
    """A token and custom ids that a provider would not take are a fault of the caller."""
    with pytest.raises(ValueError, match="batch"):
        model.submit({name: cats()}, token)
