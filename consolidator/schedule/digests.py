"""The digest of a store: its runs of the last nights, and which nights were done and which were missed."""

from collections.abc import Mapping
from contextlib import suppress

import sqlalchemy as sa

from consolidator.errors import BadInput
from consolidator.instants import NIGHT, SECOND
from consolidator.report import Report, from_json
from consolidator.report.digest import SPANS, Attendance, Digest, digest
from consolidator.schedule.calendar import due_between
from consolidator.schedule.owed import date_of, day_of, end_of
from consolidator.settings import Settings
from consolidator.settings.duty import Duty
from consolidator.store import watching
from consolidator.store.engine import Store


def digest_of(store: Store, duty: Duty, night: Duty | None, settings: Settings, *, nights: int, now: int) -> Digest:
    """
    The last nights in the scopes of `duty`. night: the job whose nights they are; None: it is off, and none was missed.

    A night is a local date, also where it is due several times on it. None was missed before the ledger knew of one.
    """
    begin = now - nights * NIGHT
    with store.read() as conn:
        there = watching.scopes_since(conn)
        known = watching.first_days(conn)
        done = watching.days_done(conn, watching.NIGHT_JOB, since=begin)
        reports = list(_reports(conn, since=now - (SPANS + 1) * nights * NIGHT))
    scopes = [scope for scope in sorted(there) if duty.scopes is None or scope in duty.scopes]
    due = _due(night, begin, now - settings.watch.grace_minutes * 60 * SECOND) if night else {}
    zone = (night or duty).zone
    attendance = {}
    for scope in scopes:
        days = {date_of(day, zone) for day in done.get(scope, ())}
        first = known.get((watching.NIGHT_JOB, scope))
        missed: set[str] = set()
        if night and first and (night.scopes is None or scope in night.scopes):
            since = end_of(first, zone)
            missed = {date_of(day, zone) for day, at in due.items() if day == first or at > since} - days
        attendance[scope] = Attendance(len(days), tuple(sorted(missed)))
    return digest(reports, nights=nights, until=now, attendance=attendance, scopes=scopes, time_zone=duty.zone.key)


def _due(night: Duty, since: int, until: int) -> Mapping[str, int]:
    """When the night was due, by what the ledger calls its date."""
    return {day_of(night, due, until).name: due.at for due in due_between(night.cron, night.zone, since, until)}


def _reports(conn: sa.Connection, *, since: int) -> list[Report]:
    found = []
    for document in watching.reports_since(conn, since):
        with suppress(BadInput):  # of another version: `consolidate runs` still lists its run
            found.append(from_json(document))
    return found
