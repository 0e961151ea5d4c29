"""What is long counted goes, and nothing is another for it: no strength, no weight, no later night."""

import io
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from consolidator.errors import BadInput
from consolidator.exchange.export import export_jsonl
from consolidator.exchange.intake import import_lines
from consolidator.laws.clock import Rates
from consolidator.perform import scope_keys
from consolidator.purge import Purged, purge_store
from consolidator.settings.jobs import PurgeJob
from consolidator.store.engine import Store, open_store
from consolidator.store.find import find_memories
from consolidator.store.forget import forget
from consolidator.store.locks import hold_scope
from consolidator.store.purge_turns import turns_counted_before
from consolidator.store.tables import attributions, decisions, exposures, memories, pasts, turns
from consolidator.store.undo import undo_run
from tests import authors, lives
from tests.authors import absorbed
from tests.cats import strength
from tests.lives import alike, day, memory, name, night, rated, shown, take
from tests.test_cadence import left

OLD = 12  # nights: longer than anything in these lives is late


def purge(store: Store, at: int, **ages: int | None) -> Purged:
    """A purge of all scopes."""
    job = PurgeJob(**{f"{kind}_nights": nights for kind, nights in {"exposures": OLD, **ages}.items()})
    return purge_store(store, job, now=at, wall_clock=lambda: at)


def count(store: Store, table: sa.Table, *conditions: sa.ColumnElement[bool]) -> int:
    with store.read() as conn:
        return conn.scalar(sa.select(sa.func.count()).select_from(table).where(*conditions)) or 0


A, B, C = "the first of three", "the second 🌿", "第三"


@pytest.fixture
def store(made_store_url: str) -> Iterator[Store]:
    """Three memories, two turns of the first day counted that night, and one of a week later."""
    with open_store(made_store_url, mode="write") as store:
        take(store, [memory(text, 0) for text in (A, B, C)], at=0)
        take(store, [*shown("one", [A, B], 1), *alike("words", [A, C], 1.1, retrieval_mode="bm25_only")], at=1.5)
        assert night(store, 2).exit_code == 0
        take(store, shown("later", [B, C], 9), at=9.5)
        assert night(store, 10).exit_code == 0
        yield store


def test_what_is_counted_goes_when_that_is_long_ago(store: Store) -> None:
    """By its age and that of the night that counted it; the turn knows up to when, and what words alone found."""
    assert purge(store, day(13.9)) == Purged()
    assert purge(store, day(14.1)) == Purged(exposures=5)
    assert count(store, exposures) == 3
    assert count(store, pasts) == 2
    assert count(store, turns, turns.c.shown_until.is_not(None)) == 2
    with store.read() as conn:
        assert [sorted(found) for found in conn.scalars(sa.select(turns.c.found)) if found] == [["bm25_only"]]
    assert purge(store, day(14.2)) == Purged()


def test_what_waits_never_goes(store: Store) -> None:
    """Nor what comes after it: the night that counts it must find that. Then its turn stays until that is long ago."""
    take(store, shown("one", [C], 1.05), at=11)  # told late, of the first turn
    assert purge(store, day(30)) == Purged()
    assert night(store, 31).exit_code == 0
    assert purge(store, day(42.9)) == Purged()
    assert purge(store, day(43.1)) == Purged(exposures=9)


def test_the_same_lines_again_bring_nothing_back(store: Store) -> None:
    """Nor do they in a store made of an export; a turn that goes on later is a turn like others."""
    purge(store, day(40))
    again = [*shown("one", [A, B], 1), *alike("words", [A, C], 1.1, retrieval_mode="bm25_only")]
    assert take(store, again, at=40).added == {}
    assert count(store, exposures) == 0
    out = io.BytesIO()
    with store.read() as conn:
        export_jsonl(conn, out, scopes=None, as_of=day(40), rates=Rates())
    assert out.getvalue().count(b'"kind": "turn"') == 3
    take(store, shown("one", [A], 41), at=41)
    assert count(store, exposures, exposures.c.waiting) == 1


