"""
Scenes and the persona of memory-new as memories: one each, pinned, for nothing there counts their uses and they are
made of other memories by its own rules.

What a scene says is its text without what its generator counts and dates at the end, so that one made again of the
same memories says the same. `index.json` names every scene; it is written before the file, so that a removal that was
cut short is done again.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from consolidator.exchange.fields import Unfit, examine
from consolidator.exchange.records import MemoryLine
from consolidator.exchange.shapes import record_of
from consolidator.instants import format_instant, parse_instant
from consolidator.scopes import parse_scope
from consolidator.sources.memory_new.javascript import indent_of, parse, stringify, stringify_indented
from consolidator.sources.port import Image, Ours

FOLDER = "memory/scenes"
INDEX = f"{FOLDER}/index.json"
PERSONAS = ("memory/persona.md", "persona.md")  # the second is where early versions had it
PREFIX, PERSONA = "scene:", "persona"

_ID = re.compile(r"_(\d{10,14})(_|$)")
_GENERATED = re.compile(r"(\n+## Summary\n[^\n]*\n[^\n]*)?\n+---\nGenerated: [^\n]*\s*\Z")


@dataclass(frozen=True, slots=True)
class Page:
    """A page's frontmatter and what stands below it."""

    about: Mapping[str, str]
    body: str


def page_of(text: str) -> Page:
    """As its agent reads it: the lines up to the second `---` are `key: value`. Without such, all is body."""
    lines = text.replace("\r\n", "\n").split("\n")
    end = next((place for place, line in enumerate(lines) if line == "---" and place > 0), 0)
    if lines[0] != "---" or end <= 1:
        return Page({}, text)
    pairs = (line.partition(":") for line in lines[1:end])
    return Page({key.strip(): value.strip() for key, colon, value in pairs if colon}, "\n".join(lines[end + 1 :]))


def memory_of(image: Image, *, scope: str, kind: str) -> MemoryLine:
    """The memory that a page is. ValueError (`below`: the field) where it is none."""
    page = page_of(image["text"])
    content = _GENERATED.sub("", page.body).strip() or page.about.get("summary", "")
    examine(content, "text")
    about = {name: page.about[name] for name in ("title", "summary") if page.about.get(name)}
    examine(about, "frontmatter")
    title = about.get("title")
    record = record_of(
        {
            "kind": "memory",
            "scope": parse_scope(scope),
            "content": content,
            "type": kind,
            "created_at": _created_at(page),
            "observed_at": _observed_at(page),
            "pinned": True,
            "topics": [title] if title else None,
            "metadata": about or None,
        },
        0,
    )
    assert isinstance(record, MemoryLine)
    return record


def made(ours: Ours, name: str, like: Image | None) -> Image:
    """A new scene, with the title and the tags of `like`."""
    about = page_of(like["text"]).about if like else {}
    at = format_instant(ours.created_at // 1000 * 1000)
    title = about.get("title") or next(iter(ours.topics), "General")
    summary, tags = about.get("summary", ""), _tags(about.get("tags"))
    head = {"id": name, "title": title, "summary": summary, "tags": stringify(tags), "created_at": at, "updated_at": at}
    text = "---\n" + "".join(f"{key}: {value}\n" for key, value in head.items()) + f"---\n\n{ours.content}\n"
    entry = {"id": name, "title": title, "summary": summary, "tags": tags}
    return {"file": f"{FOLDER}/{name}.md", "text": text, "entry": entry, "after": None}


def index_of(raw: bytes | None) -> dict[str, Any] | None:
    """What the index names; None where nobody understands it."""
    try:
        index = parse((raw or b"{}").decode())
    except ValueError:
        return None
    return index if isinstance(index, dict) else None


def indexed(raw: bytes | None, changes: Mapping[str, Image | None]) -> bytes | None:
    """
    The index with these scenes in it, each at its place, or (None) out of it. None: there is none, and need be none.

    Unfit where nobody understands the one there is.
    """
    index = index_of(raw)
    if index is None:
        raise Unfit("is no JSON object")
    told = {name: entry for name, entry in index.items() if changes.get(name, index) is not None}
    for name, image in changes.items():
        if image is not None and image.get("entry") is not None and name not in told:
            told = _put(told, name, image)
    if told == index:
        return raw
    text = (raw or b"").decode()
    indent = indent_of(text) if index else "  "
    return (stringify_indented(told, indent) if indent else stringify(told)).encode() + _ending(text)


def neighbour(index: Mapping[str, Any], name: str) -> str | None:
    """The scene before this one in the index; itself where it is the first."""
    names = list(index)
    place = names.index(name)
    return names[place - 1] if place else name


def _created_at(page: Page) -> str | None:
    """What it says, else the milliseconds in its id."""
    for name in ("created_at", "updated_at"):
        try:
            return format_instant(parse_instant(page.about[name]))
        except (KeyError, ValueError):
            continue
    named = _ID.search(page.about.get("id", ""))
    return format_instant(int(named[1]) * 1000) if named else None


def _observed_at(page: Page) -> str | None:
    try:
        return format_instant(parse_instant(page.about["updated_at"]))
    except (KeyError, ValueError):
        return None


def _put(index: Mapping[str, Any], name: str, image: Image) -> dict[str, Any]:
    after = image.get("after")
    told: dict[str, Any] = {name: image["entry"]} if after == name else {}
    for each, entry in index.items():
        told[each] = entry
        if each == after:
            told[name] = image["entry"]
    told.setdefault(name, image["entry"])
    return told


def _ending(text: str) -> bytes:
    return text[len(text.rstrip()) :].encode()


def _tags(text: str | None) -> list[str]:
    try:
        tags = json.loads(text or "[]")
    except ValueError:
        return []
    return [tag for tag in tags if isinstance(tag, str)] if isinstance(tags, list) else []


def decoded(raw: bytes) -> str:
    """The text of a page. Unfit where it is none."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise Unfit("is not UTF-8", "text") from None
