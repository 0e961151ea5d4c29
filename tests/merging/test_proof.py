"""The proof: a merged text loses nothing and makes nothing up, or says in words what is wrong with it."""

import json
from collections.abc import Sequence
from itertools import permutations
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consolidator.merging.asking import Dropped
from consolidator.merging.proof import prove
from consolidator.merging.texts import Text

DAY = 86_400_000_000


class Said(NamedTuple):
    """A memory: what it says and the day it was observed."""

    content: str
    day: int = 20_000


def problems(
    sources: Sequence[str | Said], text: str, dropped: Sequence[str] = (), verdict: str = "merge"
) -> tuple[str, ...]:
    said = [each if isinstance(each, Said) else Said(each) for each in sources]
    texts = [
        Text(key, str(key), each.content, "fact", each.day * DAY, 1.0, (None, None, None, None), False, True)
        for key, each in enumerate(said)
    ]
    return prove(texts, text, [Dropped(fact=fact, because="outdated") for fact in dropped], verdict, frozenset())


PROVEN = [
    (["Ada likes tea.", "Ada is fond of tea."], "Ada likes tea and is fond of it."),
    (["Ada likes green tea.", "Ada really likes green tea with milk."], "Ada really likes green tea with milk."),
    (
        ["Caroline attended an LGBTQ support group recently.", "Caroline went to an LGBTQ support group: inspiring."],
        "Caroline recently attended an inspiring LGBTQ support group.",
    ),
    (["Ada does not eat meat.", "Ada doesn't eat meat or fish."], "Ada doesn't eat meat or fish."),
    (["Ada has two cats.", "Ada has 2 cats named Miso and Tofu."], "Ada has two cats named Miso and Tofu."),
    (["Meeting on 8 June.", "The meeting is on June 8th, 2026 at noon."], "The meeting is on 8 June 2026 at noon."),
    (["Loves hiking in the mountains.", "Enjoys hiking in the mountains near Turku."],
     "Enjoys hiking in the mountains near Turku."),
    (["One man plays a guitar.", "A man is playing the guitar."], "A man is playing the guitar."),
    (["小明喜欢喝茶。", "小明很喜欢喝绿茶。"], "小明很喜欢喝绿茶。"),
    (["猫が3匹います。", "家に猫が三匹います。"], "家に猫が三匹います。"),
    (["Sorry, Bo said.", "Bo said sorry, twice."], "Bo said sorry, twice."),
    (["Ada can't help with that.", "I can't help with that, Ada says."], "I can't help with that, Ada says."),
]  # fmt: skip
WRONG = [
    (["Ada has 3 cats.", "Ada has 3 cats and a dog."], "Ada has 4 cats and a dog.", "the number 3 of a source is"),
    (["Ada has 3 cats.", "Ada has three cats and a dog."], "Ada has cats and a dog.", "number"),
    (["Ada has two cats.", "Ada owns two cats."], "Ada owns cats.", "the number two of a source is missing"),
    (["Ada came.", "Ada came here."], "Ada came at 9.", "the number 9 is in no source"),
    (["It costs $5 a month.", "The price is $5 per month."], "The price is €5 per month.", "amount"),
    (["It is 5 km away.", "The distance is 5 km."], "The distance is 5 miles.", "amount"),
    (["Meeting at 8:15 pm.", "The meeting is at 8:15 pm."], "The meeting is at 8:15 am.", "time"),
    (["On 12/06/2026 Ada came.", "Ada came on 12/06/2026."], "Ada came on 12 June 2026.", "date"),
    (["Ada left on Monday.", "On Monday Ada left."], "Ada left on Tuesday.", "weekday"),
    (["Ada left yesterday.", "Ada left for Turku yesterday."], "Ada left for Turku today.", "relative day"),
    (["Ada left yesterday.", "Ada left for Turku yesterday."], "Ada left for Turku.", "relative day"),
    (["See https://x.org/a for tea", "Tea is at https://x.org/a"], "Tea is at https://x.org/b", "URL"),
    (["Ada's mail is ada@x.org", "Mail Ada at ada@x.org"], "Ada's mail is eve@x.org", "e-mail"),
    (["Ticket ABC-123 is open", "ABC-123 still open"], "Ticket ABC-124 is open", "identifier"),
    (["Run `make test` first", "First run `make test`"], "Run make tests first", "code"),
    (["Ada does not like tea.", "Ada doesn't like tea at all."], "Ada likes tea.", "denied"),
    (["Ada likes tea.", "Ada likes tea a lot."], "Ada does not like tea.", "denied"),
    (["Ada does not like tea. Bo likes milk.", "Bo likes milk."], "Ada likes tea. Bo does not like milk.", "denied"),
    (["Ada might move to Oulu.", "Ada may move to Oulu, perhaps."], "Ada moves to Oulu.", "possible"),
    (["Ada plans to move to Oulu.", "Ada is planning to move to Oulu"], "Ada moves to Oulu.", "planned"),
    (["Ada used to smoke.", "Ada formerly smoked."], "Ada smokes.", "ended"),
    (["Ada comes if it rains.", "If it rains Ada comes."], "Ada comes, it rains.", "condition"),
    (["Is Ada coming?", "Ada is coming, is she?"], "Ada is coming.", "question"),
    (["Ada likes tea.", "Ada loves tea."], "Eve likes and loves tea.", "the name Ada of a source is missing"),
    (["Ada likes tea.", "Tea is loved by Ada."], "Bo and Ada love tea.", "name"),
    (["Today Ada met Bo.", "Ada met Bo today."], "Today Ada met Cy and Bo.", "the name Cy is in no source"),
    (["Ada likes Bo.", "Ada really likes Bo."], "Bo really likes Ada.", "something else"),
    (["Ada lives in Turku and Bo lives in Oulu.", "Ada lives in Turku."], "Ada lives in Oulu and Bo lives in Turku.",
     "something else"),
    (["Ada has 3 cats and Bo has 4 dogs.", "Ada has 3 cats."], "Ada has 4 cats and Bo has 3 dogs.", "something else"),
    (["Ada likes tea.", "Bo plays football."], "Ada likes tea.", "missing"),
    (["Enjoys long walks at dawn.", "Collects rare stamps from Peru."], "Enjoys long walks at dawn.", "missing"),
    (["Ada likes tea.", "Ada loves tea."], "Ada likes tea. Works nights somewhere.", "this is in no source"),
    (["小明有三只猫。", "小明有3只猫。"], "小明有四只猫。", "number"),
    (["小明不喜欢茶。", "小明不喜欢喝茶。"], "小明喜欢喝茶。", "denied"),
    (["แมวห้าตัว", "มีแมว 5 ตัว"], "มีแมว 6 ตัว", "number"),
    (["Ada likes tea.", "Ada loves tea."], " \n ", "the text is empty"),
    (["Ada likes tea.", "Ada loves tea."], "Ada likes tea, and she loves tea very much indeed.", "longer"),
    (["Ada likes green tea a lot.", "Ada loves green tea."], "Sorry, I can't help with that.", "refusal"),
    (["Ada likes green tea a lot.", "Ada loves green tea."], "As an AI I can't do that.", "refusal"),
    (["Ada mag grünen Tee sehr.", "Ada liebt grünen Tee."], "Tut mir leid, das geht nicht.", "refusal"),
    (["Ada pitää vihreästä teestä.", "Ada rakastaa vihreää teetä."], "Valitettavasti en voi auttaa.", "refusal"),
    (["小明喜欢喝茶，每天都喝。", "小明很喜欢喝绿茶。"], "抱歉，我无法帮助你。", "refusal"),
    (["Ada likes green tea.", "Ada loves green tea."], "Merged memory: Ada loves green tea.", "around"),
    (["Ada likes green tea.", "Ada loves green tea."], "Here is the text: Ada loves tea.", "around"),
    (["Ada likes green tea.", "Ada loves green tea."], '{"text": "Ada loves tea."}', "around"),
    (["Ada likes green tea.", "Ada loves green tea."], '"Ada loves green tea."', "around"),
    (["Ada likes green tea.", "Ada loves green tea."], "```\nAda loves green tea.\n```", "around"),
    (["Ada likes green tea.", "Ada loves green tea."], "**Ada** loves green tea.", "around"),
    (["Ada likes green tea.", "Ada loves green tea."], "<memory>Ada loves tea.</memory>", "around"),
    (["Ada likes green tea a lot.", "Ada loves green tea, hot."], "Lose nothing: every number, date, time, name stays",
     "repeats the task"),
    (["Ada likes tea.", "Ada loves tea."], "Ада любит чай.", "letters"),
    (["Ada likes green tea with milk and it is what she has for her breakfast.", "Ada loves it."],
     "Ada mag grünen Tee und das ist was sie zum Essen hat.", "another language"),
]  # fmt: skip


