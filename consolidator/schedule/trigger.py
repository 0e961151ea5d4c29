"""Trigger: APScheduler's times are those of our calendar, and a job's jitter is the same each time it is asked for."""

import random
import socket
from collections.abc import Callable
from datetime import datetime

from apscheduler.executors.debug import DebugExecutor
from apscheduler.schedulers.base import BaseScheduler
from apscheduler.triggers.base import BaseTrigger

from consolidator.instants import SECOND, from_datetime, to_datetime
from consolidator.schedule.calendar import Due, due_after
from consolidator.settings.duty import Duty
from consolidator.settings.jobs import JobName


def begins_at(duty: Duty, due: Due) -> int:
    """
    When a job that is due may begin: later by its jitter, up to `jitter_seconds`.

    By chance, but always the same for this machine, job and time: a service that starts anew, or looks twice, does not
    draw again.
    """
    chance = random.Random(f"{socket.gethostname()} {duty.name} {due.at}")
    return due.at + chance.randint(0, duty.job.jitter_seconds * SECOND)


class DutyTrigger(BaseTrigger):  # type: ignore[misc]
    """Fires when a duty begins, by the clock of its place: also where that skips an hour or repeats one."""

    def __init__(self, duty: Duty) -> None:
        self._duty = duty

    def get_next_fire_time(self, previous_fire_time: datetime | None, now: datetime) -> datetime:
        """The first one after the previous, or after now."""
        after = from_datetime(previous_fire_time or now)
        possible = due_after(self._duty.cron, self._duty.zone, after - self._duty.job.jitter_seconds * SECOND)
        return to_datetime(next(at for due in possible if (at := begins_at(self._duty, due)) > after))


class Alarm(BaseScheduler):  # type: ignore[misc]
    """APScheduler in the thread of whoever asks it: what several times were missed for fires once."""

    def __init__(self) -> None:
        super().__init__(timezone="UTC", executors={"default": DebugExecutor()})

    def set(self, duty: Duty, act: Callable[[JobName], object]) -> None:
        """From now on, call `act` with the name of the job whenever it begins."""
        self.add_job(
            act, DutyTrigger(duty), args=[duty.name], id=duty.name, coalesce=True, max_instances=1,
            misfire_grace_time=None, replace_existing=True,
        )  # fmt: skip

    def step(self) -> float | None:
        """Fire what is due. In how many seconds the next is; None where there is none."""
        seconds: float | None = self._process_jobs()
        return seconds

    def wakeup(self) -> None:
        """Nothing sleeps here."""

    def shutdown(self, wait: bool = True) -> None:
        """Let go of everything."""
        super().shutdown(wait)
