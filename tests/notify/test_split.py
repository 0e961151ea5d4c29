"""Long messages come apart at sensible places, and each part is whole in itself."""

import html
import re
from xml.etree import ElementTree

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from consolidator.notify import dialects
from consolidator.notify.dialects import Dialect, characters
from consolidator.notify.markup import Line, Span, read_markdown, read_text, said
from consolidator.notify.split import split

DIALECTS = [
    dialects.PLAIN, dialects.MARKDOWN, dialects.CHAT_MARKDOWN, dialects.SLACK, dialects.GOOGLE_CHAT, dialects.TELEGRAM,
    dialects.TEAMS, dialects.HTML,
]  # fmt: skip
PIECES = [
    "word ", "Stop. ", "会议改到周五。", "👨‍👩‍👧‍👦", "e\u0301", "*", "_", "`", "**", "<b>", "&amp;", "\\", "@everyone ",
    "https://x.example/a_b ", "1. ", "- ", "# ", "[a](b)", ":smile:", "~~", "|", "क्षि", "<!channel>", "$x$", "> ",
    "www.example.org ",
]  # fmt: skip
GAP = Span(" ")
# Reports hold one harmless line each: no control signs, no doubled spaces.
harmless = st.characters(blacklist_categories=("C", "Z"))
words = st.lists(st.one_of(st.sampled_from(PIECES), harmless), min_size=1, max_size=20).map(
    lambda parts: " ".join("".join(parts).split())
)
spans = st.builds(Span, words.filter(bool), st.sampled_from(["plain", "bold", "code"]))
lines = st.builds(
    Line,
    st.sampled_from(["text", "item", "heading"]),
    st.integers(1, 2),
    st.lists(spans, min_size=0, max_size=3).map(lambda spans: tuple(part for span in spans for part in (span, GAP))),
)
messages = st.lists(lines, min_size=1, max_size=5).map(tuple)


def size_in(dialect: Dialect):
    return lambda part: characters(dialect.write(part))


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
@settings(max_examples=40)
@given(message=messages, limit=st.integers(60, 400))
def test_parts_say_the_whole_and_each_fits(dialect: Dialect, message: tuple[Line, ...], limit: int) -> None:
    """Joined they are the text; none is over the limit; no grapheme is torn."""
    parts = split(message, limit, size_in(dialect))
    assert said([line for part in parts for line in part]) == said(message)
    cut_ends = set()
    for part, after in zip(parts, [*parts[1:], ()], strict=True):
        alone = len(part) == 1 and len(regex.findall(r"\X", part[0].text)) == 1
        assert characters(dialect.write(part)) <= limit or alone
        if after and after[0].kind == "more":
            cut_ends.add((part[-1].text, after[0].text))
    for head, tail in cut_ends:
        assert any("".join(regex.findall(r"\X", head + tail)[:n]) == head for n in range(len(head) + 1)), (head, tail)


@given(message=messages, limit=st.integers(60, 400))
def test_no_part_holds_a_broken_escape_or_a_torn_style(message: tuple[Line, ...], limit: int) -> None:
    """Read back, each Markdown part says what it was written from, and tags of each HTML part are closed."""
    for part in split(message, limit, size_in(dialects.MARKDOWN)):
        back = read_markdown(dialects.MARKDOWN.write(part))
        assert said(back).split() == said([Line(spans=line.spans) for line in part]).split()
    for dialect in (dialects.TELEGRAM, dialects.HTML):
        for part in split(message, limit, size_in(dialect)):
            text = dialect.write(part).replace("&nbsp;", " ")
            ElementTree.fromstring(f"<message>{text}</message>")


@given(words.filter(bool))
def test_no_text_can_become_markup(text: str) -> None:
    """Whatever a memory holds, each service shows it as text: no bold, code, heading, link, mention or emoji."""
    line = [Line(spans=(Span(text),))]
    assert read_markdown(dialects.MARKDOWN.write(line)) == tuple(line)
    for dialect in (dialects.SLACK, dialects.GOOGLE_CHAT):
        written = dialect.write(line)
        assert not set("*~`") & set(written)
        assert not re.search(r"<[^\u200b]", written)
        assert not re.search(r"(?<!\w)_\w", written)
    for dialect in (dialects.TELEGRAM, dialects.HTML, dialects.SLACK):
        written = dialect.write(line)
        assert "<" not in written
        assert html.unescape(written).count("<") == text.count("<")
    for dialect in (dialects.CHAT_MARKDOWN, dialects.SLACK, dialects.TELEGRAM, dialects.TEAMS, dialects.GOOGLE_CHAT):
        written = dialect.write(line)
        assert "@everyone" not in written
        assert not re.search(r"(?<!\\)://", written)
    assert "<!channel>" not in dialects.SLACK.write(line) + dialects.GOOGLE_CHAT.write(line)


def test_a_message_is_cut_where_a_reader_would() -> None:
    """Between paragraphs, else lines, else sentences, else words, else graphemes; code stays whole."""

    def parts(text: str, limit: int) -> list[str]:
        return [said(part) for part in split(read_markdown(text), limit, size_in(dialects.MARKDOWN))]

    assert parts("one\ntwo\n\nthree\nfour", 14) == ["one\ntwo\n", "three\nfour"]
    assert parts("one\ntwo\nthree\nfour", 14) == ["one\ntwo\nthree", "four"]
    assert parts("It rained all day. We stayed at home.", 30) == ["It rained all day. ", "We stayed at home."]
    assert parts("会议改到周五。地点不变。", 9) == ["会议改到周五。", "地点不变。"]
    assert parts("a long walk by the sea", 12) == ["a long walk ", "by the sea"]
    assert parts("👨‍👩‍👧‍👦👨‍👩‍👧‍👦👨‍👩‍👧‍👦", 25) == ["👨‍👩‍👧‍👦👨‍👩‍👧‍👦", "👨‍👩‍👧‍👦"]
    assert parts("take it back: `consolidate undo last`", 34) == ["take it back: ", "consolidate undo last"]


def test_an_empty_line_stays_with_the_paragraph_before() -> None:
    """So no part begins with nothing."""
    assert [len(part) for part in split(read_text("a\n\nb"), 3, size_in(dialects.PLAIN))] == [2, 1]


def test_ten_thousand_lines_are_cut_in_a_moment() -> None:
    """Costs what is written, not its square."""
    message = read_text("\n".join(f"line {number}" for number in range(10_000)))
    asked = 0

    def size(part: tuple[Line, ...]) -> int:
        nonlocal asked
        asked += len(part)
        return characters(dialects.PLAIN.write(part))

    assert len(split(message, 2_000, size)) >= 50
    assert asked < 400_000
