"""
A point of memory-smart as a memory, and the payload that tells what the night made of it.

All its users recall from one pool, so all points are in one scope; the agent that wrote one is in its metadata.
"""

import base64
import math
import re
from collections.abc import Mapping
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

import numpy as np
from qdrant_client import models

from consolidator.errors import BadInput
from consolidator.exchange.fields import Unfit, examine
from consolidator.exchange.records import MemoryLine
from consolidator.exchange.shapes import record_of
from consolidator.instants import format_instant
from consolidator.scopes import parse_scope
from consolidator.sources.beside import KEY, beside
from consolidator.sources.port import Image, NeedsVector, Ours, fingerprint_of, strength_at_first

PointId = int | str

CATEGORIES = ("preference", "decision", "entity", "fact", "event", "lesson")
NOBODY = "manual"  # session and agent of what a person put in
_COUNTED = ("accessCount", "lastAccessed")
_NAMESPACE = uuid5(NAMESPACE_URL, "consolidator:memory-smart")
_USUAL_IMPORTANCE = 0.7
_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_EXACT = 2**53  # whole numbers up to here are compared exactly
_LONGEST_TOLD = 200


def point_id(key: str) -> PointId | None:
    """The id of a point as its server takes it; None where it can be none."""
    if key.isascii() and key.isdigit():
        return int(key)
    try:
        return str(UUID(key))
    except ValueError:
        return None


def memory_of(payload: Mapping[str, Any], *, scope: str) -> MemoryLine:
    """The memory that a payload is. ValueError (`below`: the field) where it is none."""
    examine(payload.get("text"), "text")
    category, importance = payload.get("category"), importance_of(payload)
    try:
        record = record_of(
            {
                "kind": "memory",
                "scope": parse_scope(scope),
                "content": payload.get("text"),
                "type": category if isinstance(category, str) and category.strip() else "fact",
                "created_at": _instant(payload.get("createdAt")) or _instant(payload.get("lastAccessed")),
                "importance": importance,
                "strength": strength_at_first(importance),
                "metadata": _metadata(payload) or None,
            },
            0,
        )
    except Unfit as error:
        names = {"content": "text", "type": "category", "created_at": "createdAt"}
        raise Unfit(str(error), names.get(error.below, error.below)) from None
    assert isinstance(record, MemoryLine)
    return record


def importance_of(payload: Mapping[str, Any]) -> float | None:
    value = payload.get("importance")
    known = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1
    return float(value) if known else None  # type: ignore[arg-type]


def uses_of(payload: Mapping[str, Any]) -> tuple[int, int | None]:
    """How often it was recalled, and when last."""
    count, last = (payload.get(name) for name in _COUNTED)
    known = isinstance(count, int | float) and not isinstance(count, bool) and 0 < count < math.inf
    uses = int(count) if known else 0  # type: ignore[arg-type]
    return uses, _microseconds(last) if uses else None


def fingerprint_of_payload(payload: Mapping[str, Any]) -> str:
    """Of all but the counters of recall and what a push writes beside."""
    return fingerprint_of({name: value for name, value in payload.items() if name not in (*_COUNTED, KEY)})


def rendered(ours: Ours, there: Image) -> Image | None:
    """A point with the strength that we hold; none where it is put away, for its system has no state for that."""
    if ours.status != "active":
        return None
    return {**there, "payload": {**there["payload"], KEY: beside(ours)}}


def made(ours: Ours, key: str, like: Image | None, *, size: int) -> Image | None:
    """A new point, of the session and agent of `like`. NeedsVector where there is no vector for it."""
    if ours.status != "active":
        return None
    if ours.vector is None:
        raise NeedsVector
    numbers = len(ours.vector) // 4
    if numbers != size:
        raise BadInput(
            f"its collection has vectors of {size} numbers, and the model that this source is set to makes {numbers}; "
            "set its model to the one that made them"
        )
    model: Mapping[str, Any] = like["payload"] if like else {}
    importance = ours.importance if ours.importance is not None else importance_of(model)
    category = ours.type if ours.type in CATEGORIES else model.get("category", "fact")
    payload = {
        "text": ours.content,
        "category": category,
        "importance": _USUAL_IMPORTANCE if importance is None else importance,
        "sessionKey": model.get("sessionKey", NOBODY),
        "agentId": model.get("agentId", NOBODY),
        "createdAt": ours.created_at // 1000,
        "accessCount": 0,
        "lastAccessed": 0,
        KEY: beside(ours),
    }
    return {"id": key, "payload": payload, "vector": base64.b64encode(ours.vector).decode()}


def new_id(ours: Ours) -> str:
    return str(uuid5(_NAMESPACE, f"{ours.scope}\n{ours.id}"))


def image_of(record: models.Record) -> Image:
    return {
        "id": str(record.id),
        "payload": record.payload or {},
        "vector": base64.b64encode(vector_of(record)).decode(),
    }


def vector_of(record: models.Record) -> bytes:
    """float32, little-endian; nothing where it has none."""
    return np.asarray(record.vector if record.vector is not None else [], "<f4").tobytes()


def numbers_of(image: Image) -> list[float]:
    found: list[float] = np.frombuffer(base64.b64decode(image["vector"]), "<f4").tolist()
    return found


def still(key: PointId, payload: Mapping[str, Any]) -> models.Filter:
    """The point if it still says what this payload says: what a server compares and sets at once."""
    must: list[models.Condition] = [models.HasIdCondition(has_id=[key])]
    for name, value in payload.items():
        if name in (*_COUNTED, KEY) or not _PLAIN_KEY.fullmatch(name):
            continue
        if isinstance(value, str | bool):
            must.append(models.FieldCondition(key=name, match=models.MatchValue(value=value)))
        elif isinstance(value, int | float) and abs(value) <= _EXACT:
            must.append(models.FieldCondition(key=name, range=models.Range(gte=value, lte=value)))
    return models.Filter(must=must)


def _instant(milliseconds: object) -> str | None:
    at = _microseconds(milliseconds)
    return None if at is None else format_instant(at)


def _microseconds(milliseconds: object) -> int | None:
    if isinstance(milliseconds, bool) or not isinstance(milliseconds, int | float) or not 0 < milliseconds < 253e12:
        return None
    return int(milliseconds) * 1000


def _metadata(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Who wrote it, and what else of it is short."""
    known = ("text", "category", "importance", "createdAt", *_COUNTED, KEY)
    return {name: value for name, value in payload.items() if name not in known and _is_short(name, value)}


def _is_short(name: str, value: object) -> bool:
    try:
        examine({name: value})
    except Unfit:
        return False
    return isinstance(value, str | int | float) and len(name) + len(str(value)) <= _LONGEST_TOLD
