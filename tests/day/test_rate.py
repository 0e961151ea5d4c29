"""Ratings: for which turn, by which evidence, and that the latest counts. On both kinds of store."""

from collections.abc import Callable

import pytest
import sqlalchemy as sa

from consolidator import Memory
from consolidator.errors import BadInput
from consolidator.store.tables import attributions
from tests.day.conftest import ADA, Watch
from tests.day.test_turn import ratings, showings
from tests.lives import day, night

TEXT = "Ada plays the cello on Tuesdays."


@pytest.mark.parametrize(
    ("rating", "evidence", "confidence"),
    [(1, "negative", -0.5), (2, "negative", -0.5), (3, "neutral", 0.4), (4, "positive", 0.95), (5, "positive", 0.95)],
)
def test_evidences(tmp_path: object, rating: int, evidence: str, confidence: float) -> None:
    """One and two say that it misled, three says neither, four and five that it helped."""
    with Memory(f"{tmp_path}/m.db") as memory:
        name = memory.remember(TEXT).id
        rated = memory.rate(name[:8], rating)
        assert (rated.evidence, rated.confidence) == (f"agent_feedback_{evidence}", confidence)
        assert rated.id == name


def test_which_turn(memory: Memory, opened: Callable[..., Memory]) -> None:
    """A rating is for the turn named, else for the latest in which the memory was shown, else for one of its own."""
    name = memory.remember(TEXT).id
    assert memory.rate(name, 5).turn == f"rating-{name}"
    memory.remember(TEXT)  # a sighting is no showing
    assert memory.rate(name, 4).known
    for session, turn in (("a", "t1"), ("a", "t2"), ("b", "t1")):
        memory.turn(session, turn).inject("cello")
    assert _where(memory.rate(name, 1)) == ("b", "t1")
    assert _where(memory.rate(name, 1, session="a")) == ("a", "t2")
    assert _where(memory.rate(name, 1, session="a", turn="t1")) == ("a", "t1")
    assert _where(memory.rate(name, 1, turn="t2")) == ("a", "t2")
    assert _where(opened(ADA).turn("c", "t9").rate(name[:10], 2)) == ("c", "t9")
    with pytest.raises(BadInput, match="in several sessions: a, b"):
        memory.rate(name, 1, turn="t1")
    with pytest.raises(BadInput, match="nothing was recorded in it"):
        memory.rate(name, 1, turn="t7")
    with pytest.raises(BadInput, match="nothing was recorded in it"):
        memory.rate(name, 1, turn="t2", session="b")
    with pytest.raises(BadInput, match="was not shown in it"):
        memory.rate(name, 1, session="z")


def _where(rated: object) -> tuple[str, str]:
    return rated.session, rated.turn  # type: ignore[attr-defined]


def test_latest_wins(memory: Memory, watch: Watch) -> None:
    """Of several ratings in one turn the latest counts, whatever the clock says; said again it is not written again."""
    name = memory.remember(TEXT).id
    watch.now = day(0.5)
    memory.turn("chat", "t1").inject("cello")
    assert not memory.rate(name, 5).known
    assert memory.rate(name, 5).known
    assert not memory.rate(name, 1).known
    watch.now = day(0.2)  # the clock was set back
    assert not memory.rate(name, 3).known
    assert memory.rate(name, 3).known
    assert not memory.rate(name, 1).known
    assert [row[2] for row in ratings(memory)] == [
        f"agent_feedback_{each}" for each in ("positive", "negative", "neutral", "negative")
    ]
    with memory.store.read() as conn:
        times = list(conn.scalars(sa.select(attributions.c.at).order_by(attributions.c.key)))
    assert times == sorted(set(times))
    night(memory.store, 1)
    watch.now = day(1)
    assert memory.get(name).strength < 0.8  # unrated it would be 0.906


def test_explicit_beats_implicit(memory: Memory, watch: Watch) -> None:
    """What the agent says of a memory counts, and not what its use suggests."""
    name = memory.remember(TEXT).id
    with memory.turn("chat", "t1") as turn:
        turn.get(name)
        turn.rate(name, 1)
    night(memory.store, 1)
    watch.now = day(1)
    assert memory.get(name).strength < 0.7
    assert len(showings(memory)) == 1


@pytest.mark.parametrize("rating", [0, 6, -1, 2.5, True, None, "5"])
def test_no_rating(memory: Memory, rating: object) -> None:
    """A rating is a whole number from 1 to 5."""
    name = memory.remember(TEXT).id
    with pytest.raises(BadInput, match="is not a whole number from 1"):
        memory.rate(name, rating)  # type: ignore[arg-type]
    assert ratings(memory) == []


@pytest.mark.parametrize("name", ["", "zz", "0123456", "0" * 64, "0" * 65])
def test_nobody(memory: Memory, name: str) -> None:
    """An id that is none, or that nobody has, is refused."""
    memory.remember(TEXT)
    for act in (lambda: memory.rate(name, 5), lambda: memory.get(name), lambda: memory.forget(name)):
        with pytest.raises(BadInput):
            act()


def test_merged(memory: Memory, watch: Watch) -> None:
    """A rating of a memory that another has taken the place of is for a turn in which either was shown, and counts."""
    old = memory.remember("Ada plays the piano.").id
    memory.turn("chat", "t1").inject("piano")
    new = memory.update(old, TEXT).id
    assert _where(memory.rate(old, 5)) == ("chat", "t1")
    memory.turn("chat", "t2").inject("cello")
    assert _where(memory.rate(new, 5)) == ("chat", "t2")
    night(memory.store, 1)
    watch.now = day(1)
    assert memory.get(old).id == new
