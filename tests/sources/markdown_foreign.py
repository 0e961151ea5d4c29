"""Notes of OpenClaw, of Claude Code and of a person, with an agent that reads and writes them line by line."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from consolidator.sources.port import Options
from tests.sources.foreign import Foreign

FILLED = """\
---
tags: [home]
---
# Notes

Things that are true:

| who | when |
|---|---|
| Ada | Monday |

```sh
- not a memory
```

> - Somebody else's words.

## More

"""


class MarkdownForeign(Foreign):
    """
    A folder of notes, one line each, in two files. Its reader knows `- ` at the beginning of a line outside of fences,
    and no more of Markdown.
    """

    def __init__(self, kind: str, root: Path, names: tuple[str, str], prefix: str = "") -> None:
        self.root, self.names, self.prefix = root, names, prefix
        self.url, self.options = f"{kind}:{root}", Options()
        self._next = 0
        for name, text in zip(names, (FILLED, FILLED.replace("\n", "\r\n")), strict=True):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes(text.encode())

    def add(self, text: str, **about: Any) -> str:
        name = about.get("file", self.names[self._next % 2])
        self._next += 1
        with (self.root / name).open("ab") as file:
            file.write(f"- {text}{self._line_end(name)}".encode())
        return self.id_of(name, text)

    def edit(self, id: str, text: str) -> None:  # noqa: A002
        name, line = self._find(id)
        self._write(name, lambda each: each.replace(line, line[:2] + text) if each.strip() == line else each)

    def use(self, id: str) -> None:  # noqa: A002
        pass

    def remove(self, id: str) -> None:  # noqa: A002
        name, line = self._find(id)
        self._write(name, lambda each: "" if each.strip() == line else each)

    def texts(self) -> dict[str, str]:
        return {
            self.id_of(name, _said(line)): _said(line)
            for name in self.names
            for line, is_note in self._lines(name)
            if is_note
        }

    def rest(self) -> object:
        """Every other line, to the byte."""
        others = {name: [line for line, is_note in self._lines(name) if not is_note] for name in self.names}
        return others, sorted(str(path) for path in self.root.rglob("*"))

    def id_of(self, name: str, text: str) -> str:
        """The name that our program has for a note."""
        return f"{self.prefix}{name}#{hashlib.sha256(text.encode()).hexdigest()[:16]}"

    def _line_end(self, name: str) -> str:
        return "\r\n" if name == self.names[1] else "\n"

    def _lines(self, name: str) -> Iterator[tuple[str, bool]]:
        fenced = False
        for line in (self.root / name).read_bytes().decode().splitlines(keepends=True):
            fenced ^= line.startswith("```")
            yield line, not fenced and line.startswith("- ")

    def _find(self, id: str) -> tuple[str, str]:  # noqa: A002
        found = ((name, line.strip()) for name in self.names for line, is_note in self._lines(name) if is_note)
        return next((name, line) for name, line in found if self.id_of(name, _said(line)) == id)

    def _write(self, name: str, change: Any) -> None:
        text = "".join(change(line) for line, _ in self._lines(name))
        (self.root / name).write_bytes(text.encode())


def _said(line: str) -> str:
    return line[2:].strip()


@contextmanager
def openclaw(folder: Path) -> Iterator[MarkdownForeign]:
    yield MarkdownForeign("openclaw", folder, ("memory/home.md", "memory/2026-05-01.md"))


@contextmanager
def claude_code(folder: Path) -> Iterator[MarkdownForeign]:
    project = folder / "projects" / "-home-ada-atlas"
    project.mkdir(parents=True)
    yield MarkdownForeign("claude-code", project, ("memory/home.md", "memory/debugging.md"))


@contextmanager
def markdown(folder: Path) -> Iterator[MarkdownForeign]:
    yield MarkdownForeign("markdown", folder, ("notes.md", "home/kitchen.md"))
