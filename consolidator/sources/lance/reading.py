"""A row of the table as a record of ours."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from consolidator.exchange import fields
from consolidator.exchange.fields import Unfit, examine
from consolidator.exchange.records import BadLine, MemoryLine
from consolidator.exchange.shapes import record_of
from consolidator.instants import format_instant
from consolidator.sources.beside import KEY
from consolidator.sources.lance.flavours import Flavour
from consolidator.sources.lance.metadata import COUNTED, decided, parsed
from consolidator.sources.port import Item, Unreadable, fingerprint_of, strength_at_first

MOST_OF_ONE = 500  # characters of one member of their metadata that are kept here
MILLISECOND = 1000
_SECONDS_BEFORE = 1_000_000_000_000  # what is less was written in seconds

ARCHIVING = ("state", "memory_layer", "archived_at", "archive_reason", "invalidated_at", "superseded_by")
TYPES = {"other": "observation"}
_WAYS = {"manual": "agent_tool", "auto-capture": "auto_capture"}


class Rows:
    """Rows of one system's table. scope: canonical pairs that all have besides. model: of vectors that are given."""

    def __init__(self, flavour: Flavour, url: str, scope: str, model: str | None) -> None:
        self.flavour, self.url, self.model = flavour, url, model
        self.scope: dict[str, str] = json.loads(scope)

    def item(self, row: Mapping[str, Any], vector: bytes | None) -> Item | Unreadable | BadLine:
        """The record of a row, or why it cannot be one."""
        try:
            return self._item(row, vector)
        except ValueError as error:
            key = fields.spell(row["id"])
            below = getattr(error, "below", "")
            bad = BadLine(self.url, 0, f"row {key}: {below}" if below else f"row {key}", str(error))
            return Unreadable(row["id"], bad) if row["id"] else bad

    def fingerprint(self, row: Mapping[str, Any]) -> str:
        """Of all that a program or a person over there decides."""
        return self._fingerprint(row, parsed(row.get("metadata")), self.at(row))

    def _fingerprint(self, row: Mapping[str, Any], found: Mapping[str, Any] | None, at: int | None) -> str:
        told = {name: row.get(name) for name in ("text", "category", "importance", "agentId")}
        told["at"] = at
        told["scope"] = row.get("scope") or ("" if row.get("agentId") else "global")
        told["metadata"] = row["metadata"] if found is None else self._decided(found, row["text"] or "", at)
        return fingerprint_of(told)

    def _decided(self, found: Mapping[str, Any], text: str, at: int | None) -> dict[str, Any]:
        """
        What a push has archived has decided nothing: it is told as what it was before. So a program that still holds
        that, and writes it back, makes no news; what one makes active again itself is news.
        """
        was = archived_by_us(found)
        if was is None:
            return decided(found, text, at)
        if state_of(found) == "archived":
            return decided({**{name: value for name, value in found.items() if name not in ARCHIVING}, **was}, text, at)
        return {**decided(found, text, at), "active again": True}

    def at(self, row: Mapping[str, Any]) -> int | None:
        """Its time in whole milliseconds."""
        value = row.get(self.flavour.at)
        if not isinstance(value, int | float) or not 0 < value < 2**53:
            return None
        return int(value) * (1000 if value < _SECONDS_BEFORE else 1)

    def _item(self, row: Mapping[str, Any], vector: bytes | None) -> Item:
        identity, content = fields.name(row["id"]), fields.text(row["text"])
        examine(identity, "id")
        examine(content, "text")
        legible = parsed(row.get("metadata"))
        found = legible or {}
        at, importance = self.at(row), importance_of(row)
        until = milliseconds(found.get("valid_until")) if self.flavour.states else None
        line = record_of(
            {
                "kind": "memory",
                "scope": self._scope(row),
                "content": content,
                "type": TYPES.get(row["category"] or "other", row["category"]),
                "source": _WAYS.get(str(found.get("source")), "import"),
                "created_at": _instant(at or 0, self.flavour.at),
                "observed_at": self._observed_at(found, at),
                "strength": strength_at_first(importance),
                "importance": importance,
                "expires_at": until and _instant(until, "valid_until"),
                "metadata": _kept(found, content),
                **(self._archived(found, at) if self.flavour.states else {}),
            },
            0,
        )
        assert isinstance(line, MemoryLine)
        if vector is not None:
            line = replace(line, model=self.model, vector=vector)
        uses = max(_count(found.get("accessCount")), _count(found.get("access_count")))
        used_at = max(milliseconds(found.get(name)) or 0 for name in ("lastAccessedAt", "last_accessed_at"))
        return Item(
            identity,
            line,
            self._fingerprint(row, legible, at),
            uses,
            used_at * MILLISECOND if uses and used_at else None,
        )

    def _scope(self, row: Mapping[str, Any]) -> dict[str, str]:
        """`agent:main` is agent=main; `global`, or nothing, adds nothing. Its own pair counts where both name one."""
        scope = dict(self.scope)
        if row.get("agentId"):
            scope["agent"] = row["agentId"]
        named = (row.get("scope") or "").strip()
        if named and named != "global":
            key, colon, value = named.partition(":")
            scope.update({key: value} if colon and key and value else {"scope": named})
        return scope

    def _observed_at(self, found: Mapping[str, Any], at: int | None) -> str | None:
        since = milliseconds(found.get("valid_from"))
        return _instant(since, "valid_from") if since and since != at else None

    def _archived(self, found: Mapping[str, Any], at: int | None) -> dict[str, Any]:
        """Retired by their program: gone. Archived by a person or an agent: so it says."""
        since: int | None
        ended = milliseconds(found.get("invalidated_at"))
        if ended and ended >= (milliseconds(found.get("valid_from")) or at or 0):
            because, since = "gone", ended
        elif state_of(found) == "archived":
            because, since = "user", milliseconds(found.get("archived_at"))
        else:
            return {}
        return {"status": "archived", "archived_because": because, "archived_at": since and _instant(since, because)}