def test_an_export_tells_what_was_purged(store: Store, tmp_path: Path) -> None:
    """
    A store made of it exports the same, refuses the same, and gives a late rating the same factor.

    What stays of a purged turn, a memory that is not here or a rating that no strength counts, is told and taken in.
    """
    stays = [*alike("one", ["unknown"], 0.9), rated("m unknown", "one", "unknown", 0.95)]
    take(store, [*stays, rated("m first", "one", A, 1.2)], at=11)
    assert night(store, 11).exit_code == 0
    assert purge(store, day(40), attributions=25) == Purged(exposures=8, attributions=1)
    assert (count(store, exposures), count(store, attributions)) == (1, 1)
    with open_store(f"sqlite:///{tmp_path}/other.db", mode="create") as other:
        lines = _lines(store)
        assert import_lines(other, io.BytesIO(lines), "export.jsonl", now=day(40)).added["turn"] == 3
        assert _lines(other) == lines
        assert import_lines(other, io.BytesIO(lines), "export.jsonl", now=day(40)).added == {}
        assert take(other, shown("one", [A, B], 1), at=40).added == {}
        for each in (store, other):
            take(each, [rated("m late", "words", C, 40.5), rated("m sound", "one", B, 40.5)], at=40.5)
            assert night(each, 41).exit_code == 0
            with each.read() as conn:
                factors = sa.select(attributions.c.mode).where(attributions.c.at > day(40))
                assert conn.scalars(factors.order_by(attributions.c.message_id)).all() == [0.5, 1.0]
        assert _lines(other) == _lines(store)


def _lines(store: Store) -> bytes:
    out = io.BytesIO()
    with store.read() as conn:
        export_jsonl(conn, out, scopes=None, as_of=day(41), rates=Rates())
    return out.getvalue()


def test_an_export_is_the_same_but_for_what_went(store: Store) -> None:
    """Exposures are not told any more, and turns are; memories, links and ratings are told as before, factors too."""
    take(store, [rated("m words", "words", C, 10.5), rated("m sound", "one", B, 10.5)], at=10.6)
    assert night(store, 11).exit_code == 0
    before = lives.exported(store, 40)
    assert purge(store, day(40)).exposures == 8
    after = lives.exported(store, 40)
    assert after.values == before.values
    gone, new = ({json.loads(line)["kind"] for line in lines} for lines in (
        {*before.lines} - {*after.lines}, {*after.lines} - {*before.lines},
    ))  # fmt: skip
    assert (gone, new) == ({"exposure"}, {"turn"})


def test_last_night_can_be_taken_back_after_a_purge(store: Store) -> None:
    """Whole; a night that counted what was purged gives back all else, and says what it cannot."""
    take(store, [*shown("last", [A, B], 20), rated("m last", "last", A, 20)], at=20.5)
    before = lives.exported(store, 21)
    last = night(store, 21)
    assert purge(store, day(21.1)).exposures == 5
    assert undo_run(store, str(last.run_id), wall_clock=lambda: day(21.2)).refused == ()
    assert lives.exported(store, 21).values == before.values
    for _ in range(2):
        undone = undo_run(store, "last", wall_clock=lambda: day(21.3))
    assert any("purged" in line for line in undone.refused)


def test_what_was_merged_is_purged_as_what_it_is(tmp_path: Path) -> None:
    """Late news leaves the links that it does without any purge; nearly so, where a merge before it was taken back."""
    with_it, without = (_merged_and_parted(f"sqlite:///{tmp_path}/{purges}.db", purges) for purges in (True, False))
    assert [len(found) for found in with_it] == [2, 2, 2]
    for found, expected, error in zip(with_it, without, (1e-12, 1e-12, 0.03), strict=True):
        assert found == pytest.approx(expected, abs=error)


