"""What is wrong with settings: where, what is not as it should be, and what to write instead, in one line."""

from typing import Any, NamedTuple

Path = tuple[str | int, ...]
_LONGEST_VALUE = 60


class Problem(NamedTuple):
    """One thing that is wrong. line: from 1, where it is known."""

    path: Path
    what: str
    line: int | None = None

    def __str__(self) -> str:
        path = f"{spelled(self.path)}: " if self.path else ""
        return f"{path}{self.what}{f' (line {self.line})' if self.line else ''}"


def spelled(path: Path) -> str:
    """A path as a person reads it: jobs.shift.channels[0]."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")


def as_written(value: Any) -> str:
    """A value as a person would write it, not too long."""
    text = (
        {True: "true", False: "false"}[value] if isinstance(value, bool) else "null" if value is None else repr(value)
    )
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 1]}…"
