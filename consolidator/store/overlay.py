"""
Rows as they will be: those of the store, and what decisions that are not written yet make of them.

A dry run merges on what its own plan has decided; a merge of a night sees those before it. Where all is written, an
overlay is empty and the store is read as it is.
"""

from collections.abc import Callable, Container, Iterable
from typing import Any

import networkx as nx
import sqlalchemy as sa

from consolidator.laws.association import INFERRED_FROM, Pair
from consolidator.laws.fading import DEAD, value_at
from consolidator.plan import Decision, ScopePlan
from consolidator.steps.rows import Link
from consolidator.store import gather
from consolidator.store import legs as leg_rows
from consolidator.store.engine import keyed
from consolidator.store.tables import identities, memories


class Overlay:
    """
    A reader of one snapshot, and of what was decided on it.

    changes: by memory the columns that are other than in the store; all of them for a memory that is not there yet.
    revisions: of those memories. links: by pair the row as it will be, None where it will be gone. names: content
    hashes of memories that are not there yet.
    """

    def __init__(self, conn: sa.Connection, part: ScopePlan | None = None) -> None:
        """part: what is decided and not written."""
        self.conn = conn
        self.changes: dict[int, dict[str, Any]] = {}
        self.revisions: dict[int, int] = {}
        self.links: dict[Pair, Link | None] = {}
        self.names: dict[int, str] = {}
        if part is not None:
            self.take(part.decisions)
            for key, fades_age, shifts_at, protected_until in part.memory_schedule:
                derived = {"fades_age": fades_age, "shifts_at": shifts_at, "protected_until": protected_until}
                self.changes.setdefault(key, {}).update(derived)
            seen = leg_rows.links_of(conn, ((a, b) for a, b, _ in part.link_schedule))
            ages = {(a, b): age for a, b, age in part.link_schedule}
            self.links |= {pair: row._replace(fades_age=ages[pair]) for pair, row in seen.items()}

    def take(self, decisions: Iterable[Decision]) -> None:
        """What comes after all that was taken before."""
        decided = [one for one in decisions if one.table in ("memories", "associations")]
        pairs = [(one.row[0], one.row[1]) for one in decided if one.table == "associations" and one.before is not None]
        stored = leg_rows.links_of(self.conn, (pair for pair in pairs if pair not in self.links))
        for one in decided:
            if one.table == "memories":
                self.changes.setdefault(one.row[0], {}).update(one.after or {})
                if "id" in (one.after or {}):
                    self.names[one.row[0]] = str((one.after or {})["id"])
                self.revisions[one.row[0]] = 0 if one.revision is None else one.revision + 1
                continue
            pair = (one.row[0], one.row[1])
            self.links[pair] = self._link(one, self.links.get(pair) or stored.get(pair))

    @staticmethod
    def _link(one: Decision, row: Link | None) -> Link | None:
        if one.after is None:
            return None
        known = {name: value for name, value in one.after.items() if name in Link._fields}
        if row is None or one.before is None:
            return Link(**{"revision": 0, **known})
        return row._replace(**known, revision=(one.revision or 0) + 1)

    def rows_of(self, keys: Iterable[int]) -> dict[int, dict[str, Any]]:
        """The whole rows of these memories, each with its content hash as `id`."""
        wanted = set(keys)
        table = keyed(self.conn, key=sorted(wanted))
        query = (
            sa.select(memories, identities.c.hash.label("id"))
            .join(table, memories.c.key == table.c.key)
            .join(identities, identities.c.key == memories.c.key)
        )
        found = {row["key"]: dict(row) for row in self.conn.execute(query).mappings()}
        for key in wanted & self.changes.keys():
            revised = {"revision": self.revisions[key]} if key in self.revisions else {}
            found[key] = {**dict.fromkeys(memories.c.keys()), **found.get(key, {"key": key}), **self.changes[key]}
            found[key] |= revised
        return found

    def statuses(self, keys: Iterable[int]) -> dict[int, str]:
        """The status of each of these memories."""
        wanted = set(keys)
        told = {key: self.changes[key]["status"] for key in wanted if "status" in self.changes.get(key, {})}
        table = keyed(self.conn, key=sorted(wanted - told.keys()))
        query = sa.select(memories.c.key, memories.c.status).join(table, memories.c.key == table.c.key)
        return dict(self.conn.execute(query).all()) | told

    def ids_of(self, keys: Iterable[int]) -> dict[int, str]:
        """Content hashes of memories, by key."""
        wanted = set(keys)
        made = {key: self.names[key] for key in wanted & self.names.keys()}
        return gather.ids_of(self.conn, wanted - made.keys()) | made

    def not_active(self, keys: Iterable[int]) -> set[int]:
        """Those of these memories that are not active."""
        wanted = set(keys)
        told = {key: self.changes[key]["status"] for key in wanted if "status" in self.changes.get(key, {})}
        closed = leg_rows.not_active(self.conn, wanted - told.keys())
        return closed | {key for key, status in told.items() if status != "active"}

    def links_of(self, pairs: Iterable[Pair]) -> dict[Pair, Link]:
        """The association rows of these pairs."""
        wanted = set(pairs)
        return self._laid_over(leg_rows.links_of(self.conn, wanted), lambda pair, _: pair in wanted)

    def direct_of(self, keys: Iterable[int]) -> dict[Pair, Link]:
        """The direct association rows of which one of these memories is an end, dead ones too."""
        ends = set(keys)
        found = leg_rows.direct_of(self.conn, ends)
        return self._laid_over(found, lambda pair, row: not row.inferred and not ends.isdisjoint(pair))

    def inferred_via(self, keys: Iterable[int]) -> dict[Pair, Link]:
        """Inferred links of which one of these memories is the middle."""
        middles = set(keys)
        found = leg_rows.inferred_via(self.conn, middles)
        return self._laid_over(found, lambda _, row: row.inferred and row.via in middles)

    def inferred_between(self, keys: Iterable[int]) -> dict[Pair, Link]:
        """Inferred links of which one of these memories is an end."""
        ends = set(keys)
        found = leg_rows.inferred_between(self.conn, ends)
        return self._laid_over(found, lambda pair, row: row.inferred and not ends.isdisjoint(pair))

    def _laid_over(self, found: dict[Pair, Link], fits: Callable[[Pair, Link], bool]) -> dict[Pair, Link]:
        if not self.links:
            return found
        stored = {pair: row for pair, row in found.items() if pair not in self.links}
        return stored | {pair: row for pair, row in self.links.items() if row is not None and fits(pair, row)}

    def legs_of(self, legs: nx.Graph, middles: Iterable[int], *, age: float, changed: Container[Pair]) -> None:
        """Add every direct link of `middles` that is strong enough to imply; see `store.legs.legs_of`."""
        asked = {middle for middle in middles if not legs.nodes.get(middle, {}).get("whole")}
        known = _Either(changed, self.links) if self.links else changed
        leg_rows.legs_of(self.conn, legs, asked, age=age, least=INFERRED_FROM, changed=known)
        for pair, row in self.links.items():
            if row is None or row.inferred or row.fades_age is None or asked.isdisjoint(pair) or pair in changed:
                continue
            weight = float(value_at(age, row.fades_age, floor=DEAD))
            if weight >= INFERRED_FROM:
                legs.add_edge(*pair, weight=weight)


class _Either:
    def __init__(self, one: Container[Pair], other: Container[Pair]) -> None:
        self._one, self._other = one, other

    def __contains__(self, pair: object) -> bool:
        return pair in self._one or pair in self._other
