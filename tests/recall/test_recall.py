"""Recall from a store, on both kinds."""

from typing import Any

import pytest
import sqlalchemy as sa

from consolidator.embedding.fill import embed_missing
from consolidator.embedding.minilm import MiniLM
from consolidator.embedding.port import EmbedderFailed
from consolidator.laws.clock import Rates
from consolidator.recall.choosing import tokens_of
from consolidator.recall.ranking import PARTS
from consolidator.recall.recall import recall
from consolidator.recall.scoring import USUAL
from consolidator.store.engine import Store
from consolidator.store.tables import memories
from tests.embedding.models import Lengths
from tests.lives import day, memory, take
from tests.recall.lives import ALLERGY, CAR, KEYS, MOVE, OLD_CAR, TEA, TRIP, ask, texts


class Failing(Lengths):
    """An embedder that is down, of the store's model."""

    def queries(self, texts: object) -> object:  # type: ignore[override]
        raise EmbedderFailed("the server is down")


def test_meaning(store: Store) -> None:
    """What is meant is found without a word in common."""
    assert texts(ask(store, "Which medicine must she never be given?"))[0] == ALLERGY


def test_words(store: Store) -> None:
    """Words and meaning are compared together, and the mode says so."""
    found = ask(store, "On which level did I park the car?")
    assert texts(found)[0] == CAR
    assert found.mode == "hybrid"


def test_order(store: Store) -> None:
    """Results come in order of their scores, each in [0, 1]."""
    scores = [each.score for each in ask(store, "What does Ada do in Lisbon?").results]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


def test_only_active(store: Store) -> None:
    """Archived and superseded memories are found with `deep` alone, and marked."""
    assert not {KEYS, OLD_CAR} & set(texts(ask(store, "Where are the spare keys and the car?")))
    found = {
        each.content: each.status for each in ask(store, "Where are the spare keys and the car?", deep=True).results
    }
    assert found[KEYS] == "archived"
    assert found[OLD_CAR] == "superseded"


def test_linked(store: Store) -> None:
    """What is linked to a good answer comes along."""
    found = ask(store, "Ada allergic penicillin", explain=True)
    (tea,) = [each for each in found.results if each.content == TEA]
    assert tea.parts is not None
    assert tea.parts["linked"] > 0.1


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"words": 12, "limit": None},
        {"deep": True, "upcoming_first": True},
        {"weights": USUAL._replace(recency=0.5, importance=1.0)},
        {"embedder": None},
    ],
)
def test_parts_add_up(store: Store, more: dict[str, Any]) -> None:
    """A score is the sum of its parts, each of which is told."""
    found = ask(store, "What did Ada, allergic to penicillin, do in January 1970?", explain=True, **more).results
    assert found
    for each in found:
        assert each.parts is not None
        assert list(each.parts) == list(PARTS)
        assert sum(each.parts.values()) == pytest.approx(each.score, abs=1e-5)
        before = sum(list(each.parts.values())[: list(PARTS).index("strength")])
        assert each.parts["strength"] == pytest.approx(0.3 * (each.strength - 1) * before, abs=1e-5)


def test_recency_and_importance(store: Store) -> None:
    """Age and lack of importance take something away where they are asked about, and nothing else."""
    plain = ask(store, "What about Ada, Bo and the car?", explain=True).results
    assert all(each.parts and each.parts["recency"] == each.parts["importance"] == 0 for each in plain)
    weighed = ask(
        store, "What about Ada, Bo and the car?", explain=True, weights=USUAL._replace(recency=1.0, importance=1.0)
    ).results
    assert all(each.parts and each.parts["recency"] < 0 and each.parts["importance"] < 0 for each in weighed)
    taken = {each.content: (each.parts or {})["recency"] / each.score for each in weighed}
    assert taken[MOVE] > taken[ALLERGY]


@pytest.mark.parametrize("query", ["How do I configure nginx as a reverse proxy?", "Which enzyme breaks down lactose?"])
def test_least_score(store: Store, query: str) -> None:
    """A question about nothing that is remembered recalls nothing, unless less is asked of an answer."""
    found = ask(store, query)
    assert found.results == []
    assert found.reason == "nothing that is remembered answers this"
    assert ask(store, query, least_score=0.0).results
    assert ask(store, "Where is the car parked?", least_score=1.0).results == []


def test_least_score_is_judged_before_strength(store: Store) -> None:
    """How far a memory has faded does not decide whether it answers."""
    found = {least: texts(ask(store, "Where is the car parked?", least_score=least)) for least in (0.3, 0.5)}
    with store.write() as conn:
        conn.execute(sa.update(memories).values(strength=0.01, base_strength=0.01))
    assert found == {least: texts(ask(store, "Where is the car parked?", least_score=least)) for least in found}


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("用户住在上海,养了一只狗。", "我住在哪里?"),
        ("妹の誕生日は五月三日です。", "妹の誕生日はいつですか"),
        ("어머니는 부산에 사십니다.", "어머니는 어디에 사십니까?"),
        ("Das Treffen mit Herrn Weber ist am Freitag.", "Wann treffe ich Herrn Weber?"),
        ("Бабушка живёт в Казани.", "Где живёт бабушка?"),
    ],
)
def test_scripts(store: Store, text: str, query: str) -> None:
    """What is written in another script or language is recalled first when asked about in it."""
    take(store, [memory(text, 30)], at=40)
    embed_missing(store, None, MiniLM(), which="all")
    assert texts(ask(store, query))[:1] == [text]


