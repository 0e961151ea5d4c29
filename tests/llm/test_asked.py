"""A question to a provider: the reply, what is tried again, and what failures are called. The real SDKs ask."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from consolidator.llm.client import Client
from consolidator.llm.port import ModelFailed
from consolidator.merging.asking import BadAnswer, question, read_answer
from tests.llm.models import CATS, Watch, cats, model_at, text
from tests.providers import answers
from tests.providers.behaviours import (
    Behaviour,
    dropped,
    empty_body,
    error,
    half_a_body,
    html_page,
    key_refused,
    no_such_model,
    not_json,
    overloaded,
    quota_spent,
    rate_limited,
    server_error,
    slow,
    told_whether_to_retry,
    wrong_length,
)
from tests.providers.provider import Provider


def failure(model: Client, asked=None) -> ModelFailed:
    with pytest.raises(ModelFailed) as failed:
        model.ask(asked or cats())
    return failed.value


def test_reply(model: Client, provider: Provider) -> None:
    """A question is answered in the form that was asked for, and the reply says what it took."""
    reply = model.ask(cats())
    answer = read_answer(reply.text, reply.stop)
    assert answer.verdict == "merge"
    assert answer.text == "Ada has 2 cats. Ada has two cats, Mia and Tom."
    (paid,) = provider.asked
    assert (reply.input_tokens, reply.output_tokens) == (paid.input_tokens, paid.output_tokens)
    assert reply.model == model.name
    assert [source["content"] for source in paid.sources] == [each.content for each in CATS]


def test_strict_form(model: Client, provider: Provider) -> None:
    """The provider's own structured output is asked for, with a limit and no knobs."""
    model.ask(cats())
    body = provider.asked[0].body
    form = body.get("output_config", {}).get("format") or body["response_format"]["json_schema"]
    assert form["schema"]["required"] == ["verdict", "text", "kept", "dropped"]
    assert {"temperature", "top_p", "tools", "stream"}.isdisjoint(body)


@pytest.mark.parametrize(
    "behaviour",
    [
        rate_limited(seconds=3), rate_limited(), server_error(500), server_error(503), overloaded(), html_page(502),
        dropped(done=False), dropped("after the headers"), half_a_body(), wrong_length(5),
    ],
    ids=lambda behaviour: behaviour.name,
)  # fmt: skip
def test_tried_again(model: Client, provider: Provider, behaviour: Behaviour) -> None:
    """What passes by itself is tried again, and the question is answered."""
    provider.then(behaviour, behaviour)
    assert read_answer(model.ask(cats()).text).verdict == "merge"
    assert len(provider.calls) == 3


def test_retry_after(model: Client, provider: Provider, watch: Watch) -> None:
    """It waits as long as the provider says: in seconds, in milliseconds, until a date."""
    until = provider.now + timedelta(seconds=11)
    provider.then(rate_limited(seconds=7), rate_limited(milliseconds=250), rate_limited(until=until))
    model.ask(cats())
    assert watch.waits == [7, 0.25, 11]


def test_backs_off(model: Client, provider: Provider, watch: Watch) -> None:
    """Where the provider does not say, each wait is about twice the one before, and not much of them all."""
    provider.always(server_error())
    assert failure(model).kind == "unavailable"
    assert len(provider.calls) == 6
    for waited, longest in zip(watch.waits, (0.5, 1, 2, 4, 8), strict=True):
        assert 0.75 * longest <= waited <= longest


@pytest.mark.parametrize("behaviour", [dropped(done=False), half_a_body()], ids=lambda behaviour: behaviour.name)
def test_no_answer_is_said_in_words(model: Client, provider: Provider, behaviour: Behaviour) -> None:
    """It goes into messages: no name of a class is in it."""
    provider.always(behaviour)
    assert failure(model).what.endswith("gave no answer: the connection broke off")


def test_told_not_to(model: Client, provider: Provider) -> None:
    """A provider that says that another try is of no use is believed."""
    provider.always(told_whether_to_retry(server_error(), retry=False))
    assert failure(model).kind == "unavailable"
    assert len(provider.calls) == 1


