"""Traces of forgotten memories: in texts and journal rows about them, and in the bytes of the file."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from consolidator.report.tame import one_line
from consolidator.store.engine import Store

STANDS_FOR = "named a memory since forgotten"
_SHORTEST_ID = 8
_SHORTEST_QUOTE = 6
_TELLING_LENGTH = 24
_PATIENCE_MILLISECONDS = 2_000
_WITH_TEXTS = "memories, embeddings, decisions, runs, kept_replies, verdicts, batches, push_images"
_NUMBER = re.compile(r"\d+")


class Traces:
    """How memories show in other texts: by an id or the beginning of it, by a content or the beginning of that."""

    def __init__(self, named: Iterable[tuple[str, str]]) -> None:
        """named: the id and content of each."""
        marks: set[str] = set()
        self._short: set[str] = set()
        for name, content in named:
            marks.add(name[:_SHORTEST_ID])
            for line in (one_line(content), " ".join(content.split())):
                if len(line) < _SHORTEST_QUOTE:
                    self._short.add(line)
                else:
                    marks.add(line[:_TELLING_LENGTH].rstrip("… "))
        self._marks = re.compile("|".join(map(re.escape, sorted(marks))))

    def in_text(self, text: str) -> bool:
        """Whether a text names or quotes one of the memories."""
        return self._marks.search(text) is not None or text.strip() in self._short

    def removed_from(self, report: Any) -> Any:
        """A stored report without the examples and notes that name or quote one of them; counts stay."""
        if isinstance(report, str):
            return STANDS_FOR if self.in_text(report) else report
        if isinstance(report, list):
            return [self.removed_from(each) for each in report if not self._in_entry(each)]
        if isinstance(report, Mapping):
            return {name: part if name == "scope" else self.removed_from(part) for name, part in report.items()}
        return report

    def _in_entry(self, entry: Any) -> bool:
        parts = entry.values() if isinstance(entry, Mapping) else [entry]
        return any(isinstance(part, str) and self.in_text(part) for part in parts)


@dataclass(frozen=True)
class Gone:
    """What is forgotten: keys and ids of memories, keys of their events, and how the memories show in texts."""

    keys: frozenset[int]
    ids: frozenset[str]
    events: Mapping[str, frozenset[int]]
    traces: Traces

    @cached_property
    def _numbers(self) -> frozenset[str]:
        return frozenset(map(str, self.keys.union(*self.events.values())))

    def concerns(self, row: Any) -> bool:
        """Whether anything of them is in a journal row."""
        if self.owns(row) or self.traces.in_text(row.because) or self.left_of(row.events) != row.events:
            return True
        return any(self.left_of_image(values) != values for values in (row.before, row.after))

    def owns(self, row: Any) -> bool:
        """Whether a journal row is about one of the memories, or cannot be undone without it."""
        if row.table_name in ("memories", "associations") and (row.row_a in self.keys or row.row_b in self.keys):
            return True
        return self._referred_to(row.before, "superseded_by") or self._referred_to(row.after, "superseded_by", "via")

    def _referred_to(self, values: str | None, *columns: str) -> bool:
        if not values or not any(f'"{column}"' in values for column in columns):
            return False
        document = json.loads(values)
        return not self.keys.isdisjoint(document.get(column) for column in columns)

    def left_of_image(self, values: str | None) -> str | None:
        """
        Journal text of a row's columns without the forgotten among its sources and where it led.

        None for a link that was inferred through a forgotten one: without that there is none.
        """
        if not values or not any(f'"{column}"' in values for column in ("sources", "alias", "via")):
            return values
        document = json.loads(values)
        if document.get("via") in self.keys:
            return None
        kept = dict(document)
        if document.get("sources"):
            kept["sources"] = [source for source in document["sources"] if source[0] not in self.keys]
        if document.get("alias") and document["alias"][0] in self.keys:
            kept["alias"] = None
        return values if kept == document else json.dumps(kept, ensure_ascii=False, separators=(",", ":"))

    def left_of(self, events: str | None, *, owned: bool = False) -> str | None:
        """
        Journal text of events without the forgotten; the same where none was there, None where none is left.

        owned: the row itself goes, so that it belongs to no merge any more.
        """
        if not events or (not owned and not self._may_be_in(events)):
            return events
        document = json.loads(events)
        merge = document.pop("merge", None)
        kept = {name: [mark for mark in marks if not self._is_gone(name, mark)] for name, marks in document.items()}
        if kept == document and not (owned and merge is not None):
            return events
        belongs = {} if merge is None or owned else {"merge": merge}
        return json.dumps({**kept, **belongs}, separators=(",", ":")) if belongs or any(kept.values()) else None

    def _may_be_in(self, events: str) -> bool:
        if not self._numbers.isdisjoint(_NUMBER.findall(events)):
            return True
        return '"verdicts"' in events and any(name in events for name in self.ids)

    def _is_gone(self, name: str, mark: Any) -> bool:
        if name in ("memories", "fresh"):
            return mark in self.keys
        if name == "verdicts":
            members, before, after = mark
            quoted = any(told and told[3] and self.traces.in_text(told[3]) for told in (before, after))
            return quoted or not self.ids.isdisjoint(members)
        if name == "links":
            return not self.keys.isdisjoint(mark)
        if name == "dead":
            return not self.keys.isdisjoint(mark[:3])
        return mark[0] in self.events.get(name, ())


def wipe(store: Store) -> bool:
    """
    Empty the write-ahead log, which may hold what was deleted; False where another reader keeps it alive.

    What a SQLite file had in its pages was overwritten when it was deleted. Postgres is vacuumed; its own
    write-ahead log and backups are the server's.
    """
    with store.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as conn:
        if store.dialect == "postgresql":
            conn.exec_driver_sql(f"VACUUM {_WITH_TEXTS}")
            if conn.exec_driver_sql("SELECT to_regclass('memory_vectors')").scalar():
                conn.exec_driver_sql("VACUUM (INDEX_CLEANUP ON) memory_vectors")
            return True
        conn.exec_driver_sql(f"PRAGMA busy_timeout = {_PATIENCE_MILLISECONDS}")
        busy, _, _ = conn.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").one()
        return not busy
