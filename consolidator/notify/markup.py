"""
A message as lines of styled text, between the Markdown that reports are written in and what each service takes.

Only what reports use is known: headings, bullet lists, bold, code, and backslashes before punctuation. All else is
text, so nothing that a memory says can become markup.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

Style = Literal["plain", "bold", "code"]
Kind = Literal["text", "heading", "item", "more"]

_HEADING = re.compile(r"(#{1,6}) ")
_WORD = re.compile(r"[a-z]+(?=\s)")
_ITEM = re.compile(r"( *)- ")
_TOKEN = re.compile(r"\\([!-/:-@\[-`{-~])|(`+)(.+?)(?<!`)\2(?!`)|(\*\*)|(.)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of one style."""

    text: str
    style: Style = "plain"


@dataclass(frozen=True, slots=True)
class Line:
    """
    One line. depth: the level of a heading from 1, the nesting of a list item from 0.

    more: the rest of a line that did not fit in the message before.
    """

    kind: Kind = "text"
    depth: int = 0
    spans: tuple[Span, ...] = ()

    @property
    def text(self) -> str:
        """What is said, without any markup."""
        return "".join(span.text for span in self.spans)

    @property
    def empty(self) -> bool:
        """Whether nothing is said: a break between paragraphs."""
        return not self.text.strip()

    def cut(self, place: int) -> tuple["Line", "Line"]:
        """The line before and from the character at `place`, each in its styles."""
        head: list[Span] = []
        tail: list[Span] = []
        for span in self.spans:
            if place > 0 and span.text[:place]:
                head.append(replace(span, text=span.text[:place]))
            if span.text[max(place, 0) :]:
                tail.append(replace(span, text=span.text[max(place, 0) :]))
            place -= len(span.text)
        return replace(self, spans=tuple(head)), Line("more", 0, tuple(tail))


Lines = Sequence[Line]


def read_markdown(text: str) -> tuple[Line, ...]:
    """The lines of a report's Markdown."""
    return tuple(map(_read_line, text.split("\n")))


def read_text(text: str) -> tuple[Line, ...]:
    """The lines of a plain text, in which nothing is markup."""
    return tuple(Line(spans=(Span(line),) if line else ()) for line in text.split("\n"))


def said(lines: Iterable[Line]) -> str:
    """What lines say, without any markup; a line that was cut is whole again."""
    text = "".join(("" if line.kind == "more" else "\n") + line.text for line in lines)
    return text.removeprefix("\n")


def says_title(lines: Lines, title: str) -> bool:
    """Whether lines begin with a title, or with what of it comes before a colon."""
    return bool(lines) and _title_in(lines[0].text, title) > 0


def without_title(lines: Lines, title: str) -> Lines:
    """The lines, where a title stands beside them: they do not begin with it once more, unless they say only that."""
    if not says_title(lines, title):
        return lines
    rest = lines[0].text[_title_in(lines[0].text, title) :].lstrip(",.:; ")
    _, tail = lines[0].cut(len(lines[0].text) - len(rest))
    if _WORD.match(rest):
        tail = Line(spans=(Span(f"{rest[0].upper()}{tail.spans[0].text[1:]}", tail.spans[0].style), *tail.spans[1:]))
    said = [replace(tail, kind="text"), *lines[1:]]
    while said and said[0].empty:
        del said[0]
    return tuple(said) or lines


def _title_in(text: str, title: str) -> int:
    """How much of a line's beginning is a title."""
    for said in (title, title.partition(": ")[0]):
        if text.startswith(said) and not text[len(said) : len(said) + 1].isalnum():
            return len(said)
    return 0


def _read_line(line: str) -> Line:
    if heading := _HEADING.match(line):
        return Line("heading", len(heading[1]), tuple(_read_spans(line[heading.end() :])))
    if item := _ITEM.match(line):
        return Line("item", len(item[1]) // 2, tuple(_read_spans(line[item.end() :])))
    return Line(spans=tuple(_read_spans(line)))


def _read_spans(text: str) -> Iterator[Span]:
    """A `**` without its partner is text, as in Markdown."""
    bold, marks = False, sum(match[4] is not None for match in _TOKEN.finditer(text))
    gathered: list[str] = []
    for match in _TOKEN.finditer(text):
        escaped, ticks, code, mark, char = match.groups()
        if mark and (bold or marks > 1):
            yield from _span(gathered, "bold" if bold else "plain")
            bold, marks, gathered = not bold, marks - 1, []
        elif ticks:
            yield from _span(gathered, "bold" if bold else "plain")
            gathered = []
            yield Span(code, "code")
        else:
            gathered.append(escaped or mark or char)
    yield from _span(gathered, "bold" if bold else "plain")


def _span(gathered: list[str], style: Style) -> Iterator[Span]:
    if gathered:
        yield Span("".join(gathered), style)
