"""
Serve: the service that runs the jobs of the settings at their times.

One thread does everything, in rounds: it lets the alarm fire, hears signals, notices children that have ended, looks
what is owed, and tells the supervisor that it is alive. What is owed follows from the store's ledger alone, and is
looked for once a minute of elapsed time. So it does not matter what was missed, or why: a machine that was off or
asleep, a clock set anew, a child that was killed.
"""

import signal
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import wait
from time import monotonic
from typing import Any

import consolidator
from consolidator.errors import BadSettings, ConsolidatorError
from consolidator.instants import SECOND, format_instant, when
from consolidator.notify.send import unusable
from consolidator.schedule.child import SENDING_MINUTES, Child, do_job_in, send_messages_in
from consolidator.schedule.health import Health
from consolidator.schedule.orders import Orders, insist_on_stores, next_due
from consolidator.schedule.owed import Owed, owed
from consolidator.schedule.posts import Post
from consolidator.schedule.record import Record
from consolidator.schedule.signals import Signals, hearing
from consolidator.schedule.supervisor import Supervisor
from consolidator.schedule.trigger import Alarm, begins_at
from consolidator.settings.duty import Duty
from consolidator.settings.jobs import JobName
from consolidator.store.engine import open_store
from consolidator.store.outbox import is_due

LOOK_SECONDS = 60.0
WATCH_SECONDS = 3600.0  # it is looked for what stopped happening
STOP_SECONDS = 14 * 60.0  # a minute less than our unit for systemd gives: who had to be killed can still be said


