"""What links imply, over a store: through whole nights, with links that came in and links that were made here."""

from typing import Any

import sqlalchemy as sa

from consolidator.store.engine import Store, open_store
from consolidator.store.tables import associations, identities
from tests.lives import Line, memory, name, night, shown, take

ANN, CAROL, STRONG, WEAK, FAR = "Ann", "Carol", "a strong middle", "a weak middle", "far away 🏔"


def inferred(store: Store) -> dict[frozenset[str], tuple[float, str]]:
    """The inferred links, by their ends: weight and middle."""
    texts = {name(text): text for text in (ANN, CAROL, STRONG, WEAK, FAR)}
    with store.read() as conn:
        keys = dict(conn.execute(sa.select(identities.c.key, identities.c.hash)).all())
        rows: Any = conn.execute(sa.select(associations).where(associations.c.inferred)).all()
    return {
        frozenset(texts[keys[key]] for key in (row.memory_a, row.memory_b)): (row.weight, texts[keys[row.via]])
        for row in rows
    }


def beginning() -> list[Line]:
    """Five memories; Ann and Carol are both linked to a strong and a weak middle, as another store left it."""
    lines = [memory(text, 0) for text in (ANN, CAROL, STRONG, WEAK, FAR)]
    links = [(ANN, STRONG, 0.9), (CAROL, STRONG, 0.8), (ANN, WEAK, 0.5), (CAROL, WEAK, 0.4), (WEAK, FAR, 0.1)]
    when = lines[0]["created_at"]
    return lines + [
        {"kind": "association", "memory_a": name(a), "memory_b": name(b), "weight": weight, "weight_at": when}
        for a, b, weight in links
    ]


def test_an_inferred_link_goes_by_the_best_middle(sqlite_url: str) -> None:
    """A link is inferred around legs that changed, by the best product of all, also of legs that did not."""
    with open_store(sqlite_url, mode="create") as store:
        take(store, beginning(), at=0)
        assert night(store, 1).exit_code == 0
        assert inferred(store) == {}
        take(store, shown("t", [ANN, WEAK], 1.5), at=2)
        assert night(store, 2).exit_code == 0
        weight, middle = inferred(store)[frozenset({ANN, CAROL})]
        assert middle == STRONG
        assert abs(weight - 0.9 * 0.8 * 0.9**4) < 1e-9
        assert night(store, 2).plan.scopes[0].decisions == ()


def test_a_night_of_before_leaves_what_was_inferred_later(sqlite_url: str) -> None:
    """A night of before the last one decides nothing about links that were inferred later, and nothing is stale."""
    with open_store(sqlite_url, mode="create") as store:
        take(store, beginning(), at=0)
        take(store, shown("t", [ANN, STRONG], 1), at=3)
        assert night(store, 3).exit_code == 0
        before = inferred(store)
        assert before
        take(store, shown("u", [CAROL, STRONG], 1.5), at=4)
        result = night(store, 2)
        assert (result.exit_code, inferred(store)) == (0, before)
        assert night(store, 5).exit_code == 0
