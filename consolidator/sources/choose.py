"""Which sources there are, and the one that a URL names: `KIND:PLACE`, or `KIND` alone for the place that is usual."""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec

from consolidator.errors import BadInput
from consolidator.sources.port import Options, Source, Ways


@dataclass(frozen=True, slots=True)
class Kind:
    """
    A kind of source. what: whose store it is. place: how its place is written. ways: what can be done with it.

    takes: which of `model`, `mapping` and `token` mean something to it. is_path: its place is a file or a folder, if it
    is no URL. extra: what has to be installed besides, and the package that it is.
    """

    name: str
    what: str
    place: str
    ways: Ways
    module: str
    takes: tuple[str, ...] = ()
    is_path: bool = True
    extra: tuple[str, str] | None = None

    @property
    def missing(self) -> str | None:
        """What has to be installed for it and is not, as pip is told it."""
        if self.extra is None or find_spec(self.extra[1]) is not None:
            return None
        return f"consolidator[{self.extra[0]}]"


def _lance(name: str, what: str) -> Kind:
    return Kind(name, what, "its LanceDB folder", "both", "lance", ("model",), extra=("lancedb", "lancedb"))


KINDS = {
    kind.name: kind
    for kind in (
        Kind("formative", "formative-memory", "its associations.db", "both", "formative", ("model",)),
        _lance("claw-memory-ultra", "Claw Memory Ultra"),
        _lance("memory-lancedb-pro", "memory-lancedb-pro"),
        _lance("memory-lancedb", "OpenClaw's memory-lancedb"),
        Kind(
            "memory-smart",
            "memory-smart",
            "http://HOST:PORT/COLLECTION of a Qdrant, or a folder of its local mode",
            "both",
            "qdrant",
            ("model", "token"),
            extra=("qdrant", "qdrant_client"),
        ),
        Kind("memory-new", "memory-new", "its folder", "both", "memory_new"),
        Kind(
            "vertex",
            "Vertex AI Memory Bank",
            "projects/P/locations/L/reasoningEngines/N",
            "both",
            "vertex",
            ("token",),
            is_path=False,
            extra=("vertex", "agentplatform"),
        ),
        Kind("openclaw", "OpenClaw's memory-core", "its workspace folder", "both", "markdown"),
        Kind("claude-code", "Claude Code", "a project's folder, or ~/.claude", "both", "markdown"),
        Kind("markdown", "any folder of Markdown files", "the folder", "both", "markdown"),
        Kind("mem0", "mem0, exported", "the file", "read", "mapped", ("mapping",)),
        Kind("letta", "Letta, exported", "the file", "read", "mapped", ("mapping",)),
        Kind("langmem", "LangMem, exported", "the file", "read", "mapped", ("mapping",)),
        Kind("csv", "any CSV file", "the file; it needs a mapping", "read", "mapped", ("mapping",)),
    )
}


def parse_source(url: str) -> tuple[Kind, str]:
    """The kind of a source and its place. BadInput where nobody knows the kind, or its extra is not installed."""
    name, _, place = url.partition(":")
    kind = KINDS.get(name)
    if kind is None:
        raise BadInput(f"{url}: {name!r} is no kind of source; `consolidate sources` lists them")
    if kind.missing:
        raise BadInput(f"{url}: needs a package that is not installed: pip install '{kind.missing}'")
    return kind, place


def open_source(url: str, options: Options) -> AbstractContextManager[Source]:
    """The source that a URL names, to be used until the end of the block. BadInput where it cannot be used."""
    kind, place = parse_source(url)
    opened: AbstractContextManager[Source] = import_module(f"consolidator.sources.{kind.module}").open_source(
        kind.name, place, options
    )
    return opened
