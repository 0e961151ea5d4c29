"""On which terms a run works: whose turn it is in a scope, and when it stops."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

import sqlalchemy as sa

from consolidator.plan import Result
from consolidator.store.outbox import Entry
from consolidator.store.run import Run

Stop = Callable[[], str | None]


class Turn(Protocol):
    """
    What was done in the scopes before, and what is to be remembered of this run; asked under the lock of each scope.

    first, last: scopes that come before, and after, all others.
    """

    first: Collection[int]
    last: Collection[int]

    def begin(self, scope_key: int) -> str | None:
        """Why the scope is left out; None where work begins there."""

    def done(self, conn: sa.Connection, run: Run, scope_key: int) -> None:
        """The run has done its work there; written in a transaction of the run, of the last scope in its last one."""

    def failed(self, scope_key: int, why: str) -> None:
        """Its work there failed."""

    def stopped(self, run: Run, scope_key: int) -> None:
        """It was told to stop in the midst of its work there."""


class EveryTurn:
    """Every scope is done, and nothing is remembered."""

    first: Collection[int] = ()
    last: Collection[int] = ()

    def begin(self, _scope_key: int) -> str | None:
        return None

    def done(self, _conn: sa.Connection, _run: Run, _scope_key: int) -> None: ...

    def failed(self, _scope_key: int, _why: str) -> None: ...

    def stopped(self, _run: Run, _scope_key: int) -> None: ...


EVERY_TURN = EveryTurn()


@dataclass(frozen=True)
class Terms:
    """
    stop: why the run is to stop now, if it is; asked wherever it can. wait: passes some time, until a scope that
    another night holds is tried again; None: such scopes are left out. messages: what is to be told of a run, made of
    its result before its last transaction, which holds it.
    """

    turn: Turn = EVERY_TURN
    stop: Stop = lambda: None
    wait: Callable[[], object] | None = None
    messages: Callable[[Result], Sequence[Entry]] = lambda _: ()


ANY_TERMS = Terms()
