"""
What is done to a store of ours and a foreign one in turn, and what is found in both.

Days are counted from one on which every record of a foreign store made for a test has been there for long.
"""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from consolidator.sources.port import Source
from consolidator.sources.pull import Pulled, pull
from consolidator.sources.push import Pushed, push
from consolidator.sources.undo import UndonePush, undo_push
from consolidator.store.engine import Store
from consolidator.store.find import find_memory
from consolidator.store.forget import forget
from consolidator.store.tables import memories, scopes
from tests import authors, lives
from tests.lives import RATES, Exported, name
from tests.sources.foreign import Foreign

CAT, CAT_AGAIN = "The cat sleeps on the warm radiator.", "the cat sleeps on the warm radiator"
TRAM, OWL = "The tram to the harbour is line six.", "Åsa watches owls in the old forest."
DENTIST = "The dentist is in the second street behind the market."
WRITTEN = "Line six goes to the harbour, and Åsa watches owls in the old forest."

FIRST = 300  # in the days of tests.lives

As = Callable[[Source], Any]


def refill(store: Store, file: Path) -> None:
    """Make a SQLite store hold what another one's file holds, and nothing else."""
    store.engine.dispose()
    with closing(sqlite3.connect(file)) as made, closing(store.engine.raw_connection()) as ours:
        made.backup(ours.driver_connection)


def save(store: Store, file: Path) -> None:
    """Keep in a file what a SQLite store holds."""
    with closing(sqlite3.connect(file)) as kept, closing(store.engine.raw_connection()) as ours:
        ours.driver_connection.backup(kept)


def day(at: float) -> int:
    """An instant of a day."""
    return lives.day(FIRST + at)


def exported(store: Store, at: float) -> Exported:
    """What both exports tell of a store."""
    return lives.exported(store, FIRST + at)


def as_it_is(source: Source) -> Source:
    return source


def pulled(store: Store, foreign: Foreign, at: float, *, seen: As = as_it_is, **how: bool) -> Pulled:
    """A pull, on a day. seen: what stands before the source."""
    with foreign.source() as source:
        return pull(store, seen(source), options=foreign.options, now=day(at), wall_clock=lambda: day(at), **how)


def pushed(store: Store, foreign: Foreign, at: float, *, seen: As = as_it_is, **how: bool) -> Pushed:
    """A push, on a day."""
    with foreign.source() as source:
        return push(
            store, seen(source), options=foreign.options, now=day(at), wall_clock=lambda: day(at), rates=RATES, **how
        )


def taken_back(store: Store, foreign: Foreign, at: float, push_id: str = "last", *, seen: As = as_it_is) -> UndonePush:
    """The undo of a push, on a day."""
    with foreign.source() as source:
        return undo_push(store, seen(source), push_id, wall_clock=lambda: day(at))


def slept(store: Store, at: float) -> None:
    """A night, without a model."""
    assert lives.night(store, FIRST + at).exit_code == 0


def merged(store: Store, at: float, *told: str, text: str) -> None:
    """A night in which a model writes one text of some."""
    with store.read() as conn:
        query = sa.select(scopes.c.scope).join(memories, memories.c.scope_key == scopes.c.key)
        scope = conn.scalars(query.where(memories.c.content == told[0])).one()
    with store.write() as conn:
        conn.execute(sa.update(memories).where(memories.c.content.in_(told)).values(fresh=True))
    done = authors.night(store, FIRST + at, authors.one(*told, text=text), scope=scope)
    assert [bool(one.merge.decisions) for one in done.landed] == [True]


def forgotten(store: Store, text: str, at: float) -> None:
    """A memory is forgotten here."""
    with store.read() as conn:
        found = find_memory(conn, name(text))
    forget(store, [found], now=day(at), wall_clock=lambda: day(at))


def standing(store: Store) -> dict[str, str]:
    """By text, how each memory stands: its status, or why it is archived."""
    with store.read() as conn:
        rows = conn.execute(sa.select(memories.c.content, memories.c.status, memories.c.archived_because)).all()
    return {row.content: row.archived_because or row.status for row in rows}


def texts(foreign: Foreign) -> list[str]:
    """What its agent recalls."""
    return sorted(foreign.texts().values())
