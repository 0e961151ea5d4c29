"""A digest adds nights up, and tells of them in the voice of a night's report."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from consolidator.plan import TOTALS
from consolidator.report import digest_words
from consolidator.report.digest import SPANS, Digest
from consolidator.report.report import NO_WORK
from tests.report.nights import TEXTS, busy, quiet
from tests.report.weeks import SCOPES, WEEKS, at, busy_week, missed_week, quiet_week, week

GOLDEN = Path(__file__).parent / "golden"
FORMS = {"txt": digest_words.text, "md": digest_words.markdown}


@pytest.mark.parametrize("level", ["off", "errors", "summary", "detailed"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", WEEKS)
def test_a_digest_reads_as_its_golden_file(name: str, level: str, form: str) -> None:
    """CONSOLIDATOR_WRITE_GOLDEN=1 writes them anew: read them. What says nothing has no file."""
    golden = GOLDEN / f"week-{name}.{level}.{form}"
    told = FORMS[form](WEEKS[name](), level)
    if os.environ.get("CONSOLIDATOR_WRITE_GOLDEN"):
        golden.unlink(missing_ok=True)
        if told:
            golden.write_text(told + "\n", encoding="utf-8")
    assert told == (golden.read_text(encoding="utf-8").removesuffix("\n") if golden.exists() else "")


def test_what_was_done_is_added_up_and_what_waits_is_not() -> None:
    """Two nights that did the same did twice as much; what they left is what the last one left."""
    one = busy().totals
    two = week(at(busy(), 0), at(busy(), 1)).added.totals
    assert set(two) == set(TOTALS)
    assert two == {name: count if name in NO_WORK else 2 * count for name, count in one.items()}


def test_the_order_of_reports_is_of_no_matter() -> None:
    """The newest is the newest wherever it stands."""
    reports = [at(busy(), 2), at(quiet(), 0), at(busy(), 9)]
    assert week(*reports) == week(*reversed(reports))


def test_a_span_is_compared_with_those_before_it_and_no_others() -> None:
    """Four of them at most, each its own sum; a span without any run is none."""
    found = week(*(at(busy(), 7 * back) for back in range(SPANS + 3)))
    assert len(found.added.earlier) == SPANS
    assert week(at(busy(), 0), at(busy(), 15)).added.earlier == (busy().totals,)


def test_other_scopes_are_left_out() -> None:
    """A digest of some scopes counts nothing of another's."""
    elsewhere = replace(busy(), scopes=tuple(replace(part, scope={"user": "eve"}) for part in busy().scopes))
    assert not any(week(at(elsewhere, 0)).added.totals.values())


@pytest.mark.parametrize("name", WEEKS)
def test_no_memory_is_quoted_at_any_level(name: str) -> None:
    """Counts and dates, and names of scopes."""
    found = WEEKS[name]()
    told = [form(found, level) for form in FORMS.values() for level in ("errors", "summary", "detailed")]
    assert not any(
        text[:12] in each for each in (*told, str(digest_words.as_document(found))) for text in TEXTS.values()
    )


def test_a_summary_has_one_to_three_sentences() -> None:
    """After the heading; a quiet week has one."""
    assert digest_words.summary(quiet_week()) == "A quiet week: nothing was due."
    for found in (busy_week(), missed_week()):
        assert 1 <= digest_words.summary(found).count(". ") + 1 <= 3


@pytest.mark.parametrize(
    ("nights", "times", "said"), [(7, 2, "less than in the week before"), (1, 1, "as many nights")]
)
def test_how_it_compares(nights: int, times: int, said: str) -> None:
    """In words that fit the span."""
    found: Digest = week(at(busy(), 0), *(at(busy(), nights) for _ in range(times)), nights=nights)
    assert said in digest_words.after(found)
    assert digest_words.after(week(at(busy(), 0))) == f"It cost {digest_words.words.money(busy().asked.usd or 0)}."
    assert SCOPES[0] in found.attendance
