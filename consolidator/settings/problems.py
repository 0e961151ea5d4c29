"""
What is wrong with settings: where, what is not as it should be, and what to write instead, in one line.

A secret may stand in a wrong place, so only what is made of short plain words is ever repeated.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

Path = tuple[str | int, ...]
_LONGEST_VALUE = 60
_LONGEST_WORD = 16
_MIXED = re.compile(r"(?=.*[0-9])(?=.*[^\W\d]).{8,}", re.DOTALL)
_VARIABLE = re.compile(r"\$\{\w+\}", re.ASCII)


class Problem(NamedTuple):
    """One thing that is wrong. line: from 1, where it is known."""

    path: Path
    what: str
    line: int | None = None

    def __str__(self) -> str:
        path = f"{spelled(self.path)}: " if self.path else ""
        return f"{path}{self.what}{f' (line {self.line})' if self.line else ''}"


def spelled(path: Path) -> str:
    """A path as a person reads it: jobs.shift.channels[0]. A name that may be a secret is `***`."""
    return "".join(
        f"[{part}]" if isinstance(part, int) else f".{part if is_plain(part) else '***'}" for part in path
    ).removeprefix(".")


def is_plain(text: str) -> bool:
    """Whether a text is short plain words, and so no secret: no address, no key, nothing that is long."""
    return len(text) <= _LONGEST_VALUE and is_made_of_words(text)


def is_made_of_words(text: str) -> bool:
    """Whether a text, however long, is no address and has no word in it that looks like a key."""
    words = re.split(r"[\W_]+", _VARIABLE.sub("", text))
    return (
        text.isprintable()
        and "://" not in text
        and "@" not in text
        and not any(len(word) > _LONGEST_WORD or _MIXED.fullmatch(word) for word in words)
    )


def as_written(value: Any) -> str | None:
    """A value as a person would write it; None where it may be a secret."""
    text = (
        {True: "true", False: "false"}[value] if isinstance(value, bool) else "null" if value is None else repr(value)
    )
    return text if len(text) <= _LONGEST_VALUE and all(map(is_plain, _texts(value))) else None


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, each in value.items():
            yield str(name)
            yield from _texts(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _texts(each)
    else:
        yield str(value)
