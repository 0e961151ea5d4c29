"""
memory-new: lines of JSON by session, Markdown scenes with an index, and a persona, while its agent goes on.

An image is a line or a page as it stands there, with its file and its place in it.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from consolidator.sources.memory_new.folder import Folder
from consolidator.sources.memory_new.source import MemoryNew
from consolidator.sources.port import Options

USUAL = "~/.openclaw/memory-new"


@contextmanager
def open_source(kind: str, place: str, options: Options) -> Iterator[MemoryNew]:
    """The memories of a base folder. BadInput where it is none."""
    yield MemoryNew(kind, Folder.of(place or USUAL), options)
