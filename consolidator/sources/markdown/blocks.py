"""
A Markdown page as memories: one for each list item and each paragraph, with the lines that it stands on.

Everything else is no memory and is left alone: headings (they say what the memories below them are about), tables,
code, quotations, HTML and comments, thematic breaks, link definitions, front matter, labels (`Likes:`, `**Name:**`),
and what another program keeps between `<!-- NAME:start -->` and `<!-- NAME:end -->`. Pure.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from markdown_it import MarkdownIt
from markdown_it.token import Token

_MARKDOWN = MarkdownIt("commonmark").enable("table")
_MARKDOWN.core.ruler.enableOnly(["normalize", "block"])

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_BOX = re.compile(r"\[([ xX])\][ \t]+")
_ESCAPED = re.compile(r"(\d{0,9})\\([!-/:-@\[-`{-~])")
_NUMBERED = re.compile(r"(\d{1,9})([.)])")
_MARK = re.compile(r"<!--\s*(?P<name>.*?)\b(?P<end>start|begin|end)\s*-->", re.IGNORECASE | re.DOTALL)
_FENCE = "---"
_TITLED = {"name", "description"}
_BOM = "\ufeff"


@dataclass(frozen=True, slots=True)
class Rules:
    """
    What is particular about a page. skip: texts that are no memory. more: what a paragraph begins with that belongs to
    the one before it, on a page whose front matter gives it a name and a description.
    """

    skip: re.Pattern[str] | None = None
    more: re.Pattern[str] | None = None


PLAIN = Rules()


@dataclass(frozen=True, slots=True)
class Spot:
    """
    Where a memory stands: the lines from start until before end. prefix: what comes before its text on the first.

    headings: those above it, outermost first. under: the labels and list items that it stands below. done: of its task
    box. bears: other things are nested below it, so that the lines cannot go without orphaning them.
    """

    start: int
    end: int
    text: str
    prefix: str = ""
    headings: tuple[str, ...] = ()
    under: tuple[str, ...] = ()
    done: bool | None = None
    bears: bool = False

    @property
    def key(self) -> str:
        """What names the text within its file."""
        return key_of(self.text)


@dataclass(frozen=True, slots=True)
class Page:
    """mark: the byte order mark, if there is one. lines: each with its end; together they are the file."""

    mark: str
    lines: tuple[str, ...]
    spots: tuple[Spot, ...]
    front: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.mark + "".join(self.lines)

    @property
    def keys(self) -> Counter[str]:
        return Counter(spot.key for spot in self.spots)

    @property
    def line_end(self) -> str:
        """How its lines end."""
        return next((end_of(line) for line in self.lines if end_of(line)), "\n")


def key_of(text: str) -> str:
    """16 hexadecimal digits of the SHA-256 of a text; how it is broken into lines does not matter."""
    return hashlib.sha256(" ".join(text.split()).encode()).hexdigest()[:16]


def end_of(line: str) -> str:
    """The end of a line: CRLF, LF, CR, or none at the end of a file."""
    return line[len(line.rstrip("\r\n")) :]


def parse(text: str, rules: Rules) -> Page:
    """The page that a file's text is; `str` of it is that text."""
    mark = _BOM if text.startswith(_BOM) else ""
    lines = tuple(_LINE.findall(text[len(mark) :]))
    after = _front_matter(lines)
    front = dict(_fields(lines[1 : after - 1])) if after else {}
    tokens = _MARKDOWN.parse("\n" * after + "".join(lines[after:]))
    nodes = _nest(tokens)
    managed = _managed(nodes)
    spots = tuple(
        spot
        for spot in _spots(_joined(nodes, rules.more if front.keys() >= _TITLED else None), lines)
        if not any(start <= spot.start < end for start, end in managed)
        and not (rules.skip and rules.skip.match(spot.text))
    )
    return Page(mark, lines, spots, front)


def write_line(text: str, prefix: str) -> str | None:
    """
    One line of Markdown, without its end, that is read as this text; None where no line is.

    What would be another block at the beginning of a line (a heading, a list, a table of one row) is escaped.
    """
    flat = " ".join(part for part in (line.strip() for line in text.splitlines()) if part)
    bullet = prefix.lstrip()
    escapes = (flat, f"\\{flat}", _NUMBERED.sub(r"\1\\\2", flat, count=1))
    for each in escapes:
        spots = parse(bullet + each, PLAIN).spots
        if len(spots) == 1 and spots[0].key == key_of(text) and spots[0].prefix == bullet:
            return prefix + each
    return None


@dataclass(slots=True)
class _Node:
    token: Token
    children: list["_Node"] = field(default_factory=list)

    @property
    def kind(self) -> str:
        return self.token.type.removesuffix("_open")

    @property
    def lines(self) -> tuple[int, int]:
        assert self.token.map is not None
        return self.token.map[0], self.token.map[1]

    @property
    def content(self) -> str:
        """What an inline child says."""
        return self.children[0].token.content if self.children else ""


