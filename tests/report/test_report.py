"""A report counts what was applied, keeps a few examples, and says why where nothing was done."""

from collections import Counter
from dataclasses import replace
from time import perf_counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consolidator.errors import BadInput
from consolidator.plan import STEPS, TOTALS, Decision, ScopeOutcome, ScopePlan
from consolidator.report import FORMS, LEVELS, Report, as_json, build, from_json, render
from consolidator.report.report import EXAMPLES, STALE, VERBS
from tests.report.nights import NIGHTS, about, names, night

MEMORY_VERBS = [("reinforce", "reinforced"), ("shift", "shifted"), ("prune", "archived"), ("prune", "revived")]
LINK_VERBS = [("associate", "linked"), ("associate", "inferred")]
KEYS = st.integers(1, 9)

memory_decisions = st.builds(
    lambda verb, key: about(*verb, key, because="because"), st.sampled_from(MEMORY_VERBS), KEYS
)
link_decisions = st.builds(
    lambda verb, low, more: about(*verb, low, low + more, because="because"), st.sampled_from(LINK_VERBS), KEYS, KEYS
)
decisions = st.lists(memory_decisions | link_decisions, max_size=40).map(tuple)
outcomes = st.builds(
    lambda applied, stale, unlinked: ScopeOutcome(applied, tuple((one, "changed") for one in stale), unlinked),
    decisions, decisions, st.integers(0, 5),
)  # fmt: skip
histories = st.lists(st.fixed_dictionaries({name: st.integers(0, 9) for name in TOTALS}), max_size=9)


def of(*found: ScopeOutcome, history: list[dict[str, int]] | None = None, exit_code: int = 0) -> Report:
    """The report of outcomes, one scope each."""
    scopes = [
        ScopePlan(key, f'{{"user":"{key}"}}', 0, outcome.applied, names=names(*range(1, 10)))
        for key, outcome in enumerate(found)
    ]
    return build(
        night(*scopes), dict(enumerate(found)), run_id="r", dry_run=False, exit_code=exit_code, history=history or []
    )


@given(st.lists(outcomes, max_size=3))
def test_totals_count_distinct_rows_and_are_the_sum_of_the_steps(found: list[ScopeOutcome]) -> None:
    """A memory counts once a verb, however many decisions it has; the total is the sum over scopes."""
    report = of(*found)
    expected = Counter[str]()
    for outcome in found:
        expected.update(verb for verb, _ in {(one.verb, one.row) for one in outcome.applied})
        expected.update(unlinked=outcome.unlinked, stale=len(outcome.stale))
    assert list(report.totals) == list(TOTALS)
    assert report.totals == {name: expected[name] for name in TOTALS}
    summed = Counter[str]()
    for scope in report.scopes:
        for step in scope.steps:
            summed.update(step.counts)
    assert {name: summed[name] for name in TOTALS if name != "stale"} == {
        name: count for name, count in report.totals.items() if name != "stale"
    }


@given(outcomes)
def test_every_step_did_something_or_says_why_not(outcome: ScopeOutcome) -> None:
    """Of every step asked for there is either a count or a reason, never both; examples are few and distinct."""
    (scope,) = of(outcome).scopes
    assert [step.step for step in scope.steps] == list(STEPS)
    for step in scope.steps:
        assert set(VERBS[step.step]) <= set(step.counts)
        assert any(step.counts.values()) == (step.because_nothing is None)
        assert step.because_nothing != ""
        shown = [(example.verb, example.id, example.other_id) for example in step.examples]
        named = [example for example in shown if example[1] and (example[2] or step.step != "associate")]
        assert len(named) == len(set(named))
        done = sum(count for verb, count in step.counts.items() if verb != "unlinked")
        assert len(shown) == min(done, EXAMPLES)


@given(st.lists(outcomes, max_size=2), histories)
def test_a_stored_report_comes_back_whole(found: list[ScopeOutcome], history: list[dict[str, int]]) -> None:
    """`from_json` undoes `as_json`, so that `show` tells what `run` told."""
    report = of(*found, history=history)
    assert from_json(as_json(report)) == report
    assert as_json(from_json(as_json(report))) == as_json(report)


@pytest.mark.parametrize("name", NIGHTS)
def test_a_stored_sample_reads_the_same(name: str) -> None:
    """Every level and form of a report that was stored is that of the report itself."""
    report = NIGHTS[name]()
    again = from_json(as_json(report))
    for level in LEVELS:
        for form in FORMS:
            assert render(again, level, form) == render(report, level, form)


@pytest.mark.parametrize(
    "document", [{}, {"run_id": "r"}, {"as_of": 3}, [], {**as_json(NIGHTS["busy"]()), "scopes": 1}]
)
def test_what_is_no_report_is_refused(document: object) -> None:
    """A stored document that is none is answered with one line."""
    with pytest.raises(BadInput, match="cannot be read") as caught:
        from_json(document)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


