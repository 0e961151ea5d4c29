"""What comes late, and is dead, planned or replayed by the time: faults found by hand, with the right values."""

from collections.abc import Iterator
from io import BytesIO

import pytest

from consolidator.exchange.intake import import_lines
from consolidator.store.engine import Store, open_store
from consolidator.store.undo import undo_run
from tests.lives import alike, apply, day, exported, memory, name, night, plan_of, rated, take


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    with open_store(store_url, mode="create") as opened:
        yield opened


def weights(store: Store, at: float) -> list[float]:
    return [link["weight"] for scope in exported(store, at).values["scopes"] for link in scope["associations"]]


@pytest.mark.parametrize("linked_before", [False, True])
def test_a_link_dead_when_it_was_written_is_taken_back_as_it_was(store: Store, linked_before: bool) -> None:
    """A late turn whose link has died since: its night undone leaves no trace, and it counts once, not twice."""
    take(store, [memory(one, 0) for one in "abc"], at=1)
    if linked_before:
        take(store, alike("t1", "ab", 0.5), at=1)
    night(store, 1)
    take(store, [line for number in range(2, 25) for line in alike(f"d{number}", "c", number)], at=25)
    take(store, alike("t2", "ab", 2), at=25)
    before = exported(store, 25)
    preview, run = plan_of(store, 25), night(store, 25)
    assert [sum(part.unlinked for part in one.plan.scopes) for one in (preview, run)] == [1, 1]
    undo_run(store, "last", wall_clock=lambda: day(26))
    assert exported(store, 25) == before
    night(store, 3)
    first = 0.05 * 0.9**1.5 if linked_before else 0.0
    assert weights(store, 3) == pytest.approx([(first + 0.05 - first * 0.05) * 0.9], abs=1e-5)


def test_a_rating_of_before_the_base_is_replayed_in_a_copy_too(store: Store, sqlite_url: str) -> None:
    """Taken out and in again, a rating that acts at the base still does when a correction asks for a replay."""
    ratings = [rated("m1", "m1", "a", 0, "tool_get"), rated("m2", "m2", "a", 2, "tool_search_returned")]
    take(store, [memory("a", 1, 0.3), *ratings], at=3)
    night(store, 3)
    with open_store(sqlite_url + ".copy", mode="create") as copy:
        import_lines(copy, BytesIO("\n".join(exported(store, 3).lines).encode()), "all.jsonl", now=day(3))
        assert exported(copy, 3) == exported(store, 3)
        for one in (store, copy):
            take(one, [rated("m2", "m2", "a", 2.5)], at=4)
            night(one, 4)
        assert exported(copy, 4).values == exported(store, 4).values


def test_a_new_turn_of_a_planned_pair_leaves_the_pair_out(store: Store) -> None:
    """The plan did not know of it; pairs that it does not concern are applied."""
    take(store, [memory(one, 0) for one in "abcd"], at=1)
    take(store, [*alike("t1", "ab", 1), *alike("t2", "cd", 1)], at=2)
    plan = plan_of(store, 3).plan
    take(store, alike("t3", "ab", 2), at=3)
    result = apply(store, plan)
    assert result.exit_code == 3
    (outcome,) = result.outcomes.values()
    assert {one.verb for one, _ in outcome.stale} == {"linked"}
    linked = [(link["memory_a"], link["memory_b"]) for link in exported(store, 3).values["scopes"][0]["associations"]]
    assert linked == [tuple(sorted((name("c"), name("d"))))]
