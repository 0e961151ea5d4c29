"""
Where records meet the store: names become keys, and rows that are not there yet are added.

A `Rehearsal` does the same and writes nothing: what would be there by now it keeps in mind.
"""

import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from consolidator.store.engine import keyed
from consolidator.store.tables import identities, scopes, tombstones, turns

Row = Mapping[str, Any]

TEXTS = dict.fromkeys(("hash", "turn_id", "message_id", "members_hash"), sa.Text)


class Desk:
    """Look-ups and additions in one write transaction; what was looked up is remembered."""

    rehearses = False
    most_remembered = 200_000  # names; past that, all are asked for again

    def __init__(self, conn: sa.Connection) -> None:
        self.conn = conn
        self._scopes: dict[str, int] = {}
        self._identities: dict[tuple[int, str], int] = {}
        self._turns: dict[tuple[int, str], dict[str, int]] = {}
        self._tombstones: dict[int, set[str]] = {}

    def knows_scope(self, scope: str) -> bool:
        """Whether the scope is there."""
        query = sa.select(scopes.c.key).where(scopes.c.scope == scope)
        return scope in self._scopes or self.conn.scalar(query) is not None

    def scope_key(self, scope: str) -> int:
        """The key of a scope, added where it is new."""
        if scope not in self._scopes:
            query = sa.select(scopes.c.key).where(scopes.c.scope == scope)
            key = self.conn.scalar(query)
            if key is None:
                self.add(scopes, ("scope",), [{"scope": scope}])
                key = self._key_of_new(query)
            self._scopes[scope] = key
        return self._scopes[scope]

    def forgotten(self, scope_key: int) -> set[str]:
        """The ids of which the scope keeps a tombstone."""
        if scope_key not in self._tombstones:
            query = sa.select(tombstones.c.hash).where(tombstones.c.scope_key == scope_key)
            self._tombstones[scope_key] = set(self.conn.scalars(query))
        return self._tombstones[scope_key]

    def names(self, scope_key: int, ids: Iterable[str]) -> dict[str, int]:
        """The keys of those of these ids that the store knows."""
        wanted = {*ids}
        if len(self._identities) > self.most_remembered:
            self._identities.clear()
        asked = sorted(each for each in wanted if (scope_key, each) not in self._identities)
        if asked:
            table = keyed(self.conn, TEXTS, scope_key=[scope_key] * len(asked), hash=asked)
            same = sa.and_(identities.c.scope_key == table.c.scope_key, identities.c.hash == table.c.hash)
            rows = self.conn.execute(sa.select(identities.c.hash, identities.c.key).join(table, same))
            for name, key in rows:
                self._identities[scope_key, name] = key
        return {each: key for each in wanted if (key := self._identities.get((scope_key, each))) is not None}

    def keys(self, scope_key: int, ids: Iterable[str]) -> tuple[dict[str, int], set[int]]:
        """The keys of these ids, added where they are new; and which of them are."""
        wanted = {*ids}
        known = self.names(scope_key, wanted)
        new = sorted(wanted - known.keys())
        if not new:
            return known, set()
        self.add(identities, ("scope_key", "hash"), [{"scope_key": scope_key, "hash": each} for each in new])
        self._remember(scope_key, new)
        made = self.names(scope_key, new)
        return known | made, {*made.values()}

    def sessions(self, scope_key: int, turn_ids: Iterable[str]) -> dict[str, dict[str, int]]:
        """The sessions of each of these turns, with the keys of the turns; an empty session is one not known."""
        wanted = {*turn_ids}
        if len(self._turns) > self.most_remembered:
            self._turns.clear()
        asked = sorted(each for each in wanted if (scope_key, each) not in self._turns)
        if asked:
            table = keyed(self.conn, TEXTS, scope_key=[scope_key] * len(asked), turn_id=asked)
            same = sa.and_(turns.c.scope_key == table.c.scope_key, turns.c.turn_id == table.c.turn_id)
            rows = self.conn.execute(
                sa.select(turns.c.turn_id, turns.c.session_id, turns.c.key).join(table, same)
            ).all()
            self._turns |= {(scope_key, each): {} for each in asked}
            for turn_id, session_id, key in rows:
                self._turns[scope_key, turn_id][session_id] = key
        return {each: self._turns[scope_key, each] for each in wanted}

    def turn_keys(self, scope_key: int, pairs: Iterable[tuple[str, str]]) -> dict[tuple[str, str], int]:
        """
        The keys of these (turn, session) pairs, added where they are new.

        The first session of a turn that was known without one takes that turn over, with its attributions.
        """
        wanted = {*pairs}
        known = self.sessions(scope_key, (turn_id for turn_id, _ in wanted))
        new: list[tuple[str, str]] = []
        for turn_id, session_id in sorted(wanted):
            sessions = known[turn_id]
            if session_id not in sessions and "" in sessions:
                sessions[session_id] = sessions.pop("")
                named = sa.update(turns).where(turns.c.key == sessions[session_id]).values(session_id=session_id)
                self.write(named)
            elif session_id not in sessions:
                new.append((turn_id, session_id))
        if new:
            rows = [{"scope_key": scope_key, "turn_id": turn, "session_id": session} for turn, session in new]
            self.add(turns, ("scope_key", "turn_id", "session_id"), rows)
            self._remember_turns(scope_key, new)
            known = self.sessions(scope_key, (turn_id for turn_id, _ in wanted))
        return {(turn_id, session_id): known[turn_id][session_id] for turn_id, session_id in wanted}

    def present(self, column: sa.Column[int], keys: Iterable[int]) -> set[int]:
        """Which of these keys stand in a column that is a table's key."""
        table = keyed(self.conn, key=sorted({*keys}))
        return {*self.conn.scalars(sa.select(column).join(table, column == table.c.key))}

    def add(self, table: sa.Table, key: Sequence[str], rows: Sequence[Row]) -> int:
        """Add the rows that are not there, by their natural key. Returns how many were added."""
        if not rows:
            return 0
        insert = postgresql.insert if self.conn.dialect.name == "postgresql" else sqlite.insert
        statement = insert(table).on_conflict_do_nothing(index_elements=key)
        result = self.conn.execute(statement, rows, execution_options={"preserve_rowcount": True})
        return result.rowcount

    def write(self, statement: sa.Executable, rows: Sequence[Row] | None = None) -> None:
        """Change rows that are there."""
        self.conn.execute(statement, rows)

    def _key_of_new(self, query: sa.Select[Any]) -> int:
        key: int = self.conn.scalars(query).one()
        return key

    def _remember(self, scope_key: int, new: Sequence[str]) -> None:
        """Nothing: they are asked for."""

    def _remember_turns(self, scope_key: int, new: Sequence[tuple[str, str]]) -> None:
        for turn_id, _ in new:
            self._turns.pop((scope_key, turn_id), None)


