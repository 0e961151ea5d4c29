"""Any life, purged between any nights, is left as the life that is not: strengths, states, links."""

import json
import random
import shutil
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from consolidator.exchange.intake import take_in
from consolidator.exchange.records import AttributionLine, MemoryLine
from consolidator.instants import NIGHT
from consolidator.laws.clock import Rates
from consolidator.night import run_night
from consolidator.purge import Purged, purge_store
from consolidator.settings.jobs import PurgeJob
from consolidator.store.engine import Store, open_store
from tests import authors, lives
from tests.cats import BIRD, CAT, CATS, DOG, KATZE
from tests.lifetimes import START, Recorded, life
from tests.lives import day, memory, rated, shown, take
from tests.test_cadence import left

OLD = 12  # nights: longer than anything in these lives is late


def known_from_the_start(records: list[Recorded]) -> list[Recorded]:
    """A life of which all memories are there from the beginning: what is shown is counted by the night that sees it."""
    found = []
    for one in records:
        line = one.lines[0]
        if isinstance(line, MemoryLine):
            one = Recorded(START, (replace(line, strength_at=START, created_at=START),), (START,))
        found.append(one)
    return sorted(found, key=lambda one: one.at)


def corrected_soon(records: list[Recorded]) -> list[Recorded]:
    """Without what a message says of a memory more than a week after it first did."""
    return [
        one
        for one in records
        if not isinstance(one.lines[0], AttributionLine)
        or one.at - min(other.at for other in records if _message(one) in map(_message, [other])) < 7 * NIGHT
    ]


def _message(one: Recorded) -> str:
    return next((line.message_id for line in one.lines if isinstance(line, AttributionLine)), "")


def purge(store: Store, at: int, job: PurgeJob) -> Purged:
    gone = purge_store(store, job, now=at, wall_clock=lambda: at)
    assert (gone.left, gone.stopped) == ((), None)
    return gone


def live(url: str, records: list[Recorded], nights: list[int], *, job: PurgeJob | None) -> Iterator[tuple[Store, int]]:
    """A store after each of its nights, each with a purge after it where there is a job for it."""
    told = 0
    with open_store(url, mode="create") as store:
        for now in nights:
            news = [line for one in records[told:] if one.at <= now for line in one.lines]
            told += sum(one.at <= now for one in records[told:])
            with store.write() as conn:
                take_in(conn, news, now=now)
            result = run_night(store, now=now, rates=Rates(), wall_clock=lambda at=now: at, describe=lambda _: {})
            assert result.exit_code == 0, result.error
            gone = purge(store, now, job) if job else Purged()
            yield store, gone.exposures + gone.attributions


def assert_same(store: Store, other: Store, now: int) -> None:
    strengths, weights = left(store, now, Rates())
    others, other_weights = left(other, now, Rates())
    assert {key: found[1:] for key, found in strengths.items()} == {key: found[1:] for key, found in others.items()}
    assert {key: found[0] for key, found in strengths.items()} == pytest.approx(
        {key: found[0] for key, found in others.items()}, abs=1e-12
    )
    assert weights == pytest.approx(other_weights, abs=1e-12)


