"""Jobs as commands: each once for its date, by whomever it is started."""

import os
import select
import signal
from collections.abc import Callable
from functools import partial

import pytest
import sqlalchemy as sa

from consolidator import perform
from consolidator.cli import job, main
from consolidator.cli.session import Session
from consolidator.instants import parse_instant
from consolidator.plan import Plan, ScopeOutcome, ScopePlan
from consolidator.schedule import stopping
from consolidator.schedule.jobs import Ended
from consolidator.schedule.stopping import Stopping
from consolidator.schedule.telling import Telling
from consolidator.store.engine import Store, open_store
from consolidator.store.run import Run
from consolidator.store.tables import ledger, locks, runs
from tests.children import Child
from tests.cli.life import WORDS_ALONE, Life
from tests.lives import day, memory

UTC = "time_zone: UTC\n" + WORDS_ALONE


def rows(life: Life, table: sa.Table) -> list[sa.Row]:
    with open_store(life.url, mode="read") as store, store.read() as conn:
        return list(conn.execute(sa.select(table)))


def test_a_job_is_done_once_for_its_date(life: Life) -> None:
    """The second time it says so and leaves no run; on the next date it is done again."""
    life.say(UTC)
    life.take(memory("one", 0.5))
    life.wall(day(2))
    assert life("job", "consolidate").code == 0
    again = life("job", "consolidate")
    assert (again.code, again.err) == (0, "")
    assert "was done for 2026-" in again.out
    assert len(rows(life, runs)) == len(rows(life, ledger)) == 1
    assert life("job", "consolidate", "--again").code == 0
    assert (len(rows(life, runs)), len(rows(life, ledger))) == (2, 1)
    life.wall(day(3))
    assert life("job", "consolidate").code == 0
    assert (len(rows(life, runs)), len(rows(life, ledger))) == (3, 2)


@pytest.mark.parametrize("level", ["off", "errors", "summary", "detailed"])
def test_a_job_prints_no_more_than_its_level(life: Life, level: str) -> None:
    """Whatever the settings have a night by hand print: a line of counts, and memories only where it is detailed."""
    life.say(UTC + f"report: detailed\njobs: {{consolidate: {{level: {level}}}, report: {{level: {level}}}}}\n")
    life.take(memory("Ada is allergic to penicillin.", 0.5) | {"strength": 0.01})
    life.wall(day(2))
    said = life("job", "consolidate").out
    assert ("penicillin" in said) == (level == "detailed")
    counts = "Night of 2026-03-03 09:00 UTC: archived 1.\n"
    assert said == {"off": counts, "errors": counts, "summary": "I sent 1 memory to the archive.\n"}.get(level, said)
    digest = life("job", "report").out
    assert digest
    assert "penicillin" not in digest or level == "detailed"


def test_a_job_prints_no_more_than_the_settings_say(life: Life) -> None:
    """Also where its people are told all."""
    life.say(UTC + "report: summary\njobs: {consolidate: {level: detailed}}\n")
    life.take(memory("Ada is allergic to penicillin.", 0.5) | {"strength": 0.01})
    life.wall(day(2))
    assert life("job", "consolidate").out == "I sent 1 memory to the archive.\n"


def test_a_channel_that_prints_is_not_repeated(life: Life) -> None:
    """The job prints a line of counts, and the channel all that is told."""
    channel = "channels: {here: {type: stdout}}\n"
    life.say(UTC + channel + "jobs: {consolidate: {level: summary}}\n")
    life.take(memory("Ada is allergic to penicillin.", 0.5) | {"strength": 0.01})
    life.wall(day(2))
    said = life("job", "consolidate").out
    assert said.startswith("Night of 2026-03-03 09:00 UTC: archived 1.\n")
    assert said.count("I sent 1 memory to the archive.") == 1


def test_a_clock_set_back_brings_no_night_again(life: Life) -> None:
    """Neither that of the date, nor that of the date before, which there was no time for."""
    life.say(UTC)
    life.take(memory("one", 0.5))
    for now in ("2026-03-05T03:40:00Z", "2026-03-05T02:40:00Z", "2026-03-05T03:30:00Z", "2026-03-04T23:00:00Z"):
        life.wall(parse_instant(now))
        assert life("job", "consolidate").code == 0
        assert len(rows(life, runs)) == 1
    life.wall(parse_instant("2026-03-06T03:30:00Z"))
    assert life("job", "consolidate").code == 0
    assert len(rows(life, runs)) == 2


def test_a_night_by_hand_is_that_of_its_date(life: Life) -> None:
    """The job finds it done; the ledger stops no night by hand. A part of a night, or one as of before, counts not."""
    life.say(UTC)
    life.take(memory("one", 0.5))
    life.wall(day(2))
    for options in (["--dry-run"], ["--steps", "decay,prune"], ["--as-of", "2026-03-02T09:00:00Z"]):
        assert life("run", *options).code == 0
        assert rows(life, ledger) == []
    assert life("run", "--scope", "").code == 0
    assert [(row.job, row.day, row.done_at) for row in rows(life, ledger)] == [("consolidate", "2026-03-03", day(2))]
    count = len(rows(life, runs))
    assert "was done for 2026-03-03 already" in life("job", "consolidate").out
    assert len(rows(life, runs)) == count
    assert life("run").code == 0
    assert len(rows(life, runs)) == count + 1


