"""Jobs: each scope has its turn once for a date, whoever stops, fails or waits on the way."""

from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest
import sqlalchemy as sa

from consolidator import perform
from consolidator.errors import ConsolidatorError
from consolidator.instants import SECOND
from consolidator.plan import Plan, ScopeOutcome, ScopePlan
from consolidator.schedule.jobs import Ended, do, once
from consolidator.schedule.owed import owed
from consolidator.scopes import canonical
from consolidator.store import ledger
from consolidator.store.engine import Store, open_store
from consolidator.store.locks import WHOLE_STORE, hold_scope
from consolidator.store.run import Run
from consolidator.store.tables import runs, scopes
from tests.lives import EVE, day, exported, memory, take
from tests.schedule.works import NIGHT, OutOfTimeAfter, StoppedAfter, done_in, duty, entries, work_on

Copy = Callable[[], str]


def count_of_runs(store: Store) -> int:
    with store.read() as conn:
        return int(conn.scalar(sa.select(sa.func.count()).select_from(runs)) or 0)


@pytest.fixture
def store(eve_url: str) -> Iterator[Store]:
    """With the busy life, in two scopes."""
    with open_store(eve_url, mode="write") as store:
        yield store


@pytest.fixture
def three(made_store_url: str) -> Iterator[Store]:
    """With a memory in each of the scopes a, b and c."""
    with open_store(made_store_url, mode="write") as store:
        for name in "abc":
            take(store, [memory(name, 29.0) | {"scope": {"x": name}}], at=29)
        yield store


A, B, C = ('{"x":"a"}', '{"x":"b"}', '{"x":"c"}')


def test_every_scope_is_done_once(store: Store) -> None:
    """The second time there is nothing to do, and no run is kept; --again does it once more."""
    assert do(work_on(store, EVE)).exit_code == 0
    assert len(done_in(store)) == 2
    before, count = exported(store, EVE), count_of_runs(store)
    again = do(work_on(store, EVE))
    assert (again.exit_code, again.report, again.failure) == (0, None, None)
    assert again.lines == (f"consolidate was done for {NIGHT} already; --again does it once more.",)
    assert (exported(store, EVE), count_of_runs(store)) == (before, count)
    assert do(work_on(store, EVE, again=True)).report is not None
    assert count_of_runs(store) == count + 1
    assert do(work_on(store, EVE + 1)).report is not None


def test_jobs_do_not_count_for_each_other(store: Store) -> None:
    """A shift is no night, nor the other way round; it does that step alone, and sets the clock."""
    ended = do(work_on(store, EVE, "shift"))
    assert ended.report is not None
    assert {step.step for scope in ended.report.scopes for step in scope.steps} == {"decay", "shift"}
    assert done_in(store) == set()
    assert {entry.done for entry in entries(store, "shift", "2026-03-30").values()} == {True, False}  # due at 15:00


def test_only_the_scopes_of_the_job(three: Store) -> None:
    """One that the settings name and nothing was taken in for is said; the others are done."""
    ended = do(work_on(three, EVE, scopes=["x=b", "x=z"]))
    assert ended.exit_code == 0
    assert ended.lines == ("There is no scope x=z in the store yet.",)
    assert done_in(three) == {B}
    assert do(work_on(three, EVE, scopes=["x=z"])).lines == ended.lines


def test_an_empty_store(made_store_url: str) -> None:
    """There is nothing to do, which is said; no run is kept."""
    with open_store(made_store_url, mode="write") as store:
        assert do(work_on(store, EVE)) == Ended(lines=("There is no memory to look after yet.",))
        assert count_of_runs(store) == 0


def test_stopped_at_any_moment_it_goes_on_where_it_was(copy_of_eve: Copy) -> None:
    """
    Wherever it looks up and is told to stop, it ends with exit code 3, and the next time completes the night.

    No attempt is counted, and it may go on at once.
    """
    with open_store(copy_of_eve(), mode="write") as store:
        stop = StoppedAfter()
        assert do(work_on(store, EVE, stop=stop)).exit_code == 0
        expected = exported(store, EVE)
    assert stop.looks >= 6
    for looks in range(stop.looks):
        with open_store(copy_of_eve(), mode="write") as store:
            ended = do(work_on(store, EVE, stop=StoppedAfter(looks)))
            assert (ended.exit_code, ended.failure) == (3, "stopped on request")
            assert all(entry.done or not entry.attempts for entry in entries(store).values())
            found = owed(store, duty(), day(EVE))
            assert found is not None
            assert found.begin_at <= day(EVE)
            assert do(work_on(store, EVE)).exit_code == 0
            assert len(done_in(store)) == 2
            assert exported(store, EVE) == expected


def test_out_of_time_the_rest_is_left_for_the_next_date(three: Store) -> None:
    """What was done stays done, where it was at work had its turn, and what was not reached comes first tomorrow."""
    everything = StoppedAfter()
    do(work_on(three, EVE, stop=everything))
    a_scope = everything.looks // 3
    ended = do(work_on(three, EVE + 1, stop=OutOfTimeAfter(a_scope + 1)))
    assert (ended.exit_code, ended.failure) == (3, "out of time: it took 60 minutes")
    found = entries(three, date="2026-04-01")
    assert [found[scope].done for scope in (A, B, C)] == [True, True, False]
    assert found[C].given_up
    assert owed(three, duty(), day(EVE + 1)) is None
    assert owed(three, duty(), day(EVE + 2)) is not None


