"""A file of JSON lines, byte for byte: its rows by id, and the same file with some lines changed."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from consolidator.sources.memory_new.javascript import parse

Place = list[Any]  # after which row (its id, or None for the start), and after how many lines more


@dataclass(frozen=True, slots=True)
class Row:
    """A line that is a JSON object with an id. number: of its line, from 1. place: where it is put back."""

    id: str
    number: int
    line: bytes
    place: Place

    @property
    def text(self) -> str:
        """With the carriage return that it may end with."""
        return self.line.decode()

    @property
    def document(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = parse(self.text)
        return found


@dataclass(frozen=True, slots=True)
class Broken:
    """A line that no reader of it understands, and why."""

    number: int
    reason: str


def rows(raw: bytes) -> Iterator[Row | Broken]:
    """What a file holds, in order."""
    last: str | None = None
    skipped = 0
    for number, line in enumerate(raw.split(b"\n"), 1):
        if not line.strip():
            skipped += 1
            continue
        key, broken = _id_of(line)
        if key is None:
            yield Broken(number, broken)
            skipped += 1
        else:
            yield Row(key, number, line, [last, skipped])
            last, skipped = key, 0


@lru_cache(maxsize=2**18)  # a file is read several times, and each time most of its lines are as before
def _id_of(line: bytes) -> tuple[str | None, str]:
    """The id of a row, else why it has none."""
    try:
        document = parse(line.decode())
    except UnicodeDecodeError:
        return None, "is not UTF-8"
    except ValueError as error:
        return None, f"is no JSON ({error})"
    if not isinstance(document, dict):
        return None, "is not a JSON object"
    key = document.get("id")
    return (key, "") if isinstance(key, str) and key else (None, "has no id")


def is_whole(raw: bytes) -> bool:
    """Whether the last line has come to its end: it has a newline, or is JSON."""
    last = raw.rpartition(b"\n")[2]
    if not last.strip():
        return True
    try:
        parse(last.decode())
    except ValueError:
        return False
    return True


def edited(raw: bytes, changes: Mapping[str, tuple[str | None, Place | None]]) -> bytes:
    """
    The file with the rows of these ids changed: to a text, or taken out (None). A row that it does not hold is put at
    its place, or at the end. Every other byte stays as it is; a file that ends without a newline goes on doing so.
    """
    found = {row.id: row.number - 1 for row in reversed([row for row in rows(raw) if isinstance(row, Row)])}
    lines: list[bytes | None] = list(raw.split(b"\n")) if raw else [b""]
    new: list[tuple[str, Place | None]] = []
    for key, (text, place) in changes.items():
        if key in found:
            lines[found[key]] = None if text is None else text.encode()
        elif text is not None:
            new.append((text, place))
    while new:  # what is put behind another new one comes after it
        ready = next((one for one in new if one[1] is None or one[1][0] is None or one[1][0] in found), new[0])
        new.remove(ready)
        _insert(lines, found, *ready)
    return b"\n".join(line for line in lines if line is not None)


def _insert(lines: list[bytes | None], found: dict[str, int], text: str, place: Place | None) -> None:
    ended = not lines[-1]
    end = len(lines) - 1 if ended else len(lines)
    at = end
    if place is not None and (place[0] is None or place[0] in found):
        at = min((found[place[0]] + 1 if place[0] is not None else 0) + place[1], end)
    elif place is None and any(line and line.endswith(b"\r") for line in lines) and not text.endswith("\r"):
        text += "\r"
    lines.insert(at, text.encode())
    for key, line in found.items():
        if line >= at:
            found[key] = line + 1
    found[parse(text)["id"]] = at
