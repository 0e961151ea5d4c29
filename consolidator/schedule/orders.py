"""Orders: what the service goes by, until it is told otherwise."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from consolidator.errors import BadInput, StoreUnreachable
from consolidator.instants import when
from consolidator.schedule.calendar import due_after
from consolidator.settings.duty import Duty, duties, local_zone
from consolidator.settings.jobs import JobName
from consolidator.settings.model import Service
from consolidator.store.engine import open_store
from consolidator.store.urls import is_file, parse_url

if TYPE_CHECKING:
    from consolidator.cli.session import Session


@dataclass(frozen=True)
class Orders:
    """The jobs that are on, and the settings that they are from. zone: where the time is told."""

    session: "Session"
    duties: Mapping[JobName, Duty]
    zone: ZoneInfo

    @property
    def service(self) -> Service:
        """How the service itself is set."""
        return self.session.settings.service

    def by_store(self) -> dict[str, list[Duty]]:
        """The jobs, by the URL of the store that they work on."""
        found: dict[str, list[Duty]] = {}
        for duty in self.duties.values():
            found.setdefault(self.session.store or duty.store or self.session.url, []).append(duty)
        return found

    def agenda(self, now: int) -> str:
        """Which jobs are due when, the next first."""
        coming = sorted((next_due(duty, now), duty.name) for duty in self.duties.values())
        return ", ".join(f"{name} {when(at, self.duties[name].zone)}" for at, name in coming)


def orders_of(session: "Session") -> Orders:
    """The orders of settings. BadInput where they have nothing to do."""
    zone = ZoneInfo(session.settings.time_zone) if session.settings.time_zone else local_zone()
    on = duties(session.settings, zone)
    if not on:
        raise BadInput("no job is on; turn one on in the settings, e.g. jobs: {consolidate: {enabled: true}}")
    return Orders(session, on, zone)


def insist_on_stores(orders: Orders) -> None:
    """
    Nothing, where every store is there, or on a server that may come up.

    StoreUnusable where one is not there, or is none, or needs a migration: that is for a person to mend.
    """
    for url in orders.by_store():
        try:
            open_store(url, mode="read").close()
        except StoreUnreachable:
            if is_file(parse_url(url)):
                raise


def next_due(duty: Duty, now: int) -> int:
    """When a job is due after now."""
    return next(due_after(duty.cron, duty.zone, now)).at
