"""A text that others wrote stays text: it neither leaves below `detailed` nor becomes markup, control or a link."""

import json
import unicodedata
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from consolidator.plan import ScopeOutcome
from consolidator.report import FORMS, LEVELS, Report, as_json, build, from_json, render
from consolidator.report.tame import LINE_LENGTH, TEXT_LENGTH, one_line
from tests.report.nights import ADA, DECISIONS, STALE, night

HOSTILE = [
    "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "]]></style></script><!-- --><![CDATA[ x ]]>",
    "emoji 🏕️👩‍👩‍👧‍👦🏳️‍🌈 and e\u0301\u0301\u0301",
    "right \u202eto\u202c left \u200f\u2067שלום\u2069 مرحبا",
    "\x1b[2J\x1b]0;owned\x07\x1b[31mred\x9b31m\x00\x7f\r\nnext\u2028line\x85",
    "100 kB: " + "x<&>\"' " * 15_000,
    " " * 100_000 + "late",
    "会议改到周五下午三点," * 1_000,
    "[link](javascript:alert(1)) ![i](http://evil.example/i.png) <http://evil.example> http://a.example www.a.example",
    "**bold** _it_ `code` ~~gone~~ | a | @everyone #1 &lt; &#60; $x$ me@evil.example",
    "# heading\n- item\n1. item\n> quote\n```\nfence\n---\n===",
    "1. one", "- item", "> quote", "+ plus", "=====", "2) two", "     indented",
    "{{ 7 * 7 }}{% raw %}{# #}",
    "\ud800 lone \udfff \ufffe\uffff\ufff9",
    "",
]  # fmt: skip
texts = st.sampled_from(HOSTILE) | st.text(st.characters(exclude_categories=()), max_size=300)


def told(text: str, *, scope_too: bool = True) -> Report:
    """
    A night in which a text stands wherever a memory's text or a plan's words can.

    scope_too: also in the scope and where nothing was done, which every level may tell.
    """
    named = {key: (identifier, text) for key, (identifier, _) in ADA.names.items()}
    scope = replace(ADA, names=named, notes={"decay": (f"about to fade: {text}", text), "merge": (text,)})
    if scope_too:
        user = "".join(letter for letter in text if letter != "\0" and not "\ud800" <= letter <= "\udfff")
        scope = replace(scope, scope=json.dumps({"user": user}), because_nothing={"merge": text})
    applied = tuple(replace(one, because=text) for one in DECISIONS)
    outcome = ScopeOutcome(applied, tuple((one, text) for one, _ in STALE), 1, (text,))
    return build(night(scope), {1: outcome}, run_id="r", dry_run=False, exit_code=3)


@given(texts, st.integers(8, LINE_LENGTH))
def test_a_tamed_text_is_one_short_harmless_line(text: str, length: int) -> None:
    """At most the length, no control or separator, nothing that turns its neighbours; taming again changes nothing."""
    line = one_line(text, length)
    assert len(line) <= length
    assert not any(unicodedata.category(character) in {"Cc", "Cs", "Zl", "Zp"} for character in line)
    assert not any("\u202a" <= character <= "\u202e" or "\u2066" <= character <= "\u2069" for character in line)
    assert line == line.strip()
    assert one_line(line, length) == line
    line.encode()


def test_a_short_text_stays_itself() -> None:
    """Letters of every language, emoji and the marks of Hebrew and Arabic are kept."""
    for text in ("会议改到周五下午三点。", "Mökillä 🏕️ 👩‍👩‍👧‍👦", "שלום\u200f!", "a - b <c>"):
        assert one_line(text) == text
    assert one_line("a \x1b[31mb\n\tc") == "a ␛[31mb c"


def test_a_long_text_is_cut_between_words() -> None:
    """Not inside a word or an emoji, unless there is no other place; the cut shows."""
    assert one_line("one two three four five six", 20) == "one two three four…"
    assert one_line("x" * 30, 20) == "x" * 19 + "…"
    assert one_line("y" * 17 + "👩‍👧 tail", 20) == "y" * 17 + "…"


