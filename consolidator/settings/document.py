"""
A settings file as data: YAML 1.2, where `no`, `off` and `3:30` stay words, and each thing knows its line.

Anything else that YAML can be is refused in one line: tags, several documents, keys given twice, too much of it.
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from consolidator.settings.problems import Path, Problem, is_plain

LARGEST_BYTES = 256 * 1024
_MOST_NODES, _DEEPEST = 20_000, 20  # counted as they are read, and again where an alias repeats them
_TAG = "tag:yaml.org,2002:"
_SCALARS = ("null", "bool", "int", "float")
_ENDLESS = "too much of it: aliases that repeat each other, or groups in groups without end"
_EXAMPLE = "write e.g. `report: summary`"


class Document(NamedTuple):
    """
    data: as written. lines: of each path, from 1. problems: what of it was left out, and why.
    """

    data: dict[str, Any]
    lines: dict[Path, int]
    problems: tuple[Problem, ...]


class Unreadable(Exception):
    """Why nothing of a file can be used, in words."""


def decode(content: bytes) -> str:
    """The text of a file. Unreadable says why it is none."""
    if len(content) > LARGEST_BYTES:
        raise Unreadable(f"longer than {LARGEST_BYTES // 1024} kB, which no settings are")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Unreadable("not UTF-8 text; save it as UTF-8") from None


def read_document(text: str) -> Document:
    """The data of a text; of one without any, no data. Unreadable says what is wrong with it as a whole."""
    root = _compose(text)
    if root is None or (root.tag == f"{_TAG}null" and root.value == ""):
        return Document({}, {}, ())
    reader = _Reader()
    if root.tag != f"{_TAG}map":
        kind = {f"{_TAG}seq": "a list"}.get(root.tag, "a single value")
        raise Unreadable(f"not a mapping of settings, but {kind}; {_EXAMPLE}")
    try:
        data = reader.value(root, ())
    except (_TooMuch, RecursionError):
        raise Unreadable(_ENDLESS) from None
    return Document(data, reader.lines, tuple(reader.problems))


def reread(text: str) -> Any:
    """What a text would be without quotes around it: a number, true, false, null or itself."""
    node = _compose(text) if re.fullmatch(r"[\w.+-]+", text) else None
    return text if node is None or not isinstance(node.value, str) else _scalar(node, _constructor())


def _compose(text: str) -> Any:
    from ruamel.yaml import YAML
    from ruamel.yaml.composer import Composer
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    class Bounded(Composer):
        """Reads no further than settings go."""

        nodes = level = 0

        def compose_node(self, parent: Any, index: Any) -> Any:
            self.nodes, self.level = self.nodes + 1, self.level + 1
            if self.nodes > _MOST_NODES or self.level > _DEEPEST + 1:
                raise _TooMuch
            node = super().compose_node(parent, index)
            self.level -= 1
            return node

    strange = re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]", text)
    if strange:
        what = "a NUL" if strange[0] == "\0" else f"the control character U+{ord(strange[0]):04X}"
        raise Unreadable(f"line {_line(text, strange.start())}: not readable as YAML: {what} in it")
    if text.startswith("%"):
        raise Unreadable("line 1: not readable as YAML: settings begin without a directive; leave out the line with %")
    try:
        yaml = YAML(typ="safe", pure=True)
        yaml.Composer = Bounded
        return yaml.compose(text)
    except _TooMuch:
        raise Unreadable(_ENDLESS) from None
    except MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        problem = _harmless(error.problem or error.context or "unreadable")
        if "'\\t'" in problem:
            problem = "a tab where YAML wants spaces; indent with spaces"
        elif "another document" in problem:
            problem = "a second document begins; settings are one"
        elif error.problem_mark and "${" in "".join(text.splitlines()[error.problem_mark.line :][:1]):
            problem += "; within { } and [ ] a value with ${NAME} needs quotes"
        raise Unreadable(f"{line}not readable as YAML: {problem}") from None
    except (YAMLError, ValueError) as error:
        raise Unreadable(f"not readable as YAML: {_harmless(error)}") from None


def _harmless(words: object) -> str:
    """What ruamel says in one line, without a text of the file that may be a secret."""
    text = " ".join(str(words).split())
    return re.sub(r" ?'([^']*)'", lambda quoted: quoted[0] if is_plain(quoted[1]) else "", text)


def _line(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


class _TooMuch(Exception):
    pass


class _Reader:
    """Turns YAML's nodes into data, and remembers where each stood."""

    def __init__(self) -> None:
        self.lines: dict[Path, int] = {}
        self.problems: list[Problem] = []
        self._nodes = 0
        self._constructor = _constructor()

    def value(self, node: Any, path: Path) -> Any:
        self._nodes += 1
        if self._nodes > _MOST_NODES or len(path) > _DEEPEST:
            raise _TooMuch
        self.lines.setdefault(path, node.start_mark.line + 1)
        tag = str(node.tag)
        if tag == f"{_TAG}map":
            return self._mapping(node, path)
        if tag == f"{_TAG}seq":
            return [self.value(item, (*path, index)) for index, item in enumerate(node.value)]
        try:
            return _scalar(node, self._constructor)
        except ValueError as error:
            self.problems.append(Problem(path, str(error), self.lines[path]))
            return None

    def _mapping(self, node: Any, path: Path) -> dict[str, Any]:
        data: dict[str, Any] = {}
        for key, value in self._pairs(node, path):
            if not isinstance(key.value, str):
                self.problems.append(Problem(path, "a name has to be a word", key.start_mark.line + 1))
                continue
            inner, line = (*path, key.value), key.start_mark.line + 1
            if key.value in data:
                self.problems.append(
                    Problem(inner, f"given twice, first in line {self.lines[inner]}; keep one of them", line)
                )
                continue
            self.lines[inner] = line
            data[key.value] = self.value(value, inner)
        return data

    def _pairs(self, node: Any, path: Path) -> Iterator[tuple[Any, Any]]:
        """What is written in a mapping, then what `<<` brings from others and is not written."""
        others: list[Any] = []
        own: set[str | None] = set()
        for key, value in node.value:
            if str(key.tag) == f"{_TAG}merge":
                others += value.value if str(value.tag) == f"{_TAG}seq" else [value]
            else:
                own.add(key.value if isinstance(key.value, str) else None)
                yield key, value
        for other in others:
            if str(other.tag) != f"{_TAG}map":
                self.problems.append(Problem(path, "`<<` takes a group of settings", other.start_mark.line + 1))
                continue
            for key, value in self._pairs(other, path):
                if key.value not in own:
                    own.add(key.value)
                    yield key, value


def _constructor() -> Any:
    from ruamel.yaml import YAML

    return YAML(typ="safe", pure=True).constructor


def _scalar(node: Any, constructor: Any) -> Any:
    kind = str(node.tag).removeprefix(_TAG)
    if kind in ("str", "timestamp"):
        return node.value
    if kind not in _SCALARS or not isinstance(node.value, str):
        tag = str(node.tag).replace(_TAG, "!!")
        raise ValueError(
            f"the tag {tag} means nothing here; leave it out"
            if is_plain(tag)
            else "what begins with ! is a tag, which means nothing here; put it in quotes if it is a text"
        )
    try:
        return constructor.construct_object(node)
    except (ValueError, KeyError):
        raise ValueError("not readable as a value; put it in quotes if it is a text") from None
