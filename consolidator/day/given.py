"""What callers may write for times, and how a line of the exchange format is made of what they gave."""

import json
from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any

from consolidator.errors import BadInput
from consolidator.exchange.fields import Unfit, examine, name
from consolidator.exchange.records import MemoryLine
from consolidator.exchange.shapes import record_of
from consolidator.instants import format_instant, from_datetime, is_date, parse_date, parse_instant

When = str | date | datetime

_LONGEST_METADATA = 100_000


def temporal(field: str, value: When | None) -> str | None:
    """A date or an instant as text; a date stays one. BadInput where a datetime has no offset."""
    if value is None or isinstance(value, str):
        return value
    return value.isoformat() if not isinstance(value, datetime) else format_instant(_aware(field, value))


def instant(field: str, value: When | int | None, *, end: bool = False) -> int | None:
    """
    An instant in microseconds. A whole number is one already; a date is its first moment in UTC, or its last (`end`).

    BadInput where it is none.
    """
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    if isinstance(value, datetime):
        return _aware(field, value)
    try:
        if isinstance(value, date) or (isinstance(value, str) and is_date(value)):
            day = value if isinstance(value, date) else parse_date(value)
            start = datetime(day.year, day.month, day.day, tzinfo=UTC)
            return from_datetime(start + timedelta(days=1)) - 1 if end else from_datetime(start)
        if isinstance(value, str):
            return parse_instant(value)
    except (ValueError, OverflowError) as error:
        raise BadInput(f"{field}: {error}") from None
    raise BadInput(f"{field}: {value!r} is not a time (write e.g. 2026-05-30T03:30:00Z)")


def _aware(field: str, value: datetime) -> int:
    if value.tzinfo is None:
        raise BadInput(f"{field}: {value.isoformat()} has no offset; give the datetime a time zone")
    return from_datetime(value)


def line_of(text: str, given: Mapping[str, Any], *, now: int, source: str) -> MemoryLine:
    """The memory that a text and what was given beside it make, taken in now. BadInput names the field."""
    times = ("observed_at", "expires_at")
    document: dict[str, Any] = {"type": "fact"}
    document |= {key: value for key, value in given.items() if value is not None and key not in times}
    for key in times:
        if (at := instant(key, given.get(key))) is not None:
            document[key] = _text_of(key, at)
    document |= {"kind": "memory", "content": text, "source": source, "created_at": format_instant(now)}
    document |= {"strength": 1.0, "strength_at": document["created_at"]}
    document["pinned"] = given.get("pinned", False)
    for key, text_key in (("anchor", "temporal_anchor"), ("end", "temporal_end")):
        if key in document:
            document[text_key] = temporal(key, document.pop(key))
    if "topics" in document:
        topics = document["topics"]
        if not isinstance(topics, Iterable):
            raise BadInput(f"topics: {topics!r} is not a list of words")
        document["topics"] = [topics] if isinstance(topics, str) else list(topics) or None
    if "metadata" in document:
        if not isinstance(document["metadata"], Mapping):
            raise BadInput(f"metadata: {document['metadata']!r} is not a mapping")
        document["metadata"] = dict(document["metadata"]) or None
        try:
            length = len(json.dumps(document["metadata"]))
        except (TypeError, ValueError, RecursionError) as error:
            raise BadInput(f"metadata: cannot be told as JSON: {error}") from None
        if length > _LONGEST_METADATA:
            raise BadInput(f"metadata: has {length:,} characters as JSON, and may have {_LONGEST_METADATA:,}")
    try:
        for key, value in document.items():
            examine(value, key)
        line = record_of(document, 0)
    except ValueError as error:
        field = (getattr(error, "below", "") or "content").removeprefix("temporal_").replace("content", "text")
        raise BadInput(f"{field}: {str(error).replace('temporal_', '')}") from None
    assert isinstance(line, MemoryLine)
    return line


def types_of(value: Collection[str] | str | None) -> list[str] | None:
    """The types that are wanted; one may stand alone. None: all. BadInput where they are no words."""
    if value is None:
        return None
    found = [value] if isinstance(value, str) else value
    if not isinstance(found, Collection) or not all(isinstance(each, str) for each in found):
        raise BadInput(f"types: {value!r} is not a list of types; write e.g. ['fact', 'plan']")
    return list(found)


def _text_of(field: str, at: int) -> str:
    try:
        return format_instant(at)
    except OverflowError:
        raise BadInput(f"{field}: {at} is out of reach; times are microseconds since 1970") from None


def named(field: str, value: str) -> str:
    """A name of a session or a turn. BadInput where it cannot be one."""
    try:
        name(value)
        if "\0" in value or any("\ud800" <= letter <= "\udfff" for letter in value):
            raise Unfit("holds a NUL, or half a surrogate pair")
    except (ValueError, UnicodeEncodeError) as error:
        raise BadInput(f"{field}: {error}") from None
    return value
