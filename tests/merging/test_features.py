"""Features: the same for the same words in every script, whoever is cut beside them, and never none."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consolidator.merging import features as room
from consolidator.merging.features import bags, features
from consolidator.words import words

TEXTS = st.text(
    st.one_of(st.characters(), st.sampled_from("aAß 1.é\u0301กำ中한\U0001f382\U00020000\u200d\n")), max_size=40
)

SCRIPTS = {
    "English": "Ada takes the night train to Turku",
    "Chinese": "我喜欢喝咖啡",
    "Japanese": "明日は東京で会議があります",
    "Korean": "학교에서 친구를 만났다",
    "Thai": "วันนี้ไปตลาดน้ำ",
    "Arabic": "أحب القهوة في الصباح",
    "Hindi": "नमस्ते दुनिया",
    "emoji": "🎂🎉👍🏽",
    "flags": "🇫🇮",
    "punctuation": "?!",
    "an accent alone": "\u0301",
    "a joiner alone": "\ufe0f",
    "one letter": "x",
}


def slowly(content: str) -> tuple[set[str], set[tuple[str, ...]]]:
    """The words of a text and its threes, said in plain Python."""
    tokens = [token for word in words(content) for token in word]
    return set(tokens), {tuple(sorted(three)) for three in zip(tokens, tokens[1:], tokens[2:], strict=False)}


@pytest.mark.parametrize("content", SCRIPTS.values(), ids=SCRIPTS.keys())
def test_no_text_is_without_features(content: str) -> None:
    """Whatever the script, and be it only emoji or punctuation."""
    assert features(content)


@given(TEXTS)
def test_only_a_blank_text_has_none(content: str) -> None:
    """A text has features if and only if something is written in it."""
    assert bool(features(content)) == bool(content.strip())


@given(TEXTS)
def test_features_are_words_and_threes(content: str) -> None:
    """As many as there are different words, cut as for the search, and different sets of three in a row."""
    alone, threes = slowly(content)
    if alone:
        assert len(features(content)) == len(alone) + len(threes)


@given(TEXTS, TEXTS)
def test_two_texts_share_what_their_words_share(one: str, other: str) -> None:
    """What is common to two texts is what is common when said in plain Python."""
    if all(alone := (slowly(one)[0], slowly(other)[0])):
        common = len(alone[0] & alone[1]) + len(slowly(one)[1] & slowly(other)[1])
        assert len(features(one) & features(other)) == common


@given(st.lists(TEXTS, max_size=8), st.integers(1, 30))
def test_texts_are_cut_as_each_alone(contents: list[str], at_once: int) -> None:
    """A text's features do not depend on the texts beside it, nor on how many are cut at once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(room, "CHARACTERS_AT_ONCE", at_once)
        found = bags(contents)
    assert len(found.starts) == len(contents) + 1
    for content, (start, end) in zip(contents, pairwise(found.starts), strict=True):
        hashes = found.hashes[start:end].tolist()
        assert hashes == sorted(features(content))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ada likes TEA, and cake.", "ada likes tea and cake"),
        ("LÖYLY ＷＩＤＥ ﬁne Straße", "loyly wide fine strasse"),
        ("likes tea Ada", "Ada likes tea"),
        ("ｶﾀｶﾅ", "カタカナ"),
        ("❤️", "❤"),
    ],
)
def test_case_width_accents_and_order_of_three_do_not_count(one: str, other: str) -> None:
    """Texts that differ in nothing else have the same features."""
    assert features(one) == features(other)


def test_order_counts_beyond_three() -> None:
    """The same words in another order are alike and not the same."""
    one, other = features("the cat saw a dog in town"), features("a dog in town saw the cat")
    assert one != other
    assert len(one & other) > len(one | other) / 3


def test_of_a_very_long_word_the_beginning_counts() -> None:
    """As in the search: 200 characters."""
    assert features("a" * 200) == features("a" * 5000) != features("a" * 199)
