"""A memory of theirs as a memory of ours, and back: pure."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from consolidator.exchange.fields import Unfit, examine
from consolidator.exchange.records import BadLine, MemoryLine
from consolidator.exchange.shapes import record_of
from consolidator.instants import format_instant, parse_instant
from consolidator.scopes import canonical
from consolidator.sources.port import Image, Item, Ours, Unreadable, fingerprint_of

OURS = "consolidator_"  # what our names in their metadata begin with
ID = f"{OURS}id"  # by which a memory is known that could not be given its former name again
NAMED = "consolidator-"  # what the names begin with that we give
MANAGED = ("USER_PERSONAL_INFO", "USER_PREFERENCES", "KEY_CONVERSATION_DETAILS", "EXPLICIT_INSTRUCTIONS")
TYPE = "fact"  # of what has no topic, or several
_TOLD = ("fact", "scope", "topics", "displayName", "description")

Metadata = Mapping[str, Mapping[str, Any]]


def id_of(image: Image) -> str:
    """By what a memory is known, for good."""
    return str(metadata_of(image).get(ID, {}).get("stringValue") or image["name"])


def metadata_of(image: Image) -> Metadata:
    found: Metadata = image.get("metadata") or {}
    return found


def foreign(image: Image) -> dict[str, Mapping[str, Any]]:
    """Their metadata without ours."""
    return {key: value for key, value in metadata_of(image).items() if not key.startswith(OURS)}


def fingerprint(image: Image) -> str:
    """Of what a person or another program decides: what it says, when it expires, and metadata that are not ours."""
    expires = image.get("expireTime")
    told = {key: image[key] for key in _TOLD if image.get(key)}
    return fingerprint_of({**told, "expires": expires and parse_instant(expires), "metadata": foreign(image)})


def item_of(image: Image, *, url: str, scope: str) -> Item | Unreadable | None:
    """
    A memory of theirs as it is taken in; None where it is no text (a structured profile).

    scope: canonical pairs that all have besides. Its topics are ours, and one alone is its type.
    """
    if not image.get("fact"):
        return None
    topics = [_label(topic) for topic in image.get("topics") or []]
    try:
        line = {
            "content": image["fact"],
            "type": _type_of(topics),
            "created_at": image.get("createTime"),
            "expires_at": image.get("expireTime"),
            "topics": topics or None,
            "scope": _together(image.get("scope") or {}, json.loads(scope)),
            "metadata": {key: next(iter(value.values()), None) for key, value in foreign(image).items()} or None,
        }
        for key, value in line.items():
            examine(value, key)
        memory = record_of({"kind": "memory", **line}, 0)
    except ValueError as error:
        field = getattr(error, "below", "") or "memory"
        return Unreadable(id_of(image), BadLine(url, 0, f"{image['name']}: {field}", str(error)))
    assert isinstance(memory, MemoryLine)
    return Item(id_of(image), replace(memory, scope=memory.scope or canonical({})), fingerprint(image))


def render(ours: Ours, there: Image | None, like: Image | None, *, besides: str) -> Image | None:
    """
    Their memory that says what we hold. There are no states over there, so what is not active is deleted.

    Of one that is there its text is ours to say, its expiry where we have one, and our own keys of its metadata.
    """
    if ours.status != "active":
        return None
    image = {**there} if there is not None else _new(ours, like, besides)
    image["fact"] = ours.content
    expires = image.get("expireTime")
    if ours.expires_at is not None and (not expires or parse_instant(expires) != ours.expires_at):
        image["expireTime"] = format_instant(ours.expires_at)
    kept = {key: value for key, value in metadata_of(image).items() if not key.startswith(OURS) or key == ID}
    said: dict[str, Mapping[str, Any]] = {
        f"{OURS}strength": {"doubleValue": round(ours.strength, 4)},
        f"{OURS}state": {"stringValue": "consolidated" if ours.consolidated else "working"},
    }
    if ours.temporal_state != "none":
        said[f"{OURS}time"] = {"stringValue": ours.temporal_state}
    if ours.pinned:
        said[f"{OURS}pinned"] = {"boolValue": True}
    image["metadata"] = {**kept, **said}
    return image


def new_name(*parts: str) -> str:
    """A name that a memory can be given over there, the same each time."""
    return NAMED + hashlib.sha256("\n".join(parts).encode()).hexdigest()[:40]


def merged_metadata(now: Image, before: Image | None, after: Image) -> Metadata:
    """The metadata that a memory gets: as they are by now, but for those of our keys that the write is about."""
    mine = {key: value for key, value in metadata_of(after).items() if key.startswith(OURS)}
    old = {} if before is None else foreign(before)
    new = {key: value for key, value in foreign(after).items() if old.get(key) != value}
    kept = {key: value for key, value in metadata_of(now).items() if not key.startswith(OURS) or key == ID}
    return {**kept, **new, **mine}


def _new(ours: Ours, like: Image | None, besides: str) -> dict[str, Any]:
    """In the very scope of what it was merged from, for scopes are exact; topics as ours are, or as theirs."""
    pairs = dict(json.loads(ours.scope))
    for key in json.loads(besides):
        pairs.pop(key, None)
    image: dict[str, Any] = {"scope": dict(like["scope"]) if like else pairs}
    topics = [_topic(label) for label in ours.topics] or list((like or {}).get("topics") or [])
    if topics:
        image["topics"] = topics
    return image


def _type_of(topics: list[str]) -> str:
    if len(topics) != 1:
        return TYPE
    return topics[0].lower() if topics[0] in MANAGED else topics[0]


def _label(topic: Mapping[str, Any]) -> str:
    return str(topic.get("customMemoryTopicLabel") or topic.get("managedMemoryTopic") or "")


def _topic(label: str) -> dict[str, str]:
    return {"managedMemoryTopic": label} if label in MANAGED else {"customMemoryTopicLabel": label}


def _together(theirs: Mapping[str, str], besides: Mapping[str, str]) -> dict[str, str]:
    for key in theirs.keys() & besides.keys():
        raise Unfit(f"{key} is in it already, and the source's scope says it too", "scope")
    return {**theirs, **besides}
