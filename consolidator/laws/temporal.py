"""Temporal shift: whether what a memory is about lies in the future, is present, or past."""

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from consolidator.instants import NIGHT, format_instant, from_datetime, is_date, parse_date, parse_instant, to_datetime
from consolidator.laws.fading import PROTECTED_AFTER_ANCHOR
from consolidator.laws.recurrence import CENTURY, LATELY, is_endless, last, occurrences

ENDLESS = 2**62
_EARLIEST = datetime.combine(date(2, 1, 1), time())  # no anchor is earlier
_SLACK = timedelta(days=2)  # no offset between local and universal time, nor a change of one, is longer
_LATEST = from_datetime(datetime.max.replace(tzinfo=UTC))


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
    begun, following = series.around(now)
    chosen = begun or following or (anchor, end)
    begins, ends = _bounds(*chosen, local)
    if ends <= now and following:
        chosen = following
        begins, ends = _bounds(*chosen, local)
    found = _judge(*chosen, begins, ends, series.protected_until(now, known=bool(begun or following)), now=now)
    if found.state == "present" and following:  # it may begin before this one ends
        return replace(found, shifts_at=min(ends, starts(following[0], local)))
    return found


def starts(text: str, zone: ZoneInfo) -> int:
    """When a date (its first instant there) or an instant begins."""
    if not is_date(text):
        return parse_instant(text)
    return _universal(datetime.combine(parse_date(text), time()), zone)


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

    def around(self, now: int) -> tuple[tuple[str, str | None] | None, tuple[str, str | None] | None]:
        """The last occurrence that has begun at `now` and the first that has not, as (anchor, end)."""
        local_now = max(_local(now, self.zone), _EARLIEST)
        begun, following = self._around(now, local_now, LATELY)
        if not begun and self._begins < local_now - LATELY:
            begun, following = self._around(now, local_now, CENTURY)
        return (self._instance(begun) if begun else None), (self._instance(following) if following else None)

    def _around(self, now: int, local_now: datetime, back: timedelta) -> tuple[datetime | None, datetime | None]:
        begun: datetime | None = None
        for occurrence in occurrences(self.recurrence, self._begins, zone=self.zone, now=local_now, back=back):
            far_ago = occurrence < local_now - _SLACK
            if not far_ago and starts(self._text(occurrence), self.zone) > now:
                return begun, occurrence
            begun = occurrence
        return begun, None

    def protected_until(self, now: int, *, known: bool) -> int:
        """7 nights after the end of the last occurrence; ENDLESS without one. known: it occurs at all."""
        if known and is_endless(self.recurrence, zone=self.zone, now=_local(now, self.zone)):
            return ENDLESS
        ending = last(self.recurrence, self._begins, zone=self.zone) if known else None
        final = self._instance(ending) if ending else (self.anchor, self.end)
        return _bounds(*final, self.zone)[1] + PROTECTED_AFTER_ANCHOR

    @property
    def _begins(self) -> datetime:
        if is_date(self.start):
            return datetime.combine(parse_date(self.start), time())
        return _local(parse_instant(self.start), self.zone)

    def _text(self, occurrence: datetime) -> str:
        if is_date(self.anchor):
            return occurrence.date().isoformat()
        if occurrence == self._begins and not is_date(self.start):
            return self.start  # of an hour that a clock shows twice, the one meant
        return format_instant(_universal(occurrence, self.zone))

    def _instance(self, occurrence: datetime) -> tuple[str, str | None]:
        text = self._text(occurrence)
        if self.end is None:
            return text, None
        if is_date(self.end):
            return text, _shift(text, parse_date(self.end).toordinal() - parse_date(self.anchor).toordinal())
        ends = parse_instant(text) + parse_instant(self.end) - parse_instant(self.anchor)
        return text, format_instant(min(ends, _LATEST))


def _universal(wall: datetime, zone: ZoneInfo) -> int:
    """
    The instant at which clocks in `zone` show `wall`: the first of two, and of none the one it would have been.

    For the midnight of a day that begins later, that is the day's first instant.
    """
    offset = wall.replace(tzinfo=zone).utcoffset() or timedelta()
    return from_datetime(wall.replace(tzinfo=UTC)) - offset // timedelta(microseconds=1)


def _local(instant: int, zone: ZoneInfo) -> datetime:
    try:
        return to_datetime(instant).astimezone(zone).replace(tzinfo=None)
    except OverflowError:
        return datetime.combine(date.max if instant > 0 else date.min, time())
