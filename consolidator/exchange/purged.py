"""Taking in what a purge has left of turns, and knowing the events that it took away when they are told again."""

from collections.abc import Iterable, Sequence
from typing import Any

import sqlalchemy as sa

from consolidator.exchange.desk import Desk
from consolidator.exchange.records import TurnLine
from consolidator.exchange.spool import Spool
from consolidator.exchange.tally import Tally
from consolidator.store.engine import keyed
from consolidator.store.tables import attributions, exposures, turns


def take_turns(desk: Desk, spool: Spool, tally: Tally) -> None:
    """What is left of turns of which events were purged, where none of these events is here."""
    for scope_key, lines in tally.batches(desk, TurnLine):
        in_turn = desk.turn_keys(scope_key, ((line.turn_id, line.session_id or "") for line in lines))
        gone = desk.forgotten(scope_key)
        ids = {each for line in lines for given in (line.found or {}).values() for each in given} - gone
        keys, _ = desk.keys(scope_key, ids)
        before = _as_they_are(desk, in_turn.values())
        known = len(tally.purged)
        for line in lines:
            key = in_turn[line.turn_id, line.session_id or ""]
            shown_until, rated_until, shown, rated = before.get(key, (None, None, False, False))
            values: dict[str, Any] = {}
            if line.shown_until is not None and shown_until is None and not shown:
                found = {
                    mode: sorted(keys[each] for each in given if each in keys)
                    for mode, given in (line.found or {}).items()
                }
                values |= {"shown_until": line.shown_until, "found": found or None}
            if line.rated_until is not None and rated_until is None and not rated:
                values |= {"rated_until": line.rated_until}
            if values:
                desk.write(sa.update(turns).where(turns.c.key == key).values(values))
                tally.purged.add(key)
        tally.count(TurnLine, added=len(tally.purged) - known, of=len(lines))


def _as_they_are(desk: Desk, keys: Iterable[int]) -> dict[int, tuple[int | None, int | None, bool, bool]]:
    """Of each of these turns: up to when it was purged, and whether events of it are here."""
    table = keyed(desk.conn, key=sorted({*keys}))
    events = [sa.exists().where(each.c.turn_key == turns.c.key) for each in (exposures, attributions)]
    query = sa.select(turns.c.key, turns.c.shown_until, turns.c.rated_until, *events)
    rows = desk.conn.execute(query.join(table, table.c.key == turns.c.key))
    return {key: (shown_until, rated_until, shown, rated) for key, shown_until, rated_until, shown, rated in rows}


def not_purged(desk: Desk, tally: Tally, until: sa.Column[int], rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those of these events that their turns do not know as purged. until: the column of turns that says up to when."""
    table = keyed(desk.conn, key=sorted({row["turn_key"] for row in rows} - tally.purged))
    query = sa.select(turns.c.key, until).join(table, table.c.key == turns.c.key).where(until.is_not(None))
    gone: dict[int, int] = dict(desk.conn.execute(query).all())
    return [row for row in rows if row["turn_key"] not in gone or row["at"] > gone[row["turn_key"]]]
