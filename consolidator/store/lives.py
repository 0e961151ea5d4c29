"""What merged memories were made of, as rows: the lives before, the ratings that these counted, their sources."""

from collections.abc import Iterable

import sqlalchemy as sa

from consolidator.laws.clock import CONSOLIDATED, WORKING
from consolidator.steps.lives import Life
from consolidator.steps.reinforce import Attribution
from consolidator.store.engine import keyed
from consolidator.store.tables import aliases, attributions, memories


def merged_among(conn: sa.Connection, keys: Iterable[int]) -> set[int]:
    """Those of these memories that others were merged into."""
    asked = sorted(set(keys))
    table = keyed(conn, key=asked)
    led = sa.select(aliases.c.new_key).join(table, aliases.c.new_key == table.c.key)
    table = keyed(conn, key=asked)
    lived = sa.select(memories.c.key).join(table, memories.c.key == table.c.key).where(memories.c.lives.is_not(None))
    return set(conn.scalars(led)) | set(conn.scalars(lived))


def lives_of(conn: sa.Connection, keys: Iterable[int]) -> dict[int, list[Life]]:
    """The lives of these memories, oldest first, and of all that they were made of, however many merges away."""
    sources: dict[int, list[tuple[int, int]]] = {}
    known: set[int] = set()
    ask = set(keys)
    while ask:
        known |= ask
        table = keyed(conn, key=sorted(ask))
        led = (
            sa.select(aliases.c.new_key, aliases.c.old_key, aliases.c.at)
            .join(table, aliases.c.new_key == table.c.key)
            .join(memories, memories.c.key == aliases.c.old_key)
            .where(memories.c.superseded_by == aliases.c.new_key)
        )
        found = conn.execute(led).all()
        for heir, source, at in found:
            sources.setdefault(heir, []).append((source, at))
        ask = {source for _, source, _ in found} - known
    ratings = _ratings(conn, known)
    table = keyed(conn, key=sorted(known))
    names = ("key", "base_strength", "base_at", "consolidated", "importance", "type", "lives")
    columns = [memories.c[name] for name in names]
    told: dict[int, list[Life]] = {}
    for row in conn.execute(sa.select(*columns).join(table, memories.c.key == table.c.key)):
        current = (row.base_strength, row.base_at, row.consolidated, row.importance)
        before = [(*life, row.importance)[:4] for life in row.lives or ()]
        bases = [*((*life, life[1]) for life in before), (*current, None)]
        told[row.key] = [
            Life(
                strength,
                at,
                CONSOLIDATED if consolidated else WORKING,
                tuple(ratings.get((row.key, based_at), ())),
                tuple(sorted(source for source, when in sources.get(row.key, ()) if when == at)),
                importance,
                row.type,
            )
            for strength, at, consolidated, importance, based_at in bases
        ]
    return told


def _ratings(conn: sa.Connection, keys: Iterable[int]) -> dict[tuple[int, int | None], list[Attribution]]:
    """The ratings that these memories have counted, by the memory and, where it has moved since, its base then."""
    table = keyed(conn, key=sorted(set(keys)))
    names = ("key", "message_id", "evidence", "confidence", "at", "mode", "target_key", "based_at")
    query = sa.select(*(attributions.c[name] for name in names))
    found: dict[tuple[int, int | None], list[Attribution]] = {}
    for row in conn.execute(query.join(table, attributions.c.target_key == table.c.key)):
        one = Attribution(
            row.key, row.target_key, row.message_id, row.evidence, row.confidence, row.at, row.mode or 1.0, new=False
        )
        found.setdefault((row.target_key, row.based_at), []).append(one)
    return found
