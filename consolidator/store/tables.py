"""
Every table of the store, declared once; the migrations build the same schema (a test compares them).

Times are whole microseconds since 1970 UTC. Ages are half-lives on a clock of the scope. Rows are joined by
integer keys, never used twice; `identities` maps them to content hashes, also for memories known only by name.
A condition that a partial index and its query must share stands here once.
"""

from typing import Any

import sqlalchemy as sa

SCHEMA_VERSION = "0007"

metadata = sa.MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    }
)

Key = sa.BigInteger().with_variant(sa.Integer, "sqlite")
Instant = sa.BigInteger
Age = sa.Double

FADABLE = sa.text("status = 'active' AND NOT pinned AND NOT kept AND NOT spared")
REVIVABLE = sa.text("status = 'archived' AND archived_because = 'faded'")
EXPIRING = sa.text("status = 'active' AND expires_at IS NOT NULL")
SHIFTING = sa.text("shifts_at IS NOT NULL")
UNSCHEDULED = sa.text("fades_age IS NULL")
WAITING = sa.text("waiting")
COUNTED = sa.text("linked")
DIRECT = sa.text("NOT inferred")
INFERRED = sa.text("inferred")
TO_SEND = sa.text("next_at IS NOT NULL")
FRESH = sa.text("fresh")
ANEW = sa.text("anew")
NO_LAW = "off"
OPEN = sa.text("verdict IN ('waiting', 'rejected')")
UNDER_WAY = sa.text("ended_at IS NULL")
UNWANTED = sa.text("unwanted")


def _key() -> sa.Column[int]:
    return sa.Column("key", Key, primary_key=True, autoincrement=True)


def _scope() -> sa.Column[int]:
    return sa.Column("scope_key", Key, sa.ForeignKey("scopes.key"), nullable=False)


def _flag(name: str) -> sa.Column[bool]:
    return sa.Column(name, sa.Boolean, nullable=False, server_default=sa.false())


def _where(condition: sa.TextClause) -> dict[str, Any]:
    return {"sqlite_where": condition, "postgresql_where": condition}


meta = sa.Table(
    "meta",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
    comment="store_id: the name by which plans know this store",
)

scopes = sa.Table(
    "scopes",
    metadata,
    _key(),
    sa.Column("scope", sa.Text, nullable=False, comment="canonical JSON: sorted keys, no spaces"),
    sa.Column("time_zone", sa.Text, nullable=False, server_default="UTC"),
    sa.Column("epoch_at", Instant, comment="where the clocks read 0"),
    sa.Column("first_activity_at", Instant),
    sa.Column("last_activity_at", Instant, comment="a pause begins 7 nights later"),
    sa.Column("undos", sa.Integer, nullable=False, server_default="0", comment="a plan made before one is stale"),
    sa.Column("revision", sa.Integer, nullable=False, server_default="0"),
    sa.UniqueConstraint("scope"),
    sqlite_autoincrement=True,
)

clock_segments = sa.Table(
    "clock_segments",
    metadata,
    sa.Column("scope_key", Key, sa.ForeignKey("scopes.key"), primary_key=True, autoincrement=False),
    sa.Column("from_at", Instant, primary_key=True, autoincrement=False),
    sa.Column("working", sa.Double, nullable=False, comment="half-lives a night while not paused"),
    sa.Column("consolidated", sa.Double, nullable=False),
    sa.Column("association", sa.Double, nullable=False),
    _flag("paused"),
    sa.Column("law", sa.Text, nullable=False, server_default=NO_LAW, comment="of half-lives by importance"),
)

identities = sa.Table(
    "identities",
    metadata,
    _key(),
    _scope(),
    sa.Column("hash", sa.Text, nullable=False, comment="SHA-256 hex of the content"),
    sa.UniqueConstraint("scope_key", "hash"),
    sa.Index("ix_identities_hash", "hash"),
    sqlite_autoincrement=True,
)

