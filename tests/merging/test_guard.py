"""The guard: memories that differ in a fact are no duplicates; what is said in other words is no difference."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consolidator.merging.guard import differ, differences
from consolidator.merging.texts import Text

DAY = 86_400_000_000
NO_ANCHOR = (None, None, None, None)


def text(content: str, day: int = 20_000, anchor: Any = NO_ANCHOR) -> Text:
    return Text(1, content, content, "fact", day * DAY, 1.0, anchor, merged=False, new=True)


@pytest.mark.parametrize(
    ("one", "other", "kinds"),
    [
        ("Ada has 3 cats", "Ada has 4 cats", {"number"}),
        ("Ada has three cats", "Ada has four cats", {"number"}),
        ("小明有三只猫", "小明有四只猫", {"number"}),
        ("猫が3匹いる", "猫が4匹いる", {"number"}),
        ("แมว ๓ ตัว", "แมว ๔ ตัว", {"number"}),
        ("고양이 세 마리", "고양이 네 마리", {"number"}),
        ("عندي ٣ قطط", "عندي ٤ قطط", {"number"}),
        ("It is 5 km away", "It is 5 miles away", {"amount"}),
        ("It costs $5", "It costs €5", {"amount"}),
        ("on 8 June", "on 9 June", {"date"}),
        ("on 12/06/2026", "on 12 June 2026", {"date"}),
        ("on Monday", "on Tuesday", {"weekday"}),
        ("at 8 am", "at 8 pm", {"time"}),
        ("yesterday", "today", {"relative day"}),
        ("Ada likes tea", "Ada does not like tea", {"negation"}),
        ("Ada smokes", "Ada no longer smokes", {"ended"}),
        ("Ada smokes", "Ada used to smoke", {"ended"}),
        ("Ada moves to Oulu", "Ada might move to Oulu", {"possible"}),
        ("Ada moves to Oulu", "Ada plans to move to Oulu", {"planned"}),
        ("Ada comes", "Ada comes if it rains", {"condition"}),
        ("Ada likes tea", "Does Ada like tea?", {"question"}),
        ("at https://x.org/a", "at https://x.org/b", {"URL"}),
        ("mail a@x.org", "mail b@x.org", {"e-mail"}),
        ("in /etc/a", "in /etc/b", {"path"}),
        ("ticket ABC-1", "ticket ABC-2", {"identifier"}),
        ("run `a b`", "run `a c`", {"code"}),
        ("call +358 40 1234567", "call +358 40 1234568", {"phone number"}),
        ("Ada likes tea, Bo does not like milk", "Ada does not like tea, Bo likes milk", {"negation"}),
    ],
)
def test_a_fact_that_differs_blocks(one: str, other: str, kinds: set[str]) -> None:
    """A differing number, date, unit, address or denial keeps two texts from being duplicates, whoever comes first."""
    found = differences((text(one), text(other)))
    assert kinds <= {each.kind for each in found if each.blocks}
    assert differ(one, other)
    assert differ(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ada has 5 cats", "Ada has five cats"),
        ("Ada has one cat", "Ada has a cat"),
        ("Ada doesn't like tea", "Ada does not like tea"),
        ("Ada has no cat", "Ada does not have a cat"),
        ("Ada smokes no longer, not any more", "Ada no longer smokes"),
        ("on 8 June 2026", "on June 8th, 2026"),
        ("at 8:15 pm", "at 20:15"),
        ("91K stars", "91,000 stars"),
        ("5 kilometres", "5 km"),
        ("The men fight", "Two men fight"),
        ("小明有5只猫", "小明有五只猫"),
        ("Mail ADA@x.org", "mail ada@X.org"),
    ],
)
def test_other_words_for_the_same_do_not_block(one: str, other: str) -> None:
    """What is written otherwise is no other fact."""
    assert not differ(one, other)


def test_names_block_where_the_scope_knows_them() -> None:
    """A differing name blocks if other memories mention it, and warns if nobody else does."""
    pair = (text("She met Ada in town"), text("She met Eve in town"))
    assert {(each.kind, each.value, each.where, each.blocks) for each in differences(pair)} == {
        ("name", "Ada", (0,), False),
        ("name", "Eve", (1,), False),
    }
    assert {each.blocks for each in differences(pair, frozenset({"ada", "eve"}))} == {True}
    assert not differences((text("Ada met bo"), text("ada met Bo")), frozenset({"ada", "bo"}))


def test_a_difference_says_who_has_it() -> None:
    """Of several memories the positions that have the fact are told, the others lack it."""
    found = differences((text("Ada has 3 cats"), text("Ada has cats"), text("Ada has 3 of them: cats")))
    assert [(each.kind, each.value, each.where) for each in found] == [("number", "3", (0, 2))]


def test_anchors_and_days_that_differ_block() -> None:
    """What is about another time is no duplicate, nor is 'yesterday' of another day."""
    anchored = differences((text("Ada swims", anchor=("2026-06-08", None, None, None)), text("Ada swims well")))
    assert [(each.kind, each.value, each.where, each.blocks) for each in anchored] == [
        ("anchor", "2026-06-08", (0,), True)
    ]
    days = differences((text("Ada left yesterday"), text("Ada left town yesterday", day=20_005)))
    assert [each.kind for each in days if each.blocks] == ["relative day"]
    assert not differences((text("Ada left yesterday"), text("Yesterday Ada left")))


@given(st.text(max_size=60))
def test_a_text_does_not_differ_from_itself(content: str) -> None:
    """Whatever a text says, it says."""
    assert not differences((text(content), text(content)))


def equivalents(shared_data: Path) -> list[tuple[str, str]]:
    lines = (shared_data / "pairs" / "sick.train.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return [(row["a"], row["b"]) for row in rows if row["label"] == "entailment" and row["relatedness"] >= 4.5]


def test_under_one_percent_of_equivalent_sentences_are_kept_apart(shared_data: Path) -> None:
    """On sentences that people judged to say the same, the guard raises less than one false alarm in a hundred."""
    equal = equivalents(shared_data)
    assert sum(differ(a, b) for a, b in equal) < 0.01 * len(equal)


def test_every_changed_digit_is_seen(shared_data: Path) -> None:
    """Another digit is another fact, wherever it stands."""
    lines = (shared_data / "pairs" / "msrp.train.jsonl").read_text("utf-8").splitlines()
    for row in map(json.loads, lines[::5]):
        for match in re.finditer(r"\d", row["a"]):
            changed = row["a"][: match.start()] + str((int(match[0]) + 1) % 10) + row["a"][match.end() :]
            assert differ(row["a"], changed), changed
