"""
Which session and which turn of the record a call belongs to.

MCP tells no turns. A search without `turn` is a turn of its own; what is fetched or rated belongs, unless `turn` says
otherwise, to the turn in which that memory was last shown in the same session. A connection is a session.
"""

from collections import OrderedDict
from dataclasses import dataclass, field
from threading import Lock
from uuid import uuid4

MOST_SHOWN = 2_000  # memories of a session whose last turn is known
MOST_SESSIONS = 10_000  # as many as the SDK keeps open


@dataclass(slots=True)
class Session:
    """A connection of a client: its name in the record, and in which turn each memory was last shown in it."""

    name: str = field(default_factory=lambda: f"mcp-{uuid4().hex}")
    _turns: OrderedDict[str, str] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def show(self, turn: str, ids: list[str]) -> None:
        """These memories were shown in a turn."""
        with self._lock:
            for each in ids:
                self._turns[each] = turn
                self._turns.move_to_end(each)
            while len(self._turns) > MOST_SHOWN:
                self._turns.popitem(last=False)

    def turn_of(self, id: str) -> str | None:  # noqa: A002 - what every tool calls it
        """The turn in which a memory was last shown; None where it was not."""
        with self._lock:
            return self._turns.get(id)

    def knows(self, turn: str) -> bool:
        """Whether something was shown in this turn here."""
        with self._lock:
            return turn in self._turns.values()


class Sessions:
    """
    The sessions of a server's clients, by what tells these apart; the one that was idle longest is forgotten first.

    Over stdio there is one. Over HTTP it is the session that a client has opened; by the protocol without sessions
    (2026-07-28) all requests of one client program from one address.
    """

    def __init__(self) -> None:
        self._sessions: OrderedDict[object, Session] = OrderedDict()

    def of(self, client: object) -> Session:
        """The session of a client, a new one where it is new."""
        session = self._sessions.pop(client, None) or Session()
        self._sessions[client] = session
        while len(self._sessions) > MOST_SESSIONS:
            self._sessions.popitem(last=False)
        return session
