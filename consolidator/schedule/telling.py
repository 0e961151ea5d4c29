"""
Telling: what a job's people hear of it.

The message of a night is put in its last transaction, any other in one of its own; all are sent afterwards. Whatever
becomes of a message changes nothing of how the job ended.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256

import sqlalchemy as sa

from consolidator.asked import NOTHING_ASKED
from consolidator.errors import ConsolidatorError
from consolidator.instants import NIGHT
from consolidator.means import Means
from consolidator.notify.brief import brief
from consolidator.notify.deliver import drain, entries_of
from consolidator.notify.message import Message, message_of
from consolidator.notify.send import Emit
from consolidator.plan import Result
from consolidator.report import Report, words
from consolidator.report.document import asked_document
from consolidator.schedule.jobs import Ended
from consolidator.schedule.outage import Outage
from consolidator.schedule.outside import Outside
from consolidator.schedule.phrasing import phrase_by, taken_by_words
from consolidator.schedule.stopped import tell_stopped
from consolidator.schedule.stopping import Stopping
from consolidator.settings import Settings
from consolidator.settings.duty import Duty, duties_in
from consolidator.store import journal, outbox
from consolidator.store.engine import Store
from consolidator.store.outbox import Entry
from consolidator.store.watching import outbox_state

WallClock = Callable[[], int]
STORE_FAILS = (ConsolidatorError, sa.exc.DBAPIError)


@dataclass(frozen=True)
class Audience:
    """
    Who hears of a job for a date, with a store or without one. outage: what was told while the store was gone. say:
    takes lines for the log.
    """

    duty: Duty
    settings: Settings
    day: str
    stop: Stopping
    outage: Outage
    outside: Outside
    wall_clock: WallClock
    emit: Emit

    def no_store(self, gone: ConsolidatorError) -> None:
        """The store cannot be opened: it is this, now, or nothing."""
        self._without_store(self.failed(str(gone)), reason=str(gone))
        self.outside.ended(gone.exit_code, failure=str(gone))

    def vanished(self, lost: Message | None) -> None:
        """The store went away in the midst of work, and what there is to tell cannot be kept in it."""
        self._without_store(lost, reason=None)

    def _without_store(self, lost: Message | None, reason: str | None) -> None:
        now = self.wall_clock()
        self.outage.tell(lost, self.duty.channels, reason=reason, now=now, emit=self.emit)

    def failed(self, reason: str, *, of: str = "") -> Message | None:
        """That the job failed of which there is no report; None where its people want to hear of no failure."""
        duty = self.duty
        if not duty.channels or duty.level == "off" or not self.settings.error_notification:
            return None
        title = f"{self._title}{of} failed"
        lines = [f"{title}: {reason.rstrip('.')}."]
        name = self.name_of_failure(reason)
        return brief(name=name, kind=duty.name, title=title, level=duty.level, lines=lines)

    def told(self, did: str | None) -> Message | None:
        """What the job did of which there is no report; None where there is nothing to say at its level."""
        duty = self.duty
        if not did or not duty.channels or duty.level in ("off", "errors"):
            return None
        name = f"{duty.name}:{self.day}"
        return brief(name=name, kind=duty.name, title=self._title, level=duty.level, lines=[f"{did.rstrip('.')}."])

    def synced(self, lines: Sequence[str]) -> Message | None:
        """What was taken in from other systems' stores, and written back to them; None as `told`."""
        duty = self.duty
        if not duty.channels or duty.level in ("off", "errors"):
            return None
        title = f"{self._title}: other stores"
        name = f"sources:{self.day}:{sha256(' '.join(lines).encode()).hexdigest()[:12]}"
        return brief(name=name, kind=duty.name, title=title, level=duty.level, lines=[f"{title}.", *lines])

    def cut_off(self, run_id: str, did: Mapping[str, int]) -> Message | None:
        """That a run was killed, and what it had done."""
        duty = self.duty
        if not duty.channels or duty.level in ("off", "errors"):
            return None
        title = f"{self._title} was cut off"
        done = ", ".join(f"{words.LABELS[name]} {count:,}" for name, count in did.items())
        lines = [f"{title}. What it had done stays, and another attempt did the rest: {done}.", _take_back(run_id)]
        return brief(name=f"cut:{run_id}", kind=duty.name, title=title, level=duty.level, lines=lines)

    def name_of_failure(self, reason: str) -> str:
        """The same for every attempt for a date that fails for the same reason: it is told once."""
        return f"{self.duty.name}:{self.day}:{sha256(reason.encode()).hexdigest()[:12]}"

    @property
    def _title(self) -> str:
        return f"The {self.duty.called} of {self.day}"


def _take_back(run_id: str) -> str:
    return f"To take it back: consolidate undo {run_id}"


