"""The fields of Memory Bank's API, how they are spelled, and what none of them may hold."""

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

Json = dict[str, Any]

MOST_DIRECT = 5

TEXTS = ("displayName", "description", "fact", "context")
_INPUT_ONLY = ("ttl", "revisionExpireTime", "revisionTtl", "disableMemoryRevisions", "revisionLabels")
_OUTPUT_ONLY = ("createTime", "updateTime")
IMMUTABLE = ("scope", "memoryType")
CHANGEABLE = (*TEXTS, "expireTime", "ttl", "topics", "metadata", "structuredContent")
_MAPS = ("scope", "metadata", "revisionLabels")
_FIELDS = {"name", *CHANGEABLE, *_INPUT_ONLY, *_OUTPUT_ONLY, *IMMUTABLE}
_MANAGED = {"USER_PERSONAL_INFO", "USER_PREFERENCES", "KEY_CONVERSATION_DETAILS", "EXPLICIT_INSTRUCTIONS"}
_TYPES = {"NATURAL_LANGUAGE_COLLECTION", "STRUCTURED_PROFILE"}
_VALUES: dict[str, type | tuple[type, ...]] = {
    "boolValue": bool,
    "doubleValue": (int, float),
    "stringValue": str,
    "timestampValue": str,
}
_STATUS = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND",
           409: "ALREADY_EXISTS", 429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE"}  # fmt: skip


@dataclass
class Refused(Exception):
    """An error of the API: its code, and what it says."""

    code: int
    message: str

    @property
    def status(self) -> Json:
        return {"code": self.code, "message": self.message, "status": _STATUS[self.code]}


def examine(body: Json) -> None:
    """Refused where a field is not one of a memory's, or holds what it cannot."""
    for field in body:
        if field not in _FIELDS:
            raise Refused(400, f'Invalid JSON payload received. Unknown name "{field}": Cannot find field.')
    for field in (*TEXTS, "ttl", "expireTime", "revisionTtl", "revisionExpireTime"):
        if field in body and not isinstance(body[field], str):
            raise Refused(400, f"Invalid value at '{field}' (TYPE_STRING)")
    if len({"ttl", "expireTime"} & body.keys()) > 1:
        raise Refused(400, "Field 'expiration' is a oneof and is set more than once.")
    if len({"revisionExpireTime", "revisionTtl", "disableMemoryRevisions"} & body.keys()) > 1:
        raise Refused(400, "Field 'revision_expiration' is a oneof and is set more than once.")
    scope = body.get("scope", {})
    if not isinstance(scope, dict) or not all(isinstance(value, str) and "*" not in value for value in scope.values()):
        raise Refused(400, "Scope values are strings without the wildcard character '*'.")
    for value in body.get("metadata", {}).values():
        if not isinstance(value, dict) or len(value) != 1 or not isinstance(*value.values(), _VALUES.get(*value, ())):
            raise Refused(400, f"Invalid metadata value: {value}")
    for topic in body.get("topics", []):
        managed = topic.get("managedMemoryTopic")
        if (
            len(topic) != 1
            or (managed is None and "customMemoryTopicLabel" not in topic)
            or managed not in {None, *_MANAGED}
        ):
            raise Refused(400, f"Invalid topic: {topic}")
    if body.get("memoryType", "NATURAL_LANGUAGE_COLLECTION") not in _TYPES:
        raise Refused(400, f"Invalid memory_type: {body['memoryType']}")
    for field in ("ttl", "revisionTtl"):
        if field in body:
            duration(body[field])
    for field in ("expireTime", "revisionExpireTime"):
        if field in body:
            moment(body[field])