def test_never_long(model: Client, provider: Provider, watch: Watch) -> None:
    """A provider that wants to be left alone for an hour is not waited for."""
    provider.always(rate_limited(seconds=3600))
    failed = failure(model)
    assert (failed.kind, failed.retry_later) == ("unavailable", True)
    assert "429" in failed.what
    assert (watch.waits, len(provider.calls)) == ([], 1)


def test_too_slow(provider: Provider) -> None:
    """A time-out is a failure for now, said with its seconds."""
    for protocol in ("anthropic", "openai"):
        released = threading.Event()
        provider.always(slow(released))
        model = model_at(provider, protocol, retries=0, timeout_seconds=0.2)
        failed = failure(model)
        assert failed.kind == "unavailable"
        assert "0.2 s" in failed.what
        released.set()
        provider.heal()
        model.close()


def test_unreachable() -> None:
    """A server that is not there is a failure for now."""
    nowhere = Provider()
    nowhere.address = "http://127.0.0.1:1"
    for protocol in ("anthropic", "openai"):
        model = model_at(nowhere, protocol, retries=1)
        assert failure(model).kind == "unavailable"
        model.close()


@pytest.mark.parametrize("behaviour", [key_refused(), no_such_model(), quota_spent()], ids=lambda each: each.name)
def test_misconfigured(model: Client, provider: Provider, behaviour: Behaviour) -> None:
    """What no further question can escape is asked once, and said in one line with the model and the message."""
    provider.always(behaviour)
    failed = failure(model)
    assert (failed.kind, failed.retry_later, len(provider.calls)) == ("misconfigured", True, 1)
    assert model.name in failed.what
    assert behaviour.message in failed.what
    assert "\n" not in failed.what


def test_not_taken(model: Client, provider: Provider) -> None:
    """A request that a model does not take is a fault of the settings, unless the model has answered others."""
    provider.then(error(400, "unknown parameter"))
    assert failure(model).kind == "misconfigured"
    model.ask(cats())
    provider.then(error(400, "unknown parameter"))
    failed = failure(model)
    assert (failed.kind, failed.retry_later) == ("unusable", False)


@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        (413, "Request exceeds the maximum size", "unusable"),
        (400, "prompt is too long: 205000 tokens > 200000 maximum", "unusable"),
        (400, "This model's maximum context length is 4096 tokens (5000 in max_completion_tokens)", "unusable"),
        (400, "The response was filtered due to the prompt triggering our content management policy", "refused"),
        (400, "Your credit balance is too low to access the API", "misconfigured"),
    ],
)
def test_this_question(model: Client, provider: Provider, status: int, message: str, kind: str) -> None:
    """What a provider has against one question costs that question alone."""
    provider.then(error(status, message))
    assert failure(model).kind == kind
    model.ask(cats())


def test_quotes_nothing(model: Client, provider: Provider) -> None:
    """No failure repeats what stands in a memory, also where the provider does."""
    secretive = question([text(1, "The key is under the third flower pot."), text(2, "A key lies there.")], [])
    provider.then(error(400, "Invalid: 'The key is under the third flower pot.' is not allowed"))
    assert "flower" not in failure(model, secretive).what


def test_too_long(model: Client, provider: Provider) -> None:
    """A question longer than the prices hold for is not asked."""
    long = question([text(1, "word " * 60_000), text(2, "word")], [])
    assert failure(model, long).kind == "unusable"
    assert provider.calls == []


