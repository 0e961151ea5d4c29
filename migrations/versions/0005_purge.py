"""Purge: what purged turns have left of links, and an index by which a purge finds what is long counted."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

KEY = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "pasts",
        sa.Column("memory_a", KEY, autoincrement=False, nullable=False),
        sa.Column("memory_b", KEY, autoincrement=False, nullable=False),
        sa.Column("scope_key", KEY, nullable=False),
        sa.Column("weight", sa.Double, nullable=False, comment="of the link after all that was purged of its turns"),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("fades_age", sa.Double, nullable=False),
        sa.CheckConstraint("memory_a < memory_b", name=op.f("ck_pasts_ordered")),
        sa.PrimaryKeyConstraint("memory_a", "memory_b", name=op.f("pk_pasts")),
        sa.ForeignKeyConstraint(["memory_a"], ["memories.key"], name=op.f("fk_pasts_memory_a")),
        sa.ForeignKeyConstraint(["memory_b"], ["memories.key"], name=op.f("fk_pasts_memory_b")),
        sa.ForeignKeyConstraint(["scope_key"], ["scopes.key"], name=op.f("fk_pasts_scope_key")),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_pasts_memory_b", "pasts", ["memory_b"])
    op.create_index("ix_pasts_fading", "pasts", ["scope_key", "fades_age"])
    counted = sa.text("linked")
    op.create_index(
        "ix_exposures_counted", "exposures", ["scope_key", "at"], sqlite_where=counted, postgresql_where=counted
    )


def downgrade() -> None:
    raise NotImplementedError("there is no way back to an older schema: use the copy made before the migration")
