"""The command that does a job of the settings: what a timer starts, and the service."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from consolidator.cli.output import emit, note, one_line
from consolidator.cli.session import Session, clock, one_of, state_folder
from consolidator.errors import BadInput, ConsolidatorError

if TYPE_CHECKING:
    from consolidator.plan import Result
    from consolidator.report import Report
    from consolidator.store.engine import Store


def job(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="consolidate, shift, collect, report, purge or backup.")],
    again: Annotated[bool, typer.Option("--again", help="Also where it was done for its date already.")] = False,
) -> int:
    """
    Do a job of the settings, as a timer does.

    It is done for the latest date on which it was due, in each of its scopes, unless it was done for that: by a timer,
    the service, or a night by hand. SIGTERM, and its deadline, end it cleanly: what was not reached is left for later.

    Exit codes: 0 done, or done before, 1 failed on the way, 2 bad settings or no store, 3 done in part.

    \b
    Example:
        consolidate job consolidate
    """
    return do_job(ctx.obj, name, again)


def do_job(session: Session, name: str, again: bool = False, *, watch: bool = True) -> int:
    """
    Do a job, print how it ended (a line at least, and no memory text below its level), return its exit code.

    watch: and tell what has stopped happening.
    """
    from consolidator.notify.send import unusable
    from consolidator.schedule.calendar import last_due
    from consolidator.schedule.jobs import PARTLY, Ended, Work, do
    from consolidator.schedule.outage import Outage
    from consolidator.schedule.outside import Outside
    from consolidator.schedule.owed import day_of
    from consolidator.schedule.stopping import Stopping
    from consolidator.schedule.telling import Audience, Telling
    from consolidator.settings.duty import JOB_NAMES, duty_of

    duty = duty_of(session.settings, one_of("job", name, JOB_NAMES))
    if duty is None:
        raise BadInput(f"jobs.{name}: is turned off; `enabled: true` in the settings turns it on")
    now = clock()
    due = last_due(duty.cron, duty.zone, now)
    if due is None:
        raise BadInput(f"jobs.{name}: was not due yet in nine years; check its time")
    session = replace(session, store=session.store or duty.store)
    settings, day = session.settings, day_of(duty, due, now)
    with Stopping(duty.job.deadline_minutes).heeding() as stop:
        if why := stop():
            emit(f"{why}, before it had begun")
            return PARTLY
        for line in unusable(duty.channels) if watch and duty.level != "off" else ():
            _say(line)
        outage, outside = Outage(state_folder(), session.url), Outside(duty.name, settings, clock, _say)
        audience = Audience(duty, settings, day.name, stop, outage, outside, clock, emit)
        try:
            store = session.open("write")
        except ConsolidatorError as gone:
            audience.no_store(gone)
            raise
        with store, session.means() as means:
            telling = Telling(audience, store, means, _reports(store, duty.zone.key), watch)
            work = Work(
                store=store,
                duty=duty,
                settings=settings,
                means=means,
                now=now,
                wall_clock=clock,
                day=day,
                again=again,
                stop=stop,
                report=telling.report,
                messages=telling.messages,
                cut_off=telling.cut_off,
                begins=outside.begins,
            )
            try:
                ended = do(work)
            except ConsolidatorError as failure:
                ended = Ended(failure.exit_code, failure=str(failure))
            except Exception as fault:
                telling.end(Ended(1, failure=_said_of(fault)))
                raise
            _tell(ended, work.printed)
            telling.end(ended)
    return ended.exit_code


def send_messages(session: Session, url: str, *, watch: bool) -> int:
    """Send what is due of the messages of a store. watch: and tell what has stopped happening there."""
    from consolidator.schedule.child import SENDING_MINUTES
    from consolidator.schedule.orders import orders_of
    from consolidator.schedule.stopped import tell_stopped
    from consolidator.schedule.stopping import Stopping
    from consolidator.schedule.telling import drain_due

    settings = session.settings
    with Stopping(SENDING_MINUTES).heeding() as stop, replace(session, store=url).open("write") as store:
        if watch:
            there = {duty.name: duty for duty in orders_of(session).by_store().get(url, ())}
            tell_stopped(store, there, settings, now=clock())
        drain_due(store, settings, clock, emit, stop=lambda: stop() is not None)
    return 0


def _reports(store: "Store", time_zone: str) -> "Callable[[Result], Report]":
    """Makes the report of a night from its result, once of each."""
    from consolidator.cli.telling import earlier_of, report_of

    earlier: list[list[dict[str, int]]] = []
    made: list[tuple[Result, Report]] = []

    def report(result: "Result") -> "Report":
        if not earlier:  # before the run's own report is kept
            earlier.append(earlier_of(store, result.plan.steps))
        if not made or made[-1][0] is not result:
            made.append((result, report_of(store, result, earlier[0], time_zone)))
        return made[-1][1]

    return report


def _said_of(fault: Exception) -> str:
    """What people hear of a failure that nobody foresaw: not what it says itself, which may hold memories."""
    if isinstance(fault, OSError) and fault.strerror:
        return fault.strerror
    return "a fault of this program; its log says more"


def _say(line: str) -> None:
    """A line for the log."""
    note(f"consolidate: {one_line(line)}")


def _tell(ended: Any, level: str) -> None:
    from consolidator.notify.message import counts_of
    from consolidator.report import render

    for line in ended.lines:
        emit(line)
    text = render(ended.report, level) if ended.report else ""
    if ended.report and level in ("off", "errors"):
        emit(counts_of(ended.report))
    if text:
        emit(text)
    elif ended.failure:
        _say(ended.failure)
    if ended.trouble:
        _say(ended.trouble)
