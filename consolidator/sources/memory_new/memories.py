"""
A row of memory-new's first layer as a memory, and the row that tells what the night made of it.

Its agent recalls drafts as it does active rows, and never a frozen or forgotten one; so drafts are memories too, and
stay drafts until they leave recall. A row that its own decay has frozen or forgotten is `gone` here: taken for faded,
a night would bring back at once what has strength left.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from consolidator.exchange.fields import Unfit, examine
from consolidator.exchange.records import MemoryLine
from consolidator.exchange.shapes import record_of
from consolidator.instants import format_instant, parse_instant
from consolidator.scopes import parse_scope
from consolidator.sources.beside import KEY, beside
from consolidator.sources.memory_new.javascript import parse, stringify
from consolidator.sources.port import Image, Ours, fingerprint_of, strength_at_first

FOLDER = "memory/l1"
NOBODY = "self"  # whom a row without an agent belongs to
OUT_OF_RECALL = ("frozen", "forgotten")

_KINDS = {"persona": "fact", "episodic": "observation", "instruction": "procedure"}
_TYPES = {kind: theirs for theirs, kind in _KINDS.items()} | {"pattern": "episodic", "hypothesis": "episodic"}
_COUNTED = ("retrievalCount", "lastRetrievedAt", "lastEffectiveAt")
_ID = re.compile(r"l1_(\d{10,14})_")
_LARGEST_METADATA = 4000
_LETTERS = "0123456789abcdefghijklmnopqrstuvwxyz"


def memory_of(row: Mapping[str, Any], *, scope: str) -> MemoryLine:
    """The memory that a row is, in its agent's scope. ValueError (`below`: the field) where it is none."""
    examine(row.get("content"), "content")
    importance = importance_of(row)
    gone = row.get("status") in OUT_OF_RECALL
    name = row.get("sceneName")
    record = record_of(
        {
            "kind": "memory",
            "scope": {**parse_scope(scope), "agent": str(row.get("agentId") or NOBODY)},
            "content": row.get("content"),
            "type": kind_of(row),
            "created_at": _created_at(row),
            "observed_at": _observed_at(row),
            "importance": importance,
            "strength": strength_at_first(importance),
            "status": "archived" if gone else "active",
            "archived_because": "gone" if gone else None,
            "topics": [name] if isinstance(name, str) and name.strip() and _fits(name) else None,
            "metadata": _metadata(row) or None,
        },
        0,
    )
    assert isinstance(record, MemoryLine)
    return record


def kind_of(row: Mapping[str, Any]) -> str:
    """Its kind where it has one, else the kind that memory-new itself takes its type for."""
    kind, theirs = row.get("kind"), row.get("type")
    if isinstance(kind, str) and kind in _TYPES:
        return kind
    return _KINDS.get(theirs, "fact") if isinstance(theirs, str) else "fact"


def importance_of(row: Mapping[str, Any]) -> float | None:
    """From 0 to 1: its importance, else its priority."""
    for name, largest in (("importance", 1), ("priority", 100)):
        value = row.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= largest:
            return float(value) / largest
    return None


def uses_of(row: Mapping[str, Any]) -> tuple[int, int | None]:
    """How often it was recalled, and when last."""
    count, last = row.get("retrievalCount"), row.get("lastRetrievedAt")
    uses = count if isinstance(count, int) and not isinstance(count, bool) and count > 0 else 0
    return uses, _instant_of(last) if uses else None


def fingerprint_of_row(row: Mapping[str, Any]) -> str:
    """Of all but the counters of recall and what a push writes beside; a row without a status is active."""
    told = {name: value for name, value in row.items() if name not in _COUNTED}
    about = told.pop("metadata", None)
    if isinstance(about, dict):
        about = {name: value for name, value in about.items() if name != KEY}
    return fingerprint_of({**told, "status": told.get("status") or "active", **({"metadata": about} if about else {})})


def rendered(ours: Ours, there: Image) -> Image:
    """A row with the state and the strength that we hold; the same where it says them already."""
    row = parse(there["line"])
    told = dict(row)
    status = _status(ours, row.get("status"))
    if status != (row.get("status") or "active"):
        told["status"] = status
    about = row.get("metadata")
    if about is None or isinstance(about, dict):
        told["metadata"] = {**(about or {}), KEY: beside(ours)}
    if told == row:
        return there
    ending = "\r" if there["line"].endswith("\r") else ""
    return {**there, "line": stringify(told) + ending}


