"""Absorbing without a model: all that is equal, only what is contained, and never a fact that differs."""

import json
import re
import unicodedata
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consolidator.merging.contained import absorbs, normal_form, same_text
from consolidator.merging.guard import differ

EQUAL = [
    ("Ada likes tea.", "ada  LIKES tea"),
    ("Ada likes tea!", "Ada likes\ntea"),
    ("I don\u2019t", "I don't"),
    ("I don't", "I dont"),
    ("a well-known man", "a well known man"),
    ("a well-known man", "a wellknown man"),
    ("1,000 men", "1000 men"),
    ("caf\u00e9", "cafe\u0301"),
    ("\uff21\uff22\uff23 \uff15", "abc 5"),
    ("5 km", "5km"),
    ("Ada's cat", "Adas cat"),
    ("the U.S. army", "the US army"),
    ("on June 8, 2026", "on June 8 2026"),
    ("at 3 p.m.", "at 3 pm"),
    ("\u201cHi,\u201d said Ada", "Hi said Ada"),
    ("R&D", "R & D"),
    ("twenty-one", "twenty one"),
    ("one-third", "one third"),
    ("(Ada) likes: tea; ok", "Ada likes tea ok"),
    ("*Ada* likes tea", "Ada likes tea"),
    ("\u00bfD\u00f3nde est\u00e1?", "D\u00f3nde est\u00e1?"),
    ("\u2764\ufe0f\u2764", "\u2764\u2764\ufe0f"),
    ("HTTPS://X.ORG/ABC", "https://x.org/abc"),
    ("- Ada\n- Bo", "Ada Bo"),
    ("\u5c0f\u660e\u559c\u6b22\u559d\u8336\u3002", "\u5c0f\u660e \u559c\u6b22 \u559d\u8336"),
    ("\u0665 \u0642\u0637\u0637", "5 \u0642\u0637\u0637"),
    (
        "\ud55c\uad6d\uc5b4\ub97c \ubc30\uc6b4\ub2e4",
        unicodedata.normalize("NFD", "\ud55c\uad6d\uc5b4\ub97c \ubc30\uc6b4\ub2e4."),
    ),
]
DIFFERENT = [
    ("3.5", "35"),
    ("3,5", "35"),
    ("3 5", "35"),
    ("1.000", "1000"),
    ("C++", "C"),
    ("C#", "C"),
    (".NET", "NET"),
    ("A+", "A"),
    ("A-", "A"),
    ("-5", "5"),
    ("+5", "5"),
    ("~5", "5"),
    ("5 - 3", "5 3"),
    ("1-2", "12"),
    ("1/2", "12"),
    ("10:30", "1030"),
    ("5%", "5"),
    ("5\u00b0", "5"),
    ("$5", "5"),
    ("$5", "\u20ac5"),
    ("#1", "1"),
    ("x<5", "x>5"),
    ("5'", '5"'),
    ("10\u00b2", "102"),
    ("5\u00bd", "512"),
    ("a@b.c", "abc"),
    ("a@b.c", "a b c"),
    ("node.js", "nodejs"),
    ("snake_case", "snakecase"),
    ("`fooBar`", "`foobar`"),
    ("youtu.be/aBc", "youtu.be/abc"),
    ("Ada likes tea?", "Ada likes tea."),
    ("tea :)", "tea :("),
    ("\U0001f600", "\U0001f603"),
    ("\U0001f44d\U0001f3fd", "\U0001f44d"),
    ("therapist", "the rapist"),
    ("we're at home", "were at home"),
    ("re-sign it", "resign it"),
    ("No, more tea", "No more tea"),
    ("\u4e0d\uff0c\u8981", "\u4e0d\u8981"),
    ("twenty, five", "twenty five"),
    ("...", "!!!"),
    ("[ ] buy milk", "[x] buy milk"),
    ("~~Ada likes tea~~", "Ada likes tea"),
]
CONTAINED = [
    ("Ada likes tea with milk.", "Ada likes tea"),
    ("Ada likes tea and coffee.", "Ada likes tea."),
    ("Ada lives in Turku. Ada likes tea.", "Ada likes tea."),
    ("Ada likes tea. She lives in Turku.", "Ada likes tea"),
    ("Ada does not like tea. Bo likes milk.", "Ada does not like tea"),
    ("Bo is 5. Ada likes tea. Cy left.", "Bo is 5. Ada likes tea."),
    ("Ada asun Turussa. Ada juo teetä.", "Ada juo teetä"),
    ("小明住在北京。小明喜欢喝茶。", "小明喜欢喝茶。"),
    ("猫が三匹いる。犬もいる。", "猫が三匹いる"),
]
KEPT = [
    ("Ada likes Bo", "Bo likes Ada"),
    ("If Ada likes tea, Bo leaves.", "Ada likes tea"),
    ("Ada likes tea if it is hot.", "Ada likes tea"),
    ("Ada likes tea no longer", "Ada likes tea"),
    ("Ada likes tea. Not any more.", "Ada likes tea."),
    ("Ada likes tea. She used to.", "Ada likes tea."),
    ("Bo said Ada likes tea", "Ada likes tea"),
    ("Bo wrote: Ada likes tea.", "Ada likes tea."),
    ('Bo wrote this. "Ada likes tea."', "Ada likes tea."),
    ("Ada likes tea, says Bo.", "Ada likes tea"),
    ("Ada likes tea except green.", "Ada likes tea"),
    ("Ada likes tea, but only hot.", "Ada likes tea"),
    ("Ada likes tea towels", "Ada likes tea"),
    ("Ada likes tea in theory", "Ada likes tea"),
    ("Ada likes tea in winter", "Ada likes tea"),
    ("Ada likes tea with reservations", "Ada likes tea"),
    ("Ada likes tea and hates it", "Ada likes tea"),
    ("Ada likes tea less than milk", "Ada likes tea"),
    ("Ada likes tea?", "Ada likes tea"),
    ("Ada likes tea. That is a lie.", "Ada likes tea."),
    ("Things Bo made up\nAda likes tea.", "Ada likes tea."),
    ("Eva is here. She likes tea.", "She likes tea."),
    ("Ada likes tea with 2 sugars", "Ada likes tea"),
    ("Ada likes tea. She has 3 cats.", "Ada likes tea."),
    ("Ada likes tea on Friday", "Ada likes tea"),
    ("Ada works at Marks and Spencer", "Ada works at Marks"),
    ("Ada lives in York County", "Ada lives in York"),
    ("Ada is a doctor's wife", "Ada is a doctor"),
    ("Ada believes Bo lied", "Ada believes Bo"),
    ("Ada works at Nokia and quit", "Ada works at Nokia"),
    ("Ada is married and divorced", "Ada is married"),
    ("Ada went out. Bo stayed. Ada likes tea.", "Ada went out. Ada likes tea."),
    ("小明住在北京。小明不喜欢喝茶。", "小明喜欢喝茶。"),
    ("他说小明喜欢喝茶。", "小明喜欢喝茶。"),
    ("猫が四匹いる。犬もいる。", "猫が三匹いる"),
    ("Ada ei juo teetä. Bo juo.", "Ada juo teetä."),
]