def test_an_unknown_level_or_form_is_refused() -> None:
    """The error names what there is."""
    with pytest.raises(BadInput, match="'loud' is no level of a report; there are off, errors, summary, detailed"):
        render(NIGHTS["quiet"](), "loud")
    with pytest.raises(BadInput, match="'pdf' is no form"):
        render(NIGHTS["quiet"](), "summary", "pdf")


def test_a_dry_run_has_no_run_and_counts_its_plan() -> None:
    """Without outcomes a dry run counts what is planned; there is nothing to undo."""
    report = NIGHTS["preview"]()
    assert report.run_id is None
    assert (report.totals["shifted"], report.totals["archived"]) == (1, 2)
    assert "consolidate undo" not in "".join(render(report, level, form) for level in LEVELS for form in FORMS)


def test_what_was_not_reached_is_not_told_as_done() -> None:
    """A scope without an outcome counts nothing and says that it was not reached."""
    report = NIGHTS["failed"]()
    assert not any(report.totals.values())
    assert {step.because_nothing for step in report.scopes[0].steps} == {"not reached: the night ended before"}


def test_a_night_of_which_all_is_stale_says_so() -> None:
    """A step whose decisions were all left out names that as its reason, and the list of them is bounded."""
    stale = tuple(about("prune", "archived", key, because="faded") for key in range(1, 2 * STALE))
    report = of(ScopeOutcome(stale=tuple((one, "changed") for one in stale)), exit_code=3)
    (prune,) = (step for step in report.scopes[0].steps if step.step == "prune")
    assert prune.because_nothing == "its 199 decisions were left out as stale"
    assert report.totals["stale"] == 199
    assert len(report.scopes[0].stale) == STALE
    assert "and more" in render(report, "detailed")


def test_events_without_effect_are_no_work() -> None:
    """They are counted apart, explained, and taken back by an undo."""
    seen = NIGHTS["busy"]().scopes[0].steps[0]
    assert seen.seen == 2
    decision = about("reinforce", "", because="2 of 2 name no memory")
    events = replace(decision.events, exposures=((1, False),))
    report = of(ScopeOutcome((replace(decision, events=events),)))
    step = report.scopes[0].steps[0]
    assert (step.counts, step.seen, step.because_nothing) == ({"reinforced": 0}, 1, "what it read changes nothing")
    assert step.examples[0].because == "2 of 2 name no memory"
    assert report.undoable


def test_only_seven_nights_are_compared_with() -> None:
    """The newest seven; totals of other versions are filled up with zeros."""
    report = of(ScopeOutcome(), history=[{"archived": 1}] * 3 + [{"archived": 4, "dreamt": 2}] * 9)
    assert len(report.earlier) == 7
    assert report.average["archived"] == pytest.approx(2.7)
    assert as_json(report)["comparison"]["nights"] == 7
    assert as_json(of(ScopeOutcome()))["comparison"] is None


@pytest.mark.parametrize(
    ("work_before", "warned"),
    [([0] * 6 + [4], True), ([0] * 7, False), ([0] * 5 + [4, 0], False), ([0, 4], False), ([3] + [0] * 6, False)],
)
def test_what_stopped_happening_is_told_once(work_before: list[int], warned: bool) -> None:
    """On the seventh night in a row without work after one with some, and on no other, `errors` speaks."""
    report = of(ScopeOutcome(), history=[{"linked": count} for count in work_before])
    assert bool(render(report, "errors")) == warned
    assert render(replace(report, dry_run=True), "errors") == ""


def test_examples_are_those_that_can_be_named() -> None:
    """A plan names only some of its rows; where these were left out, others stand in, without a name."""
    archives = tuple(about("prune", "archived", key, because=f"because of {key}") for key in (*range(20, 40), 3, 4))
    steps = of(ScopeOutcome(archives)).scopes[0].steps
    (prune,) = (step for step in steps if step.step == "prune")
    assert [example.because[11:] for example in prune.examples] == ["3", "4", "20", "21", "22"]
    assert [bool(example.id) for example in prune.examples] == [True, True, False, False, False]


def test_building_costs_one_pass() -> None:
    """A night of 300,000 decisions is counted in a moment and keeps what it shows, not what it counted."""
    row = about("prune", "archived", 1, because="faded")
    many: tuple[Decision, ...] = tuple(replace(row, row=(key,)) for key in range(300_000))
    begun = perf_counter()
    report = of(ScopeOutcome(many))
    print(f"300,000 decisions told in {perf_counter() - begun:.2f} s")  # noqa: T201
    assert report.totals["archived"] == 300_000
    assert len(as_json(report)["scopes"][0]["steps"]["prune"]["examples"]) == EXAMPLES
