"""Pages of Markdown: what of them is a memory, and that an edit touches its own lines and no other byte."""

import re
from collections import Counter
from collections.abc import Mapping

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from consolidator.sources.markdown.blocks import PLAIN, Page, Rules, key_of, parse, write_line
from consolidator.sources.markdown.images import Change, edited, images_of, merged
from consolidator.sources.port import Image

NAME = "notes.md"
KINDS = """

- one
- two
- [ ] to do
- [x] done
* star
+ plus
1. first
2) second
  - nested
  - nested two
    - deeper
	- by a tab
  more of it
    and more
- - twice
A paragraph.
Another one,
of two lines
   indented
**Name:** Ada
**Name:**
Likes:
- Likes:
# Title
## Part
Setext
===
---
***
```
~~~
> quoted
> - quoted item
| a | b |
|---|---|
| 1 | 2 |
<!-- note -->
<!-- x:start -->
<!-- x:end -->
<div>
</div>
[a]: /b
[x](y.md) link
name: page
description: of it
-
\\# no heading
1\\. no list
…
日本語"""
LINES = st.sampled_from([*KINDS.split("\n"), "", "", "", "   ", "- ", "two spaces  "])
ENDS = st.sampled_from(["\n", "\n", "\n", "\r\n", "\r"])
ODD = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)


@st.composite
def texts(draw: st.DrawFn) -> str:
    """What could be a page."""
    end = draw(ENDS)
    lines = draw(st.lists(st.one_of(LINES, LINES, LINES, ODD), max_size=14))
    text = draw(st.sampled_from(["", "", "\ufeff"])) + "".join(line + end for line in lines)
    return text if draw(st.booleans()) else text.removesuffix(end)


RULES = st.sampled_from([PLAIN, PLAIN, Rules(more=re.compile("A|two"))])


def taken_out(page: Page, rules: Rules, keys: list[str]) -> Page | None:
    images = images_of(page, NAME)
    return edited(page, rules, {key: Change(images[key], None) for key in keys})


def put_in(page: Page, rules: Rules, images: Mapping[str, Image]) -> Page | None:
    return edited(page, rules, {key: Change(None, image) for key, image in images.items()})


def said(text: str, rules: Rules = PLAIN) -> list[str]:
    return [spot.text for spot in parse(text, rules).spots]


@given(texts(), RULES)
@settings(max_examples=150)
def test_a_page_is_its_text(text, rules):
    """Read and written again without a change it is the same, byte for byte."""
    page = parse(text, rules)
    assert str(page) == text
    assert str(edited(page, rules, {})) == text


@given(texts(), RULES, st.data())
@settings(max_examples=150)
@example("- a\n\n- b\n\n- c", PLAIN, None)
def test_what_is_taken_out_and_put_back_was_never_away(text, rules, data):
    """Whichever records and in whatever order; with others gone the rest of the lines stays, to the byte."""
    page = parse(text, rules)
    images = images_of(page, NAME)
    assume(images)
    keys = [*images] if data is None else data.draw(st.lists(st.sampled_from([*images]), min_size=1, unique=True))
    without = taken_out(page, rules, keys)
    if without is None:
        return
    assert {spot.key for spot in without.spots} == images.keys() - {*keys}
    gone = {number for spot in page.spots if spot.key in keys for number in range(spot.start, spot.end)}
    stays = [line for number, line in enumerate(page.lines) if number not in gone and line.strip()]
    bare = [spot.prefix.strip() for spot in page.spots if spot.key in keys and spot.bears]
    left = [line for line in without.lines if line.strip()]
    for line in stays:
        left.remove(line)
    assert sorted(line.strip() for line in left) == sorted(each for each in bare if each)
    back = put_in(without, rules, {key: images[key] for key in keys})
    assert back is not None
    assert str(back) == text


NEW = st.sampled_from(["Merged.", "# not a heading", "1. not a list", "[ ] no box", "two\nlines", "- no"])


@given(texts(), RULES, NEW, st.data())
@settings(max_examples=150)
def test_a_merge_taken_back_leaves_the_page_as_it_was(text, rules, new, data):
    """The new text before the first, then the others go; and back. As a push does it, and its undo."""
    page = parse(text, rules)
    images = {key: image for key, image in images_of(page, NAME).items() if not any_bears(image)}
    assume(images)
    keys = data.draw(st.lists(st.sampled_from([*images]), min_size=1, max_size=4, unique=True))
    key, image = key_of(new), merged(new, images[keys[0]], keys[0])
    assert image is not None
    both = put_in(page, rules, {key: image})
    if both is None:
        return
    assert both.keys == page.keys + Counter([key])
    assert images_of(both, NAME)[key]["text"] == image["text"]
    images = images_of(both, NAME)
    after = taken_out(both, rules, keys)
    if after is None:
        return
    again = put_in(after, rules, {each: images[each] for each in keys})
    assert again is not None
    assert str(again) == str(both)
    back = edited(again, rules, {key: Change(image, None)})
    assert back is not None
    assert str(back) == text


