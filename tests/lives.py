"""
Small lives: lines as a person's file would hold them, stores made of them, and nights over those.

The busy life is one in which the night of its eve decides everything that a night can decide.
"""

import hashlib
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from consolidator.exchange.export import export_jsonl, export_values
from consolidator.exchange.intake import Intake, import_lines
from consolidator.instants import NIGHT, SECOND, format_instant, parse_instant
from consolidator.laws.clock import Rates
from consolidator.night import plan_night, run_night
from consolidator.perform import apply_plan
from consolidator.plan import STEPS, Plan, Result
from consolidator.report import as_json, build
from consolidator.store.engine import Store, open_store
from consolidator.store.tables import decisions, identities, runs

Line = dict[str, Any]
T0 = parse_instant("2026-03-01T09:00:00Z")
RATES = Rates()
EVE = 30.0  # the day on which the busy life's last night is still to come
ÅSA = {"user": "åsa 🦉", "project": "山"}


def day(number: float) -> int:
    """An instant of the life: its days begin in the morning of the first."""
    return T0 + round(number * NIGHT)


def name(text: str) -> str:
    """The id of a memory."""
    return hashlib.sha256(text.encode()).hexdigest()


def memory(text: str, at: float, strength: float = 1.0, **more: Any) -> Line:
    """A memory taken in on a day."""
    when = format_instant(day(at))
    return {
        "kind": "memory", "content": text, "type": "fact", "created_at": when, "strength": strength,
        "strength_at": when, **more,
    }  # fmt: skip


def shown(turn: str, texts: Iterable[str], at: float, **more: Any) -> list[Line]:
    """Memories shown together in a turn; the second and every other one is looked up too, so that modes differ."""
    lines = []
    for number, text in enumerate(texts):
        line = {
            "kind": "exposure", "session_id": "s", "turn_id": turn, "memory_id": name(text), "mode": "auto_injected",
            "score": 0.5, "retrieval_mode": "hybrid", "at": format_instant(day(at) + number * SECOND), **more,
        }  # fmt: skip
        lines.append(line)
        if number % 2:
            lines.append({**line, "mode": "tool_get", "score": None, "retrieval_mode": None})
    return [{key: value for key, value in line.items() if value is not None} for line in lines]


def alike(turn: str, texts: Iterable[str], at: float, **more: Any) -> list[Line]:
    """Memories shown together in a turn, all in the same way."""
    return [line for text in texts for line in shown(turn, [text], at, **more)]


def rated(message: str, turn: str, text: str, at: float, verdict: str = "agent_feedback_positive", **more: Any) -> Line:
    """What a message says of a memory."""
    return {
        "kind": "attribution", "message_id": message, "session_id": "s", "turn_id": turn, "memory_id": name(text),
        "evidence": verdict, "at": format_instant(day(at)), **more,
    }  # fmt: skip


def take(store: Store, lines: Iterable[Line], *, at: float) -> Intake:
    """Take lines in, on a day."""
    header = {"kind": "header", "format": "consolidator-jsonl", "version": 1}
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in [header, *lines])
    return import_lines(store, io.BytesIO(text.encode()), "life.jsonl", now=day(at))


def describe(result: Result) -> dict[str, Any]:
    """The report that a run keeps."""
    return as_json(
        build(
            result.plan,
            result.outcomes,
            run_id=result.run_id,
            dry_run=False,
            exit_code=result.exit_code,
            error=result.error,
        )
    )


def night(store: Store, at: float, *, rates: Rates = RATES, steps: Sequence[str] = STEPS, **more: Any) -> Result:
    """A night, run at its own time."""
    now = day(at)
    return run_night(store, now=now, rates=rates, wall_clock=lambda: now, describe=describe, steps=steps, **more)


def plan_of(store: Store, at: float = EVE, *, scopes: Sequence[str] | None = None) -> Result:
    """What a dry run on a day says."""
    return plan_night(store, now=day(at), rates=RATES, scopes=scopes)


def apply(store: Store, plan: Plan, at: float = EVE) -> Result:
    """A plan, applied on a day."""
    return apply_plan(store, plan, wall_clock=lambda: day(at), describe=describe)


@dataclass(frozen=True)
class Exported:
    """A store as its two exports tell it."""

    values: dict[str, Any]
    lines: tuple[str, ...]


def exported(store: Store, at: float, *, rates: Rates = RATES) -> Exported:
    """What both exports tell of a store on a day."""
    out = io.BytesIO()
    with store.read() as conn:
        values = export_values(conn, scopes=None, as_of=day(at), rates=rates)
        export_jsonl(conn, out, scopes=None, as_of=day(at), rates=rates)
    return Exported(values, tuple(out.getvalue().decode().splitlines()))


