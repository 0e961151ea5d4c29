"""What a purge takes away besides events: memories archived long ago, and journals of old runs."""

import sqlalchemy as sa

from consolidator.store.dead import ROWS_A_TRANSACTION
from consolidator.store.find import Found, Scope
from consolidator.store.tables import decisions, identities, memories, merge_sources, runs


def archived_before(conn: sa.Connection, scope: Scope, horizon: int) -> list[Found]:
    """The memories of a scope that were archived before an instant, but for those that a merge is made of."""
    query = (
        sa.select(memories.c.key, identities.c.hash, memories.c.content, memories.c.status)
        .join(identities, identities.c.key == memories.c.key)
        .where(memories.c.scope_key == scope.key, memories.c.status == "archived", memories.c.archived_at < horizon)
        .where(~sa.exists().where(merge_sources.c.source_key == memories.c.key))
        .order_by(memories.c.archived_at, identities.c.hash)
    )
    return [Found(key, id_, scope, content, status) for key, id_, content, status in conn.execute(query)]


def runs_with_journal(conn: sa.Connection, horizon: int) -> list[int]:
    """The runs of before an instant that can be undone still, or of which a purge that was killed left something."""
    journal = sa.exists().where(decisions.c.run_key == runs.c.key)
    left = sa.or_(runs.c.journal_purged_at.is_(None), journal)
    return list(conn.scalars(sa.select(runs.c.key).where(runs.c.started_at < horizon, left).order_by(runs.c.key)))


def close_journal(conn: sa.Connection, run_key: int, *, now: int) -> bool:
    """From now on the run cannot be undone. Returns whether it could until then."""
    this = sa.and_(runs.c.key == run_key, runs.c.journal_purged_at.is_(None))
    return conn.execute(sa.update(runs).where(this).values(journal_purged_at=now)).rowcount == 1


def delete_journal(conn: sa.Connection, run_key: int) -> bool:
    """Delete 20,000 rows of a run's journal at most. Returns whether that was all."""
    some = sa.select(decisions.c.sequence).where(decisions.c.run_key == run_key).limit(ROWS_A_TRANSACTION)
    this = sa.and_(decisions.c.run_key == run_key, decisions.c.sequence.in_(some))
    return conn.execute(sa.delete(decisions).where(this)).rowcount < ROWS_A_TRANSACTION