@pytest.mark.parametrize("query", ["Where does Ada live?", "where does ada live", "WHERE DOES ADA LIVE?"])
def test_names(store: Store, query: str) -> None:
    """A memory that begins with a name of the question counts more, large or small as the question may be written."""
    take(store, [memory(f"Ada has seen {thing}.", 30) for thing in ("Rome", "the sea")], at=40)
    found = {each.content: each.parts for each in ask(store, query, explain=True, least_score=0.0).results}
    assert {text for text, parts in found.items() if parts and parts["names"]} == {
        text for text in found if text.startswith("Ada")
    }
    assert MOVE in found


def test_budget_in_tokens(store: Store) -> None:
    """No more tokens are given than asked for."""
    found = texts(ask(store, "Where did Ada move, and what is she allergic to?", tokens=12))
    assert found
    assert sum(map(tokens_of, found)) <= 12


def test_strength_counts_a_little(store: Store) -> None:
    """A faded memory that is right comes before a strong one that is not."""
    assert texts(ask(store, "parked car level"))[0] == CAR


@pytest.mark.parametrize("budget", [5, 6, 11, 12, 100])
def test_budget_in_words(store: Store, budget: int) -> None:
    """No more words are given than asked for, and a shorter memory fills what a long one leaves."""
    found = texts(ask(store, "Where did Ada move, and what is she allergic to?", words=budget, limit=None))
    assert sum(len(text.split()) for text in found) <= budget
    assert found


def test_limit(store: Store) -> None:
    """No more memories are given than asked for."""
    assert len(ask(store, "What about Ada?", limit=1).results) == 1


def test_too_small_a_budget(store: Store) -> None:
    """Where nothing fits, nothing is given and the reason is."""
    found = ask(store, "Where did Ada move?", words=1)
    assert found.results == []
    assert found.reason == "nothing fits the budget"


def test_types_and_times(store: Store) -> None:
    """Types and times leave out all else."""
    assert set(texts(ask(store, "What does Bo like?", types=["preference"]))) == {TEA}
    late = ask(store, "What about Ada?", since=day(20), until=day(20.5))
    assert texts(late) == [MOVE]


def test_as_of(store: Store) -> None:
    """What was taken in later than `now` is not seen."""
    assert MOVE not in texts(ask(store, "Where did Ada move?", now=day(10)))


def test_upcoming_first(store: Store) -> None:
    """What is still to come goes first where that is asked for."""
    assert texts(ask(store, "Where did Ada move with her sister?"))[0] == MOVE
    assert texts(ask(store, "Where did Ada move with her sister?", upcoming_first=True))[0] == TRIP


@pytest.mark.parametrize("embedder", [None, Failing(model="all-MiniLM-L6-v2-int8")])
def test_words_alone(store: Store, embedder: object) -> None:
    """Without an embedder, or with one that fails, words alone are compared, and that is said."""
    found = ask(store, "Where is the car parked?", embedder=embedder)  # type: ignore[arg-type]
    assert texts(found)[0] == CAR
    assert found.mode == "bm25_only"
    assert found.because


def test_another_model(store: Store) -> None:
    """Vectors of another model than the store's are never compared with its own."""
    found = ask(store, "Where is the car parked?", embedder=Lengths())
    assert found.mode == "bm25_only"


def test_no_need(store: Store) -> None:
    """A greeting recalls nothing, and the reason is given."""
    found = ask(store, "good morning!")
    assert found.results == []
    assert "greeting" in (found.reason or "")


def test_unknown_scope(store: Store) -> None:
    """A scope that nobody has written to holds nothing."""
    assert ask(store, "Where?").query == "Where?"

    assert recall(store, '{"user":"zoe"}', "Where is it?", now=day(40), embedder=None, rates=Rates()).reason


def test_what_is_new(store: Store) -> None:
    """What was taken in, archived or restored since the last recall is seen by the next."""
    ask(store, "Where is the car parked?")
    take(store, [memory("The bicycle is locked at the station.", 39)], at=40)
    assert texts(ask(store, "bicycle locked"))[0] == "The bicycle is locked at the station."
    with store.write() as conn:
        conn.execute(sa.update(memories).where(memories.c.content == CAR).values(status="archived"))
    assert CAR not in texts(ask(store, "Where is the car parked?"))
    with store.write() as conn:
        conn.execute(sa.update(memories).where(memories.c.content == KEYS).values(status="active"))
        conn.execute(sa.update(memories).where(memories.c.content == CAR).values(status="active"))
    assert KEYS in texts(ask(store, "spare keys"))
    assert CAR in texts(ask(store, "Where is the car parked?"))


def test_changes_nothing(store: Store) -> None:
    """A recall leaves every row as it was."""
    with store.read() as conn:
        before = conn.execute(sa.select(memories).order_by(memories.c.key)).all()
    ask(store, "Where is the car parked?", deep=True)
    with store.read() as conn:
        assert conn.execute(sa.select(memories).order_by(memories.c.key)).all() == before
