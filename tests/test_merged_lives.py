"""Merges against a second, plain reading: ratings and turns of before and after, told in any order, night by night."""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from consolidator.laws.clock import Rates
from consolidator.laws.strength import CONFIDENCE, EXPLICIT
from consolidator.store.engine import Store, open_store
from consolidator.store.tables import memories
from tests import authors, lives
from tests.cats import BIRD, CAT, CAT_NOW, CATS, DOG, KATZE, row, strength, weight
from tests.lives import NIGHT, SECOND, Line, memory, rated, shown, take
from tests.oracle import memory_of, pace

MERGED, END = 6.0, 14.0
WORKING, CONSOLIDATED, LINK = 0.906, 0.977, 0.9


@dataclass(frozen=True)
class Told:
    """A rating: of which memory, by which message, when, and on which day it came to be known."""

    text: str
    message: str
    at: float
    evidence: str
    on: float

    @property
    def rank(self) -> tuple[bool, float]:
        explicit = self.evidence in EXPLICIT
        return explicit, self.at if explicit else CONFIDENCE[self.evidence]


def plainly(beginnings: dict[str, float], told: Sequence[Told], paces: dict[str, float]) -> float:
    """
    The merged memory's strength at the end: what is known at the merge is in its base, the rest acts on it.

    paces: how fast each ages until the merge.
    """
    messages = {one.message for one in told}
    held = {m: [one for one in told if one.message == m and one.on <= MERGED] for m in messages}
    late = {m: [one for one in told if one.message == m and one.on > MERGED] for m in messages}
    corrected = {m for m in messages if late[m] and max([*held[m], *late[m]], key=lambda one: one.rank) in late[m]}
    strengths = []
    for text, value in beginnings.items():
        groups = [[one for one in held[m] if one.text == text] for m in messages - corrected]
        events = [(min(one.at for one in group), chosen(group)) for group in groups if group]
        strengths.append(replayed(value, 0.0, events, until=MERGED, left=WORKING ** paces[text]))
    events = [(min(one.at for one in [*held[m], *late[m]]), chosen([*held[m], *late[m]])) for m in corrected]
    return replayed(max(strengths), MERGED, events, until=END, left=CONSOLIDATED)


def chosen(group: Sequence[Told]) -> float:
    return 0.7 * CONFIDENCE[max(group, key=lambda one: one.rank).evidence]


def replayed(value: float, since: float, events: Sequence[tuple[float, float]], *, until: float, left: float) -> float:
    for at, amount in sorted(events):
        acting = max(at, since)
        value = min(1.0, max(0.0, value * left ** (acting - since) + amount))
        since = acting
    return value * left ** (until - since)


def grown(turns: Sequence[float], value: float, since: float, *, until: float) -> float:
    """A weight after turns at these times, each worth 0.15."""
    for at in sorted(turns):
        acting = max(at, since)
        value *= LINK ** (acting - since)
        value = 0.15 if value < 0.01 else value + 0.15 - 0.15 * value
        since = acting
    return value * LINK ** (until - since)


def linked(turns: Sequence[tuple[str, float, float]], *, target: str) -> float:
    """
    The weight of a link of the merged memory at the end. turns: (memory, when, on which day told).

    What its sources had at the merge is its base; a link that only it had itself goes on as it was.
    """
    weights = {
        text: grown([at for mine, at, on in turns if mine == text and on <= MERGED], 0.0, 0.0, until=MERGED)
        for text in (CAT, KATZE)
    }
    living = {text: value for text, value in weights.items() if value >= 0.01}
    if living.keys() <= {target}:
        return dead_or(grown([at for mine, at, on in turns if on > MERGED or mine in living], 0.0, 0.0, until=END))
    base = 1 - math.prod(1 - value for value in living.values())
    return dead_or(grown([at for _, at, on in turns if on > MERGED], base, MERGED, until=END))


def dead_or(value: float) -> float:
    return value if value >= 0.01 else 0.0


@settings(
    max_examples=6,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(seed=st.integers(0, 10**6))
@pytest.mark.parametrize("answer", [CATS, authors.absorbed(CAT, KATZE)], ids=["written", "absorbed"])
def test_what_is_told_late_counts_once(
    tmp_path_factory: pytest.TempPathFactory, made_sqlite: Path, answer: authors.Answer, seed: int
) -> None:
    """
    Ratings, corrections and turns of before and after the merge, whenever told and however the nights fall: the
    strength and the links of the merged memory are those of the plain reading. So too where a law by importance held
    until the merge, though what was merged has another importance since.
    """
    chance = random.Random(seed)
    target = CAT_NOW if answer is CATS else CAT
    told = [
        Told(chance.choice([CAT, KATZE]), f"m {chance.randrange(6)}", at, evidence, max(at, chance.uniform(0.2, END)))
        for at in sorted(chance.uniform(0.2, END - 0.2) for _ in range(14))
        for evidence in [chance.choice(list(CONFIDENCE))]
    ]
    turns = [
        (chance.choice([CAT, KATZE]), chance.choice([DOG, BIRD]), at, max(at + 0.001, chance.uniform(0.3, END)))
        for at in sorted(chance.uniform(0.2, END - 0.2) for _ in range(10))
    ]
    beginnings = {CAT: chance.uniform(0.3, 1), KATZE: chance.uniform(0.3, 1)}
    law = chance.choice(["off", "twofold", "memory-lancedb-pro"])
    importances = {text: chance.choice([0.0, 0.3, 1.0]) for text in beginnings}
    paces = {text: pace((0, 0, 0, law), memory_of(value, "fact")) for text, value in importances.items()}
    url = f"sqlite:///{tmp_path_factory.mktemp('life')}/store.db"
    Path(url.removeprefix("sqlite:///")).write_bytes(made_sqlite.read_bytes())
    with open_store(url, mode="write") as store:
        news: list[tuple[float, Line]] = [
            (0.0, memory(text, 0, value, pinned=True, importance=importances[text]))
            for text, value in beginnings.items()
        ]
        news += [(0.0, memory(text, 0)) for text in (DOG, BIRD)]
        news += [(one.on, rated(one.message, f"t {one.message}", one.text, one.at, one.evidence)) for one in told]
        for number, (mine, other, at, on) in enumerate(turns):
            news += [(on, line) for line in shown(f"turn {number}", [mine, other], at)]
        nights = sorted({MERGED, END, 0.5, *(chance.uniform(1, END) for _ in range(3))})
        live(store, news, nights, answer, law)
        expected = plainly(beginnings, told, paces)
        assert strength(store, target, END) == pytest.approx(expected, abs=1e-9)
        for other in (DOG, BIRD):
            own = [(mine, at + SECOND / NIGHT, on) for mine, end, at, on in turns if end == other]
            expected = linked(own, target=target)
            assert weight(store, target, other, END) == pytest.approx(expected, abs=1e-9)


def live(
    store: Store, news: Sequence[tuple[float, Line]], nights: Sequence[float], answer: authors.Answer, law: str
) -> None:
    """Each line is taken in on its day, and the merge comes at its time; until then the law by importance holds."""
    since = -1.0
    for now in nights:
        take(store, [line for on, line in news if since < on <= now], at=now)
        since = now
        if now == MERGED:
            assert authors.night(store, now, answer).stale == []
        else:
            lives.night(store, now, steps=authors.MAIN, rates=Rates(by_importance=law if now < MERGED else "off"))
    with store.read() as conn:
        assert conn.scalars(sa.select(memories.c.status).where(memories.c.key == row(store, KATZE).key)).all() == [
            "superseded"
        ]