def test_a_scope_that_is_held_is_waited_for(three: Store) -> None:
    """The others are done meanwhile; afterwards the ledger has it as done."""
    with three.read() as conn:
        key = conn.scalar(sa.select(scopes.c.key).where(scopes.c.scope == A))
    assert key is not None
    other = hold_scope(three, key, wall_clock=lambda: day(EVE))
    seen = []

    def waits() -> None:
        seen.append(done_in(three))
        if len(seen) == 2:
            with three.write() as conn:
                ledger.done(conn, key, "consolidate", NIGHT, at=day(EVE))
            other.__exit__(None, None, None)

    other.__enter__()
    ended = do(work_on(three, EVE, stop=StoppedAfter(waits=waits)))
    assert ended.exit_code == 0
    assert seen == [{B, C}, {B, C}]
    assert done_in(three) == {A, B, C}
    assert ended.report is not None
    assert [canonical(scope.scope) for scope in ended.report.scopes] == [B, C]


def test_stopped_while_it_waits_it_says_who_holds_the_scope(three: Store) -> None:
    """Nothing is counted against that scope: another night is at work there. So also where its time is over."""
    with hold_scope(three, 1, wall_clock=lambda: day(EVE)):
        stop = StoppedAfter()
        stop._waits = stop.request
        ended = do(work_on(three, EVE, stop=stop))
        late = OutOfTimeAfter(waits=lambda: setattr(late, "_most", 0))
        assert do(work_on(three, EVE, stop=late)).exit_code == 3
    assert ended.exit_code == 3
    assert "another night holds this scope" in str(ended.failure)
    assert (len(done_in(three)), entries(three)[A].reason) == (2, None)


@pytest.fixture
def trouble(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The scopes in which what is decided cannot be written."""
    bad: set[str] = set()
    apply_scope = perform.apply_scope

    def failing(store: Store, plan: Plan, part: ScopePlan, run: Run) -> ScopeOutcome:
        if part.scope in bad:
            raise ConsolidatorError("the disk is full")
        return apply_scope(store, plan, part, run)

    monkeypatch.setattr(perform, "apply_scope", failing)
    return bad


def test_an_error_costs_its_own_scope(three: Store, trouble: set[str]) -> None:
    """The others are done, exit code 1; tried again, only that one is, and its five attempts come after the others."""
    trouble.add(A)
    ended = do(work_on(three, EVE))
    assert (ended.exit_code, ended.failure) == (1, "the disk is full")
    assert done_in(three) == {B, C}
    assert entries(three)[A].reason == "the disk is full"
    waits = []
    for attempts in range(1, 6):
        entry = entries(three)[A]
        assert entry.attempts == attempts
        waits.append(entry.next_at and (entry.next_at - day(EVE)) // SECOND)
        assert do(work_on(three, EVE)).exit_code == 1
    assert waits == [60, 600, 3600, 4 * 3600, None]
    assert owed(three, duty(), day(EVE)) is None
    trouble.clear()
    told = do(work_on(three, EVE)).report
    assert told is not None
    assert [canonical(scope.scope) for scope in told.scopes] == [A]
    assert done_in(three) == {A, B, C}


def test_a_scope_that_failed_keeps_no_other_from_its_turn(three: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where it ends the whole run, as a fault of the program does: it comes last from then on."""
    apply_scope = perform.apply_scope

    def faulty(store: Store, plan: Plan, part: ScopePlan, run: Run) -> ScopeOutcome:
        if part.scope == A:
            raise ZeroDivisionError
        return apply_scope(store, plan, part, run)

    monkeypatch.setattr(perform, "apply_scope", faulty)
    for at, done in ((EVE, set()), (EVE, {B, C})):
        with suppress(ZeroDivisionError):
            do(work_on(three, at))
        assert done_in(three) == done
    assert entries(three)[A].attempts == 2


def test_a_store_that_is_gone_ends_the_run(three: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing more is tried where not even reading works."""
    tried = []

    def gone(_store: Store, _plan: Plan, part: ScopePlan, _run: Run) -> ScopeOutcome:
        tried.append(part.scope)
        raise ConsolidatorError("the server went away")

    monkeypatch.setattr(perform, "apply_scope", gone)
    monkeypatch.setattr(perform, "_answers", lambda _store: False)
    assert do(work_on(three, EVE)).exit_code == 1
    assert tried == [A]


def test_a_job_of_the_whole_store_is_done_once(three: Store) -> None:
    """Under a lock of the whole store; while another is at it, it waits, and then finds it done."""
    done = []

    def act() -> Ended:
        done.append("once")
        return Ended(lines=("copied",))

    work = work_on(three, EVE, "purge")
    assert once(work, act) == Ended(lines=("copied",))
    assert once(work, act).lines[0].startswith("purge was done for ")
    other = hold_scope(three, WHOLE_STORE, wall_clock=lambda: day(EVE))
    other.__enter__()
    stop = StoppedAfter(waits=lambda: other.__exit__(None, None, None))
    assert once(work_on(three, EVE, "purge", stop=stop), act).lines[0].startswith("purge was done for ")
    assert done == ["once"]
