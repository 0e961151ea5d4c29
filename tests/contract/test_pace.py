"""Half-lives by importance in a store: what turns a law, what another importance does, and how it is taken back."""

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa

from consolidator.exchange.intake import import_lines
from consolidator.laws.clock import Rates
from consolidator.laws.pace import LAWS
from consolidator.night import plan_night
from consolidator.purge import purge_store
from consolidator.settings.jobs import PurgeJob
from consolidator.steps.rows import Memory, fading_ages
from consolidator.store.care import pin
from consolidator.store.clocks import load_clock
from consolidator.store.edits import retell
from consolidator.store.engine import Store, open_store
from consolidator.store.find import find_memories
from consolidator.store.lives import lives_of
from consolidator.store.segments import segment_rows, write_segments
from consolidator.store.tables import clock_segments, identities, memories
from consolidator.store.undo import undo_run
from tests import authors, lives
from tests.aged import set_importance, set_type
from tests.cats import CAT, KATZE
from tests.lives import Line, apply, day, exported, memory, name, rated, shown, take
from tests.oracle import memory_of

NEW, LANCEDB, TWOFOLD = (Rates(by_importance=law) for law in ("memory-new", "memory-lancedb-pro", "twofold"))
TEXTS = {"the key is under the pot": 0.0, "tea, not coffee": 0.5, "allergic to nuts": 1.0, "nobody knows": None}


@pytest.fixture
def store(made_store_url: str) -> Iterator[Store]:
    with open_store(made_store_url, mode="write") as store:
        yield store


def a_week() -> list[Line]:
    """Memories of every importance, some rated, with something said on each of seven days."""
    lines: list[Line] = [
        memory(text, number / 10, 0.3, importance=importance) for number, (text, importance) in enumerate(TEXTS.items())
    ]
    for at in range(1, 7):
        lines += shown(f"t{at}", list(TEXTS)[at % 3 :], at)
        lines.append(rated(f"m{at}", f"t{at}", list(TEXTS)[at % 4], at + 0.1, "agent_feedback_neutral"))
    return lines


def strengths(store: Store, at: float, rates: Rates) -> dict[str, float]:
    return {
        each["content"]: each["strength"] for each in exported(store, at, rates=rates).values["scopes"][0]["memories"]
    }


def row(store: Store, text: str) -> Any:
    query = sa.select(memories).join(identities, identities.c.key == memories.c.key)
    with store.read() as conn:
        return conn.execute(query.where(identities.c.hash == name(text))).one()


def importance(store: Store, text: str, value: float | None) -> bool:
    with store.write() as conn:
        return set_importance(conn, row(store, text).key, value)


def assert_scheduled(store: Store) -> None:
    """What is stored of when memories fade is what follows from their heads and the clock."""
    with store.read() as conn:
        for scope in conn.scalars(sa.select(memories.c.scope_key).distinct()):
            columns = [memories.c[each] for each in Memory._fields]
            rows = [Memory(*each) for each in conn.execute(sa.select(*columns).where(memories.c.scope_key == scope))]
            assert not any(each.anew or each.fades_age is None for each in rows)
            found = np.array([each.fades_age for each in rows], np.float64)
            assert found == pytest.approx(fading_ages(load_clock(conn, scope), rows), abs=1e-9)


@pytest.mark.parametrize("law", [*LAWS])
def test_memories_fade_in_the_order_of_their_importance(store: Store, law: str) -> None:
    """Of equals, what matters most is kept longest; without a known importance one fades as without a law."""
    rates = Rates(by_importance=law)
    take(store, [memory(text, 0, 0.2, importance=importance) for text, importance in TEXTS.items()], at=1)
    lives.night(store, 6.9, rates=rates)
    found = strengths(store, 6.9, rates)
    assert found["the key is under the pot"] < found["tea, not coffee"] < found["allergic to nuts"]
    assert found["nobody knows"] == pytest.approx(0.2 * 0.906**6.9)
    assert_scheduled(store)


def test_without_a_law_the_importance_changes_nothing(store: Store, tmp_path: Path) -> None:
    """Night for night and bit by bit; nor does another importance: no decision, no replay."""
    take(store, a_week(), at=7)
    with open_store(f"sqlite:///{tmp_path}/other.db", mode="create") as plain:
        take(plain, [{key: value for key, value in line.items() if key != "importance"} for line in a_week()], at=7)
        for at in (3.5, 5.5):
            lives.night(plain, at)
            lives.night(store, at)
        assert importance(store, "tea, not coffee", 0.9)
        assert not importance(store, "tea, not coffee", 0.9)
        for each in (plain, store):
            assert lives.verbs(lives.night(each, 5.6)) == set()
            lives.night(each, 8)
        for text in TEXTS:
            for column in ("strength", "strength_at", "fades_age", "anew"):
                assert getattr(row(store, text), column) == getattr(row(plain, text), column)