def test_no_job_no_date(life: Life) -> None:
    """Where the job is off, a night by hand counts for nothing, and the job says how it is turned on."""
    life.say(UTC + "jobs: {consolidate: {enabled: false}}\n")
    life.take(memory("one", 0.5))
    assert life("run").code == 0
    assert rows(life, ledger) == []
    life("job", "consolidate").refused("jobs.consolidate", "enabled: true")
    life("job", "consolidat").refused("did you mean consolidate?")


def job_of(life: Life, *, before: str = "") -> Child:
    """A job in a process of its own; where told so, it pauses when it has decided on a scope."""
    return Child(partial(_pausing, life, ["job", "consolidate"], before))


def _pausing(life: Life, arguments: list[str], before: str, child: Child) -> str:
    apply_scope = perform.apply_scope

    def pausing(store: Store, plan: Plan, part: ScopePlan, run: Run) -> ScopeOutcome:
        if part.scope == before:
            child.pause()
        return apply_scope(store, plan, part, run)

    perform.apply_scope = pausing  # in the child alone, as the next
    stopping.TRIED_AGAIN_SECONDS = 0.05
    return str(main(["--store", life.url, "--settings", str(life.settings), *arguments]))


@pytest.fixture
def town(life: Life) -> Life:
    """With three scopes, on the morning of the second day."""
    life.say(UTC)
    for name in "abc":
        life.take(memory(name, 0.5) | {"scope": {"x": name}})
    life.wall(day(2))
    return life


def assert_one_night(life: Life) -> None:
    """In each scope; as many runs as had something to do there."""
    assert sorted(row.scope_key for row in rows(life, ledger)) == [1, 2, 3]
    assert all(row.done_at and row.attempts <= 1 for row in rows(life, ledger))
    assert {row.run_key for row in rows(life, ledger)} == {row.key for row in rows(life, runs)}


def test_timers_and_service_at_once_give_one_night(town: Life) -> None:
    """Started together, each scope is done by one of them; all end well."""
    children = [job_of(town) for _ in range(3)]
    assert {child.wait().said for child in children} == {"0"}
    assert_one_night(town)


def test_a_job_beside_a_night_by_hand_waits_for_it(town: Life) -> None:
    """And finds its scopes done."""
    by_hand = Child(partial(_pausing, town, ["run"], '{"x":"a"}'))
    by_hand.wait_until_paused()
    beside = job_of(town)
    wait_until(lambda: len(rows(town, ledger)) == 2)
    by_hand.go_on()
    assert by_hand.wait().said == "0"
    assert beside.wait().said == "0"
    assert_one_night(town)


def test_a_night_by_hand_beside_a_job_leaves_out_what_that_is_at(town: Life) -> None:
    """Exit code 11, as beside any other night."""
    timer = job_of(town, before='{"x":"a"}')
    timer.wait_until_paused()
    assert town("run").code == 11
    timer.go_on()
    assert timer.wait().said == "0"
    assert_one_night(town)


def test_a_job_that_is_told_to_end(town: Life) -> None:
    """It ends the scope that it is at, and the next attempt, at once, does the others."""
    timer = job_of(town, before='{"x":"b"}')
    timer.wait_until_paused()
    os.kill(timer.pid, signal.SIGTERM)
    timer.go_on()
    assert timer.wait().said == "3"
    assert [bool(row.done_at) for row in rows(town, ledger)] == [True, False]
    assert rows(town, runs)[0].report["error"] == "stopped on request"
    assert town("job", "consolidate").code == 0
    assert_one_night(town)


@pytest.mark.parametrize("arguments", [["run"], ["job", "consolidate"]], ids=" ".join)
def test_ended_at_once(town: Life, arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A night by hand at the first SIGTERM, a job at the second: no lock is left, and the next night does the rest."""
    request = Stopping.request

    def once_more(stop: Stopping) -> None:
        request(stop)
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(Stopping, "request", once_more)
    child = Child(partial(_pausing, town, arguments, '{"x":"b"}'))
    child.wait_until_paused()
    os.kill(child.pid, signal.SIGTERM)
    assert child.wait().said == "143"
    assert rows(town, locks) == []
    assert town("job", "consolidate").code == 0
    assert all(row.done_at for row in rows(town, ledger))


@pytest.mark.parametrize("last", ["telling", "leaving"])
def test_told_to_end_when_its_work_is_done(town: Life, last: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """While its people are told, or when nothing is left but to leave: the exit code is that of its work."""
    end, do_job = Telling.end, job.do_job

    def telling(self: Telling, ended: Ended) -> None:
        signal.raise_signal(signal.SIGTERM)
        end(self, ended)

    def leaving(session: Session, name: str, again: bool) -> int:
        code = do_job(session, name, again)
        signal.raise_signal(signal.SIGTERM)
        return code

    if last == "telling":
        monkeypatch.setattr(Telling, "end", telling)
    else:
        monkeypatch.setattr(job, "do_job", leaving)
    assert town("job", "consolidate").code == 0
    assert_one_night(town)


def test_told_to_end_before_it_has_begun(town: Life) -> None:
    """Held back until it can heed it, as the service does while it starts a job: it says so, and nothing was begun."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    signal.raise_signal(signal.SIGTERM)
    ended = town("job", "consolidate")
    assert (ended.code, ended.out) == (3, "stopped on request, before it had begun\n")
    assert rows(town, ledger) == rows(town, runs) == []


def wait_until(true: Callable[[], bool]) -> None:
    for _ in range(3000):
        if true():
            return
        select.select([], [], [], 0.02)
    raise AssertionError("it never came true")
