"""
A push, or the undo of one, that breaks off at any of its steps: whoever comes next completes it, and nothing is lost.

Over the sources that are made for tests every step is tried, over the others two.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import pytest

from consolidator.store.engine import Store
from tests.sources.acts import (
    CAT,
    CAT_AGAIN,
    DENTIST,
    OWL,
    TRAM,
    WRITTEN,
    forgotten,
    merged,
    pulled,
    pushed,
    refill,
    save,
    slept,
    standing,
    taken_back,
    texts,
)
from tests.sources.broken import WRITES, Breaking, Broken
from tests.sources.conftest import Make, MakeStore
from tests.sources.foreign import Foreign
from tests.sources.memory_foreign import JsonForeign

FORGOTTEN = "The key of the cellar hangs behind the door."


class Ended(NamedTuple):
    """How both stores are in the end."""

    texts: list[str]
    standing: dict[str, str]


def prepared(new_store: MakeStore, new_foreign: Make) -> tuple[Store, Foreign]:
    """Something to be made, written, removed, and forgotten, and something that is said twice."""
    foreign = new_foreign()
    for text in (CAT, CAT_AGAIN, TRAM, OWL, DENTIST, DENTIST, FORGOTTEN):
        foreign.add(text)
    store = new_store()
    pulled(store, foreign, 1)
    forgotten(store, FORGOTTEN, 1.5)
    slept(store, 2)
    merged(store, 2.5, TRAM, OWL, text=WRITTEN)
    return store, foreign


def copies(
    new_store: MakeStore, new_foreign: Make, *, pushed_at: float | None = None
) -> Callable[[], tuple[Store, Foreign]]:
    """Gives the prepared pair as often as asked, after a push or before; that of a test's own source from a copy."""

    def prepare() -> tuple[Store, Foreign]:
        store, foreign = prepared(new_store, new_foreign)
        if pushed_at is not None:
            pushed(store, foreign, pushed_at)
        return store, foreign

    store, foreign = prepare()
    if not isinstance(foreign, JsonForeign):
        return prepare
    ours, theirs = foreign.path.with_suffix(".ours"), foreign.path.read_bytes()
    save(store, ours)

    def copy() -> tuple[Store, Foreign]:
        foreign.path.write_bytes(theirs)
        refill(store, ours)
        return store, foreign

    return copy


def ended(store: Store, foreign: Foreign) -> Ended:
    """After a pull, which finds nothing new."""
    found = pulled(store, foreign, 4)
    assert (found.new, found.changed, found.gone, found.conflicts) == (0, 0, 0, ())
    return Ended(texts(foreign), standing(store))


def steps_of(foreign: Foreign, calls: list[str]) -> list[tuple[int, str]]:
    """Where to break off, and how."""
    every = [
        (number, how)
        for number, name in enumerate(calls, 1)
        for how in (("before", "half", "after") if name in WRITES else ("before",))
    ]
    if isinstance(foreign, JsonForeign):
        return every
    writes = [one for one in every if calls[one[0] - 1] == "write"]
    return [writes[1], writes[-1]]  # half of what is to stay is written; all that is to go has gone


def broken_off(act: Callable[..., object], at: int, how: str) -> bool:
    """Whether it was: it may have fewer steps."""
    try:
        act(seen=partial(Breaking, at=at, how=how))
    except Broken:
        return True
    return False


def calls_of(act: Callable[..., object]) -> list[str]:
    """The calls that an undisturbed act makes."""
    made: list[Breaking] = []

    def watch(source: object) -> Breaking:
        made.append(Breaking(source))  # type: ignore[arg-type]
        return made[-1]

    act(seen=watch)
    return made[-1].made


@pytest.mark.parametrize("then", ["push", "pull"])
def test_a_push_that_breaks_off_is_completed(new_store: MakeStore, new_foreign: Make, then: str) -> None:
    """By the next push, whether or not a pull came between: the end is that of one that nobody disturbed."""
    new = copies(new_store, new_foreign)
    store, foreign = new()
    calls = calls_of(partial(pushed, store, foreign, 3))
    expected = ended(store, foreign)
    for number, how in steps_of(foreign, calls):
        store, foreign = new()
        rest = foreign.rest()
        assert broken_off(partial(pushed, store, foreign, 3), number, how)
        assert {CAT, CAT_AGAIN} & {*texts(foreign)}
        assert WRITTEN in texts(foreign) or {TRAM, OWL} <= {*texts(foreign)}
        if then == "pull":
            found = pulled(store, foreign, 3.5)
            assert (found.new, found.changed, found.gone, found.conflicts) == (0, 0, 0, ())
        assert pushed(store, foreign, 3.5).conflicts == ()
        assert (ended(store, foreign), foreign.rest()) == (expected, rest)


def test_an_undo_that_breaks_off_is_completed(new_store: MakeStore, new_foreign: Make) -> None:
    """By the same undo: every text is there as before the push."""
    new = copies(new_store, new_foreign, pushed_at=3)
    store, foreign = new()
    calls = calls_of(partial(taken_back, store, foreign, 3.2))
    expected = ended(store, foreign)
    for number, how in steps_of(foreign, calls):
        store, foreign = new()
        rest = foreign.rest()
        assert broken_off(partial(taken_back, store, foreign, 3.2), number, how)
        assert WRITTEN in texts(foreign) or {TRAM, OWL} <= {*texts(foreign)}
        assert taken_back(store, foreign, 3.5).refused == ()
        assert (ended(store, foreign), foreign.rest()) == (expected, rest)
