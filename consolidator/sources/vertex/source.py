"""
The source: what is read of a bank, and what is written there.

The API has no compare-and-set. So each memory is looked at right before it is written, and left alone where it is no
more as it was; what another writes in the moment between the two is overwritten, in the fields that the write is about.

A memory can be given a name only when it is made, and never that of one that was deleted. One that is to be there again
is brought back by its last revision, under its name, as long as the service keeps that (two days); after that it is
made anew, and known by its former name, which it carries in its metadata.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

from consolidator.errors import BadInput
from consolidator.sources.port import Done, Image, Item, Options, Ours, Reading, Unreadable, Versionless, Ways, Write
from consolidator.sources.vertex.bank import Bank, Lost, Refused, changed
from consolidator.sources.vertex.images import (
    ID,
    NAMED,
    fingerprint,
    id_of,
    item_of,
    merged_metadata,
    metadata_of,
    new_name,
    render,
)

FIELDS = ("fact", "topics", "expireTime", "metadata")
_ASK_EACH = 20  # memories; of more the whole list is asked for
_NAMES = 20  # tries to give a memory that was deleted a new one
_EDITED = "was edited over there meanwhile"


class VertexSource(Versionless):
    """The memories of one reasoning engine."""

    ways: Ways = "both"
    asks_for_links = False
    tells_decay = False
    model = None

    def __init__(self, kind: str, url: str, bank: Bank, options: Options) -> None:
        self.kind, self.url, self.bank, self.options = kind, url, bank, options
        self._renamed: dict[str, str] | None = None  # by the id, the name of each that is not called by it any more

    def read(self, since: str | None) -> Reading:
        """Everything: the service does not tell whether anything has changed."""
        return Reading(self._items())

    def _items(self) -> Iterator[Item | Unreadable]:
        for _, image in self.bank.all():
            item = item_of(image, url=self.url, scope=self.options.scope)
            if item is not None:
                yield item

    def look(self, ids: Collection[str]) -> Mapping[str, Image]:
        if len(ids) > _ASK_EACH:
            found = {id_of(image): image for _, image in self.bank.all()}
            return {key: found[key] for key in ids if key in found}
        looked = {key: self._find(key) for key in ids}
        return {key: image for key, image in looked.items() if image is not None}

    def fingerprint(self, image: Image) -> str:
        return fingerprint(image)

    def render(self, ours: Ours, there: Image | None, like: Image | None, *, now: int) -> Image | None:
        return render(ours, there, like, besides=self.options.scope)

    def new_id(self, ours: Ours) -> str:
        return new_name(ours.scope, ours.id)

    def write(self, writes: Sequence[Write]) -> Mapping[str, Done]:
        """Once the service itself fails, the rest is left alone; BadInput only where nothing was written yet."""
        done: dict[str, Done] = {}
        failed: str | None = None
        for each in writes:
            if failed is None:
                try:
                    done[each.id] = self._write(each)
                    continue
                except Refused as refused:
                    done[each.id] = Done(conflict=str(refused))
                    continue
                except BadInput as error:
                    if not any(one.conflict is None for one in done.values()):
                        raise
                    failed = str(error)
            done[each.id] = Done(conflict=f"could not be written: {failed}")
        return done

    def _write(self, write: Write) -> Done:
        """Where the answer to it was lost it is made once more, over what that has come to."""
        try:
            return self._written(write)
        except Lost:
            return self._written(write)

    def _written(self, write: Write) -> Done:
        now = self._find(write.id)
        after = write.after
        if now is None and after is None:
            return Done()
        if now is None and write.before is not None:
            return Done(conflict="was deleted over there meanwhile")
        if now is None and after is not None:
            self._make(write.id, after)
            return self._brought_to(write.id, None, after)
        assert now is not None
        expected = {fingerprint(image) for image in (write.before, after) if image is not None}
        if fingerprint(now) not in expected:
            return Done(conflict="is there already, and says something else" if write.before is None else _EDITED)
        if after is None:
            self.bank.delete(str(now["name"]))
            return Done(conflict="is there again") if self.bank.get(str(now["name"])) else Done()
        return self._brought_to(write.id, write.before, after, now=now)

    def _brought_to(self, key: str, before: Image | None, after: Image, *, now: Image | None = None) -> Done:
        """Set what differs from `after`, and read what it is then."""
        now = now or self._find(key)
        if now is None:
            return Done(conflict="was deleted over there meanwhile")
        wanted = {**now, "metadata": merged_metadata(now, before, after)}
        for field in FIELDS[:3]:
            wanted.pop(field, None)
            if after.get(field):
                wanted[field] = after[field]
        if differing := changed(now, wanted, FIELDS):
            self.bank.change(str(now["name"]), wanted, differing)
            now = self._find(key)
        return Done(fingerprint(now)) if now else Done(conflict="was deleted over there meanwhile")

    def _make(self, key: str, image: Image) -> None:
        """A memory that is to be there, under its name where that can be."""
        if key.startswith(NAMED):
            try:
                self.bank.create(image, key)
                return
            except Refused as refused:
                if refused.code != 409:
                    raise
        if self.bank.get(key) or self.bank.revive(key, str(image["fact"])):
            return
        known_by = {**image, "metadata": {**metadata_of(image), ID: {"stringValue": key}}}
        for attempt in range(1, _NAMES + 1):
            name = new_name(key, str(attempt))
            try:
                self.bank.create(known_by, name)
            except Refused as refused:
                if refused.code != 409 or attempt == _NAMES:
                    raise
                continue
            if self._renamed is not None:
                self._renamed[key] = name
            return

    def _find(self, key: str) -> Image | None:
        """The memory of an id, also where it had to be given another name."""
        image = self.bank.get(key)
        if image is not None and id_of(image) == key:
            return image
        if self._renamed is None:
            self._renamed = {id_of(image): name for name, image in self.bank.all() if id_of(image) != name}
        name = self._renamed.get(key)
        image = self.bank.get(name) if name else None
        return image if image is not None and id_of(image) == key else None
