"""Looking at what a scope remembers: one memory, a page of them, how many there are."""

import base64
import json
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa

from consolidator.day.given import When, instant, types_of
from consolidator.day.place import Place
from consolidator.day.values import Kept, Page, Stats
from consolidator.errors import BadInput
from consolidator.laws.pace import AGED_BY, Ageing
from consolidator.laws.strength import strength_at
from consolidator.laws.temporal import temporal
from consolidator.recall.recall import insist_on_span
from consolidator.store.aliases import resolve
from consolidator.store.census import stats as census
from consolidator.store.find import Scope, find_identity
from consolidator.store.readers import Clocks, memory_documents
from consolidator.store.recall import said_at
from consolidator.store.tables import memories, scopes

ORDERS = ("strength", "newest", "oldest", "upcoming")
STATUSES = ("active", "archived", "superseded", "all")
MOST_ON_A_PAGE = 500


class _From(NamedTuple):
    """Where a page begins: after this value and key, as the scope was at `now`."""

    order: str
    now: int
    value: float
    key: int


def get(place: Place, prefix: str) -> tuple[int, Kept]:
    """The memory of an id, or of its beginning, and its key; aliases are followed. BadInput where there is none."""
    with place.store.read() as conn:
        found = find_identity(conn, prefix, place.scope)
        key = resolve(conn, [found.key])[found.key]
        kept = _kept(place, conn, found.scope, [key], now=place.now())
    if not kept:
        raise BadInput(f"{prefix}: known only by its events, the memory itself is not in this store")
    return key, kept[0]


def browse(
    place: Place,
    *,
    types: Collection[str] | None,
    status: str,
    since: When | int | None,
    until: When | int | None,
    order: str,
    limit: int,
    after: str | None,
) -> Page:
    """A page of memories, as `Memory.browse` says."""
    _one_of("status", status, STATUSES)
    _one_of("order", order, ORDERS)
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MOST_ON_A_PAGE:
        raise BadInput(f"limit: {limit!r} is not a whole number from 1 to {MOST_ON_A_PAGE}")
    begins = None if after is None else _read(after, order)
    now = place.now() if begins is None else begins.now
    conditions: list[sa.ColumnElement[bool]] = []
    if status != "all":
        conditions.append(memories.c.status == status)
    if (kinds := types_of(types)) is not None:
        conditions.append(memories.c.type.in_(kinds))
    first, last = instant("since", since), instant("until", until, end=True)
    insist_on_span(first, last)
    if first is not None:
        conditions.append(said_at() >= first)
    if last is not None:
        conditions.append(said_at() <= last)
    with place.store.read() as conn:
        scope = _scope(place, conn)
        if scope is None:
            return Page([])
        clocks = Clocks(conn, now=now, rates=place.rates)
        conditions.append(memories.c.scope_key == scope.key)
        values, keys = _valued(conn, order, conditions, scope, clocks, now=now)
        rank = np.lexsort((keys, values))
        values, keys = values[rank], keys[rank]
        if begins is not None:
            later = (values > begins.value) | ((values == begins.value) & (keys > begins.key))
            values, keys = values[later], keys[later]
        page = _kept(place, conn, scope, [int(key) for key in keys[:limit]], now=now)
    more = len(keys) > limit
    last_one = _From(order, now, float(values[limit - 1]), int(keys[limit - 1])) if more else None
    return Page(page, None if last_one is None else _written(last_one))


def stats(place: Place) -> Stats:
    """How much is in the scope."""
    now = place.now()
    with place.store.read() as conn:
        scope = _scope(place, conn)
        told = census(
            place.store, conn, [] if scope is None else [scope], Clocks(conn, now=now, rates=place.rates), now=now
        )
    last_night = told["last_run"]["as_of"] if told["last_run"] else None
    if not told["scopes"]:
        return Stats(last_night=last_night)
    (counted,) = told["scopes"]
    return Stats(
        **counted["memories"],
        direct_links=counted["links"]["direct"],
        inferred_links=counted["links"]["inferred"],
        exposures=counted["pending"]["exposures"],
        attributions=counted["pending"]["attributions"],
        time_zone=counted["time_zone"],
        last_activity_at=counted["last_activity_at"],
        last_night=last_night,
    )


def _valued(
    conn: sa.Connection,
    order: str,
    conditions: Sequence[sa.ColumnElement[bool]],
    scope: Scope,
    clocks: Clocks,
    *,
    now: int,
) -> tuple[Any, Any]:
    """The memories by what they are ordered by: value float64[n], the least first; key int64[n]."""
    if order == "upcoming":
        return _upcoming(conn, conditions, scope, now=now)
    columns = [memories.c.created_at]
    if order == "strength":
        columns = [memories.c[name] for name in ("strength", "strength_at", *AGED_BY)]
    rows = conn.execute(sa.select(memories.c.key, *columns).where(*conditions)).all()
    if not rows:
        return np.empty(0), np.empty(0, np.int64)
    keys, *rest = (np.array(column) for column in zip(*rows, strict=True))
    if order == "strength":
        strength, since, *aged_by = rest
        return -strength_at(clocks.of(scope.key), strength, since, now, Ageing(*aged_by)), keys
    return rest[0].astype(np.float64) * (-1 if order == "newest" else 1), keys


def _upcoming(
    conn: sa.Connection, conditions: Sequence[sa.ColumnElement[bool]], scope: Scope, *, now: int
) -> tuple[Any, Any]:
    names = ("temporal_state", "temporal_anchor", "temporal_end", "recurrence", "recurrence_start")
    query = sa.select(memories.c.key, *(memories.c[name] for name in names)).where(*conditions)
    values, keys = [], []
    for key, *row in conn.execute(query.where(memories.c.temporal_anchor.is_not(None))):
        state = temporal(*row, zone=scope.time_zone, now=now)
        if state.state in ("future", "present") and state.anchor is not None:
            values.append(float(instant("anchor", state.anchor) or 0))
            keys.append(key)
    return np.array(values, np.float64), np.array(keys, np.int64)


def _kept(place: Place, conn: sa.Connection, scope: Scope, keys: Sequence[int], *, now: int) -> list[Kept]:
    clocks = Clocks(conn, now=now, rates=place.rates)
    return [Kept.of(each) for each in memory_documents(conn, keys, {scope.key: scope}, clocks, now=now)]


def _scope(place: Place, conn: sa.Connection) -> Scope | None:
    row = conn.execute(
        sa.select(scopes.c.key, scopes.c.scope, scopes.c.time_zone).where(scopes.c.scope == place.scope)
    ).one_or_none()
    return None if row is None else Scope(*row)


def _one_of(field: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise BadInput(f"{field}: {value!r} is none of {', '.join(known)}")


def _written(begins: _From) -> str:
    return base64.urlsafe_b64encode(json.dumps(begins).encode()).decode()


def _read(text: str, order: str) -> _From:
    try:
        given = json.loads(base64.urlsafe_b64decode(text.encode()))
        begins = _From(str(given[0]), int(given[1]), float(given[2]), int(given[3]))
    except (ValueError, TypeError, AttributeError, LookupError, OverflowError):
        raise BadInput("after: is not the `next` of a page; leave it out to begin anew") from None
    if begins.order != order:
        raise BadInput(f"after: is of pages in order of {begins.order}; go on in that order, or leave it out")
    return begins