def _nest(tokens: Sequence[Token]) -> list[_Node]:
    root: list[_Node] = []
    open_nodes = [root]
    for token in tokens:
        if token.nesting < 0:
            open_nodes.pop()
            continue
        node = _Node(token)
        open_nodes[-1].append(node)
        if token.nesting > 0:
            open_nodes.append(node.children)
    return root


def _joined(nodes: Iterable[_Node], more: re.Pattern[str] | None) -> Iterator[list[_Node]]:
    """Each node by itself, but paragraphs with what belongs to them."""
    group: list[_Node] = []
    for node in nodes:
        belongs = more and group and {node.kind, group[0].kind} == {"paragraph"} and more.match(node.content)
        if group and not belongs:
            yield group
            group = []
        group.append(node)
    if group:
        yield group


def _spots(groups: Iterable[list[_Node]], lines: Sequence[str]) -> Iterator[Spot]:
    path: list[tuple[int, str]] = []
    label: tuple[str, ...] = ()
    for group in groups:
        node, headings = group[0], tuple(text for _, text in path)
        if node.kind == "heading":
            level = int(node.token.tag[1:])
            path = [*((above, text) for above, text in path if above < level), (level, _join(node.content))]
            label = ()
        elif node.kind == "paragraph":
            spot = _spot(group, lines, headings, ())
            label = (_label(spot.text),) if _is_label(spot.text) else ()
            if _says_something(spot.text):
                yield spot
        elif node.kind in ("bullet_list", "ordered_list"):
            yield from _items(node, lines, headings, label)
            label = ()
        else:
            label = ()


def _items(node: _Node, lines: Sequence[str], headings: tuple[str, ...], under: tuple[str, ...]) -> Iterator[Spot]:
    for item in node.children:
        lead = []
        for child in item.children:
            if child.kind != "paragraph":
                break
            lead.append(child)
        below = under
        if lead:
            spot = _spot(lead, lines, headings, under, item=True, bears=len(lead) < len(item.children))
            below = (*under, _label(spot.text))
            if _says_something(spot.text):
                yield spot
        for child in item.children[len(lead) :]:
            if child.kind in ("bullet_list", "ordered_list"):
                yield from _items(child, lines, headings, below)


def _spot(
    lead: Sequence[_Node],
    lines: Sequence[str],
    headings: tuple[str, ...],
    under: tuple[str, ...],
    *,
    item: bool = False,
    bears: bool = False,
) -> Spot:
    start, end = lead[0].lines[0], lead[-1].lines[1]
    text = "\n".join(_join(node.content) for node in lead)
    raw = lines[start].rstrip()
    first = lead[0].content.partition("\n")[0].rstrip()
    place = max(len(raw) - len(first), 0)
    box = _BOX.match(text) if item else None
    if box is not None:
        text = text[box.end() :]
        place += box.end()
    return Spot(
        start,
        end,
        _ESCAPED.sub(r"\1\2", text, count=1) if _ESCAPED.match(text) else text,
        lines[start][:place],
        headings,
        under,
        None if box is None else box[1] != " ",
        bears,
    )


def _join(content: str) -> str:
    return " ".join(part.strip() for part in content.split("\n"))


def _bare(text: str) -> str:
    return text.strip("*_ \t")


def _is_label(text: str) -> bool:
    return _bare(text).endswith((":", "："))


def _label(text: str) -> str:
    return _bare(_bare(text).rstrip(":："))


def _says_something(text: str) -> bool:
    return not _is_label(text) and any(character.isalnum() for character in text)


def _front_matter(lines: Sequence[str]) -> int:
    """How many lines it has, with those that enclose it."""
    if not lines or lines[0].rstrip() != _FENCE:
        return 0
    ends = (number for number, line in enumerate(lines[1:], 2) if line.rstrip() in (_FENCE, "..."))
    return next(ends, 0)


def _fields(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The simple ones, also of an object within (Claude Code keeps `type` in one)."""
    for line in lines:
        name, colon, value = line.partition(":")
        if colon and value.strip():
            yield name.strip(), value.strip().strip("\"'")


def _managed(nodes: Iterable[_Node]) -> list[tuple[int, int]]:
    """The lines that another program writes again whenever it likes."""
    begun: dict[str, int] = {}
    ranges = []
    for node in nodes:
        mark = _MARK.fullmatch(node.token.content.strip()) if node.kind == "html_block" else None
        if mark is None:
            continue
        name = mark["name"].strip(" :-_").lower()
        if mark["end"].lower() != "end":
            begun[name] = node.lines[0]
        elif name in begun:
            ranges.append((begun.pop(name), node.lines[1]))
    return ranges