@pytest.mark.parametrize(("sources", "text"), PROVEN)
def test_a_text_that_keeps_every_fact_is_proven(sources: list[str], text: str) -> None:
    """Other words for the same facts are a proven merge."""
    assert problems(sources, text) == ()


@pytest.mark.parametrize(("sources", "text", "told"), WRONG)
def test_what_is_lost_or_made_up_is_told(sources: list[str], text: str, told: str) -> None:
    """A fact that is missing, changed or new, and a text that is no memory, are told in a short sentence."""
    found = problems(sources, text)
    assert any(told in problem for problem in found), found
    assert all(len(problem) < 200 and "\n" not in problem for problem in found)


UPDATES = [
    ([Said("The repo has 91K stars."), Said("The repo has 100K stars.", 20_001)], "The repo has 100K stars.", "91K"),
    ([Said("Ada lives in Turku."), Said("Ada moved to Oulu.", 20_001)], "Ada moved to Oulu.", "lives in Turku"),
    ([Said("Ada does not have a cat."), Said("Ada has a cat now.", 20_001)], "Ada has a cat now.",
     "Ada does not have a cat"),
    ([Said("The meeting is on Monday at 9."), Said("The meeting moved to Tuesday at 9.", 20_001)],
     "The meeting moved to Tuesday at 9.", "on Monday"),
    ([Said("Ada plans to move to Oulu."), Said("Ada moved to Oulu.", 20_001)], "Ada moved to Oulu.",
     "Ada plans to move to Oulu"),
]  # fmt: skip