@given(texts)
@settings(max_examples=50)
@pytest.mark.parametrize("level", ["errors", "summary"])
@pytest.mark.parametrize("form", FORMS)
def test_no_memory_text_below_detailed(form: str, level: str, text: str) -> None:
    """The text of a memory changes nothing of what `errors` and `summary` say."""
    assert render(told(text, scope_too=False), level, form) == render(told("x", scope_too=False), level, form)


@given(texts)
@settings(max_examples=50)
@pytest.mark.parametrize("form", FORMS)
def test_nothing_printed_harms_a_terminal(form: str, text: str) -> None:
    """No control character but the line break, in any form; JSON escapes what a scope holds."""
    printed = render(told(text), "detailed", form)
    assert not any(unicodedata.category(character) in {"Cc", "Cs"} for character in printed.replace("\n", ""))
    assert not any("\u202a" <= character <= "\u202e" or "\u2066" <= character <= "\u2069" for character in printed)
    printed.encode()
    assert len(printed) < 200_000


@given(texts)
@settings(max_examples=50)
def test_json_gives_the_document_back(text: str) -> None:
    """The printed JSON is the document, and the document the report."""
    report = told(text)
    assert json.loads(render(report, "detailed", "json")) == as_json(report)
    assert from_json(json.loads(render(report, "detailed", "json"))) == report


class Page(HTMLParser):
    """What a browser would see of a page: its tags, its attributes, its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[tuple[str, str | None]] = set()
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.update(attrs)

    def handle_data(self, data: str) -> None:
        self.text += data


@given(texts)
@settings(max_examples=50)
@pytest.mark.parametrize("level", ["errors", "summary", "detailed"])
def test_the_page_is_well_formed_and_fetches_nothing(level: str, text: str) -> None:
    """Well-formed as XML; the tags are ours alone; no attribute names an address; the style holds none either."""
    page = render(told(text), level, "html")
    ElementTree.fromstring(page)
    seen, ours = Page(page), Page(render(told("x"), level, "html"))
    assert seen.tags <= ours.tags | {"q", "code"}
    assert not seen.tags & {"script", "link", "img", "iframe", "object", "embed", "base", "form", "a", "use", "image"}
    for name, value in seen.attributes:
        assert name not in {"href", "src", "srcset", "style", "xmlns", "data", "action", "poster"}
        assert not name.startswith("on")
        assert "://" not in (value or "")
    style = page[page.index("<style>") : page.index("</style>")]
    assert "url(" not in style
    assert "@import" not in style


def test_the_page_shows_a_hostile_text_as_it_was_written() -> None:
    """Escaped, not stripped: the reader sees what the memory says."""
    for text in HOSTILE[:1] + HOSTILE[-3:-2] + HOSTILE[8:10]:
        assert one_line(text, TEXT_LENGTH) in Page(render(told(text), "detailed", "html")).text


@given(texts)
@settings(max_examples=50)
def test_markdown_shows_a_hostile_text_as_it_was_written(text: str) -> None:
    """Rendered with every extension, a text adds no tag, and the letters are its own."""
    markdown_it = pytest.importorskip("markdown_it")
    reader = markdown_it.MarkdownIt("commonmark").enable(["table", "strikethrough"])
    seen, ours = (Page(reader.render(render(told(one), "detailed", "markdown"))) for one in (text, "x"))
    assert seen.tags <= ours.tags
    assert not {name for name, _ in seen.attributes} & {"href", "src"}
    first = as_json(told(text))["scopes"][0]["steps"]["reinforce"]["examples"][0]["text"]
    assert first in seen.text


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("form", FORMS)
def test_a_chinese_text_is_told_whole(form: str, level: str) -> None:
    """Text without spaces is neither lost nor escaped."""
    printed = render(told("会议改到周五下午三点", scope_too=False), level, form)
    assert ("会议改到周五下午三点" in printed) == (level == "detailed")