class Service:
    """
    The service, from its start until it is told to stop.

    reread: the orders of the settings as they are now. say: prints a line; complain: one that something is wrong.
    """

    def __init__(
        self,
        orders: Orders,
        *,
        reread: Callable[[], Orders],
        supervisor: Supervisor,
        clock: Callable[[], int],
        say: Callable[[str], object],
        complain: Callable[[str], object],
    ) -> None:
        self._orders, self._reread, self._supervisor = orders, reread, supervisor
        self._clock, self._print, self._complain = clock, say, complain
        self._alarm = Alarm()
        self._health: Health | None = None
        self._records: dict[JobName, Record] = defaultdict(Record)
        self._fired: set[JobName] = set()
        self._made_up: dict[str, set[tuple[JobName, int]]] = {}  # what each store owed when it was first seen
        self._missed: set[tuple[JobName, int]] = set()
        self._troubles: dict[str, str] = {}  # what is wrong with a store
        self._bad_settings: list[str] = []
        self._posts: dict[str, Post] = defaultdict(Post)  # who sends messages, by store
        self._watched: dict[str, float] = {}  # when it was looked for what stopped happening, by store
        self._since = clock()
        self._next_look = monotonic()

    def run(self) -> int:
        """Serve. The exit code of a clean stop; BadInput where it cannot begin: then nothing was started."""
        insist_on_stores(self._orders)
        with hearing(signal.SIGTERM, signal.SIGINT, signal.SIGHUP) as signals:
            self._follow(self._orders)
            self._alarm.start()
            try:
                self._say(f"serving: {self._orders.agenda(self._clock())}")
                self._supervisor.tell("READY=1", self._status())
                while self._round(signals):
                    pass
                self._stop(signals)
            finally:
                for child in self._processes():
                    child.stop()
        return 0

    def _round(self, signals: Signals) -> bool:
        """Do what there is to do, then wait for more. Whether to go on."""
        until_fired = self._alarm.step()
        for each in signals.arrived():
            if each != signal.SIGHUP:
                return False
            self._reload()
        self._notice_ended()
        if self._fired or monotonic() >= self._next_look:
            self._look()
            self._next_look = monotonic() + LOOK_SECONDS
        self._wait(signals, min(LOOK_SECONDS if until_fired is None else until_fired, self._next_look - monotonic()))
        return True

    def _wait(self, signals: Signals, seconds: float) -> None:
        """Say that we are alive, and wait until there is something to do, or that is to be said again."""
        self._supervisor.beat()
        self._show()
        beat = (self._supervisor.watchdog_seconds or 2 * LOOK_SECONDS) / 2
        wait([signals.socket, *(child.sentinel for child in self._processes())], max(0.0, min(seconds, beat)))

    def _follow(self, orders: Orders) -> None:
        """Go by these orders from now on. BadInput where the port for health is taken: then nothing has changed."""
        port = orders.service.health_port
        if port != (self._health and self._health.port):
            health = Health(port) if port else None
            if self._health:
                self._health.close()
            self._health = health
        self._orders = orders
        self._troubles = {url: what for url, what in self._troubles.items() if url in orders.by_store()}
        self._alarm.remove_all_jobs()
        for duty in orders.duties.values():
            self._alarm.set(duty, self._fired.add)
        for line in unusable(orders.session.settings.channels):
            self._complain(line)
        self._show()

    def _reload(self) -> None:
        """Read the settings anew. What is under way goes on with those that it began with."""
        self._supervisor.tell("RELOADING=1", f"MONOTONIC_USEC={int(monotonic() * SECOND)}")
        try:
            self._follow(self._reread())
        except ConsolidatorError as error:
            for line in error.lines if isinstance(error, BadSettings) else [str(error)]:
                self._complain(line)
            self._bad_settings = ["the settings cannot be used; those from before are in force"]
            self._say(*self._bad_settings)
        else:
            self._bad_settings = []
            self._say(f"read the settings anew: {self._orders.agenda(self._clock())}")
        self._next_look = monotonic()
        self._supervisor.tell("READY=1", self._status())

    def _look(self) -> None:
        """
        Begin what is owed; what comes late goes one after the other in each store, in order of its times.

        A job whose time has just come begins also where its store cannot be seen: that is then its failure, and told.
        """
        now = self._clock()
        for url, duties in self._orders.by_store().items():
            free = [duty for duty in duties if not self._records[duty.name].child]
            try:
                with open_store(url, mode="read") as store:
                    found = [(what.due.at, duty, what) for duty in free if (what := owed(store, duty, now))]
                    waits = is_due(store, channels=self._orders.session.settings.channels, now=now)
            except ConsolidatorError as error:
                if self._troubles.get(url) != str(error):
                    self._say(f"what is owed cannot be seen, and is looked for each minute: {error}")
                self._troubles[url] = str(error)
                for duty in free:
                    if duty.name in self._fired:
                        self._begin(duty, None, now)
            else:
                if self._troubles.pop(url, None):
                    self._say("what is owed can be seen again")
                made_up = self._made_up.setdefault(url, {(duty.name, due) for due, duty, _ in found})
                for due, duty, what in sorted(found, key=lambda each: each[0]):
                    late = now - begins_at(duty, what.due) > LOOK_SECONDS * SECOND
                    if late and any(self._records[each.name].child for each in duties):
                        continue
                    if self._may_begin(duty, what, now, made_up=(duty.name, due) in made_up):
                        self._begin(duty, due, now)
                self._post(url, due=waits, busy=any(self._records[each.name].child for each in duties))
        self._fired.clear()

    def _post(self, url: str, *, due: bool, busy: bool) -> None:
        """
        Have messages sent that are due and, each hour in which no job is at work there, told what stopped happening.

        Not at the start: what was missed is made up first.
        """
        now = monotonic()
        watch = not busy and now - self._watched.setdefault(url, now) >= WATCH_SECONDS
        if not (watch or due) or not self._posts[url].may_begin():
            return
        if watch:
            self._watched[url] = now
        with suppress(OSError):  # in a minute again
            self._posts[url].child = Child(
                send_messages_in(self._orders.session, url, watch=watch), minutes=SENDING_MINUTES
            )

    def _may_begin(self, duty: Duty, what: Owed, now: int, *, made_up: bool) -> bool:
        """Whether the time has come, and has not passed. made_up: it never has; nor for what was begun and failed."""
        due = what.due.at
        if max(what.begin_at, begins_at(duty, what.due)) > now or not self._records[duty.name].may_begin(due, now):
            return False
        grace = self._orders.service.grace_minutes
        if made_up or what.begin_at > due or now - due <= grace * 60 * SECOND:
            return True
        if (duty.name, due) not in self._missed:
            self._missed.add((duty.name, due))
            missed = f"missed: it was due {when(due, duty.zone)}, more than {grace} minutes ago"
            self._say(f"{duty.name}: {missed}; it waits for its next time")
        return False

    def _begin(self, duty: Duty, due: int | None, now: int) -> None:
        try:
            child = Child(do_job_in(self._orders.session, duty.name), minutes=duty.job.deadline_minutes)
        except OSError as error:
            self._complain(f"{duty.name}: cannot be begun: {error.strerror}; it is tried again in a minute")
            return
        self._records[duty.name].begin(child, due=due, now=now)
        self._say(f"{duty.name}: begun, process {child.process}")
        self._supervisor.tell(self._status())

    def _notice_ended(self) -> None:
        posts = [("messages", post.child) for post in self._posts.values() if post.child]
        for name, child in [*self._children().items(), *posts]:
            if child.hangs and not child.has_ended:
                self._say(f"{name}: hangs long after its deadline, and is killed")
                child.give_up()
        for post in self._posts.values():
            if (
                post.child
                and post.child.has_ended
                and (said := post.end(post.child.exit_code(), told_to=post.child.told_to_end))
            ):
                self._say(said)
        for name, child in self._children().items():
            if child.has_ended:
                self._say(f"{name}: {self._records[name].end(child, now=self._clock())}")
                self._supervisor.tell(self._status())
                self._next_look = monotonic()

    def _stop(self, signals: Signals) -> None:
        """Children are asked to end, and killed where they do not, or where that is asked a second time."""
        self._supervisor.tell("STOPPING=1")
        names = " and ".join(self._children())
        self._say(f"stopping, once {names} has finished what it is at" if names else "stopping")
        for child in self._processes():
            child.stop()
        until = monotonic() + STOP_SECONDS
        while children := self._processes():
            if monotonic() >= until or any(each != signal.SIGHUP for each in signals.arrived()):
                for child in children:
                    child.kill()
            self._wait(signals, until - monotonic() if monotonic() < until else LOOK_SECONDS)
            self._notice_ended()
        self._alarm.shutdown()
        if self._health:
            self._health.close()
        self._say("stopped")

    def _children(self) -> dict[JobName, Child]:
        """The jobs under way."""
        return {name: record.child for name, record in self._records.items() if record.child}

    def _processes(self) -> list[Child]:
        """All that is under way: jobs, and who sends messages."""
        return [*self._children().values(), *(post.child for post in self._posts.values() if post.child)]

    def _show(self) -> None:
        if self._health:
            self._health.show(self._document())

    def _document(self) -> dict[str, Any]:
        """What health shows."""
        now = self._clock()
        records = {name: self._records[name] for name in self._orders.duties}
        failed = [f"{name} failed" for name, each in records.items() if each.failed]
        problems = [*self._bad_settings, *self._troubles.values(), *failed]
        return {
            "status": "failing" if problems else "ok",
            "since": format_instant(self._since),
            "version": consolidator.__version__,
            "problems": problems,
            "jobs": {
                name: {
                    "next_due": format_instant(next_due(self._orders.duties[name], now)),
                    "last_begun": each.begun and format_instant(each.begun),
                    "last_ended": each.ended and format_instant(each.ended),
                    "exit_code": each.exit_code,
                    "under_way": each.child is not None,
                }
                for name, each in records.items()
            },
        }

    def _status(self) -> str:
        under_way = f"under way: {', '.join(self._children())}; " if self._children() else ""
        return f"STATUS={under_way}next: {self._orders.agenda(self._clock())}"

    def _say(self, text: str) -> None:
        self._print(f"{when(self._clock(), self._orders.zone, '%Y-%m-%d %H:%M:%S %Z')} {text}")
