"""A language model finds the words of a summary; whatever it says or does, a message is told."""

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest

from consolidator.means import Means
from consolidator.notify.message import facts, message_of
from consolidator.report import words
from consolidator.schedule.phrasing import phrase_by
from consolidator.settings import Budget, Merge
from tests.notify.nights import TEXTS, sound
from tests.providers import behaviours
from tests.providers.provider import Provider

WORDS = "I replayed one memory, and all is well."
RULE = words.summary(sound())


@pytest.fixture(params=["anthropic", "openai"])
def means(request: pytest.FixtureRequest, provider: Provider) -> Iterator[Callable[..., Means]]:
    """What a night asks with, at each provider."""
    made: list[Means] = []

    def make(**options: Any) -> Means:
        merge = Merge.model_validate({"model": request.param, "retries": 3, **options})
        made.append(Means(merge, environ=getattr(provider, f"{request.param}_environ")))
        return made[-1]

    yield make
    for each in made:
        with closing(each):
            pass


def told(means: Means, persona: str | None = None) -> str:
    message = message_of(sound(), level="summary", phrase=phrase_by(means), persona=persona)
    assert message
    return message.text


def test_its_words_are_told(means: Callable[..., Means], provider: Provider) -> None:
    """They are asked for once, with the night's numbers, the persona, and no memory; and paid from the run's budget."""
    provider.answer = lambda *_: {"text": WORDS}
    using = means()
    assert told(using, "A dry night porter.") == WORDS
    (asked,) = provider.asked
    assert "A dry night porter." in asked.prompt
    assert not any(text in asked.prompt for text in TEXTS.values())
    assert "atlas" not in asked.prompt
    assert using.spending.spent().calls == 1


SAYS: dict[str, Any] = {
    "a made up number": {"text": "I replayed 4711 memories."},
    "nothing": {"text": ""},
    "a refusal": {"text": "I'm sorry, but I can't help with that."},
    "a link": {"text": "All is well, see https://evil.example/x."},
    "another form": {"verdict": "merge"},
    "too much": {"text": "All is well. " * 200},
    "half": '{"text": "I repl',
    "a failure": behaviours.Behaviour("down", 500, "down"),
    "a wrong key": behaviours.Behaviour("wrong", 401, "wrong"),
}


@pytest.mark.parametrize("says", SAYS)
def test_what_cannot_be_trusted_is_not_told(means: Callable[..., Means], provider: Provider, says: str) -> None:
    """The rule's words are, after one try."""
    provider.answer = lambda *_: SAYS[says]
    assert told(means()) == RULE
    assert len(provider.calls) <= 2  # a failure may be asked about in a simpler form


def test_bare_words_are_words(means: Callable[..., Means], provider: Provider) -> None:
    """A server that knows no form of answer may say them as they are."""
    provider.answer = lambda *_: WORDS
    assert told(means()) == WORDS


@pytest.mark.parametrize("budget", [Budget(calls=0), Budget(input_tokens=10)])
def test_a_spent_budget_asks_nobody(means: Callable[..., Means], provider: Provider, budget: Budget) -> None:
    """The rule's words cost nothing."""
    assert told(means(budget=budget)) == RULE
    assert provider.calls == []


def test_no_model_is_asked_where_there_is_none() -> None:
    """`merge.model: none`."""
    assert phrase_by(Means(Merge(model="none"))) is None


def test_a_call_that_fails_is_not_counted(means: Callable[..., Means], provider: Provider) -> None:
    """Its room in the budget is free again."""
    provider.answer = lambda *_: SAYS["a failure"]
    using = means()
    phrase = phrase_by(using)
    assert phrase is not None
    assert phrase(facts(sound()), None) is None
    assert using.spending.spent().calls == 0