def _merged_and_parted(url: str, purges: bool) -> list[dict[tuple[str, str], float]]:
    """The living links of a pair after late news: before a merge of one of them, after it, and after it was undone."""
    same, found = f"{A}.", []
    with open_store(url, mode="create") as store:
        take(store, [memory(text, 0) for text in (A, B, same)], at=0)
        for turn, of in (("first", 2), ("second", 5), ("third", 15)):
            for again in range(4):
                take(store, shown(f"{turn} {again}", [A, B], of + again / 9), at=of + 0.5)
                take(store, shown(f"{turn} {again} of the other", [same, B], of + again / 9), at=of + 0.5)
            assert night(store, of + 0.6, steps=authors.MAIN).exit_code == 0

        def after(at: float, *, news: str, of: float, gone: bool) -> str:
            if purges:
                assert (purge(store, day(at - 0.1)) != Purged()) == gone
            take(store, [*shown(news, [A, B], of), *shown(f"{news} of the other", [same, B], of)], at=at)
            run = night(store, at, steps=authors.MAIN)
            found.append(left(store, day(at), Rates())[1])
            return str(run.run_id)

        after(16, news="late", of=14.5, gone=True)
        merged = authors.night(store, 16.5, absorbed(A, same))
        assert merged.verdicts == ["absorb"]
        last = after(19, news="later", of=14.6, gone=True)
        for run in (last, merged.run_id):
            assert undo_run(store, run, wall_clock=lambda: day(19.5)).refused == ()
        after(20, news="latest", of=14.7, gone=False)
    return found


def test_ratings_go_where_asked_and_do_not_come_back(store: Store) -> None:
    """Their strength stays in the base; the same lines are known; a saved plan knows another base, and is stale."""
    lines = [rated("m one", "one", A, 1.2, "agent_feedback_negative"), rated("m two", "one", A, 9.2, "tool_get")]
    take(store, lines, at=10.5)
    assert night(store, 11).exit_code == 0
    take(store, [rated("m three", "one", B, 59)], at=59)
    before = lives.exported(store, 60).values
    plan = lives.plan_of(store, 60).plan
    assert purge(store, day(60), exposures=None, attributions=50) == Purged(attributions=2)
    assert lives.exported(store, 60).values == before
    assert take(store, lines, at=60).added == {}
    assert lives.apply(store, plan, 60).exit_code == 3
    assert count(store, attributions) == 1


def test_a_late_rating_acts_on_the_base_with_the_old_ones(made_sqlite: Path, tmp_path: Path) -> None:
    """What was folded is in every later replay, at its own time."""

    def lived(purges: bool) -> float:
        url = f"sqlite:///{shutil.copy(made_sqlite, tmp_path / f'{purges}.db')}"
        with open_store(url, mode="write") as store:
            take(store, [memory(A, 0, 0.3)], at=0)
            take(store, [rated(f"m {at}", "one", A, at, "tool_search_returned") for at in (1.2, 2.2)], at=2.5)
            assert night(store, 3).exit_code == 0
            take(store, [rated("m next", "one", A, 12, "tool_get")], at=12.5)
            assert night(store, 13).exit_code == 0
            if purges:
                assert purge(store, day(13.1), exposures=None, attributions=10) == Purged(attributions=2)
            take(store, [rated("m late", "one", A, 11, "auto_injected")], at=13.5)
            assert night(store, 14).exit_code == 0
            return strength(store, A, 14)

    assert lived(purges=True) == pytest.approx(lived(purges=False), abs=1e-12)


def test_what_is_due_is_found_by_its_age(made_sqlite: Path, tmp_path: Path) -> None:
    """However many exposures are counted, only those that come of age are read: by an index of what is counted."""
    with open_store(f"sqlite:///{shutil.copy(made_sqlite, tmp_path / 'store.db')}", mode="write") as store:
        asked: list[tuple[str, tuple[int, ...]]] = []
        sa.event.listen(store.engine, "before_cursor_execute", lambda *given: asked.append(given[2:4]))
        with store.read() as conn:
            turns_counted_before(conn, 1, day(0))
            query, values = asked[-1]
            plan = conn.exec_driver_sql(f"EXPLAIN QUERY PLAN {query}", values).all()
    assert "USING INDEX ix_exposures_counted (scope_key=? AND at<?)" in plan[0][-1]


