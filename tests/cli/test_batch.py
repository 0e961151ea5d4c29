"""`merge.mode: batch`: questions handed in by one run, their answers taken in by a later one or by `collect`."""

from typing import Any

import pytest
import sqlalchemy as sa

from consolidator.store.engine import open_store
from tests.alike import PAIRS, pairs
from tests.cli.life import WORDS_ALONE, Life, step, totals
from tests.lives import day, memory, name
from tests.providers import answers, behaviours
from tests.providers.provider import Provider

BATCHES = "embedding: {model: none}\nmerge: {mode: batch, retries: 0}\n"
HANDED_IN = "in a batch; the next run after it has ended, or `consolidate collect`, takes its answer in"


@pytest.fixture(params=["anthropic", "openai"])
def batching(
    request: pytest.FixtureRequest, life: Life, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> Provider:
    """Each provider in turn, whose batches end when the test says so."""
    for variable, value in getattr(provider, f"{request.param}_environ").items():
        monkeypatch.setenv(variable, value)
    life.say(BATCHES)
    return provider


def collect(life: Life, at: float, *options: object) -> dict[str, Any]:
    life.wall(day(at))
    ended = life("collect", "--json", *options)
    assert ended.code == 0, ended
    return ended.document


def waiting(report: dict[str, Any]) -> dict[str, int]:
    return step(report)["asked"]["waiting"]


def test_a_batch_is_handed_in_and_collected(life: Life, batching: Provider) -> None:
    """The night merges nothing yet; nothing is handed in or paid twice while it is under way; half the price."""
    prices = "{claude-haiku-5-5: {input: 2, output: 4}, gpt-6-luna: {input: 2, output: 4}}"
    life.say(BATCHES.replace("retries: 0", f"retries: 0, prices: {prices}"))
    life.take(*pairs(3))
    report = life.night(1)
    assert (totals(report), waiting(report)) == ({"carried_over": 3}, {HANDED_IN: 3})
    assert "3 questions were handed in as a batch: at most " in " ".join(step(report)["notes"])
    assert waiting(collect(life, 1.1)) == waiting(life.night(1.2)) == {HANDED_IN: 3}
    assert len(batching.batches.made) == 1
    batching.batches.end()
    report = collect(life, 1.5)
    assert totals(report) == {"merged": 3, "superseded": 6}
    assert life.active() == {" ".join(pair) for pair in PAIRS[:3]}
    asked, spent = step(report)["asked"], batching.spent
    assert (asked["calls"], asked["input_tokens"], asked["output_tokens"]) == spent[:3]
    assert asked["usd"] == pytest.approx((spent.input_tokens + 2 * spent.output_tokens) / 1e6)
    assert totals(life.night(2)) == {}
    assert life("collect").out == "No batch is under way.\n"
    assert len(batching.batches.made) == 1
    assert batching.paid_twice() == []


def test_the_next_run_takes_the_answers_in(life: Life, batching: Provider) -> None:
    """And hands in what is new, in one go."""
    life.take(*pairs(2))
    life.night(1)
    batching.batches.end()
    life.take(*(memory(text, 1.5) for text in PAIRS[2]))
    assert totals(life.night(2)) == {"merged": 2, "superseded": 4, "carried_over": 1}
    assert [len(batch.items) for batch in batching.batches.made] == [2, 1]


def test_what_got_no_answer_is_handed_in_again(life: Life, batching: Provider) -> None:
    """Expired, cancelled, failed or missing: it waits, the others are merged, and the next run asks again."""
    outcomes = iter(["expired", "succeeded", "canceled", "missing", "errored"])
    life.take(*pairs(5))
    life.night(1)
    batching.batches.end(lambda _: next(outcomes))
    assert totals(collect(life, 1.5)) == {"merged": 1, "superseded": 2, "carried_over": 4}
    assert waiting(life.night(2)) == {HANDED_IN: 4}
    batching.batches.end()
    assert totals(life.night(3)) == {"merged": 4, "superseded": 8}
    assert [len(batch.items) for batch in batching.batches.made] == [5, 4]
    assert batching.paid_twice() == []


def test_a_batch_that_nobody_heard_of_is_found_again(life: Life, batching: Provider) -> None:
    """The provider made it, but its reply was lost: by its token it is found, and nothing is paid twice."""
    batching.then(behaviours.dropped("before the headers", done=True), to="POST *batches")
    life.take(*pairs(2))
    report = life.night(1)
    assert totals(report) == {"carried_over": 2}
    assert step(report)["asked"]["failures"]
    assert len(batching.batches.made) == 1
    life.night(1.5)
    batching.batches.end()
    assert totals(life.night(2)) == {"merged": 2, "superseded": 4}
    assert len(batching.batches.made) == 1
    assert batching.paid_twice() == []


def test_a_batch_that_was_never_made_is_handed_in_anew(life: Life, batching: Provider) -> None:
    """The provider has none of that token."""
    batching.then(behaviours.server_error(500), to="POST *batches")
    life.take(*pairs(2))
    assert totals(life.night(1)) == {"carried_over": 2}
    assert batching.batches.made == []
    life.night(2)
    batching.batches.end()
    assert totals(life.night(3)) == {"merged": 2, "superseded": 4}
    assert len(batching.batches.made) == 1


def test_a_bad_answer_is_asked_for_once_more_in_the_next_batch(life: Life, batching: Provider) -> None:
    """It names what was wrong; asked in vain twice and once the next time, it is left alone."""
    batching.answer = answers.when("coffee", answers.invent_number)
    life.take(*pairs(2))
    life.night(1)
    for at in (2, 3, 4, 5, 6):
        batching.batches.end()
        report = life.night(at)
    assert totals(report) == {}
    asked = [one.prompt for one in batching.asked if "coffee" in one.prompt]
    assert len(asked) == 3
    assert all("4711 is in no source" in prompt for prompt in asked[1:])
    assert set(PAIRS[1]) < life.active()


def change(url: str, set_to: str) -> None:
    with open_store(url, mode="write") as store, store.write() as conn:
        conn.execute(sa.text(f"UPDATE memories SET {set_to}, revision = revision + 1 WHERE content = :text"),
                     {"text": PAIRS[0][0]})  # fmt: skip


@pytest.mark.parametrize("leave", ["archive", "forget"])
def test_an_answer_about_what_is_gone_is_not_applied(life: Life, batching: Provider, leave: str) -> None:
    """A source was archived or forgotten while the batch was under way: the others are merged."""
    life.take(*pairs(2))
    life.night(1)
    if leave == "forget":
        assert life("forget", "--yes", name(PAIRS[0][0])).code == 0
    else:
        change(life.url, "status = 'archived', archived_because = 'user', archived_at = 1")
    batching.batches.end()
    assert totals(collect(life, 1.5)) == {"merged": 1, "superseded": 2}
    assert PAIRS[0][1] in life.active()
    assert totals(life.night(2)) == {}
    assert len(batching.batches.made) == 1


def test_live_again_while_a_batch_is_under_way(life: Life, batching: Provider) -> None:
    """What is in it is not asked live; other questions are."""
    life.take(*pairs(1))
    life.night(1)
    life.say(WORDS_ALONE)
    life.take(*(memory(text, 1.5) for text in PAIRS[1]))
    assert totals(life.night(2)) == {"merged": 1, "superseded": 2, "carried_over": 1}
    batching.batches.end()
    assert totals(life.night(3)) == {"merged": 1, "superseded": 2}
    assert batching.paid_twice() == []


def test_a_batch_without_its_key(life: Life, batching: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    """It stays under way, and every report says so."""
    life.take(*pairs(1))
    life.night(1)
    batching.batches.end()
    for variable in (*batching.anthropic_environ, *batching.openai_environ):
        monkeypatch.delenv(variable, raising=False)
    report = life.night(2)
    assert totals(report) == {}
    assert "there is no key for it" in step(report)["asked"]["failures"][0]


def test_a_dry_run_hands_nothing_in_and_takes_nothing_in(life: Life, batching: Provider) -> None:
    """It says what would be asked, at half the price, and what is under way."""
    life.take(*pairs(2))
    report = life.night(1, "--dry-run")
    assert step(report)["counts"]["to_ask"] == 2
    life.night(1)
    calls = len(batching.calls)
    report = life.night(1.5, "--dry-run")
    assert waiting(report) == {HANDED_IN: 2}
    batching.batches.end()
    assert waiting(life.night(1.6, "--dry-run")) == {HANDED_IN: 2}
    assert len(batching.calls) == calls


def test_the_budget_of_a_batch(life: Life, batching: Provider) -> None:
    """What does not fit is handed in the next time, the longest waiting first."""
    life.say(BATCHES.replace("retries: 0", "retries: 0, budget: {calls: 2}"))
    life.take(*pairs(3))
    assert waiting(life.night(1)) == {HANDED_IN: 2, "the budget is spent: merge.budget.calls is 2": 1}
    batching.batches.end()
    report = life.night(2)
    assert (totals(report), waiting(report)) == ({"merged": 2, "superseded": 4, "carried_over": 1}, {HANDED_IN: 1})
    batching.batches.end()
    assert totals(life.night(3)) == {"merged": 1, "superseded": 2}


def test_undo_of_a_night_that_collected(life: Life, batching: Provider) -> None:
    """The merges are taken back; the answers stay kept, so the next night pays nothing."""
    life.take(*pairs(2))
    before = life("export").out
    life.night(1)
    batching.batches.end()
    collect(life, 1.5)
    assert life("undo", "last").code == 0
    assert life("undo", "last").code == 0
    assert life("export").out == before
    assert totals(life.night(1)) == {"merged": 2, "superseded": 4}
    assert len(batching.batches.made) == 1
