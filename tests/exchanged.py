"""Lines of the exchange format for tests, and stores row by row."""

import io
import json
from typing import Any

import sqlalchemy as sa

from consolidator.exchange.intake import Intake, import_lines
from consolidator.store.engine import Store
from consolidator.store.tables import metadata
from tests.lives import ÅSA, day, memory, name, rated, shown

NOW = 10.0
HEADER = {"kind": "header", "format": "consolidator-jsonl", "version": 1}


def take(store: Store, *lines: dict[str, Any], **how: Any) -> Intake:
    """Take a file of these lines in."""
    text = "".join(json.dumps(line) + "\n" for line in (HEADER, *lines))
    return import_lines(store, io.BytesIO(text.encode()), "life.jsonl", now=day(NOW), **how)


def contents(store: Store) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table."""
    with store.read() as conn:
        return {
            table.name: sorted(map(repr, conn.execute(sa.select(table)))) for table in metadata.sorted_tables
        }  # fmt: skip


def link(a: str, b: str, at: float = 1, weight: float = 0.5, **more: Any) -> dict[str, Any]:
    return {
        "kind": "association", "memory_a": name(a), "memory_b": name(b), "weight": weight, "weight_at": iso(at), **more,
    }  # fmt: skip


def alias(old: str, new: str, at: float = 3) -> dict[str, Any]:
    return {"kind": "alias", "old_id": name(old), "new_id": name(new), "reason": "merged", "at": iso(at)}


def tombstone(text: str, at: float = 3) -> dict[str, Any]:
    return {"kind": "tombstone", "id": name(text), "at": iso(at)}


def iso(at: float) -> str:
    return str(memory("", at)["created_at"])


def a_life() -> list[dict[str, Any]]:
    """A line of every kind, with all that a line may say."""
    tuesday = {
        "temporal_state": "future", "temporal_anchor": "2026-03-03", "temporal_end": "2026-03-04",
        "recurrence": "FREQ=WEEKLY;BYDAY=TU", "recurrence_start": "2026-02-03",
    }  # fmt: skip
    return [
        {
            "kind": "scope", "scope": ÅSA, "time_zone": "Asia/Kathmandu",
            "segments": [
                {"from": iso(-90), "working": 0.1, "consolidated": 0.03, "association": 0.15},
                {"from": iso(-50), "working": 0.0, "consolidated": 0.0, "association": 0.0},
                {"from": iso(-20), "working": 0.142, "consolidated": 0.033, "association": 0.152},
            ],
        },
        memory("one 🦉", 2, 0.4, base_at=iso(-2), base_strength=0.3, source="agent_tool", importance=0.3,
               topics=["owls"], trust=1, mood="good", metadata={"z": [1, {"b": 2.5, "a": None}], "big": 2**70}),
        memory("二", -1, 0.7, base_strength=0.9, base_at=iso(-3), consolidated=True, pinned=True, kept=True,
               embedding={"model": "mini", "vector": [0.1, -2.5e-7, 3]}),
        memory("kolme", 0, **tuesday),
        memory("kolme", 0, scope=ÅSA, expires_at=iso(90), valid_until="9999-12-31T23:59:59Z", observed_at=iso(-9)),
        memory("一 in her scope", 1, scope=ÅSA),
        memory("faded", 1, 0.01, status="archived", archived_at=iso(2), archived_because="faded"),
        memory("was one", 3, base_at=iso(1), status="superseded", superseded_by=name("one 🦉")),
        memory("at noon", 1, temporal_anchor="2026-03-08T12:00:00+02:00", temporal_state="future"),
        link("one 🦉", "二"),
        link("二", "kolme", weight=0.3),
        link("kolme", "one 🦉", weight=0.15, inferred=True, via=name("二")),
        link("kolme", "一 in her scope", scope=ÅSA),
        *shown("t1", ["one 🦉", "二", "nobody knows"], 2),
        *shown("t0", ["one 🦉", "kolme"], 1.5, linked=True),
        *shown("t1", ["kolme"], 2, scope=ÅSA, session_id="other", retrieval_mode="bm25_only"),
        rated("m1", "t1", "one 🦉", 2),
        rated("m1", "t1", "one 🦉", 2, "agent_feedback_negative", applied=True),
        rated("m1", "t1", "二", 2, "tool_get", confidence=0.25, session_id=None),
        rated("m2", "t9", "nobody knows", 2.5, applied=True, session_id=None),
        rated("m0", "t0", "was one", 2.5, applied=True),
        rated("m0", "t0", "was one", 1.6, "tool_get", applied=True, target=name("one 🦉")),
        memory("took another in", 3, 0.8, consolidated=True, merge_seen=True,
               lives=[{"strength": 0.4, "at": iso(0), "consolidated": False}]),
        rated("m0", "t0", "took another in", 1, applied=True, based_at=iso(0)),
        {"kind": "verdict", "members": sorted([name("kolme"), name("one 🦉")]), "verdict": "rejected", "at": iso(4),
         "tries": 1, "because": "a date is missing"},
        alias("was one", "one 🦉"),
        alias("nobody knows", "was one"),
        {"kind": "merge_source", "memory_id": name("one 🦉"), "source_id": name("was one"), "at": iso(3)},
        {"kind": "verdict", "members": sorted([name("二"), name("kolme")]), "verdict": "distinct", "at": iso(3)},
        tombstone("never again"),
    ]  # fmt: skip
