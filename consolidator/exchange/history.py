"""Taking in what happened: aliases, showings and ratings. They may name memories that nobody knows."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from consolidator.exchange.desk import TEXTS, Desk
from consolidator.exchange.purged import not_purged
from consolidator.exchange.records import AliasLine, AttributionLine, ExposureLine, SourceLine
from consolidator.exchange.spool import BATCH, Spool
from consolidator.exchange.tally import Tally
from consolidator.store.aliases import bearers, members, resolve
from consolidator.store.bulk import portions
from consolidator.store.engine import keyed
from consolidator.store.tables import aliases, attributions, exposures, memories, turns, watermarks

ATTRIBUTION_KEY = ("message_id", "memory_key", "at", "evidence", "turn_key", "confidence")


def take_source(desk: Desk, spool: Spool, tally: Tally) -> None:
    """Note up to when the nights of another system count: for good, the first time."""
    for batch in spool.batches(SourceLine):
        for line in batch:
            tally.notes += line.notes
            key = desk.scope_key(str(line.scope))
            query = sa.select(watermarks.c.value).where(watermarks.c.scope_key == key, watermarks.c.name == line.name)
            tally.since = desk.conn.scalar(query)
            tally.remade = tally.since is not None and (line.true_at or 0) > tally.since
            desk.add(
                watermarks,
                ("scope_key", "name"),
                [{"scope_key": key, "name": line.name, "value": line.true_at or 0}],
            )


def take_aliases(desk: Desk, spool: Spool, tally: Tally) -> None:
    """
    Aliases. One that closes a circle is bad, and so is a second one of the same id, unless it ends where that ends:
    what leads somewhere by way of others may be told as leading there at once.
    """
    leads: dict[int, int] = {}
    ends: dict[int, int] = {}
    for scope_key, lines in tally.batches(desk, AliasLine, "old_id", "new_id"):
        keys, _ = desk.keys(scope_key, (each for line in lines for each in (line.old_id, line.new_id)))
        names = {key: name for name, key in keys.items()}
        leads |= _following(desk, (keys[line.old_id] for line in lines))
        ends |= resolve(desk.conn, {keys[line.new_id] for line in lines} | {*leads.values()})
        rows: list[dict[str, Any]] = []
        same = 0
        for line in lines:
            old, new = keys[line.old_id], keys[line.new_id]
            if leads.get(old, new) != new and _end(old, leads, ends) == _end(new, leads, ends):
                same += 1
                continue
            if leads.get(old, new) != new:
                tally.refuse(line.line, "old_id", f"is an alias of {names.get(leads[old], 'another memory')} already")
                continue
            if _end(new, leads, ends) == old:
                tally.refuse(line.line, "new_id", "leads back to old_id")
                continue
            leads[old] = new
            rows.append({
                "old_key": old, "scope_key": scope_key, "new_key": new, "reason": line.reason, "at": line.at
            })  # fmt: skip
        tally.late |= {row["old_key"] for row in rows}
        tally.count(AliasLine, added=desk.add(aliases, ("old_key",), rows), of=len(rows) + same)


def _end(key: int, leads: Mapping[int, int], ends: Mapping[int, int]) -> int:
    """Where a memory leads in the end, by the aliases of the store and those that were just taken in."""
    end = ends.get(key, key)
    while end in leads:
        end = ends.get(leads[end], leads[end])
    return end


def _following(desk: Desk, keys: Iterable[int]) -> dict[int, int]:
    table = keyed(desk.conn, key=sorted({*keys}))
    query = sa.select(aliases.c.old_key, aliases.c.new_key).join(table, aliases.c.old_key == table.c.key)
    return dict(desk.conn.execute(query).all())


def wake(desk: Desk, _: Spool, tally: Tally) -> None:
    """
    Events that were here before their memory, or before the alias that leads to it, wait for a night again.

    What an earlier night had applied is in the base of the memory that came, but for what is later than the base.
    """
    if desk.rehearses:
        return
    for late in portions(sorted(tally.late), BATCH):
        told: set[int] = set().union(*members(desk.conn, late).values())
        table = keyed(desk.conn, key=sorted(told))
        for events, done in ((attributions, attributions.c.applied), (exposures, exposures.c.linked)):
            named = events.c.memory_key.in_(sa.select(table.c.key))
            desk.write(sa.update(events).where(named, ~done).values(waiting=True))
        itself = keyed(desk.conn, key=late)
        base_at = sa.select(memories.c.base_at).where(memories.c.key == attributions.c.memory_key).scalar_subquery()
        desk.write(
            sa.update(attributions)
            .where(attributions.c.memory_key.in_(sa.select(itself.c.key)))
            .where(attributions.c.applied, attributions.c.target_key.is_(None), attributions.c.at > base_at)
            .values(target_key=attributions.c.memory_key)
        )


def take_exposures(desk: Desk, spool: Spool, tally: Tally) -> None:
    """Showings. Those that are linked came with the weights that hold them."""
    for scope_key, lines in tally.batches(desk, ExposureLine, "memory_id"):
        keys, _ = desk.keys(scope_key, (line.memory_id for line in lines))
        in_turn = desk.turn_keys(scope_key, ((line.turn_id, line.session_id) for line in lines))
        linked = [line.linked and (tally.since is None or line.at <= tally.since) for line in lines]
        rows = [
            {
                "scope_key": scope_key, "turn_key": in_turn[line.turn_id, line.session_id],
                "memory_key": keys[line.memory_id], "mode": line.mode, "score": line.score,
                "retrieval_mode": line.retrieval_mode, "at": line.at, "linked": counted, "in_base": counted,
            }
            for line, counted in zip(lines, linked, strict=True)
        ]  # fmt: skip
        new = not_purged(desk, tally, turns.c.shown_until, rows)
        added = desk.add(exposures, ("turn_key", "memory_key", "mode"), new)
        tally.count(ExposureLine, added=added, of=len(lines))


def take_attributions(desk: Desk, spool: Spool, tally: Tally) -> None:
    """Ratings, once every session that the file names is known. Later rows keep coming later."""
    for batch in spool.batches(AttributionLine):
        named: dict[str, set[tuple[str, str]]] = {}
        for line in batch:
            if line.session_id is not None:
                named.setdefault(str(line.scope), set()).add((line.turn_id, line.session_id))
        for scope, pairs in named.items():
            desk.turn_keys(desk.scope_key(scope), pairs)
    for scope_key, lines in tally.batches(desk, AttributionLine, "memory_id"):
        keys, _ = desk.keys(scope_key, (line.memory_id for line in lines))
        targets = desk.names(scope_key, (line.target for line in lines if line.target is not None))
        placed, known = _placed(desk, tally, scope_key, lines, keys)
        in_turn = desk.turn_keys(scope_key, ((line.turn_id, session) for line, session in placed))
        at = _times(desk, [line for line, _ in placed], keys)
        rows = [
            {
                "scope_key": scope_key, "turn_key": in_turn[line.turn_id, session], "message_id": line.message_id,
                "memory_key": keys[line.memory_id], "evidence": line.evidence, "confidence": line.confidence,
                "at": when, "mode": line.mode, "applied": line.applied, "based_at": line.based_at,
                "target_key": None if line.target is None else targets.get(line.target), "replayed": line.replayed,
            }
            for (line, session), when in zip(placed, at, strict=True)
            if when is not None
        ]  # fmt: skip
        rows = not_purged(desk, tally, turns.c.rated_until, rows)
        if not desk.rehearses:
            _aim(desk, tally, rows)
        for row in rows:
            del row["replayed"]
        tally.count(AttributionLine, added=desk.add(attributions, ATTRIBUTION_KEY, rows), of=len(placed) + known)


def _placed(
    desk: Desk, tally: Tally, scope_key: int, lines: Sequence[AttributionLine], keys: dict[str, int]
) -> tuple[list[tuple[AttributionLine, str]], int]:
    """
    Each rating with its session, and how many more are known already.

    Without a session, a rating belongs to the only one of its turn; to none, where there is none.
    """
    bare = [line for line in lines if line.session_id is None]
    sessions = desk.sessions(scope_key, (line.turn_id for line in bare))
    doubtful = [line for line in bare if len(sessions[line.turn_id]) > 1]
    known = _known_in_a_session(desk, scope_key, doubtful, keys) if doubtful else set()
    placed = []
    for line in lines:
        if line.session_id is not None:
            placed.append((line, line.session_id))
        elif len(sessions[line.turn_id]) <= 1:
            placed.append((line, next(iter(sessions[line.turn_id]), "")))
        elif id(line) not in known:
            names = ", ".join(sorted(sessions[line.turn_id])[:3])
            tally.refuse(line.line, "session_id", f"is missing, and turn {line.turn_id!r} is in several: {names}")
    return placed, len(known)


def _known_in_a_session(desk: Desk, scope_key: int, lines: Sequence[AttributionLine], keys: dict[str, int]) -> set[int]:
    """Which of these ratings, by the identity of the object, are here, whatever session their turn was in then."""
    rows = _ratings(desk, lines, keys)
    here = {
        (row.message_id, row.memory_key, row.turn_id, row.evidence, row.confidence, row.at)
        for row in rows
        if row.scope_key == scope_key
    }
    return {
        id(line)
        for line in lines
        if (line.message_id, keys[line.memory_id], line.turn_id, line.evidence, line.confidence, line.at) in here
    }


def _times(desk: Desk, lines: Sequence[AttributionLine], keys: dict[str, int]) -> list[int | None]:
    """
    When each rating was given; None where it is known.

    A source that overwrites its ratings tells the first time and the last change: a rating that is here with other
    words was changed since.
    """
    overwritten = [line for line in lines if line.changed_at is not None]
    if not overwritten:
        return [line.at for line in lines]
    before: dict[tuple[str, int], set[tuple[str, float]]] = {}
    for row in _ratings(desk, overwritten, keys):
        before.setdefault((row.message_id, row.memory_key), set()).add((row.evidence, row.confidence))
    times: list[int | None] = []
    for line in lines:
        there = before.get((line.message_id, keys[line.memory_id]))
        if line.changed_at is None or there is None:
            times.append(line.at)
        else:
            times.append(None if (line.evidence, line.confidence) in there else line.changed_at)
    return times


def _ratings(desk: Desk, lines: Sequence[AttributionLine], keys: dict[str, int]) -> Sequence[sa.Row[Any]]:
    asked = keyed(
        desk.conn,
        TEXTS,
        message_id=[line.message_id for line in lines],
        memory_key=[keys[line.memory_id] for line in lines],
    )
    same = sa.and_(attributions.c.message_id == asked.c.message_id, attributions.c.memory_key == asked.c.memory_key)
    query = sa.select(attributions, turns.c.turn_id).join(asked, same).join(turns)
    return desk.conn.execute(query).all()


def _aim(desk: Desk, tally: Tally, rows: Sequence[dict[str, Any]]) -> None:
    """
    Say of applied ratings whose strength holds them: the replay of the memory that theirs was at the time, or, where
    no later than its base, the base.

    A strength that was here before the rating came, and is older, cannot hold it: the rating is still to be replayed.

    A row with a target says itself which memory that is.
    """
    applied = [row for row in rows if row["applied"]]
    if not applied:
        return
    bearer = bearers(desk.conn, {(row["memory_key"], row["at"]) for row in applied})
    for row in applied:
        row["target_key"] = row["target_key"] or bearer[row["memory_key"], row["at"]]
    table = keyed(desk.conn, key=sorted({row["target_key"] for row in applied}))
    query = sa.select(memories.c.key, memories.c.base_at, memories.c.strength_at)
    heads = {row.key: row for row in desk.conn.execute(query.join(table, memories.c.key == table.c.key))}
    for row in applied:
        head = heads.get(row["target_key"])
        if head is None or (row["at"] <= head.base_at and not (row["replayed"] or row["based_at"])):
            row["target_key"] = row["based_at"] = None
        elif head.key not in tally.arrived and row["at"] > head.strength_at:
            row["target_key"], row["applied"] = None, False
