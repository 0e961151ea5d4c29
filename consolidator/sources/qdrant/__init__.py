"""
memory-smart: a collection of points in a Qdrant, over its REST interface, or in a folder of its local mode.

An image is a point with its payload and its vector (as base64 of float32, normalised as Qdrant keeps it).
"""

from collections.abc import Iterator
from contextlib import contextmanager

from consolidator.sources.port import Options
from consolidator.sources.qdrant.place import opened
from consolidator.sources.qdrant.source import Qdrant


@contextmanager
def open_source(kind: str, place: str, options: Options) -> Iterator[Qdrant]:
    """The points of a collection. BadInput where it cannot be reached, or holds something else."""
    with opened(place, options.token) as collection:
        yield Qdrant(kind, collection, options)