def test_a_law_that_turns_rewrites_no_strength(store: Store) -> None:
    """What is left at the turn is left; when each fades is derived anew, and the turn is a segment of its own."""
    take(store, a_week(), at=7)
    lives.night(store, 7.5)
    before = {text: row(store, text) for text in TEXTS}
    assert lives.verbs(lives.night(store, 7.6, rates=NEW)) == {"clock"}
    for text, was in before.items():
        now = row(store, text)
        other = {column for column in now._fields if getattr(now, column) != getattr(was, column)}
        assert other == (set() if was.importance is None else {"fades_age"})
    assert strengths(store, 7.6, NEW) == strengths(store, 7.6, Rates())
    with store.read() as conn:
        assert [law for *_, law in segment_rows(conn, 1)] == ["off", "memory-new"]
    assert_scheduled(store)


def test_a_turn_that_late_news_moves_moves_what_follows_from_it(store: Store) -> None:
    """A law turned in a pause; then something of before the pause is told, so that it began later."""
    take(store, [memory(text, 0, importance=importance) for text, importance in TEXTS.items()], at=0)
    lives.night(store, 1)
    lives.night(store, 20, rates=LANCEDB)
    take(store, [memory("told late", 5, importance=0.3)], at=21)
    lives.night(store, 21, rates=LANCEDB)
    assert_scheduled(store)
    for text, value in TEXTS.items():
        paused_at, slope = 12, Rates().slopes[0]
        assert strengths(store, 21, LANCEDB)[text] == pytest.approx(2 ** -(paused_at * slope)), value


@pytest.mark.parametrize("what", ["importance", "type", "told by others"])
def test_another_importance_is_as_if_it_had_always_been(store: Store, tmp_path: Path, what: str) -> None:
    """The next night replays the memory at its new pace; also its head, which ratings had moved at the old one."""
    take(store, a_week(), at=7)
    other = {"type": "observation"} if what == "type" else {"importance": 0.1}
    text = "allergic to nuts"
    with open_store(f"sqlite:///{tmp_path}/other.db", mode="create") as always:
        take(always, [line | other if line.get("content") == text else line for line in a_week()], at=7)
        for at in (4.0, 5.0):
            lives.night(always, at, rates=NEW)
            lives.night(store, at, rates=NEW)
        assert strengths(store, 5, NEW)[text] != pytest.approx(strengths(always, 5, NEW)[text])
        with store.write() as conn:
            key = row(store, text).key
            if what == "told by others":
                retell(conn, {key: memory_of(0.1, "fact")})
            else:
                assert set_importance(conn, key, 0.1) if what == "importance" else set_type(conn, key, "observation")
        result = lives.night(store, 5 + 1e-6, rates=NEW)
        (decision,) = result.plan.scopes[0].decisions
        assert decision.because.startswith("its importance or type changed; replayed from its base: strength 0.")
        assert_scheduled(store)
        for at in (5.1, 9.0):
            assert strengths(store, at, NEW) == pytest.approx(strengths(always, at, NEW))
            for each in (store, always):
                lives.night(each, at, rates=NEW)
        undo_run(store, "last", wall_clock=lambda: day(9))
        undo_run(store, "last", wall_clock=lambda: day(9))
        assert undo_run(store, result.run_id or "", wall_clock=lambda: day(9)).exit_code == 0
        assert row(store, text).anew
        lives.night(store, 9, rates=NEW)
        assert strengths(store, 9, NEW) == pytest.approx(strengths(always, 9, NEW))


def test_nothing_is_judged_by_a_head_that_is_to_be_replayed(store: Store) -> None:
    """A night without reinforce leaves it alone, and one with it archives what has faded."""
    take(store, [*a_week(), *(memory("x", at) for at in range(8, 20))], at=20)
    lives.night(store, 6, rates=NEW)
    importance(store, "allergic to nuts", 0.0)
    lives.night(store, 19, rates=NEW, steps=["prune"])
    assert (row(store, "allergic to nuts").status, row(store, "allergic to nuts").anew) == ("active", True)
    lives.night(store, 19, rates=NEW)
    assert (row(store, "allergic to nuts").status, row(store, "allergic to nuts").anew) == ("archived", False)


