"""
Merging: what a merge pass has seen, what the base of a merged memory and of its links holds, verdicts with their
tries, and batches that are known before they are handed in.

Columns are added, at the end of their tables, so that no table is made anew. Batches were never written before.
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

KEY = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def where(condition: str) -> dict[str, sa.TextClause]:
    return {"sqlite_where": sa.text(condition), "postgresql_where": sa.text(condition)}


def upgrade() -> None:
    op.add_column(
        "memories",
        sa.Column("fresh", sa.Boolean, nullable=False, server_default=sa.true(), comment="no merge pass has seen it"),
    )
    op.add_column(
        "memories",
        sa.Column(
            "lives", sa.JSON, comment="bases before it took others in: [strength, at, consolidated], oldest first"
        ),
    )
    op.create_index("ix_memories_fresh", "memories", ["scope_key", "status"], **where("fresh"))
    op.add_column(
        "associations",
        sa.Column(
            "base_mark", sa.BigInteger, comment="the run whose merge set the base: what was linked by then is in it"
        ),
    )
    op.add_column("exposures", sa.Column("linked_in", sa.BigInteger, comment="the run that counted it here"))
    op.add_column(
        "attributions",
        sa.Column(
            "based_at", sa.BigInteger, comment="the base it was counted on, where that has moved since and holds it"
        ),
    )
    op.add_column(
        "verdicts",
        sa.Column(
            "tries", sa.Integer, nullable=False, server_default="0", comment="how often a model was asked in vain"
        ),
    )
    op.add_column("verdicts", sa.Column("because", sa.Text))
    op.create_index("ix_verdicts_open", "verdicts", ["scope_key"], **where("verdict IN ('waiting', 'rejected')"))
    op.drop_table("batches")
    op.create_table(
        "batches",
        sa.Column("key", KEY, autoincrement=True, nullable=False),
        sa.Column("scope_key", KEY, nullable=False),
        sa.Column("run_key", KEY, nullable=False),
        sa.Column("provider", sa.Text, nullable=False),
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("token", sa.Text, nullable=False, comment="ours, by which the provider can be asked for the batch"),
        sa.Column("batch_id", sa.Text, comment="the provider's; null: not known to have been handed in"),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("submitted_at", sa.BigInteger, nullable=False),
        sa.Column("ended_at", sa.BigInteger, comment="when its answers were taken in; null: under way"),
        sa.Column(
            "requests", sa.JSON, nullable=False, comment="by our name of each: what was asked, of which memories"
        ),
        sa.UniqueConstraint("token", name=op.f("uq_batches_token")),
        sa.UniqueConstraint("provider", "batch_id", name=op.f("uq_batches_provider_batch_id")),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_batches")),
        sa.ForeignKeyConstraint(["scope_key"], ["scopes.key"], name=op.f("fk_batches_scope_key")),
        sa.ForeignKeyConstraint(["run_key"], ["runs.key"], name=op.f("fk_batches_run_key")),
    )
    op.create_index("ix_batches_open", "batches", ["scope_key"], **where("ended_at IS NULL"))


def downgrade() -> None:
    raise NotImplementedError("there is no way back to an older schema: use the copy made before the migration")
