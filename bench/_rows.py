"""A life as the rows of a store, table by table in the order of their keys."""

import hashlib
import json
from collections.abc import Iterator
from itertools import repeat
from typing import Any

import numpy as np
from _life import CLOCK, FIRST, HUBS, KNOWN, LAST, NIGHT, WAVE, Columns, Life

from consolidator.instants import NIGHT as ONE_NIGHT
from consolidator.instants import format_instant
from consolidator.laws.clock import ASSOCIATION
from consolidator.laws.fading import DEAD, fades_age
from consolidator.laws.temporal import temporal
from consolidator.store.clocks import as_rows

CHUNK = 20_000
NIGHTS_KEPT = 300
SHIFTING, EXPIRING = 60, 20

SAID = (
    "asked about the a garden of her his sister in Turku moved to new flat and likes tea more than coffee because "
    "meeting on Thursday was put off until spring project report needs two reviewers before train leaves at seven "
    "prefers short answers with examples never calls after nine keeps keys under blue pot by door plans trip north "
    "with old friends from school reads three books every month learned that server restarts when disk is full"
)


def tables(life: Life) -> Iterator[tuple[str, Columns]]:
    """Each table's columns; foreign keys point to what came before."""
    order = np.argsort(life.key)
    texts = [_text(i) for i in range(life.count)]
    hashes = np.array([hashlib.sha256(text.encode()).hexdigest() for text in texts], object)
    clock = {"epoch_at": FIRST, "first_activity_at": FIRST, "last_activity_at": LAST, "revision": [NIGHTS_KEPT]}
    yield "scopes", {"key": 1, "scope": "{}", "time_zone": "Europe/Helsinki", **clock}
    names = ("from_at", "working", "consolidated", "association", "paused", "law")
    segments = zip(*as_rows(CLOCK), strict=True)
    yield "clock_segments", {"scope_key": 1, **dict(zip(names, map(list, segments), strict=True))}
    yield "identities", {"key": life.key[order], "scope_key": 1, "hash": hashes[order]}
    yield "memories", _memories(life, order, np.array(texts, object)[order])
    yield "associations", _associations(life)
    yield from _events(life)
    yield from _journal(life)


def parted(columns: Columns) -> tuple[Columns, Columns]:
    """Nine rows in ten, in their order, and the others in none: what comes after the indexes are made."""
    rng = np.random.default_rng(6)
    late = rng.random(_count(columns)) < 0.1
    chosen = (np.flatnonzero(~late), rng.permutation(np.flatnonzero(late)))
    arrays = {name: np.array(value, object) if isinstance(value, list) else value for name, value in columns.items()}
    early, rest = (
        {name: value[rows] if isinstance(value, np.ndarray) else value for name, value in arrays.items()}
        for rows in chosen
    )
    return early, rest


def rows(columns: Columns) -> Iterator[list[tuple[Any, ...]]]:
    """The rows of columns, in chunks."""
    for start in range(0, _count(columns), CHUNK):
        yield list(zip(*(_slice(value, start) for value in columns.values()), strict=False))


def _count(columns: Columns) -> int:
    return max(len(value) for value in columns.values() if isinstance(value, np.ndarray | list))


def _slice(value: Any, start: int) -> Any:
    if isinstance(value, np.ndarray):
        return value[start : start + CHUNK].tolist()
    return value[start : start + CHUNK] if isinstance(value, list) else repeat(value)


def _text(i: int) -> str:
    start = i * 37 % (len(SAID) - 40)
    return f"Note {i}: {SAID[start : start + 40 + i % 140]}."