def test_a_scope_that_a_night_holds_is_left_out(store: Store) -> None:
    """With a line that says why; the others are purged, and the journals."""
    take(store, [{**memory("in the park", 1), "scope": {"user": "åsa"}}], at=12)
    (key,), at = scope_keys(store, ["{}"]), day(40)
    with hold_scope(store, key, wall_clock=lambda: at):
        gone = purge(store, at, journal=10)
    assert gone == Purged(journals=2, left=gone.left)
    assert [line.startswith("{}: another night holds this scope") for line in gone.left] == [True]
    assert purge(store, at).exposures == 8


def test_it_stops_between_transactions(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where that is asked for; what was done stays done, and the next purge does the rest."""
    monkeypatch.setattr("consolidator.purge.TURNS_AT_ONCE", 1)
    asked = iter([None, None])
    job = PurgeJob(exposures_nights=OLD)
    gone = purge_store(
        store, job, now=day(40), wall_clock=lambda: day(40), stop=lambda: next(asked, "stopped on request")
    )
    assert gone.stopped == "stopped on request"
    assert 0 < gone.exposures < 8
    assert purge(store, day(40)).exposures == 8 - gone.exposures


def test_what_went_is_told_in_a_sentence() -> None:
    """Zeros are passed over."""
    assert Purged().words == "Nothing was old enough to be purged."
    assert Purged(exposures=1_204, journals=1).words == (
        "Purged: 1,204 old exposures deleted, 1 old night can no longer be undone."
    )
    assert Purged(attributions=1, memories=2, parted=3).words == (
        "Purged: 1 old rating folded into strengths, 2 archived memories deleted, the merges of 3 memories can no "
        "longer be undone."
    )


def test_the_archive_goes_where_asked(store: Store) -> None:
    """A memory archived long ago is forgotten, so that the same line does not bring it back."""
    take(store, [memory("fades soon", 11, 0.06)], at=11)
    assert night(store, 20).exit_code == 0
    assert purge(store, day(50), exposures=None, archive=35) == Purged()
    assert purge(store, day(50), exposures=None, archive=5) == Purged(memories=1)
    assert count(store, memories) == 3
    assert take(store, [memory("fades soon", 11, 0.06)], at=50).forgotten == {"memory": 1}
    assert name("fades soon") not in str(lives.exported(store, 50).values)


def test_the_archive_keeps_what_a_merge_is_made_of(store: Store) -> None:
    """A source, brought back and archived again, stays for the undo; what it had become goes, and that is said."""
    assert authors.night(store, 10.5, absorbed(A, B)).verdicts == ["absorb"]
    with store.write() as conn:
        faded = {"status": "archived", "archived_at": day(11), "archived_because": "faded"}
        conn.execute(sa.update(memories).values(faded))
    assert purge(store, day(60), exposures=None, archive=30) == Purged(memories=2, parted=1)
    with store.read() as conn:
        assert conn.scalars(sa.select(memories.c.content)).all() == [B]


def test_a_night_without_its_journal_is_not_undone(store: Store) -> None:
    """One clear line says since when; later nights can be taken back as ever."""
    assert purge(store, day(40), exposures=None, journal=35) == Purged(journals=1)
    assert purge(store, day(40.5), exposures=None, journal=35) == Purged()
    assert count(store, decisions) > 0
    undo_run(store, "last", wall_clock=lambda: day(41))
    with pytest.raises(BadInput, match=r"run-.* cannot be undone any more: its journal was purged at 2026-04-10"):
        undo_run(store, "last", wall_clock=lambda: day(41))


def test_forgetting_reaches_what_a_purge_has_left(store: Store) -> None:
    """Neither the weights of purged turns nor how they were found name a memory that was forgotten."""
    purge(store, day(40))
    with store.read() as conn:
        found = find_memories(conn, [name(C)])
    forget(store, found, now=day(41), wall_clock=lambda: day(41))
    assert count(store, pasts) == 1
    with store.read() as conn:
        assert all(found[0].key not in keys for each in conn.scalars(sa.select(turns.c.found)) if each
                   for keys in each.values())  # fmt: skip
