"""formative-memory's store as a source: opened, read, and written in one transaction for each portion of a push."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import chain
from pathlib import Path

from consolidator.errors import BadInput
from consolidator.scopes import EMPTY
from consolidator.sources.formative import images
from consolidator.sources.formative.file import copy_once, file_at, raw, snapshot, state_of, transaction
from consolidator.sources.formative.images import NOTHING_COUNTED, Counted, fingerprint_of_row, images_of
from consolidator.sources.formative.reader import Reader
from consolidator.sources.formative.writing import pin_vectors, write_images
from consolidator.sources.port import Done, Image, Options, Ours, Reading, Versionless, Ways, Write


@contextmanager
def open_source(kind: str, place: str, options: Options) -> Iterator["FormativeSource"]:
    """The store at a place: its file, the folder of that, or nothing for where its plugin keeps it. BadInput."""
    path = file_at(place).absolute()
    with snapshot(path) as conn:
        pin = state_of(raw(conn), path).pin
    if pin and options.model and options.model not in (pin, f"openai:{pin}"):
        raise BadInput(f"{path}: its vectors are of {pin}, and the settings say {options.model}; correct the settings")
    with ExitStack() as stack:
        yield FormativeSource(kind, path, options, pin, stack)


class FormativeSource(Versionless):
    """An open store. Its memories are all of one scope, that of the options."""

    ways: Ways = "both"
    asks_for_links = True
    tells_decay = True

    def __init__(self, kind: str, path: Path, options: Options, pin: str | None, stack: ExitStack) -> None:
        self.kind = kind
        self.path = path
        self.url = f"{kind}:{path}"
        self.model = options.model or pin
        self._scope = None if options.scope == EMPTY else options.scope  # which is filled in anyway
        self._stack = stack
        self._counted = NOTHING_COUNTED

    def read(self, since: str | None) -> Reading:
        """Everything, always: it is told how far ratings are read by `since`, for the push that counts them."""
        reader = Reader(self._stack.enter_context(snapshot(self.path)), self.path, model=self.model, scope=self._scope)
        return Reading(chain([reader.source()], reader.items()), reader.until())

    def look(self, ids: Collection[str]) -> Mapping[str, Image]:
        with snapshot(self.path) as conn:
            return images_of(raw(conn), ids)

    def fingerprint(self, image: Image) -> str:
        return fingerprint_of_row(image["memory"])

    def render(self, ours: Ours, there: Image | None, like: Image | None, *, now: int) -> Image | None:
        return images.render(ours, there, self._counted, now=now)

    def new_id(self, ours: Ours) -> str:
        """Its ids are our own: the SHA-256 of the content."""
        return ours.id

    def counted_until(self, since: str) -> None:
        row, _, time = since.partition(" ")
        self._counted = Counted(int(row), time)

    def write(self, writes: Sequence[Write]) -> Mapping[str, Done]:
        with transaction(self.path) as conn:
            pin_vectors(conn, self.path, writes, model=self.model)
            return write_images(conn, writes, self._counted)

    def prepare(self) -> tuple[str, ...]:
        copy = copy_once(self.path)
        return () if copy is None else (f"{copy} is a copy of the store as it was before the first push",)