def _memories(life: Life, order: np.ndarray, texts: np.ndarray) -> Columns:
    rng = np.random.default_rng(3)
    n = life.count
    chance = np.concatenate([rng.random((KNOWN, 5)), rng.random((n - KNOWN, 5))]).T
    archived = life.status == "archived"
    faded_at = np.minimum(life.strength_at + 30 * ONE_NIGHT, NIGHT - ONE_NIGHT)
    before = np.minimum(life.strength_at, NIGHT - 25 * ONE_NIGHT)
    base_at = before - ((before - FIRST) * chance[0]).astype(np.int64)
    base_at = np.where(life.new, life.strength_at, base_at)
    plain = np.flatnonzero(~life.new & ~archived)
    plain = plain[(plain >= HUBS)]
    expires = np.full(n, None, object)
    later = plain[chance[1][plain] < 0.01]
    expires[later] = WAVE + ONE_NIGHT * (1 + np.arange(len(later)) % 90)
    expires[plain[3 : 3 + 19 * EXPIRING : 19]] = NIGHT - ONE_NIGHT // 3
    columns: Columns = {
        "key": life.key,
        "scope_key": 1,
        "content": np.empty(n, object),
        "type": np.array(["fact", "preference", "decision", "plan", "observation"], object)[np.arange(n) % 5],
        "source": "agent_tool",
        "created_at": base_at,
        "base_strength": 1.0,
        "base_at": base_at,
        "strength": life.strength,
        "strength_at": life.strength_at,
        "consolidated": life.kind == 1,
        "pinned": chance[2] < 0.01,
        "kept": chance[3] < 0.002,
        "status": life.status,
        "archived_at": np.where(archived, faded_at.astype(object), None),
        "archived_because": np.where(archived, np.where(chance[4] < 0.9, "faded", "user").astype(object), None),
        "expires_at": expires,
        "fades_age": np.where(life.new, None, life.fades.astype(object)),
        "revision": np.arange(n) % 6,
        **_anchors(plain, n),
    }
    ordered = {name: value[order] if isinstance(value, np.ndarray) else value for name, value in columns.items()}
    return ordered | {"content": texts}


