"""memory-new as a source: reading all its layers, and writing lines, pages and the index."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from consolidator.exchange.fields import Unfit
from consolidator.exchange.records import BadLine
from consolidator.sources.memory_new import lines, memories, scenes
from consolidator.sources.memory_new.folder import Folder, since_of
from consolidator.sources.memory_new.javascript import parse
from consolidator.sources.memory_new.writing import Writer
from consolidator.sources.port import (
    Done,
    Image,
    Item,
    Options,
    Ours,
    Reading,
    Unreadable,
    Versionless,
    Ways,
    Write,
    fingerprint_of,
)


class MemoryNew(Versionless):
    """Such a folder. Nothing of it is kept open."""

    ways: Ways = "both"
    asks_for_links = False
    tells_decay = False
    model: str | None = None

    def __init__(self, kind: str, folder: Folder, options: Options) -> None:
        self.kind, self.folder, self.options = kind, folder, options
        self.url = f"{kind}:{folder.base}"

    def read(self, since: str | None) -> Reading:
        held = self.folder.held()
        state = since_of(held)
        if since == state:
            return Reading((), since, unchanged=True)
        notes = () if scenes.index_of(held.get(scenes.INDEX)) is not None else (f"{scenes.INDEX} is no JSON object",)
        return Reading(self._records(held), state, notes=notes)

    def look(self, ids: Collection[str]) -> Mapping[str, Image]:
        return dict(self._images(self.folder.held(), set(ids)))

    def fingerprint(self, image: Image) -> str:
        if "line" in image:
            return memories.fingerprint_of_row(parse(image["line"]))
        return fingerprint_of(image["text"])

    def render(self, ours: Ours, there: Image | None, like: Image | None, *, now: int) -> Image | None:
        if there is not None and "line" in there:
            return memories.rendered(ours, there)
        if there is not None:
            return there if ours.status == "active" else None
        if ours.status != "active":
            return None
        key = self.new_id(ours)
        if _is_scene(ours):
            return scenes.made(ours, key.removeprefix(scenes.PREFIX), like)
        return memories.made(ours, key, like)

    def new_id(self, ours: Ours) -> str:
        if _is_scene(ours):
            return scenes.PREFIX + memories.new_name("scene", ours)
        return memories.new_name("l1", ours)

    def write(self, writes: Sequence[Write]) -> Mapping[str, Done]:
        return Writer(self.folder, self.fingerprint).write(writes)

    def _records(self, held: Mapping[str, bytes]) -> Iterator[Item | BadLine | Unreadable]:
        known: set[str] = set()
        for name, row in _rows(held):
            place = str(self.folder.base / name)
            if isinstance(row, lines.Broken):
                yield BadLine(place, row.number, "line", row.reason)
            elif row.id in known:
                yield BadLine(place, row.number, "id", f"{row.id} is there twice; the first one counts")
            else:
                known.add(row.id)
                yield self._item(row, place)
        yield from (self._page(*page) for page in _pages(held))

    def _item(self, row: lines.Row, place: str) -> Item | Unreadable:
        document = row.document
        try:
            memory = memories.memory_of(document, scope=self.options.scope)
        except ValueError as error:
            field = f"{row.id}: {getattr(error, 'below', '') or 'line'}"
            return Unreadable(row.id, BadLine(place, row.number, field, str(error)))
        uses, used_at = memories.uses_of(document)
        fingerprint = memories.fingerprint_of_row(document)
        return Item(row.id, memory, fingerprint, uses, used_at, evidence="auto_injected")

    def _page(self, key: str, name: str, raw: bytes) -> Item | Unreadable:
        try:
            image = {"text": scenes.decoded(raw)}
            memory = scenes.memory_of(image, scope=self.options.scope, kind=key.partition(":")[0])
        except ValueError as error:
            field = getattr(error, "below", "") or "text"
            return Unreadable(key, BadLine(str(self.folder.base / name), 0, field, str(error)))
        return Item(key, memory, self.fingerprint(image))

    def _images(self, held: Mapping[str, bytes], wanted: set[str]) -> Iterator[tuple[str, Image]]:
        known: set[str] = set()
        for name, row in _rows(held):
            if isinstance(row, lines.Row) and row.id in wanted and row.id not in known:
                known.add(row.id)
                yield row.id, {"file": name, "line": row.text, "place": row.place}
        index: Mapping[str, Any] = scenes.index_of(held.get(scenes.INDEX)) or {}
        for key, name, raw in _pages(held):
            if key not in wanted:
                continue
            try:
                text = scenes.decoded(raw)
            except Unfit:
                continue
            scene = key.removeprefix(scenes.PREFIX)
            listed = {"entry": index[scene], "after": scenes.neighbour(index, scene)} if scene in index else {}
            yield key, {"file": name, "text": text, **listed}


def _is_scene(ours: Ours) -> bool:
    return ours.type == "scene"


def _rows(held: Mapping[str, bytes]) -> Iterator[tuple[str, lines.Row | lines.Broken]]:
    for name, raw in held.items():
        if name.startswith(f"{memories.FOLDER}/"):
            yield from ((name, row) for row in lines.rows(raw))


def _pages(held: Mapping[str, bytes]) -> Iterator[tuple[str, str, bytes]]:
    """Scenes and the persona: id, path and content. What has no frontmatter its agent does not read either."""
    persona = next((name for name in scenes.PERSONAS if name in held), None)
    for name, raw in held.items():
        if name != persona and (not name.startswith(f"{scenes.FOLDER}/") or not name.endswith(".md")):
            continue
        if scenes.page_of(raw.decode(errors="replace")).about:
            yield (scenes.PERSONA if name == persona else scenes.PREFIX + Path(name).stem), name, raw
