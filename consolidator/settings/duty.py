"""Duties: the jobs that are on, each with what it leaves to the settings above it filled in."""

from collections.abc import Mapping
from typing import NamedTuple, get_args
from zoneinfo import ZoneInfo

from consolidator.errors import BadInput
from consolidator.notify.channels import Channel
from consolidator.settings.jobs import Job, JobName
from consolidator.settings.kinds import Level
from consolidator.settings.model import Settings

_CALLED = {"consolidate": "night", "collect": "collection of answers", "report": "digest"}
JOB_NAMES: tuple[JobName, ...] = get_args(JobName)


class Duty(NamedTuple):
    """
    A job that is on.

    cron: when it is due, by the clock of `zone`. scopes: canonical; None: all of the store. store: its URL or path;
    None: the store in use. channels: who is told, by name. job: the rest of its settings, of its own kind.
    """

    name: JobName
    cron: str
    zone: ZoneInfo
    scopes: tuple[str, ...] | None
    store: str | None
    level: Level
    channels: Mapping[str, Channel]
    quiet: bool
    job: Job

    @property
    def called(self) -> str:
        """What people call what it does: the night, the purge."""
        return _CALLED.get(self.name, self.name)


def duty_of(settings: Settings, name: JobName) -> Duty | None:
    """A job that is on; None where it is off. BadInput where its zone is this machine's, which cannot be told."""
    job: Job = getattr(settings.jobs, name)
    if not job.enabled:
        return None
    named = job.time_zone or settings.time_zone
    return _duty(name, settings, ZoneInfo(named) if named else local_zone())


def duties(settings: Settings, local: ZoneInfo) -> dict[JobName, Duty]:
    """The jobs that are on and have something to do. local: the zone of those that name none, this machine's."""
    return {name: _duty(name, settings, local) for name in _names(settings) if getattr(settings.jobs, name).enabled}


def duties_in(settings: Settings, store: str | None) -> dict[JobName, Duty]:
    """The jobs that are on in a store; None: the one in use. BadInput as `duty_of`."""
    found = ((name, duty_of(settings, name)) for name in _names(settings))
    return {name: duty for name, duty in found if duty is not None and duty.store == store}


def _names(settings: Settings) -> list[JobName]:
    """All, but for the one that takes in batches where none is ever handed in."""
    return [name for name in JOB_NAMES if name != "collect" or settings.merge.mode == "batch"]


def _duty(name: JobName, settings: Settings, local: ZoneInfo) -> Duty:
    job: Job = getattr(settings.jobs, name)
    zone = job.time_zone or settings.time_zone
    told = settings.channels if job.channels is None else job.channels
    return Duty(
        name=name,
        cron=job.expression,
        zone=ZoneInfo(zone) if zone else local,
        scopes=settings.scopes if job.scopes is None else job.scopes,
        store=None if job.store is None else settings.stores[job.store],
        level=job.level,
        channels={each: settings.channels[each] for each in told},
        quiet=settings.quiet if job.quiet is None else job.quiet,
        job=job,
    )


def local_zone() -> ZoneInfo:
    """This machine's time zone. BadInput where it cannot be told."""
    import tzlocal

    try:
        return ZoneInfo(tzlocal.get_localzone_name())
    except (KeyError, ValueError, OSError, UserWarning):
        raise BadInput(
            "this machine's time zone cannot be told; write it in the settings, e.g. time_zone: UTC"
        ) from None
