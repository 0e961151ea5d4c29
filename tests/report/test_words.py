"""The summary is one to three sentences that speak of what matters and pass over zeros."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consolidator.asked import Asked
from consolidator.instants import parse_instant
from consolidator.plan import TOTALS
from consolidator.report import Report, render
from consolidator.report.report import ScopeReport, StepReport

SUMMARIES = [
    ({}, "A quiet night: nothing was due."),
    ({"reinforced": 1}, "I replayed the use of 1 memory."),
    ({"reinforced": 2400}, "I replayed the use of 2,400 memories."),
    ({"archived": 1, "revived": 2}, "I sent 1 memory to the archive and brought 2 archived memories back."),
    (
        {"reinforced": 3, "shifted": 1, "archived": 2, "linked": 1, "inferred": 7},
        (
            "I replayed the use of 3 memories, moved 1 dated memory on in time and sent 2 memories to the archive. "
            "I also linked 1 pair of memories that came up together."
        ),
    ),
    ({"unlinked": 1}, "I let 1 faded link go."),
    ({"inferred": 1}, "I brought 1 inferred link up to date."),
    ({"superseded": 2, "merged": 1}, "I merged 2 memories into 1 that says the same."),
    ({"superseded": 9, "merged": 2, "updated": 1, "absorbed": 1}, "I merged 9 memories into 4 that say the same."),
    ({"superseded": 1, "absorbed": 1}, "I merged 1 memory into 1 that says the same."),
    ({"distinct": 2, "held_back": 1}, "A quiet night: nothing was due."),
    (
        {"carried_over": 3},
        "A quiet night: nothing was due. 3 groups of memories that may say the same wait.",
    ),
    (
        {"superseded": 2, "merged": 1, "carried_over": 1},
        "I merged 2 memories into 1 that says the same. 1 group of memories that may say the same waits.",
    ),
    (
        {"stale": 1},
        "1 decision was left out because what it rests on changed meanwhile; the next night looks again.",
    ),
    (
        {"linked": 2, "stale": 2},
        (
            "I linked 2 pairs of memories that came up together. "
            "2 decisions were left out because what they rest on changed meanwhile; the next night looks again."
        ),
    ),
]


def report(totals: dict[str, int], *, dry_run: bool = False, exit_code: int = 0, error: str | None = None) -> Report:
    """A report of which only what a summary reads is filled in."""
    return Report(
        run_id=None if dry_run else "r",
        as_of=parse_instant("2026-05-30T03:30:00Z"),
        dry_run=dry_run,
        exit_code=exit_code,
        totals=dict.fromkeys(TOTALS, 0) | totals,
        scopes=(
            ScopeReport(
                {},
                (
                    StepReport("reinforce", {"reinforced": totals.get("reinforced", 0)}),
                    StepReport("merge", {}, asked=Asked(waiting={"the budget": totals.get("carried_over", 0)})),
                ),
            ),
        ),
        error=error,
    )


@pytest.mark.parametrize(("totals", "summary"), SUMMARIES)
def test_a_summary_is_what_a_person_would_say(totals: dict[str, int], summary: str) -> None:
    """Zeros are passed over, and one memory is not `1 memories`."""
    assert render(report(totals), "summary") == summary


def test_a_preview_says_what_would_be() -> None:
    """Nothing of a dry run is told as done."""
    said = render(report({"archived": 2, "linked": 1}, dry_run=True), "summary")
    assert said == "I would send 2 memories to the archive. I would also link 1 pair of memories that came up together."
    assert render(report({}, dry_run=True), "summary") == "A quiet night: nothing is due."


def test_several_scopes_are_counted() -> None:
    """Where more than one scope had work, the first sentence says how many."""
    one = report({"reinforced": 1}).scopes[0]
    three = Report("r", 0, False, 0, dict.fromkeys(TOTALS, 0) | {"reinforced": 3}, (one, one, one, ScopeReport({})))
    assert render(three, "summary") == "I replayed the use of 3 memories, across 3 scopes."


@pytest.mark.parametrize(
    ("exit_code", "error", "said"),
    [
        (1, "the store went away.", "The night failed on the way: the store went away."),
        (1, None, "The night failed on the way."),
        (2, "no such store", "The night could not run: no such store."),
        (3, None, "The night was done in part."),
        (11, None, "The night left out what another one holds."),
        (0, "odd", "The night ended with exit code 0: odd."),
    ],
)
def test_what_went_wrong_is_told_at_every_level_but_off(exit_code: int, error: str | None, said: str) -> None:
    """`errors` says it, `summary` begins with it, `off` is silent."""
    wrong = report({"archived": 1}, exit_code=exit_code, error=error)
    assert render(wrong, "errors") == said
    assert render(wrong, "summary") == f"{said} I sent 1 memory to the archive."
    assert render(wrong, "off") == ""


@given(
    st.fixed_dictionaries({name: st.integers(0, 3) for name in TOTALS}),
    st.booleans(),
    st.sampled_from([0, 1, 2, 3, 11]),
    st.sampled_from([None, "the disk is full"]),
)
def test_a_summary_has_one_to_three_sentences(
    totals: dict[str, int], dry_run: bool, exit_code: int, error: str | None
) -> None:
    """Whatever happened: one line, no zero, no `1 memories`, no `2 memory`; `errors` is silent when all went well."""
    told = report(totals, dry_run=dry_run, exit_code=exit_code, error=error)
    said = render(told, "summary")
    assert "\n" not in said
    assert 1 <= len(re.findall(r"\.(?: |$)", said)) <= 3
    assert not re.search(r"\b0 \w", said)
    assert not re.search(r"\b1 (?:\w+ )?(?:memories|pairs|links|decisions)\b", said)
    assert not re.search(r"\b[23] (?:\w+ )?(?:memory|pair|link|decision)\b", said)
    went_well = exit_code == 0 and error is None and not totals["stale"]
    assert (render(told, "errors") == "") == went_well
