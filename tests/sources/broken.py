"""Sources that fail at one of the calls that are made of them, before it is done, after, or when it is half done."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from consolidator.sources.port import Done, Item, Reading, Source, Write

WRITES = frozenset({"write", "go_back", "prepare"})
CALLS = WRITES | {"read", "look", "render", "version"}


class Broken(Exception):
    """What a test has broken."""


class Breaking:
    """A source whose call number `at` fails. how: before, after, or (a write) half way. made: the calls by name."""

    def __init__(self, source: Source, *, at: int = 0, how: str = "before") -> None:
        self.source, self.at, self.how = source, at, how
        self.made: list[str] = []

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.source, name)
        if name not in CALLS:
            return found

        def call(*given: Any, **named: Any) -> Any:
            self.made.append(name)
            if len(self.made) != self.at:
                return found(*given, **named)
            if self.how == "half" and name == "write":
                found(given[0][: len(given[0]) // 2])
            elif self.how == "after":
                found(*given, **named)
            raise Broken

        return call


class CutOff:
    """A source whose reading ends in the middle."""

    def __init__(self, source: Source) -> None:
        self.source = source

    def __getattr__(self, name: str) -> Any:
        return getattr(self.source, name)

    def read(self, since: str | None) -> Reading:
        """All but what comes after the first record."""
        reading = self.source.read(None)

        def cut() -> Iterator[Any]:
            for record in reading.records:
                yield record
                if isinstance(record, Item):
                    raise Broken

        return replace(reading, records=cut())


class Meddled:
    """A source to which somebody else does something right before a write."""

    def __init__(self, source: Source, meddle: Any) -> None:
        self.source, self.meddle = source, meddle

    def __getattr__(self, name: str) -> Any:
        return getattr(self.source, name)

    def write(self, writes: Sequence[Write]) -> Mapping[str, Done]:
        """After the other one's work."""
        self.meddle()
        return self.source.write(writes)