memories = sa.Table(
    "memories",
    metadata,
    sa.Column("key", Key, sa.ForeignKey("identities.key"), primary_key=True, autoincrement=False),
    _scope(),
    sa.Column("content", sa.Text, nullable=False),
    sa.Column("words", sa.Text, comment="what keyword search reads, where it is not the content"),
    sa.Column("type", sa.Text, nullable=False),
    sa.Column("source", sa.Text, nullable=False),
    sa.Column("created_at", Instant, nullable=False),
    sa.Column("observed_at", Instant),
    sa.Column("base_strength", sa.Double, nullable=False),
    sa.Column("base_at", Instant, nullable=False),
    sa.Column("strength", sa.Double, nullable=False),
    sa.Column("strength_at", Instant, nullable=False),
    _flag("consolidated"),
    _flag("pinned"),
    _flag("kept"),
    sa.Column("spared", sa.Boolean, nullable=False, server_default=sa.false(), comment="kept by an undo"),
    sa.Column("status", sa.Text, nullable=False, server_default="active"),
    sa.Column("archived_at", Instant),
    sa.Column("archived_because", sa.Text),
    sa.Column("superseded_by", Key, sa.ForeignKey("identities.key")),
    sa.Column("temporal_state", sa.Text, nullable=False, server_default="none"),
    sa.Column("temporal_anchor", sa.Text, comment="a date, or an instant in UTC"),
    sa.Column("temporal_end", sa.Text),
    sa.Column("recurrence", sa.Text),
    sa.Column("recurrence_start", sa.Text),
    sa.Column("expires_at", Instant),
    sa.Column("valid_until", Instant),
    sa.Column("importance", sa.Double),
    sa.Column("topics", sa.JSON(none_as_null=True)),
    sa.Column("trust", sa.Double),
    sa.Column("metadata", sa.JSON(none_as_null=True)),
    sa.Column("fades_age", Age, comment="null until a night has seen the row"),
    sa.Column("shifts_at", Instant, comment="when the temporal state is next wrong"),
    sa.Column("protected_until", Instant, comment="7 nights after the end of the anchor"),
    sa.Column("revision", sa.Integer, nullable=False, server_default="0"),
    sa.Column("fresh", sa.Boolean, nullable=False, server_default=sa.true(), comment="no merge pass has seen it"),
    sa.Column(
        "lives",
        sa.JSON(none_as_null=True),
        comment="bases before it took others in: [strength, at, consolidated], oldest first",
    ),
    sa.Column(
        "anew",
        sa.Boolean,
        nullable=False,
        server_default=sa.false(),
        comment="how fast it ages has changed: the head is to be replayed from the base",
    ),
    sa.CheckConstraint("strength >= 0 AND strength <= 1", name="strength"),
    sa.CheckConstraint("base_strength >= 0 AND base_strength <= 1", name="base_strength"),
    sa.CheckConstraint("status IN ('active', 'superseded', 'archived')", name="status"),
    sa.CheckConstraint("temporal_state IN ('none', 'future', 'present', 'past')", name="temporal_state"),
    sa.Index("ix_memories_fading", "scope_key", "consolidated", "fades_age", **_where(FADABLE)),
    sa.Index("ix_memories_reviving", "scope_key", "consolidated", "fades_age", **_where(REVIVABLE)),
    sa.Index("ix_memories_expiring", "scope_key", "expires_at", **_where(EXPIRING)),
    sa.Index("ix_memories_shifting", "scope_key", "shifts_at", **_where(SHIFTING)),
    sa.Index("ix_memories_unscheduled", "scope_key", "base_at", **_where(UNSCHEDULED)),
    sa.Index("ix_memories_status", "scope_key", "status"),
    sa.Index("ix_memories_fresh", "scope_key", "status", **_where(FRESH)),
    sa.Index("ix_memories_anew", "scope_key", **_where(ANEW)),
)

