"""
How Alembic reaches a store. The program hands over a connection and keeps the transaction; from the `alembic`
command line the store is named by $CONSOLIDATOR_STORE.
"""

import os

from alembic import context
from sqlalchemy import Connection

from consolidator.store import schema
from consolidator.store.tables import metadata


def run(connection: Connection) -> None:
    context.configure(connection=connection, target_metadata=metadata, render_as_batch=True, transactional_ddl=True)
    with context.begin_transaction():
        context.run_migrations()


connection = context.config.attributes.get("connection")
if connection is not None:
    run(connection)
else:
    with schema.migrating(os.environ["CONSOLIDATOR_STORE"]) as connection:
        run(connection)
