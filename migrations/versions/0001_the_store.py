"""
The store: every table, and keyword search over the memories.

A migration is written once and never follows the program: it names what it makes, and imports none of it.
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

KEY = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def where(condition: str) -> dict[str, sa.TextClause]:
    return {"sqlite_where": sa.text(condition), "postgresql_where": sa.text(condition)}


def upgrade() -> None:
    op.create_table(
        "meta",
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("value", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_meta")),
        comment="store_id: the name by which plans know this store",
    )
    op.create_table(
        "scopes",
        sa.Column("key", KEY, autoincrement=True, nullable=False),
        sa.Column("scope", sa.Text, nullable=False, comment="canonical JSON: sorted keys, no spaces"),
        sa.Column("time_zone", sa.Text, nullable=False, server_default="UTC"),
        sa.Column("epoch_at", sa.BigInteger, comment="where the clocks read 0"),
        sa.Column("first_activity_at", sa.BigInteger),
        sa.Column("last_activity_at", sa.BigInteger, comment="a pause begins 7 nights later"),
        sa.Column("undos", sa.Integer, nullable=False, server_default="0", comment="a plan made before one is stale"),
        sa.Column("revision", sa.Integer, nullable=False, server_default="0"),
        sa.UniqueConstraint("scope", name=op.f("uq_scopes_scope")),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_scopes")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "clock_segments",
        sa.Column("scope_key", KEY, autoincrement=False, nullable=False),
        sa.Column("from_at", sa.BigInteger, autoincrement=False, nullable=False),
        sa.Column("working", sa.Double, nullable=False, comment="half-lives a night while not paused"),
        sa.Column("consolidated", sa.Double, nullable=False),
        sa.Column("association", sa.Double, nullable=False),
        sa.Column("paused", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.PrimaryKeyConstraint("scope_key", "from_at", name=op.f("pk_clock_segments")),
        sa.ForeignKeyConstraint(["scope_key"], ["scopes.key"], name=op.f("fk_clock_segments_scope_key")),
    )
    op.create_table(
        "identities",
        sa.Column("key", KEY, autoincrement=True, nullable=False),
        sa.Column("scope_key", KEY, nullable=False),
        sa.Column("hash", sa.Text, nullable=False, comment="SHA-256 hex of the content"),
        sa.UniqueConstraint("scope_key", "hash", name=op.f("uq_identities_scope_key_hash")),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_identities")),
        sa.ForeignKeyConstraint(["scope_key"], ["scopes.key"], name=op.f("fk_identities_scope_key")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_identities_hash", "identities", ["hash"])
    op.create_table(
        "memories",
        sa.Column("key", KEY, autoincrement=False, nullable=False),
        sa.Column("scope_key", KEY, nullable=False),
        sa.Column("content", sa.Text, nullable=False),
        sa.Column("words", sa.Text, comment="what keyword search reads, where it is not the content"),
        sa.Column("type", sa.Text, nullable=False),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("observed_at", sa.BigInteger),
        sa.Column("base_strength", sa.Double, nullable=False),
        sa.Column("base_at", sa.BigInteger, nullable=False),
        sa.Column("strength", sa.Double, nullable=False),
        sa.Column("strength_at", sa.BigInteger, nullable=False),
        sa.Column("consolidated", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("pinned", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("kept", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("spared", sa.Boolean, nullable=False, server_default=sa.false(), comment="kept by an undo"),
        sa.Column("status", sa.Text, nullable=False, server_default="active"),
        sa.Column("archived_at", sa.BigInteger),
        sa.Column("archived_because", sa.Text),
        sa.Column("superseded_by", KEY),
        sa.Column("temporal_state", sa.Text, nullable=False, server_default="none"),
        sa.Column("temporal_anchor", sa.Text, comment="a date, or an instant in UTC"),
        sa.Column("temporal_end", sa.Text),
        sa.Column("recurrence", sa.Text),
        sa.Column("recurrence_start", sa.Text),
        sa.Column("expires_at", sa.BigInteger),
        sa.Column("valid_until", sa.BigInteger),
        sa.Column("importance", sa.Double),
        sa.Column("topics", sa.JSON(none_as_null=True)),
        sa.Column("trust", sa.Double),
        sa.Column("metadata", sa.JSON(none_as_null=True)),
        sa.Column("fades_age", sa.Double, comment="null until a night has seen the row"),
        sa.Column("shifts_at", sa.BigInteger, comment="when the temporal state is next wrong"),
        sa.Column("protected_until", sa.BigInteger, comment="7 nights after the end of the anchor"),
        sa.Column("revision", sa.Integer, nullable=False, server_default="0"),
        sa.CheckConstraint("strength >= 0 AND strength <= 1", name=op.f("ck_memories_strength")),
        sa.CheckConstraint("base_strength >= 0 AND base_strength <= 1", name=op.f("ck_memories_base_strength")),
        sa.CheckConstraint("status IN ('active', 'superseded', 'archived')", name=op.f("ck_memories_status")),
        sa.CheckConstraint(
            "temporal_state IN ('none', 'future', 'present', 'past')", name=op.f("ck_memories_temporal_state")
        ),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_memories")),
        sa.ForeignKeyConstraint(["key"], ["identities.key"], name=op.f("fk_memories_key")),
        sa.ForeignKeyConstraint(["scope_key"], ["scopes.key"], name=op.f("fk_memories_scope_key")),
        sa.ForeignKeyConstraint(["superseded_by"], ["identities.key"], name=op.f("fk_memories_superseded_by")),
    )
    op.create_index(
        "ix_memories_expiring",
        "memories",
        ["scope_key", "expires_at"],
        **where("status = 'active' AND expires_at IS NOT NULL"),
    )
    op.create_index(
        "ix_memories_fading",
        "memories",
        ["scope_key", "consolidated", "fades_age"],
        **where("status = 'active' AND NOT pinned AND NOT kept AND NOT spared"),
    )
    op.create_index(
        "ix_memories_reviving",
        "memories",
        ["scope_key", "consolidated", "fades_age"],
        **where("status = 'archived' AND archived_because = 'faded'"),
    )
    op.create_index("ix_memories_shifting", "memories", ["scope_key", "shifts_at"], **where("shifts_at IS NOT NULL"))
    op.create_index("ix_memories_status", "memories", ["scope_key", "status"])
    op.create_index("ix_memories_unscheduled", "memories", ["scope_key", "base_at"], **where("fades_age IS NULL"))
    op.create_table(
        "associations",
        sa.Column("memory_a", KEY, autoincrement=False, nullable=False),
        sa.Column("memory_b", KEY, autoincrement=False, nullable=False),
        sa.Column("scope_key", KEY, nullable=False),
        sa.Column("weight", sa.Double, nullable=False),
        sa.Column("weight_at", sa.BigInteger, nullable=False),
        sa.Column("base_weight", sa.Double, nullable=False, server_default="0", comment="as taken in"),
        sa.Column("base_at", sa.BigInteger, comment="null: grown here from nothing"),
        sa.Column("inferred", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("via", KEY, comment="the middle memory of an inferred link"),
        sa.Column("fades_age", sa.Double, comment="null until a night has seen the row"),
        sa.Column("revision", sa.Integer, nullable=False, server_default="0"),
        sa.CheckConstraint("memory_a < memory_b", name=op.f("ck_associations_ordered")),
        sa.CheckConstraint("weight >= 0 AND weight <= 1", name=op.f("ck_associations_weight")),
        sa.CheckConstraint("inferred = (via IS NOT NULL)", name=op.f("ck_associations_via")),
        sa.PrimaryKeyConstraint("memory_a", "memory_b", name=op.f("pk_associations")),
        sa.ForeignKeyConstraint(["memory_a"], ["memories.key"], name=op.f("fk_associations_memory_a")),
        sa.ForeignKeyConstraint(["memory_b"], ["memories.key"], name=op.f("fk_associations_memory_b")),
        sa.ForeignKeyConstraint(["scope_key"], ["scopes.key"], name=op.f("fk_associations_scope_key")),
        sa.ForeignKeyConstraint(["via"], ["memories.key"], name=op.f("fk_associations_via")),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_associations_fading", "associations", ["scope_key", "fades_age"])
    op.create_index("ix_associations_inferred_a", "associations", ["memory_a"], **where("inferred"))
    op.create_index("ix_associations_inferred_b", "associations", ["memory_b"], **where("inferred"))
    op.create_index("ix_associations_leg", "associations", ["memory_b", "fades_age"], **where("NOT inferred"))
    op.create_index("ix_associations_via", "associations", ["via"], **where("inferred"))
    op.create_table(
        "embeddings",
        sa.Column("memory_key", KEY, autoincrement=False, nullable=False),
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("dimension", sa.Integer, nullable=False),
        sa.Column("vector", sa.LargeBinary, nullable=False, comment="float32, little-endian"),
        sa.PrimaryKeyConstraint("memory_key", "model", name=op.f("pk_embeddings")),
        sa.ForeignKeyConstraint(["memory_key"], ["memories.key"], name=op.f("fk_embeddings_memory_key")),
    )
    op.create_table(
        "turns",
        sa.Column("key", KEY, autoincrement=True, nullable=False),
        sa.Column("scope_key", KEY, nullable=False),
        sa.Column("turn_id", sa.Text, nullable=False),
        sa.Column("session_id", sa.Text, nullable=False, comment="empty: not known"),
        sa.UniqueConstraint("scope_key", "turn_id", "session_id", name=op.f("uq_turns_scope_key_turn_id_session_id")),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_turns")),
        sa.ForeignKeyConstraint(["scope_key"], ["scopes.key"], name=op.f("fk_turns_scope_key")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "exposures",
        sa.Column("key", KEY, autoincrement=True, nullable=False),
        sa.Column("scope_key", KEY, nullable=False),
        sa.Column("turn_key", KEY, nullable=False),
        sa.Column("memory_key", KEY, nullable=False),
        sa.Column("mode", sa.Text, nullable=False),
        sa.Column("score", sa.Double),
        sa.Column("retrieval_mode", sa.Text),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("linked", sa.Boolean, nullable=False, server_default=sa.false(), comment="counted in the weights"),
        sa.Column(
            "in_base", sa.Boolean, nullable=False, server_default=sa.false(), comment="linked before it came here"
        ),
        sa.Column("waiting", sa.Boolean, nullable=False, server_default=sa.true(), comment="no night has seen it"),
        sa.UniqueConstraint("turn_key", "memory_key", "mode", name=op.f("uq_exposures_turn_key_memory_key_mode")),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_exposures")),
        sa.ForeignKeyConstraint(["scope_key"], ["scopes.key"], name=op.f("fk_exposures_scope_key")),
        sa.ForeignKeyConstraint(["turn_key"], ["turns.key"], name=op.f("fk_exposures_turn_key")),
        sa.ForeignKeyConstraint(["memory_key"], ["identities.key"], name=op.f("fk_exposures_memory_key")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_exposures_memory_key", "exposures", ["memory_key", "at"])
    op.create_index("ix_exposures_waiting", "exposures", ["scope_key", "at"], **where("waiting"))
    op.create_table(
        "attributions",
        sa.Column("key", KEY, autoincrement=True, nullable=False),
        sa.Column("scope_key", KEY, nullable=False),
        sa.Column("turn_key", KEY, nullable=False),
        sa.Column("message_id", sa.Text, nullable=False),
        sa.Column("memory_key", KEY, nullable=False),
        sa.Column("evidence", sa.Text, nullable=False),
        sa.Column("confidence", sa.Double, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("applied", sa.Boolean, nullable=False, server_default=sa.false(), comment="counted in a strength"),
        sa.Column("target_key", KEY, comment="whose replay it is in; applied without: in the base"),
        sa.Column("mode", sa.Double, comment="1 or 0.5, once used"),
        sa.Column("waiting", sa.Boolean, nullable=False, server_default=sa.true(), comment="no night has seen it"),
        sa.CheckConstraint("confidence >= -1 AND confidence <= 1", name=op.f("ck_attributions_confidence")),
        sa.UniqueConstraint(
            "message_id",
            "memory_key",
            "at",
            "evidence",
            "turn_key",
            "confidence",
            name=op.f("uq_attributions_message_id_memory_key_at_evidence_turn_key_confidence"),
        ),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_attributions")),
        sa.ForeignKeyConstraint(["scope_key"], ["scopes.key"], name=op.f("fk_attributions_scope_key")),
        sa.ForeignKeyConstraint(["turn_key"], ["turns.key"], name=op.f("fk_attributions_turn_key")),
        sa.ForeignKeyConstraint(["memory_key"], ["identities.key"], name=op.f("fk_attributions_memory_key")),
        sa.ForeignKeyConstraint(["target_key"], ["identities.key"], name=op.f("fk_attributions_target_key")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_attributions_memory_key", "attributions", ["memory_key", "at"])
    op.create_index("ix_attributions_target_key", "attributions", ["target_key", "at"])
    op.create_index("ix_attributions_turn_key", "attributions", ["turn_key"])
    op.create_index("ix_attributions_waiting", "attributions", ["scope_key", "at"], **where("waiting"))
    op.create_table(
        "aliases",
        sa.Column("old_key", KEY, autoincrement=False, nullable=False),
        sa.Column("scope_key", KEY, nullable=False),
        sa.Column("new_key", KEY, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("old_key", name=op.f("pk_aliases")),
        sa.ForeignKeyConstraint(["old_key"], ["identities.key"], name=op.f("fk_aliases_old_key")),
        sa.ForeignKeyConstraint(["scope_key"], ["scopes.key"], name=op.f("fk_aliases_scope_key")),
        sa.ForeignKeyConstraint(["new_key"], ["identities.key"], name=op.f("fk_aliases_new_key")),
    )
    op.create_index("ix_aliases_new_key", "aliases", ["new_key"])
    op.create_table(
        "merge_sources",
        sa.Column("memory_key", KEY, autoincrement=False, nullable=False),
        sa.Column("source_key", KEY, autoincrement=False, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("memory_key", "source_key", name=op.f("pk_merge_sources")),
        sa.ForeignKeyConstraint(["memory_key"], ["identities.key"], name=op.f("fk_merge_sources_memory_key")),
        sa.ForeignKeyConstraint(["source_key"], ["identities.key"], name=op.f("fk_merge_sources_source_key")),
    )
    op.create_index("ix_merge_sources_source_key", "merge_sources", ["source_key"])
    op.create_table(
        "verdicts",
        sa.Column("key", KEY, autoincrement=True, nullable=False),
        sa.Column("scope_key", KEY, nullable=False),
        sa.Column("members_hash", sa.Text, nullable=False, comment="SHA-256 of the sorted members"),
        sa.Column("members", sa.JSON, nullable=False, comment="content hashes, sorted"),
        sa.Column("verdict", sa.Text, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.UniqueConstraint("scope_key", "members_hash", name=op.f("uq_verdicts_scope_key_members_hash")),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_verdicts")),
        sa.ForeignKeyConstraint(["scope_key"], ["scopes.key"], name=op.f("fk_verdicts_scope_key")),
    )
    op.create_table(
        "runs",
        sa.Column("key", KEY, autoincrement=True, nullable=False),
        sa.Column("run_id", sa.Text, nullable=False),
        sa.Column("as_of", sa.BigInteger, nullable=False),
        sa.Column("started_at", sa.BigInteger, nullable=False),
        sa.Column("finished_at", sa.BigInteger, comment="null: under way, or killed"),
        sa.Column("exit_code", sa.Integer),
        sa.Column("report", sa.JSON(none_as_null=True)),
        sa.Column("undone_at", sa.BigInteger),
        sa.UniqueConstraint("run_id", name=op.f("uq_runs_run_id")),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_runs")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_runs_started_at", "runs", ["started_at"])
    op.create_table(
        "decisions",
        sa.Column("run_key", KEY, autoincrement=False, nullable=False),
        sa.Column("sequence", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("scope_key", KEY, nullable=False),
        sa.Column("step", sa.Text, nullable=False),
        sa.Column("verb", sa.Text, nullable=False),
        sa.Column("table_name", sa.Text, nullable=False, comment="empty: events seen without effect"),
        sa.Column("row_a", KEY, comment="the row's key; the lower end of an association"),
        sa.Column("row_b", KEY, comment="the upper end of an association"),
        sa.Column("revision", sa.Integer, comment="before; null: there was no row"),
        sa.Column("left_revision", sa.Integer, comment="after newer runs were undone; null: none was"),
        sa.Column("before", sa.Text, comment="JSON of the columns changed; null: there was no row"),
        sa.Column("after", sa.Text, comment="JSON of the columns changed; null: the row was removed"),
        sa.Column("because", sa.Text, nullable=False),
        sa.Column("events", sa.Text, comment="JSON of the events consumed"),
        sa.PrimaryKeyConstraint("run_key", "sequence", name=op.f("pk_decisions")),
        sa.ForeignKeyConstraint(["run_key"], ["runs.key"], name=op.f("fk_decisions_run_key")),
        sa.ForeignKeyConstraint(["scope_key"], ["scopes.key"], name=op.f("fk_decisions_scope_key")),
    )
    op.create_index("ix_decisions_row_a", "decisions", ["row_a", "table_name"])
    op.create_table(
        "watermarks",
        sa.Column("scope_key", KEY, autoincrement=False, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("value", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("scope_key", "name", name=op.f("pk_watermarks")),
        sa.ForeignKeyConstraint(["scope_key"], ["scopes.key"], name=op.f("fk_watermarks_scope_key")),
    )
    op.create_table(
        "locks",
        sa.Column("scope_key", KEY, autoincrement=False, nullable=False),
        sa.Column("holder", sa.Text, nullable=False, comment="host, process and its start: a dead one holds nothing"),
        sa.Column("taken_at", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("scope_key", name=op.f("pk_locks")),
        sa.ForeignKeyConstraint(["scope_key"], ["scopes.key"], name=op.f("fk_locks_scope_key")),
    )
    op.create_table(
        "kept_replies",
        sa.Column("request_hash", sa.Text, nullable=False),
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("reply", sa.Text, nullable=False),
        sa.Column("input_tokens", sa.Integer, nullable=False),
        sa.Column("output_tokens", sa.Integer, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("request_hash", name=op.f("pk_kept_replies")),
    )
    op.create_table(
        "kept_reply_sources",
        sa.Column("request_hash", sa.Text, nullable=False),
        sa.Column("memory_key", KEY, autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint("request_hash", "memory_key", name=op.f("pk_kept_reply_sources")),
        sa.ForeignKeyConstraint(
            ["request_hash"], ["kept_replies.request_hash"], name=op.f("fk_kept_reply_sources_request_hash")
        ),
        sa.ForeignKeyConstraint(["memory_key"], ["identities.key"], name=op.f("fk_kept_reply_sources_memory_key")),
    )
    op.create_index("ix_kept_reply_sources_memory_key", "kept_reply_sources", ["memory_key"])
    op.create_table(
        "batches",
        sa.Column("key", KEY, autoincrement=True, nullable=False),
        sa.Column("provider", sa.Text, nullable=False),
        sa.Column("batch_id", sa.Text, nullable=False),
        sa.Column("run_key", KEY, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("submitted_at", sa.BigInteger, nullable=False),
        sa.Column("requests", sa.JSON, nullable=False),
        sa.UniqueConstraint("provider", "batch_id", name=op.f("uq_batches_provider_batch_id")),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_batches")),
        sa.ForeignKeyConstraint(["run_key"], ["runs.key"], name=op.f("fk_batches_run_key")),
    )
    op.create_table(
        "outbox",
        sa.Column("key", KEY, autoincrement=True, nullable=False),
        sa.Column("idempotency_key", sa.Text, nullable=False),
        sa.Column("run_key", KEY),
        sa.Column("channel", sa.Text, nullable=False),
        sa.Column("payload", sa.JSON, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False, server_default="0"),
        sa.Column("next_at", sa.BigInteger),
        sa.Column("delivered_at", sa.BigInteger),
        sa.UniqueConstraint("idempotency_key", name=op.f("uq_outbox_idempotency_key")),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_outbox")),
        sa.ForeignKeyConstraint(["run_key"], ["runs.key"], name=op.f("fk_outbox_run_key")),
    )
    op.create_index("ix_outbox_next_at", "outbox", ["next_at"])
    op.create_table(
        "tombstones",
        sa.Column("scope_key", KEY, autoincrement=False, nullable=False),
        sa.Column("hash", sa.Text, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("scope_key", "hash", name=op.f("pk_tombstones")),
        sa.ForeignKeyConstraint(["scope_key"], ["scopes.key"], name=op.f("fk_tombstones_scope_key")),
    )
    if op.get_context().dialect.name == "sqlite":
        keyword_search_of_sqlite()
    else:
        op.execute(
            "CREATE INDEX ix_memories_words ON memories USING gin (to_tsvector('simple', coalesce(words, content)))"
        )


def keyword_search_of_sqlite() -> None:
    op.execute("""CREATE VIRTUAL TABLE memory_words USING fts5(
    words, content = '', tokenize = "unicode61 remove_diacritics 0 categories 'L* N* M* Co'"
)""")
    op.execute(
        """CREATE TRIGGER memory_words_insert AFTER INSERT ON memories BEGIN
    INSERT INTO memory_words (rowid, words) VALUES (new."key", coalesce(new.words, new.content));
END"""
    )
    op.execute(
        """CREATE TRIGGER memory_words_delete AFTER DELETE ON memories BEGIN
    INSERT INTO memory_words (memory_words, rowid, words)
    VALUES ('delete', old."key", coalesce(old.words, old.content));
END"""
    )
    op.execute(
        """CREATE TRIGGER memory_words_update AFTER UPDATE OF "key", words, content ON memories BEGIN
    INSERT INTO memory_words (memory_words, rowid, words)
    VALUES ('delete', old."key", coalesce(old.words, old.content));
    INSERT INTO memory_words (rowid, words) VALUES (new."key", coalesce(new.words, new.content));
END"""
    )


def downgrade() -> None:
    raise NotImplementedError("there is no way back to an older schema: use the copy made before the migration")