associations = sa.Table(
    "associations",
    metadata,
    sa.Column("memory_a", Key, sa.ForeignKey("memories.key"), primary_key=True, autoincrement=False),
    sa.Column("memory_b", Key, sa.ForeignKey("memories.key"), primary_key=True, autoincrement=False),
    _scope(),
    sa.Column("weight", sa.Double, nullable=False),
    sa.Column("weight_at", Instant, nullable=False),
    sa.Column("base_weight", sa.Double, nullable=False, server_default="0", comment="as taken in"),
    sa.Column("base_at", Instant, comment="null: grown here from nothing"),
    _flag("inferred"),
    sa.Column("via", Key, sa.ForeignKey("memories.key"), comment="the middle memory of an inferred link"),
    sa.Column("fades_age", Age, comment="null until a night has seen the row"),
    sa.Column("revision", sa.Integer, nullable=False, server_default="0"),
    sa.Column("base_mark", sa.BigInteger, comment="the run whose merge set the base: what was linked by then is in it"),
    sa.CheckConstraint("memory_a < memory_b", name="ordered"),
    sa.CheckConstraint("weight >= 0 AND weight <= 1", name="weight"),
    sa.CheckConstraint("inferred = (via IS NOT NULL)", name="via"),
    sa.Index("ix_associations_leg", "memory_b", "fades_age", **_where(DIRECT)),
    sa.Index("ix_associations_inferred_a", "memory_a", **_where(INFERRED)),
    sa.Index("ix_associations_inferred_b", "memory_b", **_where(INFERRED)),
    sa.Index("ix_associations_via", "via", **_where(INFERRED)),
    sa.Index("ix_associations_fading", "scope_key", "fades_age"),
    sqlite_with_rowid=False,
)

pasts = sa.Table(
    "pasts",
    metadata,
    sa.Column("memory_a", Key, sa.ForeignKey("memories.key"), primary_key=True, autoincrement=False),
    sa.Column("memory_b", Key, sa.ForeignKey("memories.key"), primary_key=True, autoincrement=False),
    _scope(),
    sa.Column("weight", sa.Double, nullable=False, comment="of the link after all that was purged of its turns"),
    sa.Column("at", Instant, nullable=False),
    sa.Column("fades_age", Age, nullable=False),
    sa.CheckConstraint("memory_a < memory_b", name="ordered"),
    sa.Index("ix_pasts_memory_b", "memory_b"),
    sa.Index("ix_pasts_fading", "scope_key", "fades_age"),
    sqlite_with_rowid=False,
)

embeddings = sa.Table(
    "embeddings",
    metadata,
    sa.Column("memory_key", Key, sa.ForeignKey("memories.key"), primary_key=True, autoincrement=False),
    sa.Column("model", sa.Text, primary_key=True),
    sa.Column("dimension", sa.Integer, nullable=False),
    sa.Column("vector", sa.LargeBinary, nullable=False, comment="float32, little-endian"),
)

turns = sa.Table(
    "turns",
    metadata,
    _key(),
    _scope(),
    sa.Column("turn_id", sa.Text, nullable=False),
    sa.Column("session_id", sa.Text, nullable=False, comment="empty: not known"),
    sa.Column("shown_until", Instant, comment="exposures of until then were counted, and purged"),
    sa.Column("rated_until", Instant, comment="attributions of until then are in the bases, and were purged"),
    sa.Column(
        "found",
        sa.JSON(none_as_null=True),
        comment="of purged exposures, where one was found by words alone: memories by retrieval mode",
    ),
    sa.UniqueConstraint("scope_key", "turn_id", "session_id"),
    sqlite_autoincrement=True,
)

exposures = sa.Table(
    "exposures",
    metadata,
    _key(),
    _scope(),
    sa.Column("turn_key", Key, sa.ForeignKey("turns.key"), nullable=False),
    sa.Column("memory_key", Key, sa.ForeignKey("identities.key"), nullable=False),
    sa.Column("mode", sa.Text, nullable=False),
    sa.Column("score", sa.Double),
    sa.Column("retrieval_mode", sa.Text),
    sa.Column("at", Instant, nullable=False),
    sa.Column("linked", sa.Boolean, nullable=False, server_default=sa.false(), comment="counted in the weights"),
    sa.Column("in_base", sa.Boolean, nullable=False, server_default=sa.false(), comment="linked before it came here"),
    sa.Column("waiting", sa.Boolean, nullable=False, server_default=sa.true(), comment="no night has seen it"),
    sa.Column("linked_in", sa.BigInteger, comment="the run that counted it here"),
    sa.UniqueConstraint("turn_key", "memory_key", "mode"),
    sa.Index("ix_exposures_waiting", "scope_key", "at", **_where(WAITING)),
    sa.Index("ix_exposures_counted", "scope_key", "at", **_where(COUNTED)),
    sa.Index("ix_exposures_memory_key", "memory_key", "at"),
    sqlite_autoincrement=True,
)

