"""
Replies of language models, kept by the hash of their request: what was paid once is not asked again.

Bad ones are kept too; another try is another request. Each knows the memories that it was about, so that forgetting
one of them forgets it.
"""

import json
from collections.abc import Collection

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from consolidator.llm.port import Reply
from consolidator.store.engine import Store, keyed
from consolidator.store.tables import identities, kept_replies, kept_reply_sources


def kept(store: Store, request_hash: str) -> Reply | None:
    """The reply to a request that was made before, in a short read of its own."""
    columns = (kept_replies.c.reply, kept_replies.c.input_tokens, kept_replies.c.output_tokens, kept_replies.c.model)
    with store.read() as conn:
        row = conn.execute(sa.select(*columns).where(kept_replies.c.request_hash == request_hash)).one_or_none()
    if row is None:
        return None
    said = json.loads(row.reply)
    return Reply(said["text"], row.input_tokens, row.output_tokens, row.model, said["stop"])


def any_kept(conn: sa.Connection) -> bool:
    """Whether a model has ever answered."""
    return bool(conn.scalar(sa.select(sa.exists().select_from(kept_replies))))


def keep(store: Store, request_hash: str, reply: Reply, memory_keys: Collection[int], *, at: int) -> bool:
    """
    Keep a reply, in a short transaction of its own; the first one to a request stays.

    False where one of the memories was forgotten meanwhile: then nothing is kept.
    """
    # As ASCII, for a reply may hold what a database cannot: NUL, or half of a character.
    said = json.dumps({"text": reply.text, "stop": reply.stop})
    insert = postgresql.insert if store.dialect == "postgresql" else sqlite.insert
    with store.write() as conn:
        named = keyed(conn, key=sorted({*memory_keys}))
        query = sa.select(identities.c.key).join(named, identities.c.key == named.c.key).with_for_update(read=True)
        if {*conn.scalars(query)} != {*memory_keys}:
            return False
        conn.execute(
            insert(kept_replies)
            .values(
                request_hash=request_hash,
                model=reply.model,
                reply=said,
                input_tokens=reply.input_tokens,
                output_tokens=reply.output_tokens,
                at=at,
            )
            .on_conflict_do_nothing()
        )
        sources = [{"request_hash": request_hash, "memory_key": key} for key in sorted({*memory_keys})]
        conn.execute(insert(kept_reply_sources).on_conflict_do_nothing(), sources)
    return True