def told(body: Json) -> list[tuple[str, Any]]:
    """The facts of a request. Of contents, each text that the user said is one: nothing is extracted here."""
    if "directMemoriesSource" in body:
        direct = body["directMemoriesSource"].get("directMemories") or []
        if not 1 <= len(direct) <= MOST_DIRECT or not all(memory.get("fact") for memory in direct):
            raise Refused(400, f"Between 1 and {MOST_DIRECT} direct memories with a fact are allowed per request.")
        return [(memory["fact"], memory.get("topics")) for memory in direct]
    events = body["directContentsSource"].get("events") or []
    if not events:
        raise Refused(400, "events is required.")
    contents = [event.get("content", {}) for event in events]
    return [(part["text"], None) for content in contents if content.get("role") == "user"
            for part in content.get("parts", []) if part.get("text")]  # fmt: skip


def scope_filter(text: str) -> Json:
    """The scope of the one filter there is: `scope="{\\"user\\": \\"ada\\"}"`, a JSON text in quotes."""
    said = re.fullmatch(r'scope\s*=\s*("(?:[^"\\]|\\.)*")', text.strip())
    try:
        scope = json.loads(json.loads(said[1])) if said else None
    except ValueError:
        scope = None
    if not isinstance(scope, dict):
        raise Refused(400, f"Invalid filter: {text}")
    return scope


def matches(memory: Json, groups: Any) -> bool:
    """Whether any group's filters of metadata hold, all of them; no group holds everything."""
    return not groups or any(all(_holds(memory, one) for one in group.get("filters", [])) for group in groups)


def _holds(memory: Json, one: Json) -> bool:
    ((kind, wanted),) = one["value"].items()
    value = memory.get("metadata", {}).get(one["key"], {}).get(kind)
    operator = one.get("op", "EQUAL")
    if value is None:
        held = False
    elif operator == "GREATER_THAN":
        held = value > wanted
    elif operator == "LESS_THAN":
        held = value < wanted
    else:
        held = value == wanted
    return held is not bool(one.get("negate"))


def paged(found: list[Json], size: Any, token: str | None, most: int) -> tuple[list[Json], Json]:
    """
    A page and the token of the next one, in the order of names spelled backwards, which is no order of time.

    The token is the name after which it goes on, so that what is deleted meanwhile has nothing skipped.
    """
    try:
        wanted = min(int(size or most), most)
    except ValueError:
        wanted = 0
    if wanted < 1:
        raise Refused(400, f"Invalid page_size: {size}")
    spelled = sorted((row["name"][::-1], at) for at, row in enumerate(found))
    if token:
        if not token.startswith("after "):
            raise Refused(400, "Invalid page_token.")
        spelled = [(name, at) for name, at in spelled if name > token.removeprefix("after ")]
    some = spelled[:wanted]
    following = {"nextPageToken": f"after {some[-1][0]}"} if len(spelled) > wanted else {}
    return [found[at] for _, at in some], following


def distance(query: str, fact: str) -> float:
    """How far two texts lie apart, by their words."""
    asked, said = ({*re.findall(r"\w+", text.casefold())} for text in (query, fact))
    return 1 - len(asked & said) / max(1, len(asked | said))


def spelled_out(value: Any, *, named_by_others: bool = False) -> Any:
    """A request in one spelling: fields may be named as in the definition too (`search_query`), keys of maps stay."""
    if isinstance(value, list):
        return [spelled_out(one) for one in value]
    if not isinstance(value, dict):
        return value
    spelled: Json = {}
    for key, one in value.items():
        name = key if named_by_others else camel(key)
        spelled[name] = spelled_out(one, named_by_others=not named_by_others and name in _MAPS)
    return spelled


def camel(path: str) -> str:
    head, *rest = path.split("_")
    return head + "".join(word.capitalize() for word in rest)


def stamp(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def moment(text: str) -> datetime:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise Refused(400, f"Invalid timestamp: {text}") from None
    if at.tzinfo is None:
        raise Refused(400, f"Invalid timestamp: {text}")
    return at


def duration(text: str) -> timedelta:
    if not re.fullmatch(r"\d+(\.\d{1,9})?s", text):
        raise Refused(400, f"Invalid duration: {text}")
    return timedelta(seconds=float(text[:-1]))
