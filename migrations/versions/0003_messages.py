"""
Messages that wait: in which part of which message a row is, who is sending it, why it was not taken, and until when
its channel asks to be left alone.

The table is made anew: nothing was ever written to it before.
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

KEY = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def where(condition: str) -> dict[str, sa.TextClause]:
    return {"sqlite_where": sa.text(condition), "postgresql_where": sa.text(condition)}


def upgrade() -> None:
    op.drop_table("outbox")
    op.create_table(
        "outbox",
        sa.Column("key", KEY, autoincrement=True, nullable=False),
        sa.Column("idempotency_key", sa.Text, nullable=False, comment="the same for every try"),
        sa.Column("run_key", KEY),
        sa.Column("message", sa.Text, nullable=False, comment="the parts of one have the same"),
        sa.Column("channel", sa.Text, nullable=False),
        sa.Column("part", sa.Integer, nullable=False),
        sa.Column("payload", sa.JSON, nullable=False, comment="without its text once delivered"),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False, server_default="0"),
        sa.Column("next_at", sa.BigInteger, comment="null: delivered or given up"),
        sa.Column("not_before", sa.BigInteger, comment="until when the channel asks to be left alone"),
        sa.Column("claim", sa.Text, comment="who is sending it"),
        sa.Column("claimed_until", sa.BigInteger, comment="after it, whoever was sending is taken for dead"),
        sa.Column("delivered_at", sa.BigInteger),
        sa.Column("reason", sa.Text, comment="why the last try failed"),
        sa.UniqueConstraint("idempotency_key", name=op.f("uq_outbox_idempotency_key")),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_outbox")),
        sa.ForeignKeyConstraint(["run_key"], ["runs.key"], name=op.f("fk_outbox_run_key")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_outbox_waiting", "outbox", ["next_at"], **where("next_at IS NOT NULL"))
    op.create_index("ix_outbox_message", "outbox", ["message", "channel"])


def downgrade() -> None:
    raise NotImplementedError("there is no way back to an older schema: use the copy made before the migration")
