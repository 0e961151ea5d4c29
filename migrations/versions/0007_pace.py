"""Pace: the law of half-lives by importance that a stretch of the clock has, and which heads it makes wrong."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.add_column(
        "clock_segments",
        sa.Column("law", sa.Text, nullable=False, server_default="off", comment="of half-lives by importance"),
    )
    op.add_column(
        "memories",
        sa.Column(
            "anew",
            sa.Boolean,
            nullable=False,
            server_default=sa.false(),
            comment="how fast it ages has changed: the head is to be replayed from the base",
        ),
    )
    anew = sa.text("anew")
    op.create_index("ix_memories_anew", "memories", ["scope_key"], sqlite_where=anew, postgresql_where=anew)


def downgrade() -> None:
    raise NotImplementedError("there is no way back to an older schema: use the copy made before the migration")