def any_bears(image: Image) -> bool:
    return any(spot["bears"] for spot in image["spots"])


@given(ODD, st.sampled_from(["", "- ", "* [x] ", "12. ", "  - ", "\t+ "]))
@settings(max_examples=150)
def test_a_text_is_written_so_that_it_is_read_again(text, prefix):
    """Or told that it cannot be."""
    line = write_line(text, prefix)
    if line is not None:
        assert "\n" not in line
        [spot] = parse(line.lstrip(), PLAIN).spots
        assert " ".join(spot.text.split()) == " ".join(text.split())


@pytest.mark.parametrize(
    "text",
    ["# a", "- a", "1. a", "12) a", "> a", "| a | b |", "```a", "<div>a", "[x] a", "[a]: /b", "\\# a", "*a", "**a**"],
)
@pytest.mark.parametrize("prefix", ["", "- ", "- [ ] ", "3. "])
def test_any_block_can_be_written_as_a_text(text, prefix):
    """What would be another block at the beginning of a line is escaped."""
    line = write_line(text, prefix)
    assert line is not None
    assert said(line) == [text]


def test_each_item_and_paragraph_is_a_memory():
    """With the headings, labels and items above it; of wrapped lines one text."""
    page = parse(
        "# Ada\n\nIntro of\n  two lines.\n\n## Likes\n- tea\n- [x] the sea,\n  in winter\n\nPets:\n- Cats\n  - Misha\n"
        "    1. is grey\n\n    2. is old\n\n## Work\n\n- one\n\n  still one\n- two\n",
        PLAIN,
    )
    assert [(spot.text, spot.headings, spot.under, spot.done, spot.bears) for spot in page.spots] == [
        ("Intro of two lines.", ("Ada",), (), None, False),
        ("tea", ("Ada", "Likes"), (), None, False),
        ("the sea, in winter", ("Ada", "Likes"), (), True, False),
        ("Cats", ("Ada", "Likes"), ("Pets",), None, True),
        ("Misha", ("Ada", "Likes"), ("Pets", "Cats"), None, True),
        ("is grey", ("Ada", "Likes"), ("Pets", "Cats", "Misha"), None, False),
        ("is old", ("Ada", "Likes"), ("Pets", "Cats", "Misha"), None, False),
        ("one\nstill one", ("Ada", "Work"), (), None, False),
        ("two", ("Ada", "Work"), (), None, False),
    ]


@pytest.mark.parametrize(
    "text",
    [
        *(
            "# Heading\n",
            "Setext\n===\n",
            "---\n",
            "> said by others\n> - an item\n",
            "```\n- code\n```\n",
            "    code\n",
        ),
        *(
            "| a | b |\n|---|---|\n| 1 | 2 |\n",
            "<!-- - a note\n\nto self -->\n",
            "<div>\n- html\n</div>\n",
            "[a]: /b\n",
        ),
        *(
            "---\nname: x\n---\n",
            "Likes:\n",
            "- **Name:**\n",
            "- **Born**: \n",
            "- \n",
            "- ...\n",
            "好き：\n",
            "- > quoted\n",
        ),
        "<!-- openclaw:dreaming:light:start -->\n- managed\n\npara\n<!-- openclaw:dreaming:light:end -->\n",
        "- ```\n  code\n  ```\n",
    ],
)
def test_other_blocks_are_no_memories(text):
    """They are left where they are."""
    assert said(text) == []


def test_a_mark_without_an_end_manages_nothing():
    """So that one forgotten comment does not hide the rest of a page."""
    assert said("<!-- x:start -->\n- a\n") == ["a"]


def test_a_label_and_its_text_are_a_memory():
    """`**Name:** Ada` says something; `**Name:**` does not."""
    assert said("- **Name:** Ada\n- **Born**: 1815\n") == ["**Name:** Ada", "**Born**: 1815"]


