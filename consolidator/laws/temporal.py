"""Temporal shift: whether what a memory is about lies in the future, is present, or past."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from dateutil.rrule import rrule, rrulestr

from consolidator.instants import NIGHT, format_instant, from_datetime, is_date, parse_date, parse_instant, to_datetime
from consolidator.laws.fading import PROTECTED_AFTER_ANCHOR

ENDLESS = 2**62
_SLACK = timedelta(days=2)  # no offset between local and universal time, nor a change of one, is longer
_MOST_OCCURRENCES = 100_000
_FINER = re.compile(r"FREQ=(HOURLY|MINUTELY|SECONDLY)|BY(HOUR|MINUTE|SECOND)=", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Temporal:
    """
    The state at a moment, the anchor and end of the current occurrence, and what follows from them.

    shifts_at: when the state is next wrong; None: never. protected_until: 7 nights after the end of the anchor
    (of the last occurrence; ENDLESS where there is none); None without an anchor.
    """

    state: str
    anchor: str | None
    end: str | None
    shifts_at: int | None
    protected_until: int | None


def temporal(
    state: str,
    anchor: str | None,
    end: str | None,
    recurrence: str | None,
    recurrence_start: str | None,
    *,
    zone: str,
    now: int,
) -> Temporal:
    """
    The temporal state at `now`, however long ago it was last asked.

    Present from the anchor until its end (`end`, of which a date is inclusive; else 24 h after an instant, the
    start of the next local day for a date), then past. Of a recurrence the current occurrence is the last that
    has begun and not ended, else the next, else the last; an occurrence's end keeps its distance. Without an
    anchor the given state stays. Texts as stored: dates, or instants in UTC; zone: IANA name.
    """
    if anchor is None:
        return Temporal(state, None, None, None, None)
    local = ZoneInfo(zone)
    if recurrence is None:
        begins, ends = _bounds(anchor, end, local)
        return _judge(anchor, end, begins, ends, ends + PROTECTED_AFTER_ANCHOR, now=now)
    series = _Series(anchor, end, recurrence, recurrence_start or anchor, local)
    current, following = series.around(now)
    chosen = current or following or (anchor, end)
    begins, ends = _bounds(*chosen, local)
    if ends <= now and following:
        chosen = following
        begins, ends = _bounds(*chosen, local)
    return _judge(*chosen, begins, ends, series.protected_until(), now=now)


def validate_recurrence(text: str) -> None:
    """ValueError where a recurrence is unreadable or finer than daily."""
    if _FINER.search(text):
        raise ValueError("a recurrence is daily or coarser, without BYHOUR, BYMINUTE or BYSECOND")
    if not re.fullmatch(r"(RRULE:)?[A-Z]+=[^=;\s]+(;[A-Z]+=[^=;\s]+)*", text.strip(), re.IGNORECASE):
        raise ValueError(f"{text!r} is not an RRULE (write e.g. FREQ=WEEKLY;BYDAY=TU)")
    try:
        _rule(text, datetime.combine(date(2000, 1, 1), time()), ZoneInfo("UTC"))
    except (ValueError, TypeError, AttributeError, IndexError) as error:
        raise ValueError(f"{text!r} is not an RRULE: {error}") from None


def starts(text: str, zone: ZoneInfo) -> int:
    """When a date (its first instant there) or an instant begins."""
    if not is_date(text):
        return parse_instant(text)
    return from_datetime(datetime.combine(parse_date(text), time(), zone).astimezone(UTC))


def _bounds(anchor: str, end: str | None, zone: ZoneInfo) -> tuple[int, int]:
    begins = starts(anchor, zone)
    if end is None:
        return begins, starts(_shift(anchor, 1), zone) if is_date(anchor) else begins + NIGHT
    return begins, starts(_shift(end, 1), zone) if is_date(end) else parse_instant(end)


def _shift(day: str, days: int) -> str:
    moved = min(parse_date(day).toordinal() + days, date.max.toordinal())
    return date.fromordinal(moved).isoformat()


def _judge(anchor: str, end: str | None, begins: int, ends: int, protected_until: int, *, now: int) -> Temporal:
    if now < begins:
        return Temporal("future", anchor, end, begins, protected_until)
    if now < ends:
        return Temporal("present", anchor, end, ends, protected_until)
    return Temporal("past", anchor, end, None, protected_until)


@dataclass(frozen=True)
class _Series:
    anchor: str
    end: str | None
    recurrence: str
    start: str
    zone: ZoneInfo

    def occurrences(self) -> Iterator[datetime]:
        """Local wall-clock times, naive, in order."""
        first = parse_date(self.start) if is_date(self.start) else None
        begins = (
            datetime.combine(first, time())
            if first
            else to_datetime(parse_instant(self.start)).astimezone(self.zone).replace(tzinfo=None)
        )
        return iter(_rule(self.recurrence, begins, self.zone))

    def around(self, now: int) -> tuple[tuple[str, str | None] | None, tuple[str, str | None] | None]:
        """The last occurrence that has begun at `now` and the first that has not, as (anchor, end)."""
        local_now = to_datetime(now).astimezone(self.zone).replace(tzinfo=None)
        begun: datetime | None = None
        for occurrence in self.occurrences():
            far_ago = occurrence < local_now - _SLACK
            if not far_ago and starts(self._text(occurrence), self.zone) > now:
                return (self._instance(begun) if begun else None), self._instance(occurrence)
            begun = occurrence
        return (self._instance(begun) if begun else None), None

    def protected_until(self) -> int:
        """7 nights after the end of the last occurrence; ENDLESS without one."""
        if not re.search(r"(COUNT|UNTIL)=", self.recurrence, re.IGNORECASE):
            return ENDLESS
        last = None
        for number, occurrence in enumerate(self.occurrences()):
            if number == _MOST_OCCURRENCES:
                return ENDLESS
            last = occurrence
        return _bounds(*(self._instance(last) if last else (self.anchor, self.end)), self.zone)[1] + (
            PROTECTED_AFTER_ANCHOR
        )

    def _text(self, occurrence: datetime) -> str:
        if is_date(self.anchor):
            return occurrence.date().isoformat()
        return format_instant(from_datetime(occurrence.replace(tzinfo=self.zone).astimezone(UTC)))

    def _instance(self, occurrence: datetime) -> tuple[str, str | None]:
        text = self._text(occurrence)
        if self.end is None:
            return text, None
        if is_date(self.end):
            return text, _shift(text, parse_date(self.end).toordinal() - parse_date(self.anchor).toordinal())
        return text, format_instant(parse_instant(text) + parse_instant(self.end) - parse_instant(self.anchor))


def _rule(text: str, begins: datetime, zone: ZoneInfo) -> rrule:
    body = text.strip()
    until = re.search(r"UNTIL=(\d{8})(T\d{6}(Z?))?", body, re.IGNORECASE)
    if until:
        day, clock, universal = until.groups()
        moment = datetime.fromisoformat(day + (clock or "T235959")[:7])
        if universal:
            moment = moment.replace(tzinfo=UTC).astimezone(zone).replace(tzinfo=None)
        body = body.replace(until.group(0), f"UNTIL={moment:%Y%m%dT%H%M%S}")
    rule = rrulestr(body, dtstart=begins)
    assert isinstance(rule, rrule)
    return rule