@pytest.mark.parametrize(("one", "other"), EQUAL)
def test_equal_up_to_case_spacing_punctuation_and_form_is_the_same(one: str, other: str) -> None:
    """Texts that only look different are the same, both ways, and have one normal form."""
    assert same_text(one, other)
    assert same_text(other, one)
    assert normal_form(one) == normal_form(other)
    assert absorbs(one, other)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_punctuation_that_carries_meaning_counts(one: str, other: str) -> None:
    """A sign that changes what is said is not lost."""
    assert not same_text(one, other)
    assert not same_text(other, one)


@pytest.mark.parametrize(("large", "small"), CONTAINED)
def test_what_stands_whole_in_a_larger_text_is_absorbed(large: str, small: str) -> None:
    """A text whose statements another makes as they are may vanish into it, never the other way round."""
    assert absorbs(large, small)
    assert not absorbs(small, large)


@pytest.mark.parametrize(("large", "small"), KEPT)
def test_what_another_text_limits_retracts_or_reports_is_kept(large: str, small: str) -> None:
    """A statement that stands in another text under a condition, a denial or in another's mouth is not in it."""
    assert not absorbs(large, small)
    assert not absorbs(small, large)


def test_days_counted_from_another_day_are_not_the_same() -> None:
    """'yesterday' in a memory of another day is another day."""
    large, small = "Ada left yesterday. Bo stayed.", "Ada left yesterday."
    assert absorbs(large, small)
    assert not absorbs(large, small, same_day=False)


