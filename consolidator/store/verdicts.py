"""What was found of memories that look alike: kept by the hash of the members, told to the journal, given back."""

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from consolidator.plan import members_hash
from consolidator.store.engine import keyed
from consolidator.store.tables import OPEN, identities, memories, verdicts

WAITING = "waiting"

# [ids of the members, the verdict before, the verdict after]; a verdict is [verdict, at, tries, because], or None.
Note = list[Any]
_TOLD = ("verdict", "at", "tries", "because")


class Finding(NamedTuple):
    """A verdict on memories, by their ids. tries: how often a model was asked in vain."""

    ids: tuple[str, ...]
    verdict: str
    at: int
    tries: int = 0
    because: str | None = None


def write_finding(conn: sa.Connection, scope_key: int, found: Finding) -> Note:
    """Keep a verdict in place of the one that there was. What goes on waiting has waited since it began."""
    before = _kept(conn, scope_key, found.ids)
    at = before[1] if before and before[0] == found.verdict == WAITING else found.at
    after = [found.verdict, at, found.tries, found.because]
    _write(conn, scope_key, found.ids, before, after)
    return [sorted(found.ids), before, after]


def settle(conn: sa.Connection, scope_key: int, hashes: Iterable[str]) -> list[Note]:
    """Delete those of these verdicts that are open: they wait no more."""
    table = keyed(conn, {"hash": sa.Text}, hash=sorted(set(hashes)))
    query = sa.select(verdicts.c.members).join(table, verdicts.c.members_hash == table.c.hash)
    notes = []
    for members in conn.scalars(query.where(verdicts.c.scope_key == scope_key, OPEN)).all():
        before = _kept(conn, scope_key, members)
        _write(conn, scope_key, members, before, None)
        notes.append([sorted(members), before, None])
    return notes


def give_back_verdicts(conn: sa.Connection, scope_key: int, notes: Iterable[Note]) -> None:
    """Verdicts as they were before those of these notes; one that was given anew since stays."""
    for members, before, after in reversed(list(notes)):
        if _kept(conn, scope_key, members) == after and _known(conn, scope_key, members):
            _write(conn, scope_key, members, after, before)


def all_here(conn: sa.Connection, scope_key: int, found: Iterable[Finding]) -> list[Finding]:
    """Those of these verdicts whose members are all memories here, as ever: none was forgotten."""
    return [one for one in found if _known(conn, scope_key, one.ids)]


def _known(conn: sa.Connection, scope_key: int, ids: Sequence[str]) -> bool:
    table = keyed(conn, {"hash": sa.Text}, hash=sorted(set(ids)))
    query = (
        sa.select(sa.func.count())
        .select_from(identities)
        .join(table, identities.c.hash == table.c.hash)
        .join(memories, memories.c.key == identities.c.key)
        .where(identities.c.scope_key == scope_key)
    )
    return conn.scalar(query) == len(set(ids))


def _kept(conn: sa.Connection, scope_key: int, ids: Iterable[str]) -> list[Any] | None:
    query = sa.select(*(verdicts.c[name] for name in _TOLD)).where(
        verdicts.c.scope_key == scope_key, verdicts.c.members_hash == members_hash(ids)
    )
    row = conn.execute(query).one_or_none()
    return None if row is None else list(row)


def _write(
    conn: sa.Connection, scope_key: int, ids: Iterable[str], before: list[Any] | None, after: list[Any] | None
) -> None:
    members = sorted(ids)
    name = members_hash(members)
    this = sa.and_(verdicts.c.scope_key == scope_key, verdicts.c.members_hash == name)
    if after is None:
        conn.execute(sa.delete(verdicts).where(this))
        return
    values = dict(zip(_TOLD, after, strict=True))
    if before is not None:
        conn.execute(sa.update(verdicts).where(this).values(values))
    else:
        row = {"scope_key": scope_key, "members_hash": name, "members": members}
        conn.execute(sa.insert(verdicts).values({**row, **values}))


def verdicts_told(events: str | None) -> list[Note]:
    """The notes on verdicts in the events of a journal row."""
    return json.loads(events).get("verdicts", []) if events else []
