"""Which files of a folder hold memories, by the kind of folder, and what each of them is to its agent."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from consolidator.errors import BadInput
from consolidator.instants import parse_date
from consolidator.sources.markdown.blocks import PLAIN, Rules

SOUL = "SOUL.md"
_IN_MIND = ("MEMORY.md", "memory.md", "USER.md", SOUL)

_DAY = re.compile(r"(\d{4}-\d{2}-\d{2})(?:[-_ ].*)?\.md", re.DOTALL)
_INDEX = re.compile(r"\[[^\]]*\]\([^)\s]+\.md\)")  # an entry of Claude Code's MEMORY.md: the memory is in that file
_REMEMBERED = re.compile(r"(projects/[^/]+/|~[^/]+/)?memory/")  # the names of Claude Code's own notes
_INDEXED = re.compile(_REMEMBERED.pattern + r"MEMORY\.md$")
_REASON = re.compile(r"\*\*(?:why|how to apply)\b", re.IGNORECASE)  # as it is told to write them below what it noted
_IMPORT = re.compile(r"@\S+$")
_TEMPLATE = re.compile(r"_[^_].*_$")  # what OpenClaw's own templates say in italics of how to fill them in


@dataclass(frozen=True, slots=True)
class File:
    """
    name: its path as ids have it. type: of its memories. read_only: it says who the agent is or what a person told it
    to do, and is never written. project: whose it is, if a folder holds several.
    """

    name: str
    path: Path
    type: str = "fact"
    read_only: bool = False
    project: str | None = None
    rules: Rules = PLAIN

    @property
    def spelled(self) -> str:
        """Its path as a person is told it."""
        return _spelled(str(self.path))

    @property
    def day(self) -> str | None:
        """The date that a daily note has in its name."""
        match = _DAY.fullmatch(self.path.name)
        try:
            return parse_date(match[1]).isoformat() if match else None
        except ValueError:
            return None


@dataclass(frozen=True, slots=True)
class Folder:
    """The folder that a URL names. config: where Claude Code keeps what it remembers."""

    kind: str
    root: Path
    config: Path

    def is_read_only(self, name: str) -> bool:
        """Whether the file of a name is one that is only read, whether or not it is there."""
        if self.kind == "claude-code":
            return _REMEMBERED.match(name) is None
        return self.kind == "openclaw" and name == SOUL

    def is_in_mind(self, name: str) -> bool:
        """Whether its agent has the page before it in every session, and looks others up."""
        if self.kind == "claude-code":
            return self.is_read_only(name) or _INDEXED.match(name) is not None
        return self.kind == "openclaw" and name in _IN_MIND

    def files(self) -> dict[str, File]:
        """
        All files by name, each once, however many links lead to it. Hidden ones are none, but for Claude Code's own.

        BadInput where a folder cannot be looked into: what was there would count as gone.
        """
        found: dict[str, File] = {}
        known: set[object] = set()
        for file in sorted(_LISTS[self.kind](self), key=lambda file: file.name):
            try:
                status = file.path.stat()
                one: object = (status.st_dev, status.st_ino)
            except OSError:
                one = file.name
            if one not in known and os.path.lexists(file.path):
                known.add(one)
                found[file.name] = file
        return found


def folder_of(kind: str, place: str) -> Folder:
    """The folder at a place, or at the usual one. BadInput where there is none."""
    config = Path(os.environ.get("CLAUDE_CONFIG_DIR") or "~/.claude").expanduser()
    usual = {"openclaw": Path("~/.openclaw/workspace"), "claude-code": config}.get(kind)
    if not place and usual is None:
        raise BadInput(f"{kind}: which folder? Write {kind}:FOLDER")
    root = (Path(place) if place else usual or Path()).expanduser()
    if not root.is_dir():
        raise BadInput(f"{root}: there is no such folder")
    return Folder(kind, root.resolve(), config.resolve())


def _openclaw(folder: Folder) -> Iterator[File]:
    for name in ("MEMORY.md", "memory.md"):
        yield File(name, folder.root / name)
    yield File("USER.md", folder.root / "USER.md", type="preference", rules=Rules(skip=_TEMPLATE))
    yield File(SOUL, folder.root / SOUL, type="instruction", read_only=True, rules=Rules(skip=_TEMPLATE))
    for name, path in _below(folder.root, "memory"):
        if not name.startswith("memory/dreaming/"):  # reports of its own nights
            yield File(name, path)


def _claude_code(folder: Folder) -> Iterator[File]:
    root, config = folder.root, folder.config
    if root == config or root.name == ".claude":
        yield from _told(root, "CLAUDE.md")
        yield from _told_below(root, "rules")
        projects = root / "projects"
        for slug in sorted(_names(projects)) if projects.is_dir() else ():
            yield from _remembered(projects / slug, f"projects/{slug}/memory", slug)
    elif root.parent.name == "projects":
        yield from _remembered(root, "memory", root.name)
    else:
        slug = re.sub(r"[^A-Za-z0-9]", "-", str(root))
        yield from _told(root, "CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md", project=slug)
        yield from _told_below(root, ".claude/rules", project=slug)
        yield from _remembered(config / "projects" / slug, f"~{slug}/memory", slug)


def _told(root: Path, *names: str, project: str | None = None) -> Iterator[File]:
    for name in names:
        yield _instructions(name, root / name, project)


def _told_below(root: Path, under: str, *, project: str | None = None) -> Iterator[File]:
    for name, path in _below(root, under):
        yield _instructions(name, path, project)


def _instructions(name: str, path: Path, project: str | None) -> File:
    return File(name, path, type="instruction", read_only=True, project=project, rules=Rules(skip=_IMPORT))


def _remembered(project: Path, prefix: str, slug: str) -> Iterator[File]:
    for name, path in _below(project, "memory"):
        index = path.name == "MEMORY.md"
        rules = Rules(skip=_INDEX) if index else Rules(more=_REASON)
        yield File(prefix + name.removeprefix("memory"), path, project=slug, rules=rules)


def _markdown(folder: Folder) -> Iterator[File]:
    for name, path in _below(folder.root, "."):
        yield File(name, path)


_LISTS = {"openclaw": _openclaw, "claude-code": _claude_code, "markdown": _markdown}


def _below(root: Path, under: str) -> Iterator[tuple[str, Path]]:
    """The *.md files below a folder, by their path from `root`."""
    top = root / under
    if not top.is_dir():
        return

    def refuse(error: OSError) -> None:
        raise BadInput(f"{error.filename}: {error.strerror}; nothing was read, for what it holds would count as gone")

    for place, folders, names in os.walk(top, onerror=refuse):
        folders[:] = [name for name in folders if not name.startswith(".") and name != "node_modules"]
        for name in names:
            if name.endswith(".md") and not name.startswith("."):
                path = Path(place, name)
                yield _spelled(path.relative_to(root).as_posix()), path


def _spelled(name: str) -> str:
    """The name of a file, also of one that is not UTF-8."""
    return os.fsencode(name).decode(errors="backslashreplace")


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError as error:
        raise BadInput(f"{folder}: {error.strerror}; nothing was read, for what it holds would count as gone") from None
