"""Values that stand elsewhere, so that settings can be shown around: ${VARIABLE}, and x_file instead of x."""

import re
import stat
from collections.abc import Mapping
from pathlib import Path as FilePath
from typing import Any, NamedTuple

from consolidator.settings.document import Document
from consolidator.settings.problems import Path, Problem, is_made_of_words, is_plain, spelled
from consolidator.settings.shape import FILE_SUFFIX, Shape, fields, may_be_in_a_file

_LARGEST_FILE_BYTES = 64 * 1024
_REFERENCE = re.compile(r"\$(?:\$|\{(?P<name>[A-Za-z_]\w*)(?P<default>:-[^}]*)?\}|(?P<wrong>\{[^}]*\}?))", re.ASCII)
_BARE = re.compile(r"\$[A-Z_][A-Z0-9_]*", re.ASCII)


class Elsewhere(NamedTuple):
    """Where a value is from. written: what stands in the file instead. names: of variables."""

    written: str
    names: tuple[str, ...] = ()
    file: str | None = None


class Resolved(NamedTuple):
    """
    Data with what stands elsewhere put in.

    sources: of what came from elsewhere. unknown: paths whose value could not be found; `problems` says why.
    notes: what is no problem, and should not stay so.
    """

    data: dict[str, Any]
    sources: dict[Path, Elsewhere]
    unknown: frozenset[Path]
    problems: tuple[Problem, ...]
    notes: tuple[str, ...]


def resolve(document: Document, shape: Shape, *, environ: Mapping[str, str], folder: FilePath) -> Resolved:
    """Put in what stands elsewhere. folder: from which relative paths of files lead."""
    work = _Work(document.lines, environ, folder)
    data = work.group(document.data, shape, ())
    return Resolved(data, work.sources, frozenset(work.unknown), tuple(work.problems), tuple(work.notes))


def say_if_open(path: FilePath, name: str, what: str) -> str | None:
    """A note, where a file with secrets can be read or written by others than its owner and group."""
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode) or not mode & (stat.S_IROTH | stat.S_IWOTH | stat.S_IWGRP):
        return None
    doing = "read" if mode & stat.S_IROTH else "changed"
    return f"{name}{what} can be {doing} by others (mode {stat.S_IMODE(mode):04o}): chmod 600 {path}"


class _Work:
    def __init__(self, lines: dict[Path, int], environ: Mapping[str, str], folder: FilePath) -> None:
        self.lines, self.environ, self.folder = lines, environ, folder
        self.sources: dict[Path, Elsewhere] = {}
        self.unknown: set[Path] = set()
        self.problems: list[Problem] = []
        self.notes: list[str] = []

    def group(self, data: dict[str, Any], shape: Shape | None, path: Path) -> dict[str, Any]:
        found = {
            name: self.value(value, shape and shape.inner(name, data), (*path, name)) for name, value in data.items()
        }
        group = shape and shape.group(data)
        for name, inner in fields(group) if group else ():
            key = name + FILE_SUFFIX
            if key in found and may_be_in_a_file(inner):
                given = found.pop(key)
                if given is not None:
                    self._put(found, name, given, path)
        return found

    def value(self, value: Any, shape: Shape | None, path: Path) -> Any:
        if isinstance(value, dict):
            return self.group(value, shape, path)
        if isinstance(value, list):
            return [self.value(item, shape and shape.inner(index), (*path, index)) for index, item in enumerate(value)]
        return self._expanded(value, path) if isinstance(value, str) and "$" in value else value

    def _expanded(self, text: str, path: Path) -> str:
        """A text with the values of variables in it."""
        names: list[str] = []
        wrong: list[str] = []

        def put(match: re.Match[str]) -> str:
            if match["name"]:
                names.append(match["name"])
                value = self.environ.get(match["name"])
                if not value and match["default"] is None:
                    wrong.append(
                        f"the variable {match['name']} is {'not set' if value is None else 'empty'}; "
                        f"set it, or write ${{{match['name']}:-DEFAULT}}"
                    )
                return value or (match["default"] or "")[2:]
            if match["wrong"]:
                wrong.append("`${` begins the name of a variable, as in ${NAME}; for a dollar itself write $$")
            return "$"

        value = _REFERENCE.sub(put, text)
        if _BARE.fullmatch(text):
            name = text[1:] if is_plain(text) else "NAME"
            wrong.append(f"write ${{{name}}} for the variable, or $${name} for the text itself")
        if names:
            self.sources[path] = Elsewhere(text, tuple(names))
        for what in dict.fromkeys(wrong):
            self._miss(path, what)
        return value

    def _put(self, found: dict[str, Any], name: str, given: Any, path: Path) -> None:
        """Put the content of the file `name_file` in place of `name`."""
        key, inner = (*path, name + FILE_SUFFIX), (*path, name)
        if inner in self.lines and found.get(name) is not None:
            self._miss(key, f"{name} is given too; leave one of them out")
            return
        found[name] = ""
        self.lines[inner] = self.lines[key]
        if key in self.unknown:
            self.unknown.add(inner)
            return
        self.sources[inner] = Elsewhere(f"{name}{FILE_SUFFIX}", file=str(given))
        if not isinstance(given, str) or not given.strip():
            self._miss(key, "is not the path of a file")
        else:
            found[name] = self._read(given, key)
        if key in self.unknown:
            self.unknown.add(inner)

    def _read(self, given: str, key: Path) -> str:
        path = self.folder.absolute() / FilePath(given).expanduser()
        given = given if is_made_of_words(given) else "the file"
        try:
            if not path.is_file() and path.exists():
                raise OSError(0, "not a file")
            with path.open("rb") as file:
                content = file.read(_LARGEST_FILE_BYTES + 1)
            note = say_if_open(path, spelled(key), f": {given}")
        except (OSError, ValueError) as error:
            self._miss(key, f"{given} cannot be read: {getattr(error, 'strerror', None) or error}")
            return ""
        if note:
            self.notes.append(note)
        try:
            text = content.decode("utf-8-sig").strip()
        except UnicodeDecodeError:
            self._miss(key, f"{given} is not UTF-8 text")
            return ""
        if len(content) > _LARGEST_FILE_BYTES:
            self._miss(key, f"{given} is longer than {_LARGEST_FILE_BYTES // 1024} kB, which no secret is")
        elif not text:
            self._miss(key, f"{given} is empty")
        elif "\0" in text:
            self._miss(key, f"{given} holds a NUL")
        return text

    def _miss(self, path: Path, what: str) -> None:
        self.unknown.add(path)
        line = next((self.lines[path[:end]] for end in range(len(path), -1, -1) if path[:end] in self.lines), None)
        self.problems.append(Problem(path, what, line))