def archived_by_us(found: Mapping[str, Any]) -> dict[str, Any] | None:
    """What the state of a record was when a push archived it; None where none has."""
    ours = found.get(KEY)
    was = ours.get("was") if isinstance(ours, dict) else None
    return was if isinstance(was, dict) else None


def state_of(found: Mapping[str, Any]) -> str:
    """The state of a record of memory-lancedb-pro, which takes summaries of sessions for archived."""
    state = found.get("state")
    if state in ("pending", "confirmed", "archived"):
        return str(state)
    summary = found.get("source", found.get("type")) == "session-summary"
    return "archived" if summary else "confirmed"


def importance_of(row: Mapping[str, Any]) -> float | None:
    """Between 0 and 1, as their own readers cut it; None where it is no number."""
    value = row["importance"]
    if not isinstance(value, int | float) or value != value:
        return None
    return min(max(float(value), 0.0), 1.0)


def _kept(found: Mapping[str, Any], content: str) -> dict[str, Any] | None:
    """What they know of it and we have no field for, where it is small."""
    known = {
        name: value
        for name, value in found.items()
        if name not in (COUNTED - {"tier"}) and name not in (KEY, "l2_content") and value is not None
        and (name != "l0_abstract" or value != content) and (name != "l1_overview" or value != f"- {content}")
        and len(json.dumps(value, ensure_ascii=False)) <= MOST_OF_ONE
    }  # fmt: skip
    try:
        examine(known)
    except Unfit:
        return None
    return known or None


def _count(value: Any) -> int:
    return int(value) if isinstance(value, int | float) and 0 < value < 2**53 else 0


def milliseconds(value: Any) -> int | None:
    """A time of its metadata; None for what is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 2**53:
        return None
    return int(value)


def _instant(milliseconds: int, name: str) -> str:
    try:
        return format_instant(milliseconds * MILLISECOND)
    except OverflowError:
        raise Unfit(f"{milliseconds} ms is past all times", name) from None
