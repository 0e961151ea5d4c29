"""A turn of a conversation: what was shown in it, what the reply used, and how it was rated."""

from types import TracebackType
from typing import Any, Self

from consolidator.day import looking, recalling
from consolidator.day.place import Place
from consolidator.day.rating import rate
from consolidator.day.record import Shown, record_shown, record_used, shown_in
from consolidator.day.remember import remember
from consolidator.day.use import used
from consolidator.day.values import Kept, Rated, Remembered
from consolidator.errors import BadInput
from consolidator.recall.recall import Recalled

INJECTED, SEARCHED, OPENED = "auto_injected", "tool_search_returned", "tool_get"


class Turn:
    """
    One turn. What is shown is recorded at once; what the reply used, when it is told.

        with memory.turn("chat-7") as turn:
            shown = turn.inject("What may Ada not eat?")
            turn.reply("She must avoid nuts.")

    Shown is not used: an injected memory counts only where the reply refers to it. What a search returned counts so
    too where a reply was told, and else when the turn is closed. What was opened by its id counts at once.
    """

    def __init__(self, place: Place, *, session: str, id: str) -> None:  # noqa: A002
        self.session, self.id = session, id
        self._place = place
        self._asked: list[str] = []
        self._replied = False
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if error is None:
            self.close()

    def inject(self, query: str, **options: Any) -> Recalled:
        """What answers a query, to be put before the agent: shown. Options as of `Memory.recall`."""
        return self._recall(query, INJECTED, options)

    def recall(self, query: str, **options: Any) -> Recalled:
        """What answers a query that the agent itself has asked. Options as of `Memory.recall`."""
        return self._recall(query, SEARCHED, options)

    def get(self, id: str) -> Kept:  # noqa: A002
        """The memory of an id, as `Memory.get`: opened on purpose, and so used."""
        key, kept = looking.get(self._place, id)
        now = self._place.now()
        with self._place.write() as conn:
            scope_key = self._place.key_to_write(conn)
            record_shown(conn, scope_key, self.session, self.id, [(key, OPENED, None, None)], at=now)
            record_used(conn, scope_key, self.session, self.id, [(key, OPENED)], at=now)
        return kept

    def remember(self, text: str, **given: Any) -> Remembered:
        """Remember a text as `Memory.remember`; it belongs to what was shown in this turn."""
        return remember(self._place, text, given, turn=(self.session, self.id))

    def reply(self, text: str, *, asked: str | None = None) -> list[str]:
        """
        Tell the reply. Returns the ids of the memories that it used, which are recorded as used.

        asked: what the reply answers, where the turn does not know it from its queries (another process injected).
        """
        if not isinstance(text, str):
            raise BadInput(f"reply: {text!r} is not a text")
        self._replied = True
        shown = self._shown()
        found = used(
            [(each.id, each.content) for each in shown],
            text,
            [*self._asked, *([asked] if asked else [])],
            embed=self._place.local_vectors(),
        )
        self._record([(each.key, each.mode) for each in shown if each.id in found])
        return [each for each in dict.fromkeys(each.id for each in shown) if each in found]

    def rate(self, id: str, rating: int) -> Rated:  # noqa: A002
        """Rate a memory from 1 to 5 for this turn."""
        return rate(self._place, id, rating, session=self.session, turn=self.id, made=True)

    def close(self) -> None:
        """End the turn. Where no reply was told, what searches returned counts as the search's own evidence."""
        if not self._closed and not self._replied:
            self._record([(each.key, each.mode) for each in self._shown(SEARCHED)])
        self._closed = True

    def _recall(self, query: str, mode: str, options: dict[str, Any]) -> Recalled:
        found = recalling.recalled(self._place, query, options)
        self.show(found, mode)
        return found

    def show(self, found: Recalled, mode: str) -> None:
        """Record what was recalled as shown: `auto_injected` or `tool_search_returned`."""
        if mode not in (INJECTED, SEARCHED):
            raise BadInput(f"mode: {mode!r} is neither {INJECTED} nor {SEARCHED}")
        self._asked.append(found.query)
        if found.results:
            shown = [(each.key, mode, each.score, found.mode) for each in found.results]
            now = self._place.now()
            with self._place.write() as conn:
                record_shown(conn, self._place.key_to_write(conn), self.session, self.id, shown, at=now)

    def _shown(self, *modes: str) -> list[Shown]:
        with self._place.store.read() as conn:
            scope_key = self._place.key(conn)
            if scope_key is None:
                return []
            return shown_in(conn, scope_key, self.session, self.id, modes or (INJECTED, SEARCHED))

    def _record(self, evidences: list[tuple[int, str]]) -> None:
        if evidences:
            now = self._place.now()
            with self._place.write() as conn:
                record_used(conn, self._place.key_to_write(conn), self.session, self.id, evidences, at=now)
