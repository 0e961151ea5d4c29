"""The run under way."""

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import sqlalchemy as sa

from consolidator.store.engine import Store
from consolidator.store.tables import runs


@dataclass
class Run:
    """
    The run under way: its public id, and how far its journal has come.

    left_out: rows (table, key) of which a decision was left out: no later one on them holds either, whatever has made
    their revision what it would have been.
    """

    run_id: str
    as_of: int
    started_at: int
    key: int | None = None
    sequence: int = 0
    left_out: set[Hashable] = field(default_factory=set)

    def stamp(self, conn: sa.Connection) -> int:
        """The key of the run's row, written with its first transaction."""
        if self.key is None:
            row = {"run_id": self.run_id, "as_of": self.as_of, "started_at": self.started_at}
            self.key = int(conn.scalars(sa.insert(runs).returning(runs.c.key), [row]).one())
        return self.key

    @contextmanager
    def writing(self, store: Store) -> Iterator[sa.Connection]:
        """A write transaction of this run; where it fails, the run is where it was before."""
        key, sequence = self.key, self.sequence
        try:
            with store.write() as conn:
                yield conn
        except BaseException:
            self.key, self.sequence = key, sequence
            raise