attributions = sa.Table(
    "attributions",
    metadata,
    _key(),
    _scope(),
    sa.Column("turn_key", Key, sa.ForeignKey("turns.key"), nullable=False),
    sa.Column("message_id", sa.Text, nullable=False),
    sa.Column("memory_key", Key, sa.ForeignKey("identities.key"), nullable=False),
    sa.Column("evidence", sa.Text, nullable=False),
    sa.Column("confidence", sa.Double, nullable=False),
    sa.Column("at", Instant, nullable=False),
    sa.Column("applied", sa.Boolean, nullable=False, server_default=sa.false(), comment="counted in a strength"),
    sa.Column(
        "target_key",
        Key,
        sa.ForeignKey("identities.key"),
        comment="whose replay it is in; applied without: in the base",
    ),
    sa.Column("mode", sa.Double, comment="1 or 0.5, once used"),
    sa.Column("waiting", sa.Boolean, nullable=False, server_default=sa.true(), comment="no night has seen it"),
    sa.Column("based_at", Instant, comment="the base it was counted on, where that has moved since and holds it"),
    sa.CheckConstraint("confidence >= -1 AND confidence <= 1", name="confidence"),
    sa.UniqueConstraint("message_id", "memory_key", "at", "evidence", "turn_key", "confidence"),
    sa.Index("ix_attributions_memory_key", "memory_key", "at"),
    sa.Index("ix_attributions_target_key", "target_key", "at"),
    sa.Index("ix_attributions_waiting", "scope_key", "at", **_where(WAITING)),
    sa.Index("ix_attributions_turn_key", "turn_key"),
    sqlite_autoincrement=True,
)

