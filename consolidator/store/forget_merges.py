"""Forgetting what merging keeps: aliases, sources, verdicts, replies of models and what was handed in to them."""

import json
from collections.abc import Iterable

import sqlalchemy as sa

from consolidator.store.care import heirs
from consolidator.store.find import Found
from consolidator.store.tables import (
    aliases,
    batches,
    identities,
    kept_replies,
    kept_reply_sources,
    memories,
    merge_sources,
    verdicts,
)
from consolidator.store.traces import Traces


def merged_from(conn: sa.Connection, keys: Iterable[int]) -> list[str]:
    """Ids of the memories that were written from these, however many merges away."""
    wanted = set(keys)
    reached: set[int] = set()
    edge = wanted
    while edge:
        written = sa.select(merge_sources.c.memory_key).where(merge_sources.c.source_key.in_(edge))
        merged = sa.select(merge_sources.c.memory_key).where(merge_sources.c.memory_key.in_(edge))
        heirs_of_merged = sa.select(memories.c.superseded_by).where(
            memories.c.key.in_(merged), memories.c.superseded_by.is_not(None)
        )
        edge = {*conn.scalars(written), *conn.scalars(heirs_of_merged)} - reached - wanted
        reached |= edge
    return _ids(conn, reached)


def sources_of(conn: sa.Connection, keys: Iterable[int]) -> list[str]:
    """Ids of the memories that these were written from, however many merges ago."""
    wanted = set(keys)
    reached: set[int] = set()
    edge = wanted
    while edge:
        query = sa.select(merge_sources.c.source_key).where(merge_sources.c.memory_key.in_(edge))
        edge = set(conn.scalars(query)) - reached - wanted
        reached |= edge
    return _ids(conn, reached)


def _ids(conn: sa.Connection, keys: set[int]) -> list[str]:
    query = sa.select(identities.c.hash).join(memories, memories.c.key == identities.c.key)
    return sorted(conn.scalars(query.where(identities.c.key.in_(keys))))


def forget_merges(conn: sa.Connection, found: Found) -> None:
    """Delete aliases, merge sources, verdicts and replies; who was led through the memory is led past it."""
    key = found.key
    _forget_replies(conn, key)
    beyond = heirs(conn, key)
    conn.execute(sa.delete(aliases).where(aliases.c.old_key == key))
    if beyond:
        conn.execute(sa.update(aliases).where(aliases.c.new_key == key).values(new_key=beyond[0]))
    conn.execute(sa.delete(aliases).where(aliases.c.new_key == key))
    conn.execute(
        sa.delete(merge_sources).where(sa.or_(merge_sources.c.memory_key == key, merge_sources.c.source_key == key))
    )
    conn.execute(
        sa.update(memories)
        .where(memories.c.superseded_by == key)
        .values(superseded_by=beyond[0] if beyond else None, revision=memories.c.revision + 1)
    )
    conn.execute(
        sa.delete(verdicts).where(
            verdicts.c.scope_key == found.scope.key, sa.cast(verdicts.c.members, sa.Text).contains(found.id)
        )
    )
    _forget_requests(conn, found)


def _forget_replies(conn: sa.Connection, key: int) -> None:
    """Replies about the memory, and about those that were merged into it: its own text may stand in them."""
    merged = sa.select(memories.c.key).where(memories.c.superseded_by == key)
    about = sa.or_(kept_reply_sources.c.memory_key == key, kept_reply_sources.c.memory_key.in_(merged))
    replies = list(conn.scalars(sa.select(kept_reply_sources.c.request_hash).where(about).distinct()))
    conn.execute(sa.delete(kept_reply_sources).where(kept_reply_sources.c.request_hash.in_(replies)))
    conn.execute(sa.delete(kept_replies).where(kept_replies.c.request_hash.in_(replies)))


def _forget_requests(conn: sa.Connection, found: Found) -> None:
    """What was asked of the memory in a batch: its answer will be taken in by nobody."""
    query = sa.select(batches.c.key, batches.c.requests).where(batches.c.scope_key == found.scope.key)
    for key, requests in conn.execute(query).all():
        kept = {name: asked for name, asked in requests.items() if found.id not in json.dumps(asked)}
        if kept != requests:
            conn.execute(sa.update(batches).where(batches.c.key == key).values(requests=kept))


def forget_reasons(conn: sa.Connection, scope_key: int, traces: Traces) -> None:
    """The reasons of verdicts on other memories that name or quote a forgotten one."""
    query = sa.select(verdicts.c.key, verdicts.c.because)
    for key, because in conn.execute(query.where(verdicts.c.scope_key == scope_key, verdicts.c.because.is_not(None))):
        if traces.in_text(because):
            conn.execute(sa.update(verdicts).where(verdicts.c.key == key).values(because=None))