@given(st.text(max_size=40))
def test_a_text_is_itself(text: str) -> None:
    """Every text is the same as itself, and absorbs itself."""
    assert same_text(text, text)
    assert absorbs(text, text)


@given(st.text("aB15.,-' \n?\u5341\u0301", max_size=12), st.text("aB15.,-' \n?\u5341\u0301", max_size=12))
def test_the_same_is_the_same_both_ways(one: str, other: str) -> None:
    """Sameness is symmetric and implies one normal form."""
    assert same_text(one, other) == same_text(other, one)
    if same_text(one, other):
        assert normal_form(one) == normal_form(other)


def pairs(shared_data: Path, name: str) -> list[dict[str, str]]:
    lines = (shared_data / "pairs" / f"{name}.train.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


# On purpose not ours: a cruder reading of numbers, dates and denials than that of `facts_of`.
_NUMBERS = re.compile(
    r"\d+|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|hundred|thousand)\b", re.I
)
_DAYS = re.compile(
    r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|\b(?:january|february|april|june|july|august|september|october"
    r"|november|december|today|yesterday|tomorrow|tonight)\b",
    re.I,
)
_DENIALS = re.compile(
    r"\b(?:not|no|never|nobody|nothing|none|neither|nor|without|cannot"
    r"|(?:is|are|was|were|have|has|had|do|does|did|ca|wo)n'?t)\b",
    re.I,
)


def said(pattern: re.Pattern[str], content: str) -> list[str]:
    return sorted(each.lower().replace("'", "") for each in pattern.findall(content))


@pytest.mark.parametrize("name", ["sick", "stsb", "msrp"])
def test_no_contradiction_and_no_different_fact_is_absorbed(shared_data: Path, name: str) -> None:
    """Of all pairs, none that contradict each other or differ in a number, a date or a denial is absorbed."""
    for pair in pairs(shared_data, name):
        for large, small in permutations((pair["a"], pair["b"])):
            if absorbs(large, small):
                assert pair.get("label") != "contradiction", pair
                for pattern in (_NUMBERS, _DAYS, _DENIALS):
                    assert said(pattern, large) == said(pattern, small), pair
                assert not differ(large, small) or same_text(large, small), pair


@pytest.mark.parametrize("name", ["sick", "stsb", "msrp"])
def test_every_variant_of_a_sentence_is_the_same(shared_data: Path, name: str) -> None:
    """Case, spaces, final marks, quotes and the Unicode form alone never keep two texts apart."""
    for pair in pairs(shared_data, name)[::40]:
        content = pair["a"]
        bare = content.rstrip(".! ")
        for variant in (
            content.upper(),
            content.lower(),
            f" {content.replace(' ', '  ')}\n",
            unicodedata.normalize("NFD", content),
            f"{bare}!",
            bare,
            f'"{content}"',
            content.replace("'", "\u2019"),
            "".join(chr(ord(letter) + 0xFEE0) if "!" <= letter <= "~" else letter for letter in content),
        ):
            assert same_text(content, variant), variant
