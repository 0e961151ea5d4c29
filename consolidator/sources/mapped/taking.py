"""Records of others as items, by a mapping: each a memory, or a line that says why it is none."""

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

from consolidator.exchange.fields import Unfit, examine, name, spell
from consolidator.exchange.records import BadLine, MemoryLine
from consolidator.exchange.shapes import record_of
from consolidator.instants import format_instant
from consolidator.sources.mapped.documents import Found
from consolidator.sources.mapped.mapping import REST, FieldMapping, fill, places
from consolidator.sources.mapped.values import instant_of, number_of
from consolidator.sources.port import Item, Unreadable, fingerprint_of, strength_at_first

_VECTOR_FROM = 64  # a longer list of numbers is a vector of some model, and no knowledge
_FALSE = ("false", "0", "no")


def take(
    found: Iterator[Found], mapping: FieldMapping, *, file: str, scope: str, made_at: int
) -> Iterator[Item | Unreadable | BadLine]:
    """
    An item for each record, a line that says why for each that cannot be one.

    scope: canonical pairs that all have besides. made_at: when a record was taken in over there that does not say so;
    it is no part of the fingerprint. A record without an id is known by what it says, so the same said twice is one.
    """
    besides = json.loads(scope)
    seen: set[str] = set()
    for line, record in found:
        taken: _Taking | None = None
        try:
            taken = _Taking(record, mapping, besides, made_at)
            if taken.is_nothing:
                continue
            item = taken.item()
            if item.id in seen and taken.given is None:
                continue
            if item.id in seen:
                raise Unfit(f"{spell(item.id)} is the id of a record before it", "id")
        except ValueError as error:
            bad = BadLine(file, line, getattr(error, "below", "") or "record", str(error))
            known_by = taken.given if taken else None
            if known_by is None or known_by in seen:
                yield bad
            else:
                yield Unreadable(known_by, bad)
            continue
        seen.add(item.id)
        yield item