aliases = sa.Table(
    "aliases",
    metadata,
    sa.Column("old_key", Key, sa.ForeignKey("identities.key"), primary_key=True, autoincrement=False),
    _scope(),
    sa.Column("new_key", Key, sa.ForeignKey("identities.key"), nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("at", Instant, nullable=False),
    sa.Index("ix_aliases_new_key", "new_key"),
)

merge_sources = sa.Table(
    "merge_sources",
    metadata,
    sa.Column("memory_key", Key, sa.ForeignKey("identities.key"), primary_key=True, autoincrement=False),
    sa.Column("source_key", Key, sa.ForeignKey("identities.key"), primary_key=True, autoincrement=False),
    sa.Column("at", Instant, nullable=False),
    sa.Index("ix_merge_sources_source_key", "source_key"),
)

verdicts = sa.Table(
    "verdicts",
    metadata,
    _key(),
    _scope(),
    sa.Column("members_hash", sa.Text, nullable=False, comment="SHA-256 of the sorted members"),
    sa.Column("members", sa.JSON, nullable=False, comment="content hashes, sorted"),
    sa.Column("verdict", sa.Text, nullable=False),
    sa.Column("at", Instant, nullable=False),
    sa.Column("tries", sa.Integer, nullable=False, server_default="0", comment="how often a model was asked in vain"),
    sa.Column("because", sa.Text),
    sa.UniqueConstraint("scope_key", "members_hash"),
    sa.Index("ix_verdicts_open", "scope_key", **_where(OPEN)),
)

runs = sa.Table(
    "runs",
    metadata,
    _key(),
    sa.Column("run_id", sa.Text, nullable=False),
    sa.Column("as_of", Instant, nullable=False),
    sa.Column("started_at", Instant, nullable=False),
    sa.Column("finished_at", Instant, comment="null: under way, or killed"),
    sa.Column("exit_code", sa.Integer),
    sa.Column("report", sa.JSON(none_as_null=True)),
    sa.Column("undone_at", Instant),
    sa.Column("journal_purged_at", Instant, comment="since when it cannot be undone"),
    sa.UniqueConstraint("run_id"),
    sa.Index("ix_runs_started_at", "started_at"),
    sqlite_autoincrement=True,
)

decisions = sa.Table(
    "decisions",
    metadata,
    sa.Column("run_key", Key, sa.ForeignKey("runs.key"), primary_key=True, autoincrement=False),
    sa.Column("sequence", sa.Integer, primary_key=True, autoincrement=False),
    _scope(),
    sa.Column("step", sa.Text, nullable=False),
    sa.Column("verb", sa.Text, nullable=False),
    sa.Column("table_name", sa.Text, nullable=False, comment="empty: events seen without effect"),
    sa.Column("row_a", Key, comment="the row's key; the lower end of an association"),
    sa.Column("row_b", Key, comment="the upper end of an association"),
    sa.Column("revision", sa.Integer, comment="before; null: there was no row"),
    sa.Column("left_revision", sa.Integer, comment="after newer runs were undone; null: none was"),
    sa.Column("before", sa.Text, comment="JSON of the columns changed; null: there was no row"),
    sa.Column("after", sa.Text, comment="JSON of the columns changed; null: the row was removed"),
    sa.Column("because", sa.Text, nullable=False),
    sa.Column("events", sa.Text, comment="JSON of the events consumed"),
    sa.Index("ix_decisions_row_a", "row_a", "table_name"),
)

watermarks = sa.Table(
    "watermarks",
    metadata,
    sa.Column("scope_key", Key, sa.ForeignKey("scopes.key"), primary_key=True, autoincrement=False),
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("value", sa.BigInteger, nullable=False),
)

locks = sa.Table(
    "locks",
    metadata,
    sa.Column("scope_key", Key, primary_key=True, autoincrement=False, comment="0: the whole store"),
    sa.Column("holder", sa.Text, nullable=False, comment="host, process and its start: a dead one holds nothing"),
    sa.Column("taken_at", Instant, nullable=False),
    sa.Column("expires_at", Instant, nullable=False),
)

kept_replies = sa.Table(
    "kept_replies",
    metadata,
    sa.Column("request_hash", sa.Text, primary_key=True),
    sa.Column("model", sa.Text, nullable=False),
    sa.Column("reply", sa.Text, nullable=False),
    sa.Column("input_tokens", sa.Integer, nullable=False),
    sa.Column("output_tokens", sa.Integer, nullable=False),
    sa.Column("at", Instant, nullable=False),
)

kept_reply_sources = sa.Table(
    "kept_reply_sources",
    metadata,
    sa.Column("request_hash", sa.Text, sa.ForeignKey("kept_replies.request_hash"), primary_key=True),
    sa.Column("memory_key", Key, sa.ForeignKey("identities.key"), primary_key=True, autoincrement=False),
    sa.Index("ix_kept_reply_sources_memory_key", "memory_key"),
)

batches = sa.Table(
    "batches",
    metadata,
    _key(),
    _scope(),
    sa.Column("run_key", Key, sa.ForeignKey("runs.key"), nullable=False),
    sa.Column("provider", sa.Text, nullable=False),
    sa.Column("model", sa.Text, nullable=False),
    sa.Column("token", sa.Text, nullable=False, comment="ours, by which the provider can be asked for the batch"),
    sa.Column("batch_id", sa.Text, comment="the provider's; null: not known to have been handed in"),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("submitted_at", Instant, nullable=False),
    sa.Column("ended_at", Instant, comment="when its answers were taken in; null: under way"),
    sa.Column("requests", sa.JSON, nullable=False, comment="by our name of each: what was asked, of which memories"),
    sa.UniqueConstraint("token"),
    sa.UniqueConstraint("provider", "batch_id"),
    sa.Index("ix_batches_open", "scope_key", **_where(UNDER_WAY)),
)

outbox = sa.Table(
    "outbox",
    metadata,
    _key(),
    sa.Column("idempotency_key", sa.Text, nullable=False, comment="the same for every try"),
    sa.Column("run_key", Key, sa.ForeignKey("runs.key")),
    sa.Column("message", sa.Text, nullable=False, comment="the parts of one have the same"),
    sa.Column("channel", sa.Text, nullable=False),
    sa.Column("part", sa.Integer, nullable=False),
    sa.Column("payload", sa.JSON, nullable=False, comment="without its text once delivered"),
    sa.Column("created_at", Instant, nullable=False),
    sa.Column("attempts", sa.Integer, nullable=False, server_default="0"),
    sa.Column("next_at", Instant, comment="null: delivered or given up"),
    sa.Column("not_before", Instant, comment="until when the channel asks to be left alone"),
    sa.Column("claim", sa.Text, comment="who is sending it"),
    sa.Column("claimed_until", Instant, comment="after it, whoever was sending is taken for dead"),
    sa.Column("delivered_at", Instant),
    sa.Column("reason", sa.Text, comment="why the last try failed"),
    sa.UniqueConstraint("idempotency_key"),
    sa.Index("ix_outbox_waiting", "next_at", **_where(TO_SEND)),
    sa.Index("ix_outbox_message", "message", "channel"),
    sqlite_autoincrement=True,
)

ledger = sa.Table(
    "ledger",
    metadata,
    sa.Column("scope_key", Key, primary_key=True, autoincrement=False, comment="0: the whole store"),
    sa.Column("job", sa.Text, primary_key=True),
    sa.Column("day", sa.Text, primary_key=True, comment="the local date; with several a day, a time of UTC"),
    sa.Column("attempts", sa.Integer, nullable=False, server_default="0", comment="how often it was begun"),
    sa.Column("next_at", Instant, comment="not begun again before; null: done, or given up"),
    sa.Column("done_at", Instant),
    sa.Column("run_key", Key, sa.ForeignKey("runs.key"), comment="the run that did it"),
    sa.Column("reason", sa.Text, comment="why the last attempt failed"),
    sa.Index("ix_ledger_job", "job", "done_at"),
)

tombstones = sa.Table(
    "tombstones",
    metadata,
    sa.Column("scope_key", Key, sa.ForeignKey("scopes.key"), primary_key=True, autoincrement=False),
    sa.Column("hash", sa.Text, primary_key=True),
    sa.Column("at", Instant, nullable=False),
)

sources = sa.Table(
    "sources",
    metadata,
    _key(),
    sa.Column("url", sa.Text, nullable=False, comment="canonical, without anything secret"),
    sa.Column("since", sa.Text, comment="what the last reading said of where it was; the source's own"),
    sa.Column("pulled_at", Instant),
    sa.Column("pushed_at", Instant),
    sa.UniqueConstraint("url"),
    sqlite_autoincrement=True,
)

source_records = sa.Table(
    "source_records",
    metadata,
    sa.Column("source_key", Key, sa.ForeignKey("sources.key"), primary_key=True, autoincrement=False),
    sa.Column("id", sa.Text, primary_key=True, comment="theirs"),
    sa.Column("memory_key", Key, sa.ForeignKey("identities.key"), comment="null: forgotten or purged here"),
    sa.Column("fingerprint", sa.Text, nullable=False, comment="of what it was when last read or written"),
    sa.Column("expected", sa.Text, comment="of what a push under way makes of it; empty: that it is no more"),
    sa.Column("uses", sa.BigInteger, nullable=False, server_default="0", comment="that are counted here"),
    sa.Column("revision", sa.Integer, comment="of the memory when a push last told of it; null: never"),
    sa.Column("gone_at", Instant, comment="since when it is no more over there, by another hand"),
    sa.Column("removed_at", Instant, comment="since when it is no more over there, by a push"),
    sa.Column(
        "unwanted", sa.Boolean, nullable=False, server_default=sa.false(), comment="forgotten here: to be removed"
    ),
    sa.Index("ix_source_records_memory_key", "memory_key"),
    sa.Index("ix_source_records_unwanted", "source_key", **_where(UNWANTED)),
)

pushes = sa.Table(
    "pushes",
    metadata,
    _key(),
    sa.Column("push_id", sa.Text, nullable=False),
    sa.Column("source_key", Key, sa.ForeignKey("sources.key"), nullable=False),
    sa.Column("as_of", Instant, nullable=False),
    sa.Column("started_at", Instant, nullable=False),
    sa.Column("finished_at", Instant, comment="null: under way, or killed"),
    sa.Column("version_before", sa.Text, comment="of the store over there, if it keeps versions"),
    sa.Column("version_after", sa.Text),
    sa.Column("undone_at", Instant),
    sa.Column("images_purged_at", Instant, comment="since when it cannot be undone"),
    sa.UniqueConstraint("push_id"),
    sa.Index("ix_pushes_source_key", "source_key"),
    sqlite_autoincrement=True,
)

push_images = sa.Table(
    "push_images",
    metadata,
    sa.Column("push_key", Key, sa.ForeignKey("pushes.key"), primary_key=True, autoincrement=False),
    sa.Column("id", sa.Text, primary_key=True, comment="theirs"),
    sa.Column("memory_key", Key, sa.ForeignKey("identities.key")),
    sa.Column("before", sa.Text, comment="JSON of the record, or of what is changed in it; null: there was none"),
    sa.Column("after", sa.Text, comment="JSON of the record, or of what is changed in it; null: it is removed"),
    sa.Column("done", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Index("ix_push_images_memory_key", "memory_key"),
)