few = settings(
    max_examples=2,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@few
@given(seed=st.integers(0, 10**6))
@pytest.mark.parametrize("at_once", [3, 250])
def test_no_strength_and_no_weight_is_another_for_a_purge(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, at_once: int, seed: int
) -> None:
    """Whatever comes late by less than the age of what goes, and whichever turn a rating is about: equal to 1e-12."""
    monkeypatch.setattr("consolidator.purge.TURNS_AT_ONCE", at_once)
    chance = random.Random(seed)
    records = known_from_the_start(life(seed, days=45, memories=chance.choice([4, 9]), leaves=chance.random() < 0.5))
    nights = sorted({*(START + chance.randrange(45 * 24) * NIGHT // 24 for _ in range(14)), START + 50 * NIGHT})
    folder: Path = tmp_path_factory.mktemp("life")
    kept = live(f"sqlite:///{folder}/kept.db", records, nights, job=None)
    purged = live(f"sqlite:///{folder}/purged.db", records, nights, job=PurgeJob(exposures_nights=OLD))
    deleted = 0
    for now, (one, _), (other, gone) in zip(nights, kept, purged, strict=True):
        assert_same(one, other, now)
        deleted += gone
    assert deleted > 0


@few
@given(seed=st.integers(0, 10**6))
def test_no_strength_is_another_for_ratings_in_the_base(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    """Where no message changes its mind about what was folded, strengths are equal to 1e-12."""
    chance = random.Random(seed)
    records = corrected_soon(known_from_the_start(life(seed, days=30, memories=5, turns=20)))
    nights = sorted({*(START + chance.randrange(30 * 24) * NIGHT // 24 for _ in range(8)), START + 45 * NIGHT})
    folder: Path = tmp_path_factory.mktemp("life")
    kept = live(f"sqlite:///{folder}/kept.db", records, nights, job=None)
    purged = live(
        f"sqlite:///{folder}/purged.db", records, nights, job=PurgeJob(exposures_nights=None, attributions_nights=20)
    )
    deleted = 0
    for now, (one, _), (other, gone) in zip(nights, kept, purged, strict=True):
        assert_same(one, other, now)
        deleted += gone
    assert deleted > 0


def test_an_export_from_after_a_purge_is_worth_one_from_before(made_sqlite: Path, tmp_path: Path) -> None:
    """A store made of either decides the same, late news too, to the last digit."""
    with open_store(f"sqlite:///{shutil.copy(made_sqlite, tmp_path / 'store.db')}", mode="write") as store:
        take(store, [memory(text, 0, 0.5) for text in (CAT, DOG, BIRD)], at=0)
        news = [(2, "old", [CAT, DOG], DOG), (9, "recent", [DOG, BIRD], BIRD)]
        for of, turn, texts, helped in news:
            take(store, [*shown(turn, texts, of), rated(f"m {turn}", turn, helped, of + 0.1, "tool_get")], at=of + 0.5)
            assert lives.night(store, of + 1).exit_code == 0
        before = lives.exported(store, 15.5).lines
        job = PurgeJob(exposures_nights=OLD, attributions_nights=OLD)
        assert purge(store, day(15.5), job) == Purged(exposures=3, attributions=1)
        after = lives.exported(store, 15.5).lines
    decided = []
    for number, lines in enumerate((before, after)):
        with open_store(f"sqlite:///{tmp_path}/{number}.db", mode="create") as made:
            take(made, map(json.loads, lines[1:]), at=15.5)
            take(made, [*shown("late", [CAT, DOG, BIRD], 8), rated("m late", "late", DOG, 8.5)], at=16)
            assert lives.night(made, 16).exit_code == 0
            decided.append((lives.journal(made), lives.exported(made, 17).values))
    assert decided[0] == decided[1]
    assert {verb for _, verb, *_ in decided[0][0]} >= {"linked", "reinforced"}


EVIDENCE = ["auto_injected", "tool_get", "agent_feedback_negative"]  # not all at the bound
MERGED, LATE, END = 8.0, 3, 22.0  # days; nothing is told later than LATE


@few
@given(seed=st.integers(0, 10**6))
@pytest.mark.parametrize("answer", [CATS, authors.absorbed(CAT, KATZE)], ids=["written", "absorbed"])
def test_nothing_is_another_where_memories_are_merged(
    tmp_path_factory: pytest.TempPathFactory, made_sqlite: Path, answer: authors.Answer, seed: int
) -> None:
    """What was shown and rated before the merge and is told after it, and what was purged before and after it."""
    chance = random.Random(seed)
    news = [(0.0, memory(text, 0, chance.uniform(0.3, 1), pinned=True)) for text in (CAT, KATZE, DOG, BIRD)]
    for number in range(30):
        at = chance.uniform(0.2, END)
        told = (
            chance.choice([CAT, KATZE, DOG]),
            f"m {number}",
            at,
            chance.choice(EVIDENCE),
        )
        text, message, _, evidence = told
        news.append((at + chance.uniform(0, LATE), rated(message, f"t {message}", text, at, evidence)))
        at = chance.uniform(0.2, END)
        both = [chance.choice([CAT, KATZE]), *chance.sample([DOG, BIRD], chance.choice([1, 1, 2]))]
        on = at + chance.uniform(0.01, LATE)
        news += [(on, line) for line in shown(f"turn {number}", both, at)]
    nights = sorted({MERGED, END + LATE, *(chance.uniform(1, END) for _ in range(9))})
    job = PurgeJob(exposures_nights=LATE, attributions_nights=2 * LATE)
    folder = tmp_path_factory.mktemp("life")
    kept, purged = (
        _merging(shutil.copy(made_sqlite, folder / f"{name}.db"), news, nights, answer, job=given)
        for name, given in (("kept", None), ("purged", job))
    )
    exposures = attributions = 0
    with closing(kept), closing(purged):
        for now, (one, _), (other, gone) in zip(nights, kept, purged, strict=True):
            assert_same(one, other, day(now))
            exposures, attributions = exposures + gone.exposures, attributions + gone.attributions
    assert min(exposures, attributions) > 0


def _merging(
    path: Path, news: Sequence[tuple[float, lives.Line]], nights: Sequence[float], answer: authors.Answer,
    *, job: PurgeJob | None,
) -> Iterator[tuple[Store, Purged]]:  # fmt: skip
    since = -1.0
    with open_store(f"sqlite:///{path}", mode="write") as store:
        for now in nights:
            take(store, [line for on, line in news if since < on <= now], at=now)
            since = now
            if now == MERGED:
                assert authors.night(store, now, answer).stale == []
            else:
                lives.night(store, now, steps=authors.MAIN)
            yield store, purge(store, day(now), job) if job else Purged()
