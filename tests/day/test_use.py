"""The use test: shown is not used, and what is used is seen in every language."""

import pytest

from consolidator.day.use import used
from consolidator.embedding.minilm import MiniLM
from tests.day.replies import BY_MEANING, BY_WORDS, UNSEEN, Told


def places(told: Told, **more: object) -> set[int]:
    shown = [(str(place), text) for place, text in enumerate(told.shown)]
    return {int(name) for name in used(shown, told.reply, [told.asked], **more)}  # type: ignore[arg-type]


@pytest.mark.parametrize("told", [*BY_WORDS, *UNSEEN], ids=lambda told: told.reply[:30])
def test_by_words(told: Told) -> None:
    """A reply used what it tells of that the question did not, and nothing else; with the model nothing is lost."""
    assert places(told) == {*told.used}
    assert places(told, embed=MiniLM().passages) == {*told.used}


@pytest.mark.parametrize("told", BY_MEANING, ids=lambda told: told.reply[:30])
def test_by_meaning(told: Told) -> None:
    """A reply used what it says in other words, and not what it says it does not know."""
    assert places(told, embed=MiniLM().passages) == {*told.used}


def test_nothing_shown() -> None:
    """Where nothing was shown nothing was used, and an empty reply uses nothing."""
    assert used([], "Ada lives in Turku.", ["Where?"]) == set()
    assert used([("a", "Ada lives in Turku.")], "", ["Where?"]) == set()
    assert used([("a", "Ada lives in Turku.")], "Turku", []) == {"a"}


def test_one_model_call() -> None:
    """The model is asked once a reply at most, and not where words say all."""
    calls = []

    def embed(texts: object) -> object:
        calls.append(texts)
        return MiniLM().passages(texts)  # type: ignore[arg-type]

    used([("a", "Ada lives in Turku.")], "In Turku.", ["Where?"], embed=embed)  # type: ignore[arg-type]
    assert calls == []
    used([("a", "Ada lives in Turku."), ("b", "Bo swims.")], "She is there. It rains.", ["Where?"], embed=embed)  # type: ignore[arg-type]
    assert len(calls) == 1