def made(ours: Ours, key: str, like: Image | None) -> Image:
    """A new row, of the session of `like`."""
    model = parse(like["line"]) if like else {}
    created = format_instant(ours.created_at // 1000 * 1000)
    said = format_instant((ours.observed_at or ours.created_at) // 1000 * 1000)
    importance = ours.importance if ours.importance is not None else importance_of(model)
    kept = {name: model[name] for name in ("sessionId", "teamId", "userId", "agentId") if name in model}
    row = {
        "id": key,
        "content": ours.content,
        "type": _TYPES.get(ours.type, model.get("type", "episodic")),
        "priority": round(100 * importance) if importance is not None else 50,
        "sceneName": model.get("sceneName") or next(iter(ours.topics), "General"),
        "sourceMessageIds": [],
        "metadata": {KEY: beside(ours)},
        "timestamps": [said],
        "createdAt": created,
        "updatedAt": created,
        "version": 1,
        "sessionKey": model.get("sessionKey") or (_session_of(like) if like else KEY),
        **({"sessionId": "", "userId": "", "agentId": parse_scope(ours.scope).get("agent", NOBODY)} | kept),
        "status": "active",
        **({"kind": ours.type} if ours.type in _TYPES else {}),
        **({"importance": importance} if importance is not None else {}),
        "lastEffectiveAt": ours.created_at // 1000,
    }
    return {"file": like["file"] if like else f"{FOLDER}/{KEY}.jsonl", "line": stringify(row), "place": None}


def new_name(layer: str, ours: Ours) -> str:
    """An id of their form, `LAYER_MILLISECONDS_LETTERS`; the letters follow from scope and text."""
    digest = int(hashlib.sha256(f"{ours.scope}\n{ours.id}".encode()).hexdigest(), 16)
    letters = ""
    while len(letters) < 10:
        digest, place = divmod(digest, 36)
        letters += _LETTERS[place]
    return f"{layer}_{ours.created_at // 1000}_{letters}"


def united(current: str, before: str, after: str) -> str:
    """The line with the differences between two lines made in it; what else has changed meanwhile stays."""
    if current == before:
        return after
    told = _with(parse(current), parse(before), parse(after))
    return stringify(told) + ("\r" if current.endswith("\r") else "")


def _with(current: Any, before: Any, after: Any) -> Any:
    if not (isinstance(current, dict) and isinstance(before, dict) and isinstance(after, dict)):
        return after
    told = dict(current)
    for name in {**before, **after}:
        if name not in after:
            told.pop(name, None)
        elif name not in before or before[name] != after[name]:
            told[name] = _with(current.get(name), before.get(name), after[name])
    return told


def _status(ours: Ours, theirs: object) -> str:
    recalled = theirs not in OUT_OF_RECALL
    if ours.status == "active":
        return str(theirs or "active") if recalled else "active"
    if ours.because == "gone" and not recalled:
        return str(theirs)
    return "frozen" if ours.status == "archived" and ours.because == "faded" else "forgotten"


def _session_of(image: Image) -> str:
    return str(image["file"]).rpartition("/")[2].removesuffix(".jsonl")


def _created_at(row: Mapping[str, Any]) -> str | None:
    """What it says, else the milliseconds in its id."""
    created = row.get("createdAt")
    if created is not None:
        return created  # type: ignore[no-any-return]  # record_of judges it
    named = _ID.match(str(row.get("id")))
    at = _instant_of(int(named[1])) if named else None
    return None if at is None else format_instant(at)


def _observed_at(row: Mapping[str, Any]) -> str | None:
    """The latest of the times of what was said."""
    times = []
    for text in row["timestamps"] if isinstance(row.get("timestamps"), list) else ():
        try:
            times.append(parse_instant(text))
        except (ValueError, TypeError):
            continue
    return format_instant(max(times)) if times else None


def _instant_of(milliseconds: object) -> int | None:
    if isinstance(milliseconds, bool) or not isinstance(milliseconds, int | float) or not 0 < milliseconds < 253e12:
        return None
    return int(milliseconds) * 1000


def _metadata(row: Mapping[str, Any]) -> dict[str, Any]:
    """What it knows of itself beside: as much of it as fits."""
    about = row.get("metadata")
    own = {name: value for name, value in about.items() if name != KEY} if isinstance(about, dict) else {}
    own |= {name: row[name] for name in ("type", "sessionKey", "userId", "teamId") if row.get(name)}
    if row.get("status") == "draft":
        own["status"] = "draft"
    return {name: value for name, value in own.items() if _fits(name) and _fits(value)}


def _fits(value: Any) -> bool:
    try:
        examine(value)
    except Unfit:
        return False
    return len(value if isinstance(value, str) else json.dumps(value)) <= _LARGEST_METADATA