def looked_at(url: str, at: float) -> Exported:
    """What both exports tell of a store that is not open."""
    with open_store(url, mode="read") as store:
        return exported(store, at)


def journal(store: Store, run_id: str | None = None) -> list[tuple[Any, ...]]:
    """What runs that were not undone decided on rows (all, or one of them), by the ids of the rows, in no order."""
    with store.read() as conn:
        names = dict(conn.execute(sa.select(identities.c.key, identities.c.hash)).all())
        query = sa.select(decisions).join(runs).where(decisions.c.table_name != "", runs.c.undone_at.is_(None))
        if run_id:
            query = query.where(runs.c.run_id == run_id)
        return sorted(
            (row.step, row.verb, *sorted(_named(row, names)), _by_id(row.before, names), _by_id(row.after, names))
            for row in conn.execute(query)
        )


def planned(result: Result) -> list[tuple[str, str, tuple[int, ...], str, str]]:
    """What a plan decides on rows, in no order."""
    return sorted(
        (one.step, one.verb, one.row, json.dumps(one.before), json.dumps(one.after))
        for part in result.plan.scopes
        for one in part.decisions
        if one.table
    )


def _named(row: sa.Row[Any], names: dict[int, str]) -> list[str]:
    if row.table_name == "scopes":
        return [f"scope {row.row_a}"]
    return [names[key] for key in (row.row_a, row.row_b) if key is not None]


def _by_id(text: str | None, names: dict[int, str]) -> str:
    values = json.loads(text) if text else {}
    values.pop("base_mark", None)  # the key of a run
    for column in {"via", "superseded_by"} & values.keys():
        values[column] = values[column] and names[values[column]]
    if values.get("alias"):
        values["alias"][0] = names[values["alias"][0]]
    values["sources"] = sorted([names[key], at] for key, at in values.get("sources") or ())
    return json.dumps(values, sort_keys=True)


def verbs(result: Result) -> set[str]:
    """What a night decides, in words; inferred links by what becomes of them."""
    found = set()
    for part in result.plan.scopes:
        for one in part.decisions:
            added, removed = one.before is None, one.after is None
            became = f" {'added' if added else 'removed' if removed else 'changed'}" if one.verb == "inferred" else ""
            found.add(f"{one.verb or 'seen'}{became}")
    return found


EVERYTHING = frozenset({
    "clock", "reinforced", "linked", "inferred added", "inferred changed", "inferred removed", "shifted", "archived",
    "revived", "seen",
})  # fmt: skip

SPOKES = [f"spoke {number} of the wheel" for number in range(7)]
FADING = [f"fading note {number} 🍂" for number in range(14)]
CROWD = [f"one of a crowd {number}" for number in range(7)]
HUB, OLD, PINNED, KEPT, GONE, COMING, WEEKLY, TTL = (
    "the hub of the wheel", "an old friend of 小明", "pinned 📌", "restored once", "archived, then asked for",
    "the fair comes to town", "choir on Tuesdays", "milk is in the fridge",
)  # fmt: skip
RENAMED, FADED_NAME, NEW_NAME, LATER = "colour", "coulour", "color", "written tomorrow"


def beginning() -> list[Line]:
    """The first days: taken in before the first night."""
    lines = [{"kind": "scope", "scope": {}, "time_zone": "Europe/Helsinki"}]
    lines += [memory(text, 0.1) for text in (HUB, OLD, *SPOKES[:5], *CROWD, RENAMED, NEW_NAME)]
    lines += [memory(text, 1, 0.52 + number / 200) for number, text in enumerate(FADING)]
    lines += [
        memory(SPOKES[5], 1, 0.6),
        memory(SPOKES[6], 7, 0.9),
        memory(FADED_NAME, 0.2, status="superseded", superseded_by=name(NEW_NAME)),
        memory(GONE, 0.2, 0.1),
        memory(PINNED, 0.2, 0.06, pinned=True),
        memory(KEPT, 0.2, 0.06, kept=True),
        memory(TTL, 0.2, expires_at=format_instant(day(27))),
        memory(COMING, 0.2, temporal_state="future", temporal_anchor="2026-03-29"),
        memory(WEEKLY, 0.2, temporal_state="future", temporal_anchor="2026-03-03T16:00:00Z",
               temporal_end="2026-03-03T18:00:00Z", recurrence="FREQ=WEEKLY;BYDAY=TU"),
        memory("consolidated long ago", 0.3, 0.5, consolidated=True, base_strength=0.9,
               base_at=format_instant(day(-20))),
    ]  # fmt: skip
    for turn in range(4):
        lines += shown(f"wheel {turn}", [HUB, SPOKES[turn]], 1 + turn / 4)
        lines += shown(f"wheel again {turn}", [HUB, SPOKES[turn]], 1.1 + turn / 4)
    lines.append(rated("m old", "wheel 0", OLD, 2, "agent_feedback_neutral"))
    lines.append(rated("m corrected", "wheel 1", HUB, 2.5, "agent_feedback_negative"))
    lines += [rated(f"m stranger {n}", "wheel 2", "nobody knows this", 2 + n / 9, "tool_get") for n in range(2)]
    lines += shown("strangers", ["nobody knows this", "nor that"], 2.2)
    return lines


