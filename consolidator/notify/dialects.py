"""
What each service takes for markup, and how a text is written there so that none of it is taken for markup.

A service without a way to escape a sign gets a sign that looks like it, or one that is not seen beside it (U+200B).
No memory can make a heading, a link, a mention or an emoji out of its text.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from html import escape as escape_html

from consolidator.notify.markup import Line, Lines, Span
from consolidator.report.markdown import plain as escape_markdown

UNSEEN = "\u200b"

_LINK = re.compile(r"(?<=:)(?=//)|(?<=\bwww)(?=\.)", re.IGNORECASE)
_MENTION = re.compile(r"(?<!\w)@(?=[\w!&+*])|@(?=(?:everyone|here|channel|all|room)\b)", re.IGNORECASE)
_EMOJI = re.compile(r":(?=(?:[+-]?\d{3,4}|[a-z0-9_+-]*[a-z][a-z0-9_+-]*):)", re.IGNORECASE)
_TICKS = re.compile(r"`+")
_ALIKE = str.maketrans({"*": "∗", "~": "∼", "`": "ˋ"})
_UNDERSCORE = re.compile(r"(?<!\w)_|_(?!\w)")

Escape = Callable[[str], str]
Measure = Callable[[str], int]


def characters(text: str) -> int:
    """Length as most services count: in UTF-16 units, at least one for each character."""
    return len(text) + sum(char > "\uffff" for char in text)


def octets(text: str) -> int:
    """Length in UTF-8."""
    return len(text.encode())


def octets_or_escapes(text: str) -> int:
    """Length in UTF-8, or half of that in JSON's escapes where that is more: emoji take 12 bytes there."""
    return octets(text) + 2 * sum(char > "\uffff" for char in text)


@dataclass(frozen=True, slots=True)
class Dialect:
    """
    How a service is written to. `escape` makes text of any text; `code` takes its text as it is.

    form: which rendering of a report it is made from. heading takes a rendered text and a level; bullet gives what
    begins an item of a depth.
    """

    name: str
    form: str
    escape: Escape
    bold: Escape
    code: Escape
    heading: Callable[[str, int], str]
    bullet: Callable[[int], str]
    newline: str = "\n"

    def write(self, lines: Lines) -> str:
        """The lines as the service takes them."""
        if len(self.newline) > 1 and not self.newline.strip():  # each line is a paragraph already
            lines = [line for line in lines if not line.empty]
        return self.newline.join(map(self.write_line, lines))

    def write_line(self, line: Line) -> str:
        """One line, without its end."""
        if line.kind == "heading":  # bold would be bold already
            return self.heading(self._spans(Span(span.text) for span in line.spans), line.depth)
        text = self._spans(line.spans)
        return self.bullet(line.depth) + text if line.kind == "item" else text

    def _spans(self, spans: Iterable[Span]) -> str:
        return "".join(map(self._span, spans))

    def _span(self, span: Span) -> str:
        core = span.text.strip()
        if span.style == "plain" or not core:
            return self.escape(span.text)
        lead = span.text[: len(span.text) - len(span.text.lstrip())]
        trail = span.text[len(span.text.rstrip()) :]
        return lead + (self.code(core) if span.style == "code" else self.bold(self.escape(core))) + trail


def _same(text: str) -> str:
    return text


def _indented(bullet: str) -> Callable[[int], str]:
    return lambda depth: "  " * depth + bullet


def _no_link(text: str) -> str:
    return _LINK.sub(UNSEEN, text)


def _no_mention(text: str) -> str:
    return _MENTION.sub(f"@{UNSEEN}", text)


def _no_emoji(text: str) -> str:
    return _EMOJI.sub(f":{UNSEEN}", text)


def _fenced(text: str) -> str:
    """Code in Markdown, whatever backticks are in it."""
    fence = "`" * (max(map(len, _TICKS.findall(text)), default=0) + 1)
    room = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{room}{text}{room}{fence}"


def _ticked(text: str) -> str:
    """Code where backticks cannot be escaped."""
    return f"`{text.replace('`', 'ˋ')}`"


def _chat_markdown(text: str) -> str:
    return escape_markdown(_no_emoji(_no_mention(text)))


def _alike(text: str) -> str:
    """Nothing bold, struck or slanted where signs cannot be escaped."""
    text = _UNDERSCORE.sub("ˍ", text.translate(_ALIKE))
    return re.sub(r"^>", f"{UNSEEN}>", text)


def _slack(text: str) -> str:
    return escape_html(_no_emoji(_no_mention(_no_link(_alike(text)))), quote=False)


def _google_chat(text: str) -> str:
    return _no_mention(_no_link(_alike(text))).replace("<", f"<{UNSEEN}")


def _telegram(text: str) -> str:
    return escape_html(_no_mention(_no_link(text)), quote=False)


def _teams(text: str) -> str:
    return escape_markdown(_no_mention(text)).replace("<", f"<{UNSEEN}")


def _web(text: str) -> str:
    return escape_html(_no_mention(_no_link(text)))


def _tagged(name: str) -> Escape:
    return lambda text: f"<{name}>{text}</{name}>"


def _html_code(text: str) -> str:
    return f"<code>{escape_html(text, quote=False)}</code>"


PLAIN = Dialect("plain", "text", _same, _same, _same, lambda text, _level: text, _indented("- "))
MARKDOWN = Dialect(
    "markdown",
    "markdown",
    escape_markdown,
    lambda text: f"**{text}**",
    _fenced,
    lambda text, level: f"{'#' * level} {text}",
    _indented("- "),
)
CHAT_MARKDOWN = Dialect(
    "chat markdown",
    "markdown",
    _chat_markdown,
    lambda text: f"**{text}**",
    _fenced,
    lambda text, level: f"{'#' * min(level, 3)} {text}",
    _indented("- "),
)
SLACK = Dialect(
    "slack",
    "markdown",
    _slack,
    lambda text: f"*{text}*",
    lambda text: escape_html(_ticked(text), quote=False),
    lambda text, _level: f"*{text}*",
    _indented("• "),
)
GOOGLE_CHAT = Dialect(
    "google chat",
    "markdown",
    _google_chat,
    lambda text: f"*{text}*",
    _ticked,
    lambda text, _level: f"*{text}*",
    _indented("• "),
)
TELEGRAM = Dialect(
    "telegram",
    "markdown",
    _telegram,
    _tagged("b"),
    _html_code,
    lambda text, _level: f"<b>{text}</b>",
    _indented("• "),
)
TEAMS = Dialect(
    "teams",
    "markdown",
    _teams,
    lambda text: f"**{text}**",
    _teams,
    lambda text, _level: f"**{text}**",
    _indented("- "),
    newline="\n\n",
)
HTML = Dialect(
    "html",
    "markdown",
    _web,
    _tagged("strong"),
    _html_code,
    lambda text, _level: f"<strong>{text}</strong>",
    lambda depth: "&nbsp;&nbsp;" * depth + "• ",
    newline="<br/>",
)
