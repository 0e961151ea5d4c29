"""
Schedule: which job was done in which scope for which date, under locks that may be of the whole store; and what purged
events leave behind: up to when they were counted, how their memories were found, and which journals are gone.
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

KEY = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "ledger",
        sa.Column("scope_key", KEY, autoincrement=False, nullable=False, comment="0: the whole store"),
        sa.Column("job", sa.Text, nullable=False),
        sa.Column("day", sa.Text, nullable=False, comment="the local date; with several a day, a time of UTC"),
        sa.Column("attempts", sa.Integer, nullable=False, server_default="0", comment="how often it was begun"),
        sa.Column("next_at", sa.BigInteger, comment="not begun again before; null: done, or given up"),
        sa.Column("done_at", sa.BigInteger),
        sa.Column("run_key", KEY, comment="the run that did it"),
        sa.Column("reason", sa.Text, comment="why the last attempt failed"),
        sa.PrimaryKeyConstraint("scope_key", "job", "day", name=op.f("pk_ledger")),
        sa.ForeignKeyConstraint(["run_key"], ["runs.key"], name=op.f("fk_ledger_run_key")),
    )
    op.create_index("ix_ledger_job", "ledger", ["job", "done_at"])
    op.drop_table("locks")
    op.create_table(
        "locks",
        sa.Column("scope_key", KEY, autoincrement=False, nullable=False, comment="0: the whole store"),
        sa.Column("holder", sa.Text, nullable=False, comment="host, process and its start: a dead one holds nothing"),
        sa.Column("taken_at", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("scope_key", name=op.f("pk_locks")),
    )
    op.add_column(
        "turns",
        sa.Column("shown_until", sa.BigInteger, comment="exposures of until then were counted, and purged"),
    )
    op.add_column(
        "turns",
        sa.Column("rated_until", sa.BigInteger, comment="attributions of until then are in the bases, and were purged"),
    )
    op.add_column(
        "turns",
        sa.Column(
            "found",
            sa.JSON,
            comment="of purged exposures, where one was found by words alone: memories by retrieval mode",
        ),
    )
    op.add_column("runs", sa.Column("journal_purged_at", sa.BigInteger, comment="since when it cannot be undone"))


def downgrade() -> None:
    raise NotImplementedError("there is no way back to an older schema: use the copy made before the migration")