@pytest.mark.parametrize(("sources", "text", "dropped"), UPDATES)
def test_what_a_newer_memory_replaces_may_go_if_it_is_listed(sources: list[Said], text: str, dropped: str) -> None:
    """In an update the outdated may be dropped: listed, replaced by a newer source, and never in a merge."""
    assert problems(sources, text, [dropped], "update") == ()
    assert problems(sources, text, [], "update")
    assert problems(sources, text, [dropped], "merge")


def test_the_newest_is_never_dropped() -> None:
    """A fact of the newest source stays, whatever the model lists; of sources of one time none is older."""
    old, new = Said("The repo has 91K stars."), Said("The repo has 100K stars.", 20_001)
    assert problems([old, new], "The repo has 91K stars.", ["100K stars"], "update")
    assert problems([old, Said("The repo has 100K stars.")], "The repo has 100K stars.", ["91K stars"], "update")


def test_what_nothing_replaces_is_not_outdated() -> None:
    """Listing a fact as dropped does not do where no newer source says another in its place."""
    sources = [Said("Ada has 3 cats and works at Nokia."), Said("Ada has 4 cats.", 20_001)]
    assert problems(sources, "Ada has 4 cats and works at Nokia.", ["3 cats"], "update") == ()
    assert problems(sources, "Ada has 4 cats.", ["3 cats", "works at Nokia"], "update")


def test_the_day_that_yesterday_means_may_be_added() -> None:
    """The day in brackets is no invention if it is the one that the memory's day makes it."""
    sources = [Said("Ada left yesterday."), Said("Ada went away to Turku yesterday, all alone.")]
    assert problems(sources, "Ada left for Turku yesterday (2024-10-03), all alone.") == ()
    assert problems(sources, "Ada left for Turku yesterday (2024-10-04), all alone.")


def test_an_empty_text_is_never_proven() -> None:
    """Nothing replaces no memory."""
    assert problems([" ", "\n"], "") == ("the text is empty",)


CONTENTS = st.text(
    st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from("aA 15.,:-'?\n不三月{}<>`\"")), max_size=40
)


@given(st.lists(CONTENTS.filter(str.strip), min_size=1, max_size=5), st.sampled_from([" ", "\n"]), st.randoms())
def test_the_sources_one_after_another_are_always_proven(contents: list[str], joiner: str, random: object) -> None:
    """Whatever the memories say, the text that is all of them, in any order, is proven, and so it is when stripped."""
    text = joiner.join(contents)
    for verdict in ("merge", "update"):
        assert problems(contents, text, ["anything"], verdict) == ()
        assert problems(contents[::-1], text.strip(), [], verdict) == ()


@given(st.data())
def test_real_sentences_one_after_another_are_proven(shared_data: Path, data: st.DataObject) -> None:
    """The memories of a conversation joined by a space or a new line are proven."""
    lines = (shared_data / "locomo" / "conv-26.memories.jsonl").read_text("utf-8").splitlines()
    contents = [row["content"] for row in map(json.loads, lines) if row["kind"] == "memory"]
    chosen = data.draw(st.lists(st.sampled_from(contents), min_size=2, max_size=7))
    assert problems(chosen, data.draw(st.sampled_from([" ", "\n"])).join(chosen)) == ()


@given(CONTENTS.filter(str.strip), CONTENTS.filter(str.strip))
def test_a_text_one_letter_longer_than_its_sources_is_refused(one: str, other: str) -> None:
    """Not longer than the sources together and the space between them: no slack."""
    assert problems([one, other], f"{one} {other}x"[:-1]) == ()
    if one.split() and other.split():
        found = problems([one, other], f"{one}  {other} x")
        assert "the text is longer than the memories together" in found


def test_one_of_equivalent_sentences_stands_for_both(shared_data: Path) -> None:
    """Of two sentences that people judged to say the same, the longer is refused in fewer than 2 of 100."""
    lines = (shared_data / "pairs" / "sick.train.jsonl").read_text("utf-8").splitlines()
    rows = [row for row in map(json.loads, lines) if row["label"] == "entailment" and row["relatedness"] >= 4.5]
    refused = [row for row in rows if problems([row["a"], row["b"]], max(row["a"], row["b"], key=len))]
    assert len(refused) < 0.02 * len(rows)


def test_the_order_of_the_sources_tells_nothing() -> None:
    """The same sources in any order have the same problems."""
    sources = ["Ada has 3 cats.", "Ada does not like tea.", "Bo lives in Oulu."]
    found = {frozenset(problems(order, "Ada has 4 cats.")) for order in permutations(sources)}
    assert len(found) == 1
