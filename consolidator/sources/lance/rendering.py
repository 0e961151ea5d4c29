"""
What a memory of ours makes of its row.

Claw Memory Ultra and OpenClaw's memory-lancedb know no states: what is no longer active loses its row. In
memory-lancedb-pro it is archived as that system does it, and the tier follows its strength by that system's thresholds.
"""

from collections.abc import Mapping
from typing import Any

from consolidator.errors import BadInput
from consolidator.sources.beside import KEY, beside
from consolidator.sources.lance.flavours import Flavour
from consolidator.sources.lance.metadata import parsed, with_members
from consolidator.sources.lance.reading import ARCHIVING, MILLISECOND, TYPES, archived_by_us, milliseconds, state_of
from consolidator.sources.lance.table import blob
from consolidator.sources.port import Image, NeedsVector, Ours

TO_CORE, TO_WORKING, TO_PERIPHERAL = 0.7, 0.4, 0.15
USUAL_IMPORTANCE = 0.7

OWNED = (KEY, "tier", *ARCHIVING)  # members of the metadata
_CATEGORIES = {
    **{name: name for name in ("preference", "fact", "decision", "entity", "other")},
    **{ours: theirs for theirs, ours in TYPES.items()},
}


class Rendering:
    """Images of one table. size: of its vectors. columns: of the table; bare: those that may be empty."""

    def __init__(self, flavour: Flavour, url: str, size: int, columns: Mapping[str, bool]) -> None:
        self.flavour, self.url, self.size, self.columns = flavour, url, size, columns

    def __call__(self, ours: Ours, there: Image | None, like: Image | None, new_id: str, now: int) -> Image | None:
        """See the port."""
        if there is None:
            return self._new(ours, like, new_id) if ours.status == "active" else None
        if ours.status != "active" and not self.flavour.states:
            return None
        found = parsed(there.get("metadata"))
        if not self.flavour.metadata:
            return there
        if found is None:  # broken: it is kept as it is, and cannot say that it is archived
            return there if ours.status == "active" else None
        wanted = self._wanted(ours, found, now)
        changes = {name: value for name, value in wanted.items() if found.get(name) != value}
        return {**there, "metadata": with_members(there["metadata"], changes)} if changes else there

    def _wanted(self, ours: Ours, found: Mapping[str, Any], now: int) -> dict[str, Any]:
        """Members of the metadata as they should be; None: it should not be there."""
        sidecar = _sidecar(ours)
        if not self.flavour.states:
            return {KEY: sidecar}
        wanted: dict[str, Any] = {}
        if (tier := tier_of(ours, found.get("tier"))) != found.get("tier", "working"):
            wanted["tier"] = tier
        was = archived_by_us(found)
        archived = state_of(found) == "archived" or bool(found.get("invalidated_at"))
        if ours.status != "active":
            if not archived:
                wanted |= self._archiving(ours, found, now // MILLISECOND)
                was = {name: found[name] for name in ARCHIVING if found.get(name) is not None}
            if was is not None:
                sidecar["was"] = was
        elif archived:
            wanted |= dict.fromkeys(ARCHIVING) | ({"state": "confirmed"} if was is None else was)
            if state_of({**found, **wanted}) == "archived":
                wanted["state"] = "confirmed"
        return {**wanted, KEY: sidecar}

    def _archiving(self, ours: Ours, found: Mapping[str, Any], now: int) -> dict[str, Any]:
        since = milliseconds(found.get("valid_from"))
        reason = "merged" if ours.status == "superseded" else ours.because
        return {
            "state": "archived",
            "memory_layer": "archive",
            "archived_at": now,
            "archive_reason": f"{KEY}: {reason}",
            "invalidated_at": max(now, since or now),
            **({"superseded_by": ours.heir} if ours.heir else {}),
        }

    def _new(self, ours: Ours, like: Image | None, new_id: str) -> Image:
        like = like or {}
        if ours.vector is None:
            raise NeedsVector
        if len(ours.vector) != 4 * self.size:
            raise BadInput(
                f"{self.url}: its vectors have {self.size} numbers and the embedder gives {len(ours.vector) // 4}; "
                "name the model that made them"
            )
        at = (ours.created_at if ours.observed_at is None else ours.observed_at) // MILLISECOND
        importance = ours.importance if ours.importance is not None else like.get("importance")
        known: dict[str, Any] = {
            "id": new_id,
            "text": ours.content,
            "vector": blob(ours.vector),
            "category": _CATEGORIES.get(ours.type, like.get("category") or "other"),
            "scope": like.get("scope"),
            "agentId": like.get("agentId"),
            "importance": USUAL_IMPORTANCE if importance is None else importance,
            self.flavour.at: float(at) if isinstance(like.get(self.flavour.at), float) else at,
        }
        if self.flavour.metadata:
            known["metadata"] = with_members(None, self._metadata(ours, like, at))
        return {
            name: known[name] if name in known else None if may_be_empty else like.get(name)
            for name, may_be_empty in self.columns.items()
        }

    def _metadata(self, ours: Ours, like: Image, at: int) -> dict[str, Any]:
        sidecar = {**_sidecar(ours), "merged_from": list(ours.merged_from)}
        if not self.flavour.states:
            return {KEY: sidecar}
        about = parsed(like.get("metadata")) or {}
        return {
            "l0_abstract": ours.content.strip(),
            "l1_overview": f"- {ours.content.strip()}",
            "l2_content": ours.content.strip(),
            "memory_category": about.get("memory_category"),
            "tier": tier_of(ours, None),
            "state": "confirmed",
            "valid_from": at,
            KEY: sidecar,
        }


def tier_of(ours: Ours, there: Any) -> str:
    """Its tier, by the thresholds of memory-lancedb-pro: between them it stays where it is."""
    if ours.consolidated and ours.strength >= TO_CORE:
        return "core"
    if ours.strength >= TO_WORKING:
        return "core" if there == "core" else "working"
    if ours.strength < TO_PERIPHERAL:
        return "peripheral"
    return "peripheral" if there == "peripheral" else "working"


def _sidecar(ours: Ours) -> dict[str, Any]:
    return beside(ours) | {"strength": round(ours.strength, 3)}