def test_an_item_taken_out_takes_its_lines_and_no_others():
    """In a tight list, in a loose one, among paragraphs, at the end without a newline, with CRLF."""
    for text, without in (
        ("- a\n- b\n  more\n- c\n", "- a\n- c\n"),
        ("- a\n\n- b more\n\n- c\n", "- a\n\n- c\n"),
        ("a\r\n\r\nb more\r\n\r\nc\r\n", "a\r\n\r\nc\r\n"),
        ("- a\n- b more", "- a\n"),
        ("# T\n\n- b more\n", "# T\n\n"),
        ("- a\n  - b more\n- c\n", "- a\n- c\n"),
    ):
        assert str(taken_out(parse(text, PLAIN), PLAIN, [key_of("b more")])) == without


def test_what_others_are_nested_below_leaves_its_bullet():
    """They keep their place; put back, it is as it was."""
    text = "- a\n- b\n  - c\n"
    page = parse(text, PLAIN)
    without = taken_out(page, PLAIN, [key_of("b")])
    assert str(without) == "- a\n-\n  - c\n"
    assert without is not None
    assert str(put_in(without, PLAIN, {key_of("b"): images_of(page, NAME)[key_of("b")]})) == text


def test_a_change_that_would_change_others_is_not_made():
    """Without the item the rule below it would make a heading of the paragraph above."""
    assert taken_out(parse("above\n- b\n---\n", PLAIN), PLAIN, [key_of("b")]) is None


def test_what_is_put_back_finds_its_neighbours_where_they_are_by_then():
    """The page was edited meanwhile: lines above, a new end."""
    page = parse("- a\n- b\n- c", PLAIN)
    image = images_of(page, NAME)[key_of("b")]
    for text, back in (
        ("# New\n\n- a\n- c\n", "# New\n\n- a\n- b\n- c\n"),
        ("# New\n\n- c\n- d\n", "# New\n\n- b\n- c\n- d\n"),
        ("- a\n- x\n", "- a\n- b\n- x\n"),
        ("", "- b\n"),
    ):
        assert str(put_in(parse(text, PLAIN), PLAIN, {key_of("b"): image})) == back


def merge(text: str, new: str, *old: str, rules: Rules = PLAIN) -> list[str]:
    """The page with the new text beside its sources, and then without them."""
    page = parse(text, rules)
    image = merged(new, images_of(page, NAME)[key_of(old[0])], key_of(old[0]))
    assert image is not None
    both = put_in(page, rules, {key_of(new): image})
    assert both is not None
    return [str(both), str(taken_out(both, rules, [key_of(each) for each in old]))]


def test_a_merged_text_takes_the_place_and_the_bullet_of_its_first_source():
    """Wrapped lines become one; box, indentation and line end are kept. It is there before they go."""
    text = "- Pets\n  * [x] old,\r\n    wrapped\r\n  * other\n- also old\n"
    assert merge(text, "new\ntext", "old, wrapped", "also old") == [
        "- Pets\n  * [x] new text\r\n  * [x] old,\r\n    wrapped\r\n  * other\n- also old\n",
        "- Pets\n  * [x] new text\r\n  * other\n",
    ]


def test_a_merged_paragraph_takes_the_place_of_its_first_source():
    """A blank line lies between two, and goes with the one that goes."""
    for text, both, after in (
        ("a\n\nb\n\nc\n", "m\n\na\n\nb\n\nc\n", "m\n\nc\n"),
        ("# H\na\n\n# K\nb\n", "# H\nm\n\na\n\n# K\nb\n", "# H\nm\n\n# K\n"),
        ("a\r\n\r\nb", "m\r\n\r\na\r\n\r\nb", "m\r\n\r\n"),
    ):
        assert merge(text, "m", "a", "b") == [both, after]


def test_what_belongs_to_a_paragraph_stays_with_it():
    """As Claude Code writes its notes: what, why, and how; merged, they are one line, and gone together."""
    rules = Rules(more=re.compile(r"\*\*(Why|How)"))
    text = "---\nname: tests\ndescription: how\n---\n\nRun make.\n\n**Why:** quick\n\n**How:** so\n\nOther.\n"
    assert said(text, rules) == ["Run make.\n**Why:** quick\n**How:** so", "Other."]
    assert said(text.replace("name", "title"), rules) == ["Run make.", "**Why:** quick", "**How:** so", "Other."]
    _, after = merge(text, "Make runs them.", "Run make.\n**Why:** quick\n**How:** so", "Other.", rules=rules)
    assert after == "---\nname: tests\ndescription: how\n---\n\nMake runs them.\n\n"
