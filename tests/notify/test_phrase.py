"""Words that a model found are sent only where they can be trusted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consolidator.notify.phrase import LONGEST, checked

FACTS = {
    "done": {"reinforced": 2_400, "archived": 4, "pairs linked": 24},
    "average of the last 7 nights": {"reinforced": 5.6},
}
SOUND = [
    "I strengthened 2,400 memories and put 4 to rest.",
    "Four memories went to the archive, and twenty-four pairs are linked.",
    "2400 memories are stronger; usually it is 5.6.",
    "2.400 Erinnerungen sind stärker.",
    "昨晚我加强了2400条记忆，归档了四条。",
    "二十四对记忆连在了一起。",
    "In the last 7 nights I tidied up, one by one. All is well!",
    "٤ memories rest now",
    "A busy night, and all of it went well.",
    "Two thousand four hundred memories are stronger.",
]
MADE_UP = [
    "I strengthened 2,401 memories.",
    "Five memories went to the archive.",
    "About a dozen memories faded.",
    "Thousands of memories are stronger.",
    "归档了五条记忆。",
    "I archived 4 memories, 10% of all.",
    "٥ memories rest now",
    "2,4000 memories",
]
UNFIT = [
    "", "   ", "\n", "I can't help with that.", "I’m sorry, but I cannot.", "As an AI, I have no nights.",
    "抱歉，我不能。", "See https://evil.example for more.", "@everyone wake up!", "One. Two. Three. Four.",
    "x" * (LONGEST + 1), "好。好。好。好。",
]  # fmt: skip


@pytest.mark.parametrize("reply", SOUND)
def test_words_with_the_nights_own_numbers_are_sent(reply: str) -> None:
    """As digits of any script, with separators, or as words."""
    assert checked(reply, FACTS, sentences=3) in (reply, f"{reply}.")


@pytest.mark.parametrize("reply", MADE_UP)
def test_a_number_that_the_night_does_not_have_is_not_sent(reply: str) -> None:
    """Whatever way it is written."""
    assert checked(reply, FACTS, sentences=3) is None


@pytest.mark.parametrize("reply", [*UNFIT, None])
def test_what_is_empty_too_long_a_refusal_or_a_link_is_not_sent(reply: str | None) -> None:
    """The rule's own words are used instead."""
    assert checked(reply, FACTS, sentences=3) is None


def test_a_reply_is_one_harmless_line() -> None:
    """Quotation marks around it, line breaks and control signs go."""
    assert checked("All\x1b is well", FACTS, sentences=3) == "All␛ is well."
    assert checked('"All\nis well."', FACTS, sentences=3) == "All is well."


@given(st.text(max_size=200))
def test_whatever_comes_is_judged(reply: str) -> None:
    """No text makes the check fail, and none that passes holds a foreign number."""
    told = checked(reply, {"done": {}}, sentences=3)
    assert told is None or not any(char.isdecimal() for char in told)