@dataclass
class Telling:
    """
    Of one job in an open store. made: the report of a night, from its result. means: what may put a summary into words.
    watch: whether it tells, too, what has stopped happening.
    """

    audience: Audience
    store: Store
    means: Means
    made: Callable[[Result], Report]
    watch: bool = True
    _after_one: bool = field(default=False, init=False)
    _made: tuple[Report, Message | None] | None = field(default=None, init=False)

    def report(self, result: Result) -> Report:
        """The report of a night, with what its message has cost."""
        return replace(self.made(result), worded=taken_by_words(self.means))

    def messages(self, result: Result) -> list[Entry]:
        """The message of a night, for its last transaction; made before its report, which counts its cost."""
        message = self._of_night(self.made(result))
        return entries_of(message, self.audience.duty.channels) if message else []

    def cut_off(self, scope_keys: Collection[int], run_id: str | None) -> list[Entry]:
        """
        What a killed attempt did, once, for those who hear of more than errors: its own message was never made.

        run_id: of the attempt that tells it.
        """
        audience = self.audience
        with self.store.read() as conn:
            cut = journal.cut_off(conn, scope_keys, since=audience.wall_clock() - NIGHT) if scope_keys else []
            new = [(name, did) for name, did in cut if did and name != run_id and not outbox.holds(conn, f"cut:{name}")]
        messages = [message for name, did in new if (message := audience.cut_off(name, did))]
        self._after_one = bool(messages)
        return [entry for message in messages for entry in entries_of(message, audience.duty.channels)]

    def end(self, ended: Ended) -> None:
        """Tell how the job ended, and what has stopped happening; send what is due; tell the monitors outside."""
        state = self._kept_and_sent(ended)
        if ended.before:
            return
        stopped = self.audience.stop.requested
        failure = ended.failure or ended.trouble or (words.failure(ended.report) if ended.report else None)
        outside = self.audience.outside
        outside.ended(ended.exit_code, failure=failure, report=ended.report, outbox=state, stopped=stopped)

    def _kept_and_sent(self, ended: Ended) -> dict[str, int] | None:
        """How many messages wait and were given up; None where the store is gone, which is told without it."""
        audience, store, message = self.audience, self.store, self._message(ended)
        beside = self._beside(ended)
        settings, stop = audience.settings, audience.stop
        try:
            for each in filter(None, [message, *beside]):
                put(store, each, audience.duty, now=audience.wall_clock())
            if self.watch:
                watched = duties_in(settings, audience.duty.store)
                if ended.failure:
                    watched.pop(audience.duty.name, None)  # that it failed says enough of it
                tell_stopped(store, watched, settings, now=audience.wall_clock())
        except STORE_FAILS as gone:
            audience.vanished(message if ended.failure else audience.failed(str(gone).splitlines()[0]))
            return None
        audience.outage.over()
        drain_due(store, settings, audience.wall_clock, audience.emit, stop=lambda: stop.requested)
        with suppress(*STORE_FAILS), store.read() as conn:
            state = outbox_state(conn)
            return {"waiting": state.waiting, "given_up": state.given_up}
        return None

    def _message(self, ended: Ended) -> Message | None:
        if ended.report is not None:
            return self._of_night(ended.report)
        if ended.failure:
            return None if self.audience.stop.requested else self.audience.failed(ended.failure)
        return self.audience.told(ended.did)

    def _beside(self, ended: Ended) -> list[Message | None]:
        """What became of the sources of a night, of which its own message, kept before the push, cannot tell."""
        if self.audience.stop.requested:
            return []
        trouble = self.audience.failed(ended.trouble, of=": other stores") if ended.trouble else None
        return [trouble, self.audience.synced(ended.synced) if ended.synced else None]

    def _of_night(self, report: Report) -> Message | None:
        """Made once for a report: its words may have been paid for."""
        report = replace(report, worded=NOTHING_ASKED)
        if self._made is None or self._made[0] != report:
            self._made = report, self._new(report)
        return self._made[1]

    def _new(self, report: Report) -> Message | None:
        duty, settings, stop = self.audience.duty, self.audience.settings, self.audience.stop
        if not duty.channels or (stop.requested and duty.level == "errors"):
            return None
        message = message_of(
            report,
            level=duty.level,
            error_notification=settings.error_notification,
            quiet=duty.quiet or duty.name != "consolidate" or self._after_one,  # no news by day, or after a half of it
            phrase=None if stop() else phrase_by(self.means),
            persona=settings.persona,
        )
        if message is None:
            return None
        if (taken := taken_by_words(self.means)).calls:
            message = replace(message, document={**message.document, "worded": asked_document(taken)})
        why = words.failure(report)
        return replace(message, name=self.audience.name_of_failure(why)) if why else message


def put(store: Store, message: Message, duty: Duty, *, now: int) -> None:
    """Have a message wait in the outbox; one that is there already, by its name, is not told twice."""
    with store.read() as conn:
        if outbox.holds(conn, message.name):
            return
    entries = entries_of(message, duty.channels)
    with store.write() as conn:
        outbox.put(conn, entries, run_key=None, now=now)


def drain_due(
    store: Store,
    settings: Settings,
    wall_clock: WallClock,
    emit: Emit,
    *,
    stop: Callable[[], bool] = lambda: False,
) -> int:
    """Send what is due; how much was tried. Two short reads where nothing is. A store that fails is none of its."""
    with suppress(*STORE_FAILS):
        return len(drain(store, settings.channels, wall_clock=wall_clock, emit=emit, stop=stop))
    return 0
