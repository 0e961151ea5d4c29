"""A text is never cut inside what a reader sees as one character."""

import regex
from hypothesis import given
from hypothesis import strategies as st

from consolidator.notify.graphemes import graphemes

PIECES = [
    "a", " ", "\r\n", "\r", "\n", "é", "e\u0301", "👨‍👩‍👧‍👦", "👍🏽", "🇫🇮", "🇫", "🏴\U000e0067\U000e0062\U000e007f",
    "\u200d", "ก็", "ำ", "क्षि", "क्\u200dष", "한", "\u1100\u1161\u11a8", "\ufe0f", "❤️", "1️⃣", "会", "\u0600", "\u0661",
    "က္က", "\u200c",
]  # fmt: skip
texts = st.one_of(st.text(), st.lists(st.one_of(st.sampled_from(PIECES), st.characters())).map("".join))


@given(texts)
def test_graphemes_joined_are_the_text_and_none_is_a_part_of_a_real_one(text: str) -> None:
    """Unicode's own segmentation may cut more often, never elsewhere."""
    found = list(graphemes(text))
    assert "".join(found) == text
    assert all(found)
    real, place = {0}, 0
    for piece in regex.findall(r"\X", text):
        place += len(piece)
        real.add(place)
    place = 0
    for piece in found:
        place += len(piece)
        assert place in real, (text, piece)


def test_ordinary_text_is_cut_at_every_character() -> None:
    """Coarser never means useless: words, Chinese and separate emoji come apart."""
    assert list(graphemes("ab 会议🙂🙂")) == ["a", "b", " ", "会", "议", "🙂", "🙂"]
    assert list(graphemes("👨‍👩‍👧‍👦🇫🇮🇸🇪e\u0301x")) == ["👨‍👩‍👧‍👦", "🇫🇮", "🇸🇪", "e\u0301", "x"]