def middle() -> list[Line]:
    """Days 8 to 11: taken in before the second night. Links are made that will be dead on the eve."""
    lines = alike("crowd", CROWD, 8) + alike("two spokes", [SPOKES[1], SPOKES[6]], 8.1)
    lines += shown("crowd again", [CROWD[0], CROWD[1]], 8.2)
    lines += [rated(f"m {n}", "crowd", OLD, 9 + n, "auto_injected") for n in range(3)]
    return lines


def after_the_leave() -> list[Line]:
    """Days 20 to 23, after a leave of nine days: taken in before the third night."""
    lines = []
    for turn in range(10):
        for spoke in (*SPOKES[: 5 if turn < 3 else 3], SPOKES[5]):
            lines += shown(f"spring {turn} {spoke}", [HUB, spoke], 20 + turn / 4)
    lines += [rated(f"m spring {n}", "spring 0", text, 20.5 + n) for n, text in enumerate((HUB, OLD))]
    return lines


def last_days() -> list[Line]:
    """Days 24 to 29 and what was told late: taken in on the eve."""
    lines = [memory("new on the last day 🌱", 29.5)]
    for turn in range(6):
        lines += shown(f"late spring {turn}", [HUB, SPOKES[6]], 26 + turn / 4)
    lines += shown("one more", [HUB, SPOKES[0]], 26.5)
    lines += alike("words alone", [OLD, CROWD[3]], 27, retrieval_mode="bm25_only")
    lines += shown("alone", [OLD], 27.1)
    lines += [
        rated("m gone", "alone", GONE, 27.2),
        rated("m words", "words alone", OLD, 27.3),
        rated("m counted", "words alone", CROWD[3], 27.4, "tool_get", mode=0.25),
        rated("m kept", "alone", KEPT, 27.5, "tool_search_returned"),
        rated("m renamed", "alone", RENAMED, 28),
        rated("m corrected", "wheel 1", HUB, 28.5, "agent_feedback_positive"),
        rated("m late", "crowd", OLD, 9.5, "agent_feedback_neutral"),
        rated("m at odds", "alone", OLD, 28.2, "tool_get"),
        rated("m at odds", "alone", OLD, 28.3, "agent_feedback_negative"),
        {"kind": "alias", "old_id": name(RENAMED), "new_id": name(NEW_NAME), "reason": "spelling",
         "at": format_instant(day(24))},
        {"kind": "alias", "old_id": name(FADED_NAME), "new_id": name(NEW_NAME), "reason": "merged",
         "at": format_instant(day(24))},
        memory(LATER, 40),
        rated("m later", "later", OLD, 41),
        *shown("later", [OLD, HUB], 41),
    ]  # fmt: skip
    elsewhere: list[Line] = [memory("她喜欢山 ⛰️", 22), memory("冬天在海边", 22), memory("faded away", 22, 0.07)]
    elsewhere += shown("第一次 🗻", ["她喜欢山 ⛰️", "冬天在海边"], 23, session_id="会话 ①")
    elsewhere += [rated("消息-1", "第一次 🗻", "她喜欢山 ⛰️", 23.1, session_id="会话 ①")]
    return lines + [{**line, "scope": ÅSA} for line in elsewhere]


NIGHTS = (4.0, 12.0, 24.0)


def live_until_the_eve(store: Store, nights: Sequence[float] = NIGHTS) -> None:
    """The busy life with its first nights; what was told after them is taken in, and the night of the eve to come."""
    for lines, at in zip((beginning(), middle(), after_the_leave()), NIGHTS, strict=True):
        take(store, lines, at=at)
        if at in nights:
            assert night(store, at).exit_code == 0
    take(store, last_days(), at=EVE)


@contextmanager
def busy_store(url: str, nights: Sequence[float] = NIGHTS) -> Iterator[Store]:
    """A new store with the busy life, open for writing."""
    with open_store(url, mode="create") as store:
        live_until_the_eve(store, nights)
        yield store
