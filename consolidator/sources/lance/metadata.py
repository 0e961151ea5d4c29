"""
The column `metadata`: an object as JSON text. Some of its members are ours; all else stays as it is, byte for byte.
"""

import json
import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from consolidator.sources.beside import KEY

# What their programs count, or work out anew whenever they touch a record.
COUNTED = frozenset(
    {
        "accessCount", "access_count", "lastAccessedAt", "last_accessed_at", "injected_count", "last_injected_at",
        "last_confirmed_use_at", "bad_recall_count", "suppressed_until_turn", "suppressed_until_ms", "tier",
        "tier_updated_at",
    }
)  # fmt: skip
# What follows from the rest; memory-lancedb-pro writes it down when it first touches a record that lacks it.
_DERIVED = frozenset({"memory_layer", "memory_category", "fact_key"})
_SAME_AS_NONE: Mapping[str, Any] = MappingProxyType(
    {
        "confidence": 0.7,
        "state": "confirmed",
        "source": "legacy",
        "relations": [],
        "supersedes": "",
        "superseded_by": "",
    }
)

_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


def parsed(text: str | None) -> dict[str, Any] | None:
    """The object that it is, empty where there is nothing; None where it is no object, or broken."""
    if text is None or not text.strip():
        return {}
    try:
        found = _READER.decode(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def decided(found: Mapping[str, Any], text: str, at: int | None) -> dict[str, Any]:
    """
    What of it a program or a person decides: no counters, nothing of ours, and nothing that memory-lancedb-pro fills
    in by itself when it touches a record. at: the record's time in milliseconds.
    """
    summary = found.get("type") == "session-summary" or found.get("source") == "session-summary"
    plain = text.strip()
    filled = {
        **_SAME_AS_NONE,
        "l0_abstract": plain,
        "l1_overview": f"- {plain}",
        "l2_content": plain,
        "valid_from": at,
        **({"state": "archived", "source": "session-summary"} if summary else {}),
    }
    return {
        name: value
        for name, value in found.items()
        if name not in COUNTED
        and name not in _DERIVED
        and name != KEY
        and value is not None
        and not (name in filled and value == filled[name])
    }


def with_members(text: str | None, changes: Mapping[str, Any]) -> str:
    """The text with some members of its object set, or taken out where the value is None; the rest to the byte."""
    text = text if text and text.strip() else "{}"
    for name, value in changes.items():
        text = _without(text, name) if value is None else _with(text, name, value)
    return text


def _with(text: str, name: str, value: Any) -> str:
    members = list(_members(text))
    spelled = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for key, _, start, end in reversed(members):
        if key == name:
            return text[:start] + spelled + text[end:]
    end = members[-1][3] if members else text.index("{") + 1
    return f"{text[:end]}{',' if members else ''}{json.dumps(name)}:{spelled}{text[end:]}"


def _without(text: str, name: str) -> str:
    members = list(_members(text))
    for place, (key, begin, _, end) in enumerate(members):
        if key == name:
            if place:
                return _without(text[: members[place - 1][3]] + text[end:], name)
            after = members[1][1] if len(members) > 1 else end
            return _without(text[:begin] + text[after:], name)
    return text


def _members(text: str) -> Iterator[tuple[str, int, int, int]]:
    """Of each member its name, where it begins, and where its value begins and ends. The text is an object."""
    place = _skip(text, text.index("{") + 1)
    while text[place] != "}":
        begin = place
        name, place = _DECODER.raw_decode(text, place)
        start = _skip(text, _skip(text, place) + 1)
        _, end = _DECODER.raw_decode(text, start)
        yield name, begin, start, end
        place = _skip(text, end)
        if text[place] == ",":
            place = _skip(text, place + 1)


def _skip(text: str, place: int) -> int:
    found = _SPACE.match(text, place)
    return found.end() if found else place


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is no number of JSON")


def _number(text: str) -> float | int:
    """JavaScript writes 1 for 1.0, so they are the same."""
    number = float(text)
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


_READER = json.JSONDecoder(parse_constant=_no_number, parse_float=_number)
