"""Kept replies: what was paid once is there the next time, and goes with the memories that it was about."""

from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from consolidator.llm.port import Reply
from consolidator.store.engine import Store, open_store
from consolidator.store.replies import keep, kept
from consolidator.store.tables import identities, kept_reply_sources, scopes

NIGHT = 1_780_000_000_000_000


@pytest.fixture
def store(made_store_url: str) -> Iterator[Store]:
    """A store with three memories known by name, keys 1 to 3."""
    with open_store(made_store_url, mode="write") as store:
        with store.write() as conn:
            conn.execute(sa.insert(scopes).values(key=1, scope="{}"))
            conn.execute(
                sa.insert(identities), [{"key": key, "scope_key": 1, "hash": f"{key:064x}"} for key in (1, 2, 3)]
            )
        yield store


@pytest.mark.parametrize(
    "reply",
    [
        Reply('{"verdict": "distinct"}', 120, 34, "claude-haiku-5-5"),
        Reply("", 1, 0, "m", "refused"),
        Reply("half an ans", 5, 6, "m", "cut off"),
        Reply("nul \x00, half \ud83d, 猫 and \u2028", 5, 6, "m"),
    ],
    ids=["good", "refused", "cut off", "unprintable"],
)
def test_kept(store: Store, reply: Reply) -> None:
    """A reply is given back as it came, good or bad, to the same request and no other."""
    assert kept(store, "a" * 64) is None
    assert keep(store, "a" * 64, reply, [1, 2], at=NIGHT)
    assert kept(store, "a" * 64) == reply
    assert kept(store, "b" * 64) is None


def test_first_stays(store: Store) -> None:
    """The first reply to a request stays; whom a second one was about is remembered too."""
    first, second = Reply("first", 1, 1, "m"), Reply("second", 1, 1, "m")
    assert keep(store, "a" * 64, first, [1], at=NIGHT)
    assert keep(store, "a" * 64, second, [2, 1], at=NIGHT + 1)
    assert kept(store, "a" * 64) == first
    with store.read() as conn:
        assert sorted(conn.scalars(sa.select(kept_reply_sources.c.memory_key))) == [1, 2]


def test_forgotten_meanwhile(store: Store) -> None:
    """A reply about a memory that was forgotten meanwhile is not kept."""
    assert not keep(store, "a" * 64, Reply("text", 1, 1, "m"), [1, 99], at=NIGHT)
    assert kept(store, "a" * 64) is None