class _Taking:
    """One record. used: the fields of it that mean something, so that they are no metadata."""

    def __init__(self, record: Any, mapping: FieldMapping, besides: Mapping[str, str], made_at: int) -> None:
        if isinstance(record, Unfit):
            raise record
        if not isinstance(record, dict):
            raise Unfit(f"{spell(record)} is no object")
        self.record, self.mapping, self.besides, self.made_at = record, mapping, besides, made_at
        self.used: set[tuple[str, ...]] = set()
        self.given = self.id()

    @property
    def is_nothing(self) -> bool:
        """Whether it is deleted, or has a place for a text and none in it, as a block that nobody has filled yet."""
        deleted = self.first(self.mapping.deleted)
        if deleted and str(deleted).casefold() not in _FALSE:
            return True
        text = self.first(self.mapping.text)
        return not spelled(text).strip() if text is not None else any(map(self.has, self.mapping.text))

    def has(self, field: str) -> bool:
        """Whether there is a field of that name, with or without anything in it."""
        *outer, last = [field] if field in self.record else field.split(".")
        inner = self.value(".".join(outer)) if outer else self.record
        return isinstance(inner, dict) and last in inner

    def item(self) -> Item:
        mapping = self.mapping
        content = self.content()
        said = self.first(mapping.created_at)
        importance = self.importance()
        expires_at = self.at("expires_at", ends=True)
        kind = spelled(self.first(mapping.type) or mapping.default_type)
        told = {
            "content": content,
            "type": mapping.types.get(kind, kind),
            "importance": importance,
            "topics": self.topics(),
            "expires_at": None if expires_at is None else format_instant(expires_at),
            "scope": self.scope(),
        }
        created_at = self.at("created_at") if said is not None else None
        uses, used_at = self.uses(), self.at("used_at")
        told["metadata"] = self.metadata()
        for key in ("content", "type", "topics"):
            examine(told[key], key)
        memory = record_of(
            {
                "kind": "memory",
                **told,
                "created_at": format_instant(self.made_at if created_at is None else created_at),
                "strength": strength_at_first(importance),
            },
            0,
        )
        assert isinstance(memory, MemoryLine)
        known_by = self.given or _hash(memory)
        return Item(known_by, memory, fingerprint_of({**told, "created_at": created_at}), uses, used_at)

    def first(self, fields: tuple[str, ...]) -> Any:
        """The first of some fields that the record has; None where it has none. An empty one is none."""
        for field in fields:
            value = self.text_of(field) if "{" in field else self.value(field)
            if value is not None:
                return value
        return None

    def value(self, field: str) -> Any:
        path: tuple[str, ...] = (field,) if field in self.record else tuple(field.split("."))
        value: Any = self.record
        for part in path:
            if isinstance(value, dict):
                value = value.get(part)
            elif isinstance(value, list) and part.isdecimal() and int(part) < len(value):
                value = value[int(part)]
            else:
                return None
        if value is None or value == "" or (isinstance(value, float) and math.isnan(value)):
            return None
        self.used.add(path)
        return value

    def text_of(self, template: str) -> str | None:
        """A text made of fields; None where one of them is not there."""
        values = {place: self.value(place) for place in places(template, always=True)}
        if None in values.values():
            return None
        return fill(template, {place: spelled(value) for place, value in values.items()})

    def id(self) -> str | None:
        """By what it is known; None where nothing says it."""
        value = self.first(self.mapping.id)
        if value is None:
            return None
        examine(value, "id")
        try:
            return name(spelled(value))
        except ValueError as error:
            raise Unfit(str(error), "id") from None

    def content(self) -> str:
        value = self.first(self.mapping.text)
        if value is None:
            there = ", ".join(each if each.isprintable() else spell(each) for each in list(self.record)[:20])
            raise Unfit(f"there is no {' or '.join(self.mapping.text)}; the record has {there}", "text")
        return spelled(value).replace("\r\n", "\n").strip()

    def importance(self) -> float | None:
        value = self.first(self.mapping.importance)
        if value is None:
            return None
        low, high = self.mapping.importance_range
        amount = number_of(value, "importance")
        if amount is None:
            return None
        if not low <= amount <= high:
            raise Unfit(f"{amount:g} is not between {low:g} and {high:g}, the mapping's importance_range", "importance")
        return (amount - low) / (high - low)

    def topics(self) -> list[str] | None:
        value = self.first(self.mapping.topics)
        if isinstance(value, str):
            value = value.split(self.mapping.topics_separator)
        listed = value if isinstance(value, list) else [] if value is None else [value]
        return [text for each in listed if (text := spelled(each).strip())] or None

    def uses(self) -> int:
        value = self.first(self.mapping.uses)
        amount = number_of(value, "uses") if value is not None else None
        if amount is not None and (amount < 0 or amount != int(amount)):
            raise Unfit(f"{spell(value)} is not a number of times", "uses")
        return int(amount or 0)

    def scope(self) -> dict[str, str]:
        """The pairs of the mapping whose fields are there, and those that all have besides."""
        pairs = dict(self.besides)
        for key, template in self.mapping.scope.items():
            value = self.text_of(template)
            if value is None:
                continue
            if pairs.setdefault(key, value) != value:
                raise Unfit(f"{value!r} is not {pairs[key]!r}, which the source's scope says", f"scope.{key}")
        return pairs

    def at(self, key: str, *, ends: bool = False) -> int | None:
        """A time of the record. ends: a date means until its end."""
        value = self.first(getattr(self.mapping, key))
        try:
            return None if value is None else instant_of(value, self.mapping, ends=ends)
        except ValueError as error:
            raise Unfit(str(error), key) from None

    def metadata(self) -> dict[str, Any] | None:
        """What is kept beside. What no store can hold is left out, and so are vectors."""
        kept: dict[str, Any] = {}
        for field in self.mapping.metadata:
            if field == REST:
                left = {tuple(each.split(".")) for each in self.mapping.without} | {(e,) for e in self.mapping.without}
                rest = _without(self.record, self.used | left)
                inner = rest.pop("metadata", None)
                kept = {**(inner if isinstance(inner, dict) else {"metadata": inner}), **rest, **kept}
            else:
                kept[field] = self.value(field)
        return {key: value for key, value in kept.items() if value not in (None, "") and _holds(key, value)} or None


def spelled(value: Any) -> str:
    """A value as a text: a list as a path, an object as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(each, str | int) for each in value):
        return "/".join(spelled(each) for each in value)
    return json.dumps(value, ensure_ascii=False)


def _hash(memory: MemoryLine) -> str:
    """What a record is known by that has no id: its text, and its scope where it has one."""
    if memory.scope in (None, "{}"):
        return memory.id
    return hashlib.sha256(f"{memory.scope}\n{memory.content}".encode()).hexdigest()


def _without(record: dict[str, Any], left: set[tuple[str, ...]], here: tuple[str, ...] = ()) -> dict[str, Any]:
    """A record but for some of its fields; an object that has nothing more is left out too."""
    rest: dict[str, Any] = {}
    for key, value in record.items():
        path = (*here, key)
        if path in left:
            continue
        if isinstance(value, dict) and value:
            value = _without(value, left, path)
            if not value:
                continue
        rest[key] = value
    return rest


def _holds(key: str, value: Any) -> bool:
    if isinstance(value, list) and len(value) > _VECTOR_FROM and all(isinstance(each, int | float) for each in value):
        return False
    try:
        examine(key)
        examine(value)
    except Unfit:
        return False
    return True