class Rehearsal(Desk):
    """A desk at which nothing is written. New rows have keys below zero, which no store has."""

    rehearses = True
    most_remembered = sys.maxsize

    def __init__(self, conn: sa.Connection) -> None:
        super().__init__(conn)
        self._new_keys = count(-1, -1)
        self._added: dict[str, set[tuple[Any, ...]]] = {}

    def present(self, column: sa.Column[int], keys: Iterable[int]) -> set[int]:
        wanted = {*keys}
        added = self._added.get(column.table.name, set())
        return {key for key in wanted if (key,) in added} | super().present(column, wanted)

    def add(self, table: sa.Table, key: Sequence[str], rows: Sequence[Row]) -> int:
        added = self._added.setdefault(table.name, set())
        before = len(added)
        added |= {tuple(row[name] for name in key) for row in rows} - self._there(table, key, rows)
        return len(added) - before

    def write(self, statement: sa.Executable, rows: Sequence[Row] | None = None) -> None:
        pass

    def _there(self, table: sa.Table, key: Sequence[str], rows: Sequence[Row]) -> set[tuple[Any, ...]]:
        by = [name for name in key if name.endswith("hash") or isinstance(table.c[name].type, sa.Integer)]
        if not rows or not by:
            return set()
        asked = keyed(self.conn, TEXTS, **{name: [row[name] for row in rows] for name in by})
        same = sa.and_(*(table.c[name] == asked.c[name] for name in by))
        return {tuple(row) for row in self.conn.execute(sa.select(*(table.c[name] for name in key)).join(asked, same))}

    def _key_of_new(self, query: sa.Select[Any]) -> int:
        return next(self._new_keys)

    def _remember(self, scope_key: int, new: Sequence[str]) -> None:
        self._identities |= {(scope_key, each): next(self._new_keys) for each in new}

    def _remember_turns(self, scope_key: int, new: Sequence[tuple[str, str]]) -> None:
        for turn_id, session_id in new:
            self._turns[scope_key, turn_id][session_id] = next(self._new_keys)
