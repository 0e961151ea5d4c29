"""The shape of each kind of line: its fields, and what has to hold between them."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from consolidator.exchange import fields
from consolidator.exchange.fields import Check, Unfit
from consolidator.exchange.records import (
    ARCHIVED_BECAUSE,
    KINDS,
    MODES,
    RETRIEVAL_MODES,
    SOURCES,
    STATUSES,
    TEMPORAL_STATES,
    Record,
)
from consolidator.instants import is_date, parse_date, parse_instant
from consolidator.laws.strength import CONFIDENCE


@dataclass(frozen=True, slots=True)
class Field:
    check: Check
    required: bool = False


def _needed(check: Check) -> Field:
    return Field(check, required=True)


_ratio, _sign = fields.between(0, 1), fields.between(-1, 1)
_scope = {"scope": Field(fields.scope)}

SHAPES: Mapping[str, Mapping[str, Field]] = {
    "scope": {
        "scope": _needed(fields.scope),
        "time_zone": Field(fields.time_zone),
        "segments": Field(fields.segments),
    },
    "memory": {
        **_scope,
        "id": Field(fields.memory_id),
        "content": _needed(fields.text),
        "type": _needed(fields.name),
        "source": Field(fields.one_of(*SOURCES)),
        "created_at": _needed(fields.instant),
        "observed_at": Field(fields.instant),
        "strength": Field(_ratio),
        "strength_at": Field(fields.instant),
        "base_strength": Field(_ratio),
        "base_at": Field(fields.instant),
        "consolidated": Field(fields.flag),
        "pinned": Field(fields.flag),
        "kept": Field(fields.flag),
        "temporal_state": Field(fields.one_of(*TEMPORAL_STATES)),
        "temporal_anchor": Field(fields.temporal_text),
        "temporal_end": Field(fields.temporal_text),
        "recurrence": Field(fields.recurrence),
        "recurrence_start": Field(fields.temporal_text),
        "expires_at": Field(fields.instant),
        "valid_until": Field(fields.instant),
        "status": Field(fields.one_of(*STATUSES)),
        "archived_at": Field(fields.instant),
        "archived_because": Field(fields.one_of(*ARCHIVED_BECAUSE)),
        "superseded_by": Field(fields.memory_id),
        "importance": Field(_ratio),
        "topics": Field(fields.topics),
        "trust": Field(_ratio),
        "metadata": Field(fields.metadata),
        "embedding": Field(fields.embedding),
        "merge_seen": Field(fields.flag),
        "lives": Field(fields.lives),
        "anew": Field(fields.flag),
    },
    "association": {
        **_scope,
        "memory_a": _needed(fields.memory_id),
        "memory_b": _needed(fields.memory_id),
        "weight": _needed(_ratio),
        "weight_at": _needed(fields.instant),
        "inferred": Field(fields.flag),
        "via": Field(fields.memory_id),
    },
    "exposure": {
        **_scope,
        "session_id": _needed(fields.name),
        "turn_id": _needed(fields.name),
        "memory_id": _needed(fields.memory_id),
        "mode": _needed(fields.one_of(*MODES)),
        "score": Field(fields.number),
        "retrieval_mode": Field(fields.one_of(*RETRIEVAL_MODES)),
        "at": _needed(fields.instant),
        "linked": Field(fields.flag),
    },
    "turn": {
        **_scope,
        "turn_id": _needed(fields.name),
        "session_id": Field(fields.name),
        "shown_until": Field(fields.instant),
        "rated_until": Field(fields.instant),
        "found": Field(fields.found),
    },
    "attribution": {
        **_scope,
        "message_id": _needed(fields.name),
        "session_id": Field(fields.name),
        "turn_id": _needed(fields.name),
        "memory_id": _needed(fields.memory_id),
        "evidence": _needed(fields.one_of(*CONFIDENCE)),
        "confidence": Field(_sign),
        "at": _needed(fields.instant),
        "applied": Field(fields.flag),
        "replayed": Field(fields.flag),
        "mode": Field(_ratio),
        "target": Field(fields.memory_id),
        "based_at": Field(fields.instant),
    },
    "alias": {
        **_scope,
        "old_id": _needed(fields.memory_id),
        "new_id": _needed(fields.memory_id),
        "reason": _needed(fields.text),
        "at": _needed(fields.instant),
    },
    "merge_source": {
        **_scope,
        "memory_id": _needed(fields.memory_id),
        "source_id": _needed(fields.memory_id),
        "at": _needed(fields.instant),
    },
    "verdict": {
        **_scope,
        "members": _needed(fields.memory_ids),
        "verdict": _needed(fields.name),
        "at": _needed(fields.instant),
        "tries": Field(fields.count),
        "because": Field(fields.text),
    },
    "tombstone": {**_scope, "id": _needed(fields.memory_id), "at": _needed(fields.instant)},
}
_REQUIRED = {kind: frozenset(key for key, each in shape.items() if each.required) for kind, shape in SHAPES.items()}


def record_of(document: Mapping[str, Any], line: int) -> Record:
    """The record that an object is. ValueError (`below`: its field) where it is none."""
    kind = document.get("kind")
    shape = SHAPES.get(kind) if isinstance(kind, str) else None
    if shape is None:
        raise Unfit(f"{fields.spell(kind)} is no kind of line" if "kind" in document else "is missing", "kind")
    values: dict[str, Any] = {}
    unknown: dict[str, Any] = {}
    for key, value in document.items():
        field = shape.get(key)
        if field is None:
            if key != "kind":
                unknown[key] = value
        elif value is not None:
            try:
                values[key] = field.check(value)
            except ValueError as error:
                raise Unfit(str(error), key + getattr(error, "below", "")) from None
    if missing := _REQUIRED[kind] - values.keys():  # type: ignore[index]
        raise Unfit("is missing", min(missing))
    finish = _FINISH.get(kind)  # type: ignore[arg-type]
    if unknown and kind != "memory":
        raise Unfit(f"is no field of {'an' if kind[0] in 'ae' else 'a'} {kind}", next(iter(unknown)))  # type: ignore[index]
    if finish is not None:
        finish(values, unknown)
    return KINDS[kind](line, values.pop("scope", None), **values)  # type: ignore[index]


def _finish_memory(values: dict[str, Any], unknown: dict[str, Any]) -> None:
    digest = hashlib.sha256(values["content"].encode()).hexdigest()
    if values.setdefault("id", digest) != digest:
        raise Unfit(f"is not the SHA-256 of the content, which is {digest}", "id")
    if unknown:
        values["metadata"] = _with_unknown(values.get("metadata") or {}, unknown)
    if "embedding" in values:
        values["model"], values["vector"] = values.pop("embedding")
    if values.get("superseded_by") == values["id"]:
        raise Unfit("is the memory itself", "superseded_by")
    if "base_at" in values and "strength_at" in values and values["base_at"] > values["strength_at"]:
        raise Unfit("is later than strength_at", "base_at")
    if "temporal_anchor" in values:
        fields.same_kind(values, ("temporal_end", "recurrence_start"), values["temporal_anchor"])
        if "temporal_end" in values and _moment(values["temporal_end"]) < _moment(values["temporal_anchor"]):
            raise Unfit("is earlier than temporal_anchor", "temporal_end")
        return
    for key in ("temporal_end", "recurrence"):
        if key in values:
            raise Unfit("needs a temporal_anchor", key)


def _with_unknown(metadata: dict[str, Any], unknown: dict[str, Any]) -> dict[str, Any]:
    for key, value in unknown.items():
        try:
            fields.examine(key)
            fields.examine(value)
        except Unfit as error:
            raise Unfit(str(error), key + error.below) from None
        if key in metadata and metadata[key] != value:
            raise Unfit("is another value than metadata has under this name", key)
    return {**metadata, **unknown}


def _moment(text: str) -> int:
    return parse_date(text).toordinal() if is_date(text) else parse_instant(text)


def _finish_association(values: dict[str, Any], _: dict[str, Any]) -> None:
    if values["memory_a"] == values["memory_b"]:
        raise Unfit("is memory_a: a memory is not linked with itself", "memory_b")
    if values.get("inferred", False) != ("via" in values):
        raise Unfit("an inferred association, and only that, names its middle memory", "via")
    if values.get("via") in (values["memory_a"], values["memory_b"]):
        raise Unfit("is an end of the association", "via")


def _finish_attribution(values: dict[str, Any], _: dict[str, Any]) -> None:
    values.setdefault("confidence", CONFIDENCE[values["evidence"]])


def _finish_alias(values: dict[str, Any], _: dict[str, Any]) -> None:
    if values["old_id"] == values["new_id"]:
        raise Unfit("is old_id: the alias leads back to itself", "new_id")


def _finish_merge_source(values: dict[str, Any], _: dict[str, Any]) -> None:
    if values["memory_id"] == values["source_id"]:
        raise Unfit("is memory_id: a memory is not its own source", "source_id")


_FINISH = {
    "memory": _finish_memory,
    "association": _finish_association,
    "attribution": _finish_attribution,
    "alias": _finish_alias,
    "merge_source": _finish_merge_source,
}
