"""What a page says, as memories: when it was said, what it is about, and to whom it belongs."""

import json
from collections.abc import Mapping
from typing import Any

from consolidator.exchange.records import MemoryLine
from consolidator.exchange.shapes import record_of
from consolidator.instants import NIGHT, format_instant, parse_instant
from consolidator.sources.markdown.blocks import Page
from consolidator.sources.markdown.places import File
from consolidator.sources.port import Image, strength_at_first

LONGEST_LABEL = 60  # of what is a topic


def memory_of(file: File, page: Page, image: Image, changed_at: int, *, scope: str) -> MemoryLine:
    """The memory that a record of a file is. Unfit says why it is none. changed_at: when the file was last changed."""
    spot = image["spots"][0]
    at = format_instant(_said_at(file, changed_at))
    about = {
        "file": file.name,
        "headings": spot["headings"],
        "under": spot["under"],
        "done": spot["done"],
        **{name: page.front.get(name) for name in ("name", "description")},
    }
    memory = record_of(
        {
            "kind": "memory",
            "content": image["text"],
            "type": page.front.get("type") or file.type,
            "scope": {**json.loads(scope), **({"project": file.project} if file.project else {})},
            "created_at": at,
            "observed_at": at if file.day else None,
            "strength": strength_at_first(None),
            "pinned": file.read_only,
            "topics": _topics(file, spot),
            "metadata": {name: value for name, value in about.items() if value not in (None, [])},
        },
        0,
    )
    assert isinstance(memory, MemoryLine)
    return memory


def _said_at(file: File, changed_at: int) -> int:
    """Noon of a daily note's day, in UTC, but not later than the note was written; else when its file was changed."""
    if file.day is None:
        return changed_at
    return min(parse_instant(f"{file.day}T00:00:00Z") + NIGHT // 2, changed_at)


def _topics(file: File, spot: Mapping[str, Any]) -> list[str] | None:
    """What it stands below: headings but the page's title, and short labels."""
    headings = spot["headings"][1:] or spot["headings"]
    labels = [each for each in spot["under"] if len(each) <= LONGEST_LABEL]
    return [each for each in (*headings, *labels) if each and each != file.day] or None
