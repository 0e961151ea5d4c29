"""What a person named: a memory by the beginning of its id, a scope by its pairs, a run by its id."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from consolidator.errors import BadInput
from consolidator.scopes import spell
from consolidator.store.tables import identities, memories, runs, scopes

SHORTEST_PREFIX = 8
LAST = "last"
_CANDIDATES_NAMED = 5
_HEX = re.compile(r"[0-9a-f]{8,64}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Scope:
    """A scope of the store: its key, its canonical text, its time zone."""

    key: int
    text: str
    time_zone: str


@dataclass(frozen=True, slots=True)
class Run:
    """A run: its key and the id that people use."""

    key: int
    run_id: str


@dataclass(frozen=True, slots=True)
class Found:
    """A memory, or a memory known only by name (`content` None), and the scope it belongs to."""

    key: int
    id: str
    scope: Scope
    content: str | None
    status: str | None


def find_scopes(conn: sa.Connection, scope: str | None) -> list[Scope]:
    """All scopes in order of their text, or the one named by its canonical text. BadInput where there is none."""
    query = sa.select(scopes.c.key, scopes.c.scope, scopes.c.time_zone).order_by(scopes.c.scope)
    if scope is not None:
        query = query.where(scopes.c.scope == scope)
    found = [Scope(*row) for row in conn.execute(query)]
    if scope is not None and not found:
        raise BadInput(f"--scope {spell(scope)}: no such scope in this store; `consolidate stats` lists them")
    return sorted(found, key=lambda each: each.text)


def find_memory(conn: sa.Connection, prefix: str, scope: str | None = None) -> Found:
    """The one memory whose id begins so. BadInput where there is none, or several."""
    everything = _matching(conn, prefix, scope)
    found = [each for each in everything if each.content is not None]
    if not found and everything:
        raise BadInput(f"{prefix}: known only by its events, the memory itself is not in this store")
    return _only(found, prefix, scope)


def find_identity(conn: sa.Connection, prefix: str, scope: str | None = None) -> Found:
    """The one id, of a memory or of events alone, that begins so. BadInput where there is none, or several."""
    return _only(_matching(conn, prefix, scope), prefix, scope)


def find_memories(conn: sa.Connection, prefixes: Sequence[str], scope: str | None = None) -> list[Found]:
    """Each memory once, in the order named. BadInput for the first that is not to be found."""
    found = {each.key: each for each in (find_memory(conn, prefix, scope) for prefix in prefixes)}
    return list(found.values())


def find_run(conn: sa.Connection, named: str) -> Run | None:
    """The run named by its id, by the only beginning of 8 or more characters, or "last"; None where there is none."""
    query = sa.select(runs.c.key, runs.c.run_id)
    if named == LAST:
        latest = conn.execute(query.order_by(runs.c.started_at.desc(), runs.c.key.desc()).limit(1)).one_or_none()
        return Run(*latest) if latest else None
    found = conn.execute(query.where(runs.c.run_id == named)).all()
    if not found and len(named) >= SHORTEST_PREFIX:
        found = conn.execute(query.where(runs.c.run_id.startswith(named, autoescape=True)).limit(2)).all()
    if len(found) > 1:
        raise BadInput(f"{named}: several runs begin so, {', '.join(row.run_id for row in found)}; write more of it")
    return Run(*found[0]) if found else None


def is_prefix(text: str) -> bool:
    """Whether a text can be the beginning of a memory's id."""
    return _HEX.fullmatch(text.lower()) is not None


def _matching(conn: sa.Connection, prefix: str, scope: str | None) -> list[Found]:
    if not isinstance(prefix, str) or not is_prefix(prefix):
        raise BadInput(f"{prefix!r} is not an id: 8 to 64 of the characters 0-9 and a-f; `consolidate list` shows ids")
    start = prefix.lower()
    query = (
        sa.select(identities.c.key, identities.c.hash, scopes.c.key, scopes.c.scope, scopes.c.time_zone)
        .add_columns(memories.c.content, memories.c.status)
        .select_from(identities)
        .join(scopes, scopes.c.key == identities.c.scope_key)
        .outerjoin(memories, memories.c.key == identities.c.key)
        .where(identities.c.hash >= start, identities.c.hash < start + "g")
        .order_by(identities.c.hash, scopes.c.scope)
    )
    if scope is not None:
        query = query.where(scopes.c.scope == scope)
    return [
        Found(key, hash_, Scope(scope_key, text, zone), content, status)
        for key, hash_, scope_key, text, zone, content, status in conn.execute(query)
    ]


def _only(found: Sequence[Found], prefix: str, scope: str | None) -> Found:
    if not found:
        where = f" in scope {spell(scope)}" if scope is not None else " in this store"
        raise BadInput(f"{prefix}: no memory{where} has an id that begins so; `consolidate list` shows ids")
    if len(found) > 1:
        named = [f"{each.id[:16]} ({spell(each.scope.text)})" for each in found[:_CANDIDATES_NAMED]]
        more = f" and {len(found) - len(named)} more" if len(found) > len(named) else ""
        next_step = "narrow with --scope" if len({each.scope.key for each in found}) > 1 else "write more of it"
        raise BadInput(f"{prefix}: several memories begin so: {', '.join(named)}{more}; {next_step}")
    return found[0]