@pytest.mark.parametrize("before", [Rates(), NEW], ids=["off", "on"])
def test_a_plan_does_not_schedule_what_has_changed_since(store: Store, before: Rates) -> None:
    """Between the dry run in which the law turns and its apply: the rest holds, the changed wait for the next night."""
    take(store, a_week(), at=7)
    lives.night(store, 7.4, rates=before)
    plan = plan_night(store, now=day(7.5), rates=TWOFOLD).plan
    importance(store, "allergic to nuts", 0.2)
    importance(store, "tea, not coffee", None)
    importance(store, "nobody knows", 1.0)
    with store.write() as conn:
        pin(conn, find_memories(conn, [name("the key is under the pot")]), pinned=True)
    apply(store, plan, 7.6)
    lives.night(store, 7.7, rates=TWOFOLD)
    assert_scheduled(store)


def test_a_night_in_which_a_law_turned_is_taken_back(store: Store) -> None:
    """Exports are what they were, also the clock's; and the next night derives again what it had derived."""
    take(store, a_week(), at=7)
    lives.night(store, 5, rates=NEW)
    before = exported(store, 7, rates=NEW)
    assert '"law": "memory-new"' in before.lines[1]
    result = lives.night(store, 8, rates=TWOFOLD)
    assert exported(store, 8, rates=TWOFOLD).lines[1].count('"law": "twofold"') == 2  # and the pause to come
    assert undo_run(store, result.run_id or "", wall_clock=lambda: day(8)).exit_code == 0
    assert exported(store, 7, rates=NEW) == before
    lives.night(store, 8, rates=NEW)
    assert_scheduled(store)


def test_a_copy_has_the_law_and_what_is_to_be_replayed(store: Store, tmp_path: Path) -> None:
    """The lines of a store tell both, so that a copy comes to the same values."""
    take(store, a_week(), at=7)
    lives.night(store, 4, rates=NEW)
    lives.night(store, 5, rates=TWOFOLD)
    importance(store, "allergic to nuts", 0.2)
    with open_store(f"sqlite:///{tmp_path}/other.db", mode="create") as copy:
        lines = exported(store, 5, rates=TWOFOLD).lines
        import_lines(copy, io.BytesIO("\n".join(lines).encode()), "copy.jsonl", now=day(5))
        assert exported(copy, 5, rates=TWOFOLD).lines == lines
        for each in (store, copy):
            lives.night(each, 8, rates=TWOFOLD)
        assert strengths(copy, 9, TWOFOLD) == pytest.approx(strengths(store, 9, TWOFOLD))
        assert_scheduled(copy)


def test_segments_of_before_there_were_laws_are_read(store: Store) -> None:
    """A journal of an older schema gives back rows of five columns: they have no law."""
    take(store, a_week(), at=7)
    lives.night(store, 5, rates=NEW)
    with store.write() as conn:
        write_segments(conn, 1, [segment[:5] for segment in segment_rows(conn, 1)])
        assert set(conn.scalars(sa.select(clock_segments.c.law))) == {"off"}
        assert load_clock(conn, 1).laws == ()
    lives.night(store, 6)
    assert_scheduled(store)


def test_what_a_merged_memory_was_before_ages_as_it_did_then(store: Store) -> None:
    """Its importance is the largest from the merge on; the life before keeps its own, in a copy too."""
    cat, cat_in_german = memory(CAT, 0, importance=0.2), memory(KATZE, 0, importance=0.9)
    take(store, [cat, cat_in_german], at=0)
    assert authors.night(store, 3, authors.absorbed(CAT, KATZE)).stale == []
    with store.read() as conn:
        told = lives_of(conn, [row(store, CAT).key])[row(store, CAT).key]
    assert [life.importance for life in told] == [0.2, 0.9]
    (line,) = (json.loads(line) for line in exported(store, 3).lines if '"lives"' in line)
    assert (line["lives"][0]["importance"], line["importance"]) == (0.2, 0.9)


def test_a_purge_folds_ratings_into_bases_at_the_pace_of_their_time(store: Store) -> None:
    """Whichever law held when: what is left of a strength, and when it fades, is as before the purge."""
    take(store, a_week(), at=7)
    for at, rates in ((3.0, NEW), (5.0, TWOFOLD), (8.0, LANCEDB)):
        lives.night(store, at, rates=rates)
    before = strengths(store, 40, LANCEDB)
    job = PurgeJob(exposures_nights=None, attributions_nights=1)
    assert purge_store(store, job, now=day(9), wall_clock=lambda: day(9)).attributions == 6
    assert strengths(store, 40, LANCEDB) == pytest.approx(before)
    assert_scheduled(store)
    importance(store, "allergic to nuts", None)
    lives.night(store, 9, rates=LANCEDB)
    assert_scheduled(store)
