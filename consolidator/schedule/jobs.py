"""What each job does: its work for a date, once, in one value that says how it ended."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import sqlalchemy as sa

from consolidator.errors import ConsolidatorError, ScopeHeld
from consolidator.laws.clock import Rates
from consolidator.means import Means
from consolidator.night import collect_batches, run_night
from consolidator.notify.brief import digest_message
from consolidator.notify.channels import StdoutChannel
from consolidator.notify.deliver import entries_of
from consolidator.plan import STEPS, Result
from consolidator.purge import purge_store
from consolidator.report import LEVELS, Report, as_json, digest_words, words
from consolidator.schedule.digests import digest_of
from consolidator.schedule.owed import Day
from consolidator.schedule.phrasing import phrase_by, taken_by_words
from consolidator.schedule.stopping import Stopping
from consolidator.schedule.syncing import with_sources
from consolidator.schedule.turns import JobsTurn
from consolidator.scopes import spell
from consolidator.settings import Settings
from consolidator.settings.duty import Duty, duties_in
from consolidator.settings.jobs import BackupJob, ConsolidateJob, JobName, PurgeJob, ReportJob
from consolidator.settings.kinds import Level
from consolidator.store import outbox
from consolidator.store.backup import back_up
from consolidator.store.engine import Store
from consolidator.store.locks import WHOLE_STORE, hold_scope
from consolidator.store.outbox import Entry
from consolidator.store.tables import scopes
from consolidator.terms import Terms

PARTLY, FAILED = 3, 1


@dataclass(frozen=True)
class Ended:
    """
    How a job ended. lines: what there is to say beside the report. failure: what went wrong, in one line. did: of a job
    that has no report, what it did, in a sentence for a message; None where that was nothing. synced: what changed in
    the sources of a night or by them, a line each. trouble: what went wrong with them. before: it was done for its date
    already, and nothing was begun.
    """

    exit_code: int = 0
    report: Report | None = None
    lines: tuple[str, ...] = ()
    failure: str | None = None
    did: str | None = None
    synced: tuple[str, ...] = ()
    trouble: str | None = None
    before: bool = False


@dataclass(frozen=True)
class Work:
    """
    A job to be done for a date. again: though it was done. report: of a night, from its result. messages: what is to be
    told of it. cut_off: and of an attempt before, which was killed in these scopes. begins: called when work begins
    somewhere.

    stop: when it is to stop; its `wait` passes some time.
    """

    store: Store
    duty: Duty
    settings: Settings
    means: Means
    now: int
    wall_clock: Callable[[], int]
    day: Day
    again: bool
    stop: Stopping
    report: Callable[[Result], Report]
    messages: Callable[[Result], Sequence[Entry]] = lambda _: ()
    cut_off: Callable[[Collection[int], str | None], Sequence[Entry]] = lambda _, __: ()
    begins: Callable[[], None] = lambda: None

    @property
    def printed(self) -> Level:
        """
        How much is printed of how it ended, beside a line: no more than its people are told, for who reads a journal
        may be anybody. Nothing where a channel prints that.
        """
        if any(isinstance(channel, StdoutChannel) for channel in self.duty.channels.values()):
            return "off"
        return min(self.duty.level, self.settings.report, key=LEVELS.index)

    @property
    def rates(self) -> Rates:
        return Rates(**self.settings.rates.model_dump())

    def turn(self) -> JobsTurn:
        return JobsTurn(
            self.store,
            self.duty.name,
            self.day,
            wall_clock=self.wall_clock,
            stop=self.stop,
            again=self.again,
            begins=self.begins,
        )


def consolidate(work: Work) -> Ended:
    """The night."""
    job = work.duty.job
    assert isinstance(job, ConsolidateJob)
    steps = tuple(step for step in STEPS if job.steps is None or step in job.steps)
    return with_sources(work, job.sources or (), lambda: _night(work, steps))


def shift(work: Work) -> Ended:
    """The future becomes the present, and the present the past."""
    return _night(work, ("shift",))


def collect(work: Work) -> Ended:
    """The answers of batches are taken in."""
    return once(work, lambda: _collect(work))


def _collect(work: Work) -> Ended:
    if work.settings.merge.mode != "batch":
        return Ended(lines=("merge.mode is live, so there are no batches to collect.",))
    there, lines = _scopes(work)
    work.means.insist(work.store)
    result = collect_batches(
        work.store,
        now=work.now,
        rates=work.rates,
        wall_clock=work.wall_clock,
        describe=lambda result: as_json(work.report(result)),
        means=work.means,
        scopes=list(there),
        terms=Terms(stop=work.stop, wait=work.stop.wait, messages=work.messages),
    )
    return _ended(work, result, lines) if result else Ended(lines=(*lines, "No batch is under way."))


def purge(work: Work) -> Ended:
    """What is old and has done its work goes."""
    return once(work, lambda: _purge(work))


def _purge(work: Work) -> Ended:
    job = work.duty.job
    assert isinstance(job, PurgeJob)
    there, lines = _scopes(work)
    asked = None if work.duty.scopes is None else list(there)
    gone = purge_store(work.store, job, now=work.now, wall_clock=work.wall_clock, scopes=asked, stop=work.stop)
    said = (gone.words, *(f"Left for the next time: {line}" for line in gone.left))
    did = " ".join(said) if gone.some else None
    return Ended(PARTLY if gone.stopped else 0, lines=(*lines, *said), failure=gone.stopped, did=did)


def backup(work: Work) -> Ended:
    """A copy of the store."""
    job = work.duty.job
    assert isinstance(job, BackupJob)
    folder = job.folder or ""
    return once(work, lambda: _backup(work, folder, job.keep))


def _backup(work: Work, folder: str, keep: int) -> Ended:
    did = back_up(work.store, folder, keep=keep, now=work.now).words
    return Ended(lines=(did,), did=did)


def _night(work: Work, steps: Sequence[str]) -> Ended:
    there, lines = _scopes(work)
    if not there:
        return Ended(lines=lines or ("There is no memory to look after yet.",))
    if "merge" in steps:
        work.means.insist(work.store)
    turn = work.turn()
    result = run_night(
        work.store,
        now=work.now,
        rates=work.rates,
        wall_clock=work.wall_clock,
        describe=lambda result: as_json(work.report(result)),
        scopes=list(there),
        steps=steps,
        means=work.means,
        terms=Terms(
            turn,
            work.stop,
            work.stop.wait,
            lambda result: [*work.cut_off(turn.killed, result.run_id), *work.messages(result)],
        ),
    )
    if work.stop.out_of_time and not work.stop.requested:
        turn.out_of_time(there.values(), f"{work.stop()}")
    return _ended(work, result, lines) if result.run_id else _done_already(work, lines)


def _ended(work: Work, result: Result, lines: tuple[str, ...]) -> Ended:
    report = None
    with suppress(ConsolidatorError):  # where the store is gone, why is all that there is to say
        report = work.report(result)
    return Ended(result.exit_code, report, lines, result.error)


def once(work: Work, act: Callable[[], Ended]) -> Ended:
    """
    What a job of the whole store does, under a lock of the whole store, unless it was done for its date.

    Another process that is at it is waited for.
    """
    turn = work.turn()
    while not (why := work.stop()):
        try:
            with hold_scope(work.store, WHOLE_STORE, wall_clock=work.wall_clock):
                return _once(work, turn, act)
        except ScopeHeld:
            work.stop.wait()
    return Ended(PARTLY, failure=why)


def _once(work: Work, turn: JobsTurn, act: Callable[[], Ended]) -> Ended:
    if turn.begin(WHOLE_STORE):
        return _done_already(work)
    try:
        ended = act()
    except Exception as failure:
        turn.failed(WHOLE_STORE, str(failure).split("\n", 1)[0])
        raise
    if ended.exit_code == FAILED:
        turn.failed(WHOLE_STORE, ended.failure or "it failed")
    elif ended.exit_code == PARTLY and work.stop():
        turn.stopped(None, WHOLE_STORE)
    else:
        with work.store.write() as conn:
            turn.done(conn, None, WHOLE_STORE)
    return ended


def _done_already(work: Work, lines: tuple[str, ...] = ()) -> Ended:
    said = f"{work.duty.name} was done for {work.day.name} already; --again does it once more."
    return Ended(lines=(*lines, said), before=True)


def _scopes(work: Work) -> tuple[dict[str, int], tuple[str, ...]]:
    """The scopes of a job by their texts, and a line on each that the settings name and nothing was taken in for."""
    query = sa.select(scopes.c.scope, scopes.c.key).order_by(scopes.c.scope)
    with work.store.read() as conn:
        there: dict[str, int] = dict(conn.execute(query).all())
    if work.duty.scopes is None:
        return there, ()
    named = {text: there[text] for text in work.duty.scopes if text in there}
    missing = [text for text in work.duty.scopes if text not in there]
    return named, tuple(f"There is no scope {spell(text)} in the store yet." for text in missing)


def report(work: Work) -> Ended:
    """The last nights, added up. Its message is kept before the ledger says that it is done."""
    return once(work, lambda: _report(work))


def _report(work: Work) -> Ended:
    job, duty, settings = work.duty.job, work.duty, work.settings
    assert isinstance(job, ReportJob)
    night = duties_in(settings, duty.store).get("consolidate")
    found = digest_of(work.store, duty, night, settings, nights=job.nights, now=work.now)
    message = digest_message(
        found,
        name=f"report:{work.day.name}" + (f":{work.now}" if work.again else ""),
        level=duty.level,
        error_notification=settings.error_notification,
        quiet=duty.quiet,
        phrase=phrase_by(work.means) if duty.channels else None,
        persona=settings.persona,
    )
    if message:
        entries = entries_of(message, duty.channels)
        with work.store.write() as conn:
            outbox.put(conn, entries, run_key=None, now=work.wall_clock())
    said = digest_words.text(found, work.printed) or digest_words.counts(found)
    taken = taken_by_words(work.means)
    return Ended(lines=(said, *([f"Words of its message: {words.cost(taken)}."] if taken.calls else [])))


JOBS: Mapping[JobName, Callable[[Work], Ended]] = {
    "consolidate": consolidate,
    "shift": shift,
    "collect": collect,
    "report": report,
    "purge": purge,
    "backup": backup,
}


def do(work: Work) -> Ended:
    """A job. BadInput where it cannot be done here."""
    return JOBS[work.duty.name](work)
