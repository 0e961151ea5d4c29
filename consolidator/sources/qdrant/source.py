"""memory-smart as a source: points read by the page, and written one by one as they were read."""

from collections.abc import Collection as Ids
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from qdrant_client import models

from consolidator.embedding import minilm
from consolidator.embedding.choose import named
from consolidator.errors import BadInput
from consolidator.exchange.records import BadLine
from consolidator.sources.port import Done, Image, Item, Options, Ours, Reading, Unreadable, Versionless, Ways, Write
from consolidator.sources.qdrant import points
from consolidator.sources.qdrant.place import Collection, in_lines

_T = TypeVar("_T")

EDITED = "was edited over there meanwhile"
REMOVED = "was removed over there meanwhile"
PAGE, PAGE_OF_VECTORS, LOCAL_PAGE = 1000, 200, 25_000  # local mode sorts all its points for every page
ROUND = 200  # writes that go in one request
SIZES = {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072, minilm.MODEL: 384}


class Qdrant(Versionless):
    """Such a collection. model: of its vectors, as the settings name it; theirs are not told."""

    ways: Ways = "both"
    asks_for_links = False
    tells_decay = False

    def __init__(self, kind: str, collection: Collection, options: Options) -> None:
        self.kind, self.collection, self.options = kind, collection, options
        self.url, self.model = f"{kind}:{collection.where}", options.model
        self._pinned = None if options.model is None else named(options.model, f"the model of {self.url}")
        size = SIZES.get(self._pinned or "", collection.size)
        if size != collection.size:
            raise BadInput(
                f"{collection.where}: has vectors of {collection.size} numbers, and {options.model} makes {size}; "
                "set this source's model to the one that made them"
            )

    def read(self, since: str | None) -> Reading:
        return Reading(self._records())

    def look(self, ids: Ids[str]) -> Mapping[str, Image]:
        asked = {known: key for key in ids if (known := points.point_id(key)) is not None}
        found: dict[str, Image] = {}
        for part in _rounds(list(asked)):
            with in_lines(self.collection.where):
                records = self.collection.client.retrieve(
                    self.collection.name, part, with_payload=True, with_vectors=True
                )
            images = (points.image_of(record) for record in records)
            found |= {asked[points.point_id(image["id"]) or 0]: image for image in images}
        return found

    def fingerprint(self, image: Image) -> str:
        return points.fingerprint_of_payload(image["payload"])

    def render(self, ours: Ours, there: Image | None, like: Image | None, *, now: int) -> Image | None:
        if there is not None:
            return points.rendered(ours, there)
        return points.made(ours, self.new_id(ours), like, size=self.collection.size)

    def new_id(self, ours: Ours) -> str:
        return points.new_id(ours)

    def write(self, writes: Sequence[Write]) -> Mapping[str, Done]:
        done: dict[str, Done] = {}
        for part in _rounds(writes):
            done |= self._written(part)
        return done

    def _records(self) -> Iterator[Item | Unreadable]:
        size = PAGE if self._pinned is None else PAGE_OF_VECTORS
        page, start = LOCAL_PAGE if self.collection.local else size, None
        while True:
            with in_lines(self.collection.where):
                records, start = self.collection.client.scroll(
                    self.collection.name,
                    limit=page,
                    offset=start,
                    with_payload=True,
                    with_vectors=self._pinned is not None,
                )
            yield from map(self._item, records)
            if start is None:
                return

    def _item(self, record: models.Record) -> Item | Unreadable:
        key, payload = str(record.id), record.payload or {}
        try:
            memory = points.memory_of(payload, scope=self.options.scope)
        except ValueError as error:
            field = f"{key}: {getattr(error, 'below', '') or 'payload'}"
            return Unreadable(key, BadLine(self.url, 0, field, str(error)))
        vector = points.vector_of(record)
        if self._pinned is not None and vector:
            memory = replace(memory, model=self._pinned, vector=vector)
        uses, used_at = points.uses_of(payload)
        fingerprint = points.fingerprint_of_payload(payload)
        return Item(key, memory, fingerprint, uses, used_at, evidence="auto_injected")

    def _written(self, writes: Sequence[Write]) -> dict[str, Done]:
        """One round: looked at, asked for in one request, and looked at again."""
        there = self.look([each.id for each in writes])
        conflicts = {each.id: why for each in writes if (why := self._conflict(each, there.get(each.id)))}
        asked = [one for each in writes if each.id not in conflicts for one in self._asked(each, there.get(each.id))]
        if asked:
            with in_lines(self.collection.where, writing=True):
                self.collection.client.batch_update_points(self.collection.name, asked, wait=True)
        now = self.look([each.id for each in writes])
        return {each.id: self._done(each, now.get(each.id), conflicts.get(each.id)) for each in writes}

    def _conflict(self, write: Write, there: Image | None) -> str | None:
        """Why a point is not as the write found it; what it is to become counts too."""
        if there is None:
            return REMOVED if write.before is not None and write.after is not None else None
        is_now = self.fingerprint(there)
        as_told = any(image is not None and self.fingerprint(image) == is_now for image in (write.before, write.after))
        return None if as_told else EDITED

    def _asked(self, write: Write, there: Image | None) -> Iterator[models.UpdateOperation]:
        """What makes a point of it; over one that is there only if it still says what was just seen."""
        key = points.point_id(write.id)
        if key is None:
            return
        if there is None:
            if write.after is not None:
                point = models.PointStruct(
                    id=key, vector=points.numbers_of(write.after), payload=dict(write.after["payload"])
                )
                new = models.PointsList(points=[point], update_mode=models.UpdateMode.INSERT_ONLY)
                yield models.UpsertOperation(upsert=new)
        elif write.after is None:
            selected = self._selected(key, there)
            yield models.DeleteOperation(delete=models.FilterSelector(**selected) if "filter" in selected else
                                         models.PointIdsList(**selected))  # fmt: skip
        elif write.before is not None:
            put, dropped = _differences(write.before["payload"], write.after["payload"])
            selected = self._selected(key, there)
            if put:
                yield models.SetPayloadOperation(set_payload=models.SetPayload(payload=put, **selected))
            if dropped:
                yield models.DeletePayloadOperation(delete_payload=models.DeletePayload(keys=dropped, **selected))

    def _selected(self, key: points.PointId, there: Image) -> dict[str, Any]:
        """Local mode goes through all points for a filter, and nobody else can write to its folder meanwhile."""
        if self.collection.local:
            return {"points": [key]}
        return {"filter": points.still(key, there["payload"])}

    def _done(self, write: Write, there: Image | None, conflict: str | None) -> Done:
        is_now = None if there is None else self.fingerprint(there)
        if conflict is None and not _says(there, write):
            conflict = EDITED
        return Done(is_now, conflict)


def _rounds(whole: Sequence[_T]) -> Iterator[Sequence[_T]]:
    for start in range(0, len(whole), ROUND):
        yield whole[start : start + ROUND]


def _differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """What is put into a payload, and which keys are taken out."""
    put = {name: value for name, value in after.items() if name not in before or before[name] != value}
    return put, [name for name in before if name not in after]


def _says(there: Image | None, write: Write) -> bool:
    """Whether a point came to be what it was to become."""
    if there is None or write.after is None:
        return there is None and write.after is None
    put, dropped = _differences(write.before["payload"] if write.before else {}, write.after["payload"])
    if write.before is None:
        put = {"text": write.after["payload"].get("text")}
    payload = there["payload"]
    return all(payload.get(name) == value for name, value in put.items()) and not any(
        name in payload for name in dropped
    )
