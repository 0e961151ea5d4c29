"""Jobs that merge: told to stop on the way, nothing is paid or handed in twice; and batches, collected."""

from contextlib import closing
from threading import Event
from typing import Literal

import pytest
import sqlalchemy as sa

from consolidator import compose
from consolidator.llm.port import Reply
from consolidator.means import Means
from consolidator.merging.asking import Question
from consolidator.schedule.jobs import do
from consolidator.schedule.owed import owed
from consolidator.settings import Embedding, Merge
from consolidator.store.engine import open_store
from consolidator.store.tables import memories
from tests.alike import pairs
from tests.children import TOO_LONG_SECONDS
from tests.lives import EVE, day, memory, take
from tests.providers.provider import Provider
from tests.schedule.works import StoppedAfter, done_in, duty, work_on


def live(provider: Provider, mode: Literal["live", "batch"] = "live") -> Means:
    access = {"base_url": provider.anthropic_url, "api_key": "test-key"}
    return Means(Merge(model="anthropic", mode=mode, retries=0, concurrency=1, **access), Embedding(model="none"))


def test_collecting_is_of_the_whole_store(made_store_url: str, provider: Provider) -> None:
    """Where nothing is under way, or ever handed in, that is said, and counts as done."""
    with open_store(made_store_url, mode="write") as store, closing(live(provider, "batch")) as means:
        assert do(work_on(store, EVE - 1, "collect")).lines[0].startswith("merge.mode is live")
        batch = {"merge": {"model": "anthropic", "mode": "batch"}}
        take(store, pairs(1), at=EVE)
        assert do(work_on(store, EVE, "collect", means=means, **batch)).lines == ("No batch is under way.",)
        assert do(work_on(store, EVE, "collect", means=means, **batch)).lines[0].startswith("collect was done for ")
        assert do(work_on(store, EVE, means=means, **batch)).exit_code == 0
        provider.batches.end()
        told = do(work_on(store, EVE + 0.5, "collect", means=means, **batch)).report
        assert told is not None
        assert told.totals["merged"] == 1
        assert owed(store, duty("collect", **batch), day(EVE + 0.5)) is None


def test_stopped_while_it_merges_nothing_is_paid_twice(made_store_url: str, provider: Provider) -> None:
    """Wherever it looks up: what was answered is kept, what was merged stays, and the next time does the rest."""
    with open_store(made_store_url, mode="write") as store:
        take(store, [*pairs(3), memory("The attic hatch sticks!", 1), memory("the attic hatch sticks", 1)], at=EVE)
        texts = []
        for looks in (*range(2, 12), float("inf")):
            with closing(live(provider)) as means:
                ended = do(work_on(store, EVE, stop=StoppedAfter(looks), means=means))
            with store.read() as conn:
                texts.append(conn.scalar(sa.select(sa.func.count()).where(memories.c.status == "active")))
        assert (ended.exit_code, len(done_in(store))) == (0, 1)
    assert texts == sorted(texts, reverse=True)
    assert len(set(texts)) > 2
    assert texts[-1] == 4
    assert len(provider.asked) == 3


def test_stopped_while_it_hands_in_there_is_one_batch(made_store_url: str, provider: Provider) -> None:
    """Wherever it looks up: nothing is handed in, or all that was to be asked."""
    batch = {"merge": {"model": "anthropic", "mode": "batch"}}
    with open_store(made_store_url, mode="write") as store:
        take(store, pairs(2), at=EVE)
        made = []
        for looks in (*range(2, 7), float("inf")):
            with closing(live(provider, "batch")) as means:
                do(work_on(store, EVE, stop=StoppedAfter(looks), means=means, **batch))
            made.append(len(provider.batches.made))
        provider.batches.end()
        with closing(live(provider, "batch")) as means:
            told = do(work_on(store, EVE + 0.5, "collect", means=means, **batch)).report
    assert (made[0], made[-1]) == (0, 1)
    assert made == sorted(made)
    assert told is not None
    assert told.totals["merged"] == 2


def test_answers_under_way_are_waited_for_a_little(
    made_store_url: str, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Longer than that no stop waits: what has no answer by then waits for the next night."""
    monkeypatch.setattr(compose, "LOOKS_UP_SECONDS", 0.01)
    monkeypatch.setattr(compose, "GRACE_SECONDS", 0.02)
    with open_store(made_store_url, mode="write") as store, closing(live(provider)) as means:
        take(store, pairs(1), at=EVE)
        stop, answered = StoppedAfter(), Event()
        model = means.choice.model
        assert model is not None
        ask = model.ask

        def slow(question: Question) -> Reply:
            stop.request()
            answered.wait(TOO_LONG_SECONDS)
            return ask(question)

        monkeypatch.setattr(model, "ask", slow)
        ended = do(work_on(store, EVE, stop=stop, means=means))
        answered.set()
        assert (ended.exit_code, ended.failure) == (3, "stopped on request")
        assert ended.report is not None
        assert ended.report.asked.waiting == {"stopped on request": 1}
