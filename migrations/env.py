"""
How Alembic reaches a store.

The program hands over its connection and keeps the transaction. From the `alembic` command line, where migrations
are written, the store is named by $CONSOLIDATOR_STORE and not copied aside: use `consolidate migrate` for your own.
"""

import os

from alembic import context
from sqlalchemy import Connection

from consolidator.store import schema
from consolidator.store.tables import metadata
from consolidator.store.urls import parse_url

KEYWORD_SEARCH = ("memory_words", "ix_memories_words")


def run(connection: Connection) -> None:
    context.configure(
        connection=connection,
        target_metadata=metadata,
        render_as_batch=True,
        transactional_ddl=True,
        include_name=lambda name, _kind, _parent: not (name or "").startswith(KEYWORD_SEARCH),
    )
    with context.begin_transaction():
        context.run_migrations()


given = context.config.attributes.get("connection")
if given is not None:
    run(given)
else:
    with schema.changing(parse_url(os.environ["CONSOLIDATOR_STORE"])) as opened:
        run(opened)
