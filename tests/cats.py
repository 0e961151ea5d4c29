"""Memories of cats and others, to be merged: lives of a few lines, and looks at what became of them."""

from collections.abc import Callable
from typing import Any

import sqlalchemy as sa

from consolidator.laws.clock import CONSOLIDATED, WORKING
from consolidator.laws.strength import strength_at
from consolidator.store.care import pin
from consolidator.store.clocks import read_clock
from consolidator.store.engine import Store
from consolidator.store.find import find_memories
from consolidator.store.forget import forget
from consolidator.store.tables import (
    identities,
    memories,
)
from tests.authors import one
from tests.lives import RATES, Line, day, exported, memory, name, take

CAT, KATZE, CAT_NOW = "She has a cat", "Her pet is a cat", "She has a cat for a pet"
DOG, BIRD, FISH = "He has a dog", "A bird sings", "The fish are red"
LETTER = "the letter lies on the table"


def row(store: Store, text: str) -> Any:
    """A memory's row."""
    with store.read() as conn:
        query = sa.select(memories).join(identities, identities.c.key == memories.c.key)
        return conn.execute(query.where(identities.c.hash == name(text))).one()


def strength(store: Store, text: str, at: float) -> float:
    """What a memory is worth on a day, by its row and the clock."""
    found = row(store, text)
    with store.read() as conn:
        clock = read_clock(conn, found.scope_key, now=day(at), rates=RATES)
    kind = CONSOLIDATED if found.consolidated else WORKING
    return float(strength_at(clock, found.strength, found.strength_at, day(at), kind))


def links(store: Store, at: float, *, inferred: bool = False) -> dict[frozenset[str], float]:
    """The living links between active memories on a day, by the texts of their ends."""
    told = exported(store, at).values["scopes"][0]
    texts = {each["id"]: each["content"] for each in told["memories"]}
    return {
        frozenset((texts[each["memory_a"]], texts[each["memory_b"]])): each["weight"]
        for each in told["associations"]
        if each["inferred"] == inferred
    }


def weight(store: Store, a: str, b: str, at: float) -> float:
    """The weight of one direct link on a day; 0 without one."""
    return links(store, at).get(frozenset((a, b)), 0.0)


def count(store: Store, table: sa.Table, *conditions: sa.ColumnElement[bool]) -> int:
    with store.read() as conn:
        return conn.scalar(sa.select(sa.func.count()).select_from(table).where(*conditions)) or 0


def link(a: str, b: str, weight: float, at: float = 0) -> Line:
    when = memory("", at)["created_at"]
    return {"kind": "association", "memory_a": name(a), "memory_b": name(b), "weight": weight, "weight_at": when}


CATS = one(CAT, KATZE, text=CAT_NOW, because="both say that she has a cat")


def two_cats(store: Store, *more: Line, at: float = 1, **of_the_second: Any) -> None:
    take(store, [memory(CAT, 0, 0.6), memory(KATZE, 0.5, 0.9, **of_the_second), *more], at=at)


def forgotten(store: Store, text: str, at: float = 2) -> None:
    with store.read() as conn:
        found = find_memories(conn, [name(text)])
    forget(store, found, now=day(at), wall_clock=lambda: day(at))


def pinning(text: str) -> Callable[[Store], None]:
    def change(store: Store) -> None:
        with store.write() as conn:
            assert pin(conn, find_memories(conn, [name(text)]), pinned=True)

    return change
