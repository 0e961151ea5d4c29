"""
Batches at a provider: what was handed in, under which name, and whether its answers are in.

The intent is written before the provider is called, so that a crash in between can be looked up there by its token.
"""

from collections.abc import Mapping
from typing import NamedTuple

import sqlalchemy as sa

from consolidator.store.engine import Store
from consolidator.store.run import Run
from consolidator.store.tables import UNDER_WAY, batches

SUBMITTING, SUBMITTED = "submitting", "submitted"
ENDED, LOST = "ended", "lost"


class Request(NamedTuple):
    """One question of a batch: the hash of its request, and the ids of the memories that it is about."""

    hash: str
    members: tuple[str, ...]


class Batch(NamedTuple):
    """A batch whose answers are still to come. batch_id: the provider's, None where it is not known."""

    key: int
    provider: str
    model: str
    token: str
    batch_id: str | None
    submitted_at: int
    requests: Mapping[str, Request]


def intend(
    store: Store,
    run: Run,
    scope_key: int,
    *,
    model: tuple[str, str],
    token: str,
    requests: Mapping[str, Request],
    at: int,
) -> int:
    """Write that a batch is about to be handed in. model: its provider and name. Returns the key of its row."""
    told = {name: {"hash": one.hash, "members": list(one.members)} for name, one in requests.items()}
    row = {
        "scope_key": scope_key, "provider": model[0], "model": model[1], "token": token, "state": SUBMITTING,
        "submitted_at": at, "requests": told,
    }  # fmt: skip
    with run.writing(store) as conn:
        row["run_key"] = run.stamp(conn)
        return int(conn.scalars(sa.insert(batches).returning(batches.c.key), [row]).one())


def name_batch(store: Store, key: int, batch_id: str) -> None:
    """Write the provider's id of a batch."""
    with store.write() as conn:
        conn.execute(sa.update(batches).where(batches.c.key == key).values(batch_id=batch_id, state=SUBMITTED))


def end_batch(store: Store, key: int, state: str, *, at: int) -> None:
    """Write that nothing more comes of a batch."""
    with store.write() as conn:
        conn.execute(sa.update(batches).where(batches.c.key == key).values(state=state, ended_at=at))


def open_batches(conn: sa.Connection, scope_key: int) -> list[Batch]:
    """The batches of a scope whose answers are still to come, the oldest first."""
    query = sa.select(batches).where(batches.c.scope_key == scope_key, UNDER_WAY).order_by(batches.c.key)
    return [
        Batch(
            row.key, row.provider, row.model, row.token, row.batch_id, row.submitted_at,
            {name: Request(one["hash"], tuple(one["members"])) for name, one in row.requests.items()},
        )
        for row in conn.execute(query)
    ]  # fmt: skip


def scopes_with_batches(conn: sa.Connection) -> list[int]:
    """The keys of scopes of which a batch is under way."""
    return list(conn.scalars(sa.select(batches.c.scope_key).where(UNDER_WAY).distinct()))


def known_batches(conn: sa.Connection, provider: str) -> set[str]:
    """The ids of all batches of a provider that are known here."""
    query = sa.select(batches.c.batch_id).where(batches.c.provider == provider, batches.c.batch_id.is_not(None))
    return {str(name) for name in conn.scalars(query)}
