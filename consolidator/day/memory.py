"""The memory of an agent, as a program uses it by day: `from consolidator import Memory`."""

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from types import TracebackType
from typing import Any, Literal, Self

import sqlalchemy as sa

from consolidator.day import looking, recalling
from consolidator.day.clock import wall_clock
from consolidator.day.forgetting import forget_in
from consolidator.day.given import When, named
from consolidator.day.place import Place
from consolidator.day.rating import rate
from consolidator.day.record import NO_SESSION, new_turn
from consolidator.day.remember import remember
from consolidator.day.turn import Turn
from consolidator.day.update import update
from consolidator.day.values import Kept, Page, Rated, Remembered, Stats
from consolidator.errors import BadInput
from consolidator.home import make_room, store_of, usual_settings
from consolidator.recall.recall import LIMIT, Recalled
from consolidator.scopes import canonical
from consolidator.settings import Settings, load_settings
from consolidator.settings.agents import scope_of
from consolidator.store.engine import Store, open_store
from consolidator.store.forget import Forgotten
from consolidator.store.urls import is_file, parse_url

PATIENCE_SECONDS = 30.0  # how long a write waits for others that hold a SQLite file, a night's transactions among them

Order = Literal["strength", "newest", "oldest", "upcoming"]


class Memory:
    """
    What one scope of a store remembers.

        with Memory("memories.db", {"user": "ada"}) as memory:
            memory.remember("Ada is allergic to penicillin.")
            memory.recall("Which medicine must Ada not be given?").results[0].content

    Live use changes no strength and no link: it adds memories, and to the record that the night replays. Threads may
    share it, and other processes and a night may use the store meanwhile. Errors are `ConsolidatorError`s of one line;
    a `BadInput` has written nothing.
    """

    def __init__(
        self,
        store: str | os.PathLike[str] | None = None,
        scope: Mapping[str, str] | None = None,
        *,
        agent: str | None = None,
        settings: Settings | None = None,
        clock: Callable[[], int] = wall_clock,
    ) -> None:
        """
        Open a store.

        store: the path of a SQLite file, which is made where it is not there, or a URL; without it the store that the
        command line uses. A Postgres database must be a store already (`consolidate init`). scope: an exact set of
        key/value pairs; without it the empty one. agent: one that the settings name: it may use its scopes alone, and
        without `scope` works in its first. settings: without them those of the command line. clock: the time in
        microseconds since 1970; no other is read.
        """
        asked = None if scope is None else _text_of(scope)
        if settings is None:
            usual = usual_settings()
            settings = load_settings(usual) if usual.exists() else Settings()
        text = scope_of(settings.agents, agent, asked)
        url = store_of(settings, None if store is None else os.fspath(store))
        make_room(url)
        mode: Literal["create", "write"] = "create" if is_file(parse_url(url)) else "write"
        opened = open_store(url, mode=mode, busy_timeout_seconds=PATIENCE_SECONDS)
        try:
            self._begin(opened, text, settings=settings, clock=clock)
        except BaseException:
            opened.close()
            raise

    @classmethod
    def of(
        cls, store: Store, scope: Mapping[str, str] | None = None, *, settings: Settings, clock: Callable[[], int]
    ) -> Self:
        """The memory of a scope in a store that is open for writing already."""
        memory = cls.__new__(cls)
        memory._begin(store, _text_of(scope), settings=settings, clock=clock)
        return memory

    def _begin(self, store: Store, scope: str, *, settings: Settings, clock: Callable[[], int]) -> None:
        self._place = Place(store, scope, settings=settings, clock=clock)
        self._closed = False

    @property
    def store(self) -> Store:
        """The open store."""
        return self._place.store

    @property
    def scope(self) -> str:
        """The canonical text of the scope."""
        return self._place.scope

    def close(self) -> None:
        """Close the store: what is asked of the memory afterwards is refused. Closing twice is closing once."""
        if not self._closed:
            self._closed = True
            self._place.store.close()
            sa.event.listen(self._place.store.engine.pool, "checkout", _refuse)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def remember(
        self,
        text: str,
        *,
        type: str = "fact",  # noqa: A002 - the field's own name
        anchor: When | None = None,
        end: When | None = None,
        recurrence: str | None = None,
        importance: float | None = None,
        topics: Iterable[str] = (),
        pinned: bool = False,
        expires_at: When | None = None,
        observed_at: When | None = None,
        metadata: Mapping[str, Any] | None = None,
        seek_near: bool = False,
    ) -> Remembered:
        """
        Remember a text, as it is but for white space around it.

        The same text is one memory: said again it is seen again, and what was archived comes back. type: fact,
        preference, decision, plan, observation or any other word. anchor, end: when it is about, a date or an instant.
        recurrence: an RRULE, daily or coarser. importance: 0 to 1. pinned: it is not archived when it fades.
        expires_at: when it is archived in any case. observed_at: when it was said, if not now. seek_near: look whether
        an active memory says the same in other words, which takes some milliseconds. Refused where the door does not
        let it in.
        """
        return remember(self._place, text, given_of(locals()))

    def update(
        self,
        id: str,  # noqa: A002
        text: str,
        *,
        type: str | None = None,  # noqa: A002
        anchor: When | None = None,
        end: When | None = None,
        recurrence: str | None = None,
        importance: float | None = None,
        topics: Iterable[str] | None = None,
        pinned: bool | None = None,
        expires_at: When | None = None,
        observed_at: When | None = None,
        metadata: Mapping[str, Any] | None = None,
        seek_near: bool = False,
    ) -> Remembered:
        """
        Put a text in the place of a memory's. The old one is kept as history: superseded, and its id leads to the new.

        Type, importance, topics and pin are the old one's where nothing else is given; when it is about is not.
        """
        return update(self._place, id, text, given_of(locals()))

    def recall(
        self,
        query: str,
        *,
        limit: int | None = LIMIT,
        words: int | None = None,
        tokens: int | None = None,
        types: Collection[str] | None = None,
        since: When | int | None = None,
        until: When | int | None = None,
        deep: bool = False,
        upcoming_first: bool = False,
        recency: float = 0.0,
        importance: float = 0.0,
        least_score: float | None = None,
        explain: bool = False,
    ) -> Recalled:
        """
        What answers a query, best first, within a budget. Nothing is recorded: a `turn` does that.

        limit, words, tokens: the budget. types: these alone. since, until: when it was observed, else created. deep:
        archived and superseded ones too, marked. upcoming_first: what is still to come goes first. recency,
        importance: how much each counts, 0 or more. least_score: what answers the question less, before
        strength counts, is left out; 0.15 where nothing is given. explain: each result says what its score sums up.
        """
        return recalling.recalled(self._place, query, recalling.options_of(locals()))

    def get(self, id: str) -> Kept:  # noqa: A002
        """The memory of an id, or of its first 8 characters or more; of one that was replaced, what took its place."""
        return looking.get(self._place, id)[1]

    def browse(
        self,
        *,
        types: Collection[str] | None = None,
        status: str = "active",
        since: When | int | None = None,
        until: When | int | None = None,
        order: Order = "strength",
        limit: int = 20,
        after: str | None = None,
    ) -> Page:
        """
        Memories in order, a page at a time.

        status: active, archived, superseded or all. order: strength (the strongest first), newest, oldest, or upcoming
        (what is still to come or under way, the nearest first, and nothing else). after: the `next` of the page before.
        """
        return looking.browse(
            self._place, types=types, status=status, since=since, until=until, order=order, limit=limit, after=after
        )

    def rate(self, id: str, rating: int, *, session: str | None = None, turn: str | None = None) -> Rated:  # noqa: A002
        """
        Rate a memory from 1 (it misled) over 3 (neither) to 5 (it helped), for a turn.

        Without a turn: for the latest in which it was shown. Of several ratings in one turn the latest counts.
        """
        return rate(self._place, id, rating, session=session, turn=turn)

    def forget(self, id: str) -> Forgotten:  # noqa: A002
        """
        Delete a memory everywhere, for good; exactly the one of this id.

        It waits for a night that works in the scope; ScopeHeld where that takes longer than half a minute.
        """
        return forget_in(self._place, id)

    def stats(self) -> Stats:
        """How much is in the scope, and what waits for the night."""
        return looking.stats(self._place)

    def turn(self, session: str = "", id: str | None = None) -> Turn:  # noqa: A002
        """
        A turn of a conversation, to record what is shown and used in it; a new one where no id is given.

        The same session and id are the same turn, also in another process and later.
        """
        return Turn(
            self._place,
            session=named("session", session) if session else NO_SESSION,
            id=new_turn() if id is None else named("turn", id),
        )


def _text_of(scope: Mapping[str, str] | None) -> str:
    if not isinstance(scope, Mapping | None):
        raise BadInput(f"scope: {scope!r} is not a scope; write e.g. {{'user': 'ada'}}")
    try:
        return canonical(scope or {})
    except ValueError as error:
        raise BadInput(f"scope: {error}") from None


def _refuse(*_: Any) -> None:
    raise BadInput("this memory is closed; open it anew with Memory(...)")


def given_of(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """What was given beside a text."""
    return {name: value for name, value in arguments.items() if name not in ("self", "text", "id")}
