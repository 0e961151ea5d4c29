"""Sources: which record of another system's store is which memory, and what was written back there."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

KEY = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "sources",
        sa.Column("key", KEY, autoincrement=True, nullable=False),
        sa.Column("url", sa.Text, nullable=False, comment="canonical, without anything secret"),
        sa.Column("since", sa.Text, comment="what the last reading said of where it was; the source's own"),
        sa.Column("pulled_at", sa.BigInteger),
        sa.Column("pushed_at", sa.BigInteger),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_sources")),
        sa.UniqueConstraint("url", name=op.f("uq_sources_url")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "source_records",
        sa.Column("source_key", KEY, autoincrement=False, nullable=False),
        sa.Column("id", sa.Text, nullable=False, comment="theirs"),
        sa.Column("memory_key", KEY, comment="null: forgotten or purged here"),
        sa.Column("fingerprint", sa.Text, nullable=False, comment="of what it was when last read or written"),
        sa.Column("expected", sa.Text, comment="of what a push under way makes of it; empty: that it is no more"),
        sa.Column("uses", sa.BigInteger, nullable=False, server_default="0", comment="that are counted here"),
        sa.Column("revision", sa.Integer, comment="of the memory when a push last told of it; null: never"),
        sa.Column("gone_at", sa.BigInteger, comment="since when it is no more over there, by another hand"),
        sa.Column("removed_at", sa.BigInteger, comment="since when it is no more over there, by a push"),
        sa.Column(
            "unwanted", sa.Boolean, nullable=False, server_default=sa.false(), comment="forgotten here: to be removed"
        ),
        sa.PrimaryKeyConstraint("source_key", "id", name=op.f("pk_source_records")),
        sa.ForeignKeyConstraint(["source_key"], ["sources.key"], name=op.f("fk_source_records_source_key")),
        sa.ForeignKeyConstraint(["memory_key"], ["identities.key"], name=op.f("fk_source_records_memory_key")),
    )
    op.create_index("ix_source_records_memory_key", "source_records", ["memory_key"])
    unwanted = sa.text("unwanted")
    op.create_index(
        "ix_source_records_unwanted",
        "source_records",
        ["source_key"],
        sqlite_where=unwanted,
        postgresql_where=unwanted,
    )
    op.create_table(
        "pushes",
        sa.Column("key", KEY, autoincrement=True, nullable=False),
        sa.Column("push_id", sa.Text, nullable=False),
        sa.Column("source_key", KEY, nullable=False),
        sa.Column("as_of", sa.BigInteger, nullable=False),
        sa.Column("started_at", sa.BigInteger, nullable=False),
        sa.Column("finished_at", sa.BigInteger, comment="null: under way, or killed"),
        sa.Column("version_before", sa.Text, comment="of the store over there, if it keeps versions"),
        sa.Column("version_after", sa.Text),
        sa.Column("undone_at", sa.BigInteger),
        sa.Column("images_purged_at", sa.BigInteger, comment="since when it cannot be undone"),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_pushes")),
        sa.UniqueConstraint("push_id", name=op.f("uq_pushes_push_id")),
        sa.ForeignKeyConstraint(["source_key"], ["sources.key"], name=op.f("fk_pushes_source_key")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_pushes_source_key", "pushes", ["source_key"])
    op.create_table(
        "push_images",
        sa.Column("push_key", KEY, autoincrement=False, nullable=False),
        sa.Column("id", sa.Text, nullable=False, comment="theirs"),
        sa.Column("memory_key", KEY),
        sa.Column("before", sa.Text, comment="JSON of the record, or of what is changed in it; null: there was none"),
        sa.Column("after", sa.Text, comment="JSON of the record, or of what is changed in it; null: it is removed"),
        sa.Column("done", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.PrimaryKeyConstraint("push_key", "id", name=op.f("pk_push_images")),
        sa.ForeignKeyConstraint(["push_key"], ["pushes.key"], name=op.f("fk_push_images_push_key")),
        sa.ForeignKeyConstraint(["memory_key"], ["identities.key"], name=op.f("fk_push_images_memory_key")),
    )
    op.create_index("ix_push_images_memory_key", "push_images", ["memory_key"])


def downgrade() -> None:
    raise NotImplementedError("there is no way back to an older schema: use the copy made before the migration")
