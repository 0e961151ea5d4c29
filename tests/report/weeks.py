"""Weeks to tell of: a busy one after others, a quiet one, and one in which nights were missed."""

from dataclasses import replace

from consolidator.instants import NIGHT
from consolidator.report.digest import Attendance, Digest, digest
from consolidator.report.report import Report
from tests.report.nights import ADA, AS_OF, EMPTY, busy, failed, quiet

SCOPES = (ADA.scope, EMPTY.scope)
UNTIL = AS_OF + NIGHT // 4


def at(report: Report, nights_before: int) -> Report:
    """The report of an earlier night."""
    return replace(report, as_of=AS_OF - nights_before * NIGHT)


def week(*reports: Report, missed: tuple[str, ...] = (), nights: int = 7) -> Digest:
    """The digest of reports up to a morning."""
    attendance = {SCOPES[0]: Attendance(nights - len(missed), missed), SCOPES[1]: Attendance(nights)}
    return digest(reports, nights=nights, until=UNTIL, attendance=attendance, scopes=SCOPES)


def busy_week() -> Digest:
    """Two nights with work among quiet ones, and less of it in the weeks before."""
    return week(*(at(busy(), back) for back in (1, 4, 9, 16, 30)), *(at(quiet(), back) for back in (0, 2, 3, 5, 6)))


def quiet_week() -> Digest:
    """Nothing was due."""
    return week(*(at(quiet(), back) for back in range(7)))


def missed_week() -> Digest:
    """One night failed, and two were never done."""
    return week(at(busy(), 0), at(failed(), 3), missed=("2026-05-25", "2026-05-26"))


WEEKS = {"busy": busy_week, "quiet": quiet_week, "missed": missed_week}