def _anchors(plain: np.ndarray, n: int) -> Columns:
    """Anchors of one memory in seventeen; of 60 known ones the state changes in the night, of no others until WAVE."""
    names = ("temporal_state", "temporal_anchor", "shifts_at", "protected_until", "recurrence", "recurrence_start")
    columns: Columns = {name: np.full(n, None, object) for name in names}
    columns["temporal_state"][:] = "none"
    chosen = plain[::17]
    days = np.where(chosen % 5 < 3, -(4 + chosen % 300), 4 + chosen % 60)
    shifting = plain[5 : 5 + 17 * SHIFTING : 17]
    moments = dict(zip(chosen.tolist(), (NIGHT + days * ONE_NIGHT).tolist(), strict=True))
    moments |= {one: NIGHT - ONE_NIGHT // 2 - i * ONE_NIGHT // 200 for i, one in enumerate(shifting.tolist())}
    for i, at in moments.items():
        anchor = format_instant(at)
        found = temporal("future", anchor, None, None, None, zone="Europe/Helsinki", now=NIGHT - ONE_NIGHT)
        values = (found.state, anchor, found.shifts_at, found.protected_until, None, None)
        for name, value in zip(names, values, strict=True):
            columns[name][i] = value
    return columns


def _associations(life: Life) -> Columns:
    rng = np.random.default_rng(4)
    n = len(life.ends)
    now = float(CLOCK.age(NIGHT, ASSOCIATION))
    room = np.log2(1 / DEAD) - life.left
    step = float(CLOCK.age(WAVE, ASSOCIATION)) - now
    ago = 1.1 * step + np.minimum(np.maximum(room - 1.1 * step, 0), 3) * rng.random(n)
    inferred = life.via >= 0
    at = np.where(inferred, NIGHT - ONE_NIGHT, CLOCK.when(now - ago, ASSOCIATION).astype(np.int64))
    age = CLOCK.age(at, ASSOCIATION)
    weight = np.minimum(DEAD * np.exp2(now + life.left - age), 1.0)
    weight = np.where(inferred, DEAD * np.exp2(life.left), weight)
    pair = np.sort(life.key[life.ends], axis=1)
    order = np.lexsort((pair[:, 1], pair[:, 0]))
    columns: Columns = {
        "memory_a": pair[:, 0],
        "memory_b": pair[:, 1],
        "scope_key": 1,
        "weight": weight,
        "weight_at": at,
        "inferred": inferred,
        "via": np.where(inferred, life.key[life.via].astype(object), None),
        "fades_age": fades_age(age, weight, floor=DEAD),
        "revision": np.arange(n) % 4,
    }
    return {name: value[order] if isinstance(value, np.ndarray) else value for name, value in columns.items()}


def _events(life: Life) -> Iterator[tuple[str, Columns]]:
    """The turns of the known memories among those of the others, of which each was shown and rated once."""
    days = life.days
    others = np.arange(KNOWN, life.count)
    others = others[np.argsort(life.strength_at[others], kind="stable")]
    groups = np.arange(len(others)) // 10
    other_at = life.strength_at[others[::10]] if len(others) else np.empty(0, np.int64)
    turn_at = np.concatenate([days.turn_at, other_at])
    today = np.concatenate([days.is_today, np.zeros(len(other_at), bool)])
    order = np.lexsort((turn_at, today))
    key = np.empty(len(turn_at), np.int64)
    key[order] = np.arange(1, len(turn_at) + 1)
    ordered = np.arange(1, len(turn_at) + 1).tolist()
    sessions = [f"session-{one // 20:07d}" for one in ordered]
    yield "turns", {"key": ordered, "scope_key": 1, "turn_id": [f"{one}" for one in ordered], "session_id": sessions}
    shown, rated = days.exposures, days.attributions
    yield (
        "exposures",
        _in_order(
            {
                "turn_key": key[np.concatenate([shown["turn"], groups + len(days.turn_at)])],
                "memory_key": life.key[np.concatenate([shown["memory"], others])],
                "mode": _then(shown["mode"], "auto_injected", others),
                "score": _then(shown["score"], 0.6, others),
                "retrieval_mode": _then(shown["retrieval_mode"], "hybrid", others),
                "at": np.concatenate([shown["at"], life.strength_at[others]]),
                "linked": ~_then(shown["is_today"], False, others).astype(bool),
                "waiting": _then(shown["is_today"], False, others).astype(bool),
            },
            "at",
        ),
    )
    waiting = _then(rated["is_today"], False, others).astype(bool)
    memory = life.key[np.concatenate([rated["memory"], others])]
    turn = key[np.concatenate([rated["turn"], groups + len(days.turn_at)])]
    yield (
        "attributions",
        _in_order(
            {
                "turn_key": turn,
                "message_id": np.array([f"message-{one:08d}" for one in turn.tolist()], object),
                "memory_key": memory,
                "evidence": _then(rated["evidence"], "auto_injected", others),
                "confidence": np.concatenate([rated["confidence"], np.full(len(others), 0.15)]),
                "at": np.concatenate([rated["at"], life.strength_at[others]]),
                "applied": ~waiting,
                "target_key": np.where(waiting, None, memory.astype(object)),
                "mode": np.where(waiting, None, np.ones(len(memory)).astype(object)),
                "waiting": waiting,
            },
            "at",
        ),
    )


def _then(known: np.ndarray, value: Any, others: np.ndarray) -> np.ndarray:
    return np.concatenate([known.astype(object), np.full(len(others), value, object)])


def _in_order(columns: Columns, by: str) -> Columns:
    order = np.argsort(columns[by], kind="stable")
    sorted_columns = {name: value[order] for name, value in columns.items()}
    return {"key": np.arange(1, len(order) + 1), "scope_key": 1, **sorted_columns}


def _journal(life: Life) -> Iterator[tuple[str, Columns]]:
    """What 300 nights kept: a decision a memory."""
    nights = np.arange(NIGHTS_KEPT)
    at = NIGHT - (NIGHTS_KEPT - nights) * ONE_NIGHT
    report = json.dumps({"run_id": "", "totals": {"reinforced": 5000, "linked": 26000}, "scopes": []})
    yield (
        "runs",
        {
            "key": nights + 1,
            "run_id": [f"run-{one:04d}" for one in nights.tolist()],
            "as_of": at,
            "started_at": at,
            "finished_at": at + 3_000_000,
            "exit_code": 0,
            "report": report,
        },
    )
    each = -(-life.count // NIGHTS_KEPT)
    one = np.arange(life.count)
    yield (
        "decisions",
        {
            "run_key": one // each + 1,
            "sequence": one % each,
            "scope_key": 1,
            "step": "reinforce",
            "verb": "reinforced",
            "table_name": "memories",
            "row_a": np.random.default_rng(5).permutation(life.count) + 1,
            "revision": 0,
            "before": json.dumps({"fades_age": 51.234567890123, "strength": 0.3123456789, "strength_at": LAST}),
            "after": json.dumps({"fades_age": 52.345678901234, "strength": 0.7123456789, "strength_at": LAST + 1}),
            "because": "1 tool_get: strength 0.312 -> 0.712",
            "events": json.dumps({"attributions": [[1234567, 1234567, 1.0]], "exposures": []}),
        },
    )