@pytest.mark.parametrize("behaviour", [html_page(200), not_json(), empty_body()], ids=lambda each: each.name)
def test_nonsense(model: Client, provider: Provider, behaviour: Behaviour) -> None:
    """A reply that is none is a failure for now, and asked for once: it may have been paid."""
    provider.then(behaviour)
    assert failure(model).kind == "unavailable"
    assert len(provider.calls) == 1


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        (answers.refuse, "refusal"), (answers.filtered, "refusal"), (answers.cut_off, "cut off"),
        (answers.empty, "empty"), (answers.cut_off_unsaid, "schema"), (answers.violate_schema, "schema"),
        (answers.wrong_type, "schema"), (answers.wrong_types_within, "schema"), (answers.unknown_verdict, "schema"),
        (answers.refuse_in_prose, "schema"), (answers.gigantic, "schema"),
    ],
    ids=lambda each: getattr(each, "__name__", each),
)  # fmt: skip
def test_bad_answer(model: Client, provider: Provider, said: answers.Answer, kind: str) -> None:
    """A bad answer is a reply all the same, with its tokens; reading it says what is wrong and quotes nothing."""
    provider.answer = said
    reply = model.ask(cats())
    assert reply.output_tokens > 0
    with pytest.raises(BadAnswer) as bad:
        read_answer(reply.text, reply.stop)
    assert bad.value.kind == kind
    assert "Ada" not in bad.value.what
    assert "sorry" not in bad.value.what


@pytest.mark.parametrize("said", [answers.fenced(), answers.in_prose()], ids=["fenced", "in prose"])
def test_schema_ignored(model: Client, provider: Provider, said: answers.Answer) -> None:
    """A server that ignores the schema is understood where the answer is right but for what is around it."""
    provider.answer = said
    assert read_answer(model.ask(cats()).text).verdict == "merge"


@pytest.mark.parametrize("said", [answers.thoughtful(), answers.thinking_aloud()], ids=["apart", "aloud"])
def test_thinking(model: Client, provider: Provider, said: answers.Answer) -> None:
    """What the model thinks is not what it says."""
    provider.answer = said
    assert read_answer(model.ask(cats()).text).verdict == "merge"


def test_lower_form(model: Client, provider: Provider) -> None:
    """Where the strict form is not taken a looser one is asked for, and for as long as the client lives."""
    provider.answer = answers.knows_no_schema()
    for _ in range(2):
        assert read_answer(model.ask(cats()).text).verdict == "merge"
    assert len(provider.calls) == 3


def test_old_name_of_the_limit(provider: Provider) -> None:
    """A server that does not know `max_completion_tokens` is asked with `max_tokens`."""
    no = error(422, "max_completion_tokens: Extra inputs are not permitted")
    provider.answer = lambda sources, request: (
        no if "max_completion_tokens" in request else answers.concatenate(sources, request)
    )
    model = model_at(provider, "openai")
    assert read_answer(model.ask(cats()).text).verdict == "merge"
    assert len(provider.calls) == 3
    model.close()


def test_no_form(model: Client, provider: Provider) -> None:
    """A server that takes no form is given up, and told so."""
    provider.always(error(400, "structured output is not supported"))
    failed = failure(model)
    assert failed.kind == "misconfigured"
    assert all(manner in failed.what for manner in model.manners)
    assert len(provider.calls) == len(model.manners)


def test_tokens_untold(provider: Provider) -> None:
    """A server that does not say what a reply took is taken to have needed what was estimated."""
    body = b'{"choices": [{"message": {"role": "assistant", "content": "{}"}, "finish_reason": "stop"}]}'
    provider.then(Behaviour("no usage", raw=(200, "application/json", body)))
    model = model_at(provider, "openai")
    reply = model.ask(cats())
    assert reply.input_tokens > 500
    assert reply.output_tokens == 1
    model.close()


def test_at_once(model: Client, provider: Provider) -> None:
    """Many questions at once, from many threads, over one connection to the provider each."""
    asked = [question([text(1, f"Ada owns {n} cats."), text(2, f"Ada has {n} cats.")], []) for n in range(12)]
    with ThreadPoolExecutor(4) as pool:
        replies = list(pool.map(model.ask, asked))
    assert [f"{n} cats" in reply.text for n, reply in enumerate(replies)] == [True] * 12


def test_closed(provider: Provider) -> None:
    """Who waits for another try when the client is closed gives up at once."""
    model = model_at(provider, "openai")
    model = type(model)(model.name, model.access)
    provider.always(rate_limited(seconds=200))
    with ThreadPoolExecutor(1) as pool:
        asking = pool.submit(model.ask, cats())
        provider.wait_for_calls(1)
        model.close()
        assert isinstance(asking.exception(timeout=20), ModelFailed)
    assert failure(model).kind == "unavailable"
