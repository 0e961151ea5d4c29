"""What is kept of a record that a push changes, and what an undo gives back of it."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from consolidator.sources.images import before_over, differing
from consolidator.store.pushes import Kept

NAMES = st.sampled_from("abc")
DOCUMENTS = st.recursive(
    st.none() | st.integers(0, 2) | st.lists(st.integers(0, 1), max_size=2),
    lambda deeper: st.dictionaries(NAMES, deeper, max_size=3),
    max_leaves=8,
)
RECORDS = st.dictionaries(NAMES, DOCUMENTS, max_size=3)


def kept(before: dict[str, Any], after: dict[str, Any]) -> Kept:
    old, new = differing(before, after)
    return Kept("r", 1, {"fields": old}, {"fields": new}, True)


@given(RECORDS, RECORDS)
def test_what_is_kept_gives_the_record_back(before: dict[str, Any], after: dict[str, Any]) -> None:
    """Whole, over what the push made of it; and of what did not change nothing is kept."""
    assert before_over(after, kept(before, after)) == before
    assert differing(before, before) == ({}, {})


@given(RECORDS, RECORDS, st.dictionaries(st.sampled_from("xyz"), DOCUMENTS, max_size=3))
def test_what_others_changed_beside_it_stays(
    before: dict[str, Any], after: dict[str, Any], others: dict[str, Any]
) -> None:
    """An undo gives back what the push changed, and nothing else."""
    assert before_over({**after, **others}, kept(before, after)) == {**before, **others}
