"""Temporal shift: what is future, present or past, in the days of the place where it counts."""

import sys
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from dateutil.rrule import rrulestr
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from consolidator.instants import NIGHT, SECOND, format_instant, from_datetime, is_date, parse_instant, to_datetime
from consolidator.laws.recurrence import validate_recurrence
from consolidator.laws.temporal import ENDLESS, Temporal, starts, temporal

HOUR = 3600 * SECOND
MOST_CALLS = 1_000_000
ZONES = ["UTC", "Europe/Helsinki", "America/New_York", "America/Sao_Paulo", "Australia/Lord_Howe", "Pacific/Apia"]
Anchored = tuple[str, str | None]


def instant(text: str) -> int:
    return parse_instant(text)


def calls_of(rule: str, anchor: str, zone: str = "Europe/Helsinki") -> tuple[Temporal, int]:
    """What a recurrence comes to on 1 June 2026, and how many functions that took."""
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        found = temporal("none", anchor, None, rule, anchor, zone=zone, now=instant("2026-06-01T00:00:00Z"))
    finally:
        sys.setprofile(before)
    return found, calls


def asked(anchor: str | None, now: int, zone: str = "UTC", *, end: str | None = None, rule: str | None = None) -> str:
    """The state alone."""
    return temporal("none", anchor, end, rule, anchor if rule else None, zone=zone, now=now).state


def first_instant_of(day: date, zone: str) -> int:
    """Searched for: the first second at which calendars in a zone show `day` or a later one."""
    low, high = (from_datetime(datetime.combine(day, time(), UTC)) // SECOND + hours * 3600 for hours in (-30, 30))
    while low < high:
        middle = (low + high) // 2
        shows = to_datetime(middle * SECOND).astimezone(ZoneInfo(zone)).date()
        low, high = (low, middle) if shows >= day else (middle + 1, high)
    return low * SECOND


zones = st.sampled_from(ZONES)
days = st.dates(date(1950, 1, 1), date(2037, 12, 1))
instants = st.integers(
    from_datetime(datetime(1950, 1, 1, tzinfo=UTC)), from_datetime(datetime(2037, 12, 1, tzinfo=UTC))
)


@given(state=st.sampled_from(["none", "future", "present", "past"]), now=instants, zone=zones)
def test_without_an_anchor_the_given_state_stays(state: str, now: int, zone: str) -> None:
    """Without an anchor the given state stays, never shifts and protects from nothing."""
    assert temporal(state, None, None, None, None, zone=zone, now=now) == Temporal(state, None, None, None, None)


@given(anchor=instants, zone=zones, state=st.sampled_from(["none", "future", "present", "past"]))
def test_an_instant_is_present_for_24_hours(anchor: int, zone: str, state: str) -> None:
    """An instant is present from itself for 24 hours, whatever clocks do meanwhile, and protects 7 nights more."""
    text = format_instant(anchor)

    def at(now: int) -> Temporal:
        return temporal(state, text, None, None, None, zone=zone, now=now)

    protected = anchor + 8 * NIGHT
    assert at(anchor - 1) == Temporal("future", text, None, anchor, protected)
    assert at(anchor) == at(anchor + NIGHT - 1) == Temporal("present", text, None, anchor + NIGHT, protected)
    assert at(anchor + NIGHT) == Temporal("past", text, None, None, protected)


@given(day=days, zone=zones)
@example(day=date(2018, 11, 4), zone="America/Sao_Paulo")
@example(day=date(2018, 2, 18), zone="America/Sao_Paulo")
@example(day=date(1985, 11, 2), zone="America/Sao_Paulo")
@example(day=date(2011, 12, 29), zone="Pacific/Apia")
@example(day=date(2011, 12, 30), zone="Pacific/Apia")
@example(day=date(2026, 3, 29), zone="Europe/Helsinki")
@example(day=date(2026, 11, 1), zone="America/New_York")
@example(day=date(2026, 10, 4), zone="Australia/Lord_Howe")
def test_a_date_is_present_for_its_local_day(day: date, zone: str) -> None:
    """A date is present from the first instant of its local day up to the first of the next."""
    begins, ends = first_instant_of(day, zone), first_instant_of(day + timedelta(1), zone)
    text = day.isoformat()
    assert asked(text, begins - 1, zone) == "future"
    assert asked(text, ends, zone) == "past"
    if begins < ends:  # but where the day was left out
        assert asked(text, begins, zone) == asked(text, ends - 1, zone) == "present"


@given(day=days, length=st.integers(0, 40), zone=zones)
def test_the_end_of_dates_is_inclusive(day: date, length: int, zone: str) -> None:
    """A date at the end is inclusive; its memory is protected until 7 nights after that day."""
    last = day + timedelta(length)
    ends = first_instant_of(last + timedelta(1), zone)
    found = temporal("none", day.isoformat(), last.isoformat(), None, None, zone=zone, now=ends)
    assert (found.state, found.protected_until) == ("past", ends + 7 * NIGHT)
    assume(first_instant_of(last, zone) < ends)
    assert asked(day.isoformat(), ends - 1, zone, end=last.isoformat()) == "present"


@given(anchor=instants, length=st.integers(0, 400 * NIGHT), zone=zones)
def test_the_end_of_an_instant_is_exclusive(anchor: int, length: int, zone: str) -> None:
    """An instant with an end is present up to it, not at it."""
    ends, text = anchor + length, format_instant(anchor)
    assert asked(text, ends, zone, end=format_instant(ends)) == "past"
    if length:
        assert asked(text, ends - 1, zone, end=format_instant(ends)) == "present"


@pytest.mark.parametrize(
    ("zone", "day", "begins", "hours"),
    [
        ("UTC", "2026-03-29", "2026-03-29T00:00:00Z", 24),
        ("Europe/Helsinki", "2026-03-29", "2026-03-28T22:00:00Z", 23),
        ("Europe/Helsinki", "2026-10-25", "2026-10-24T21:00:00Z", 25),
        ("America/New_York", "2026-03-08", "2026-03-08T05:00:00Z", 23),
        ("America/New_York", "2026-11-01", "2026-11-01T04:00:00Z", 25),
        ("America/Sao_Paulo", "2018-11-04", "2018-11-04T03:00:00Z", 23),  # it began at 01:00
        ("America/Sao_Paulo", "2018-02-17", "2018-02-17T02:00:00Z", 25),  # its last hour came twice
        ("Australia/Lord_Howe", "2026-10-04", "2026-10-03T13:30:00Z", 23.5),
        ("Pacific/Apia", "2011-12-29", "2011-12-29T10:00:00Z", 24),
        ("Pacific/Apia", "2011-12-30", "2011-12-30T10:00:00Z", 0),  # the day that was not
        ("Pacific/Apia", "2011-12-31", "2011-12-30T10:00:00Z", 24),
    ],
)
def test_days_are_as_long_as_they_were(zone: str, day: str, begins: str, hours: float) -> None:
    """A local day lasts 23, 24 or 25 hours, begins when its midnight does not exist, and may not have been."""
    found = temporal("none", day, None, None, None, zone=zone, now=instant(begins) - 1)
    assert (found.state, found.shifts_at) == ("future", instant(begins))
    now = temporal("future", day, None, None, None, zone=zone, now=instant(begins))
    assert now.shifts_at == (instant(begins) + hours * HOUR if hours else None)


def walk(rule: str, anchor: str, zone: str, now: str, many: int, *, end: str | None = None) -> list[Temporal]:
    """What one memory goes through from `now` on, shift by shift, each judged from what the one before it left."""
    found = [temporal("none", anchor, end, rule, anchor, zone=zone, now=instant(now))]
    while len(found) < many and found[-1].shifts_at is not None:
        last = found[-1]
        found.append(temporal(last.state, last.anchor, last.end, rule, anchor, zone=zone, now=last.shifts_at or 0))
    return found


@pytest.mark.parametrize(
    ("rule", "anchor", "zone", "expected"),
    [
        ("FREQ=DAILY;INTERVAL=2", "2026-03-27", "Europe/Helsinki", ["2026-03-27", "2026-03-29", "2026-03-31"]),
        ("FREQ=WEEKLY", "2026-03-24T16:00:00.000Z", "Europe/Helsinki",
         ["2026-03-24T16:00:00.000Z", "2026-03-31T15:00:00.000Z", "2026-04-07T15:00:00.000Z"]),
        ("FREQ=WEEKLY;BYDAY=TU,TH", "2026-03-03", "UTC", ["2026-03-03", "2026-03-05", "2026-03-10"]),
        ("FREQ=MONTHLY", "2026-01-31", "UTC", ["2026-01-31", "2026-03-31", "2026-05-31"]),
        ("FREQ=MONTHLY;BYDAY=-1FR", "2026-01-30", "UTC", ["2026-01-30", "2026-02-27", "2026-03-27"]),
        ("FREQ=YEARLY", "2024-02-29", "UTC", ["2024-02-29", "2028-02-29", "2032-02-29"]),
        ("FREQ=YEARLY", "2026-05-30", "America/Sao_Paulo", ["2026-05-30", "2027-05-30", "2028-05-30"]),
        ("FREQ=DAILY", "2011-12-29", "Pacific/Apia", ["2011-12-29", "2011-12-31", "2012-01-01"]),
        ("FREQ=DAILY", "2026-03-07T07:30:00.000Z", "America/New_York",  # 02:30, which the next day does not have
         ["2026-03-07T07:30:00.000Z", "2026-03-08T07:30:00.000Z", "2026-03-09T06:30:00.000Z"]),
        ("FREQ=DAILY", "2026-11-01T06:30:00.250Z", "America/New_York",  # the second 01:30 of its day
         ["2026-11-01T06:30:00.250Z", "2026-11-02T06:30:00.250Z", "2026-11-03T06:30:00.250Z"]),
    ],
)  # fmt: skip
def test_what_recurs_keeps_its_local_time(rule: str, anchor: str, zone: str, expected: list[str]) -> None:
    """A recurrence is expanded in its zone: the clock on the wall shows the same time in winter and summer."""
    now = format_instant(starts(anchor, ZoneInfo(zone)) - 1)
    seen = walk(rule, anchor, zone, now, 40)
    assert list(dict.fromkeys(one.anchor for one in seen))[:3] == expected
    assert seen[0].protected_until == ENDLESS


@pytest.mark.parametrize(
    ("ending", "last"),
    [
        ("COUNT=3", "2026-03-05T23:00:00.000Z"),
        ("UNTIL=20260305", "2026-03-04T23:00:00.000Z"),  # until the end of that day there
        ("UNTIL=20260306", "2026-03-05T23:00:00.000Z"),
        ("UNTIL=20260306T010000", "2026-03-05T23:00:00.000Z"),  # a time there
        ("UNTIL=20260306T005959", "2026-03-04T23:00:00.000Z"),
        ("UNTIL=20260305T230000Z", "2026-03-05T23:00:00.000Z"),
        ("UNTIL=20260305T225959Z", "2026-03-04T23:00:00.000Z"),
    ],
)
def test_a_recurrence_ends(ending: str, last: str) -> None:
    """COUNT and UNTIL (a date, a local time, a time in UTC, each inclusive) end a recurrence, and its protection."""
    seen = walk(f"FREQ=DAILY;{ending}", "2026-03-03T23:00:00.000Z", "Europe/Helsinki", "2026-01-01T00:00:00Z", 99)
    ended = instant(last) + NIGHT
    assert (seen[-1].state, seen[-1].anchor, seen[-1].shifts_at) == ("past", last, None)
    assert {one.protected_until for one in seen} == {ended + 7 * NIGHT}


def test_count_counts_from_the_start_that_is_kept() -> None:
    """COUNT ends although the anchor moves on: it counts from recurrence_start."""
    rule = "FREQ=WEEKLY;COUNT=3"
    now = instant("2026-03-25T00:00:00Z")
    moved = temporal("present", "2026-03-10", None, rule, "2026-03-03", zone="UTC", now=now)
    assert (moved.state, moved.anchor) == ("past", "2026-03-17")
    assert moved == temporal("future", "2026-03-03", None, rule, "2026-03-03", zone="UTC", now=now)


def test_an_end_keeps_its_distance() -> None:
    """The end of an occurrence keeps its distance: days between dates, a duration between instants."""
    camp = walk("FREQ=YEARLY", "2026-12-30", "Europe/Helsinki", "2026-01-01T00:00:00Z", 4, end="2027-01-02")
    assert [(one.state, one.anchor, one.end) for one in camp] == [
        ("future", "2026-12-30", "2027-01-02"),
        ("present", "2026-12-30", "2027-01-02"),
        ("future", "2027-12-30", "2028-01-02"),
        ("present", "2027-12-30", "2028-01-02"),
    ]
    shift = walk(
        "FREQ=WEEKLY", "2026-03-21T22:00:00.000Z", "Europe/Helsinki", "2026-03-20T00:00:00Z", 4,
        end="2026-03-22T06:00:00.000Z",
    )  # fmt: skip
    assert [(one.state, one.anchor, one.end) for one in shift[2:]] == [
        ("future", "2026-03-28T22:00:00.000Z", "2026-03-29T06:00:00.000Z"),
        ("present", "2026-03-28T22:00:00.000Z", "2026-03-29T06:00:00.000Z"),
    ]


def test_of_overlapping_occurrences_the_last_begun_is_current() -> None:
    """Where an occurrence begins before the one before it has ended, it takes over, and the shift says so."""
    seen = walk("FREQ=WEEKLY;COUNT=2", "2026-03-03", "UTC", "2026-03-01T00:00:00Z", 9, end="2026-03-12")
    assert [(one.state, one.anchor, one.shifts_at) for one in seen] == [
        ("future", "2026-03-03", instant("2026-03-03T00:00:00Z")),
        ("present", "2026-03-03", instant("2026-03-10T00:00:00Z")),
        ("present", "2026-03-10", instant("2026-03-20T00:00:00Z")),
        ("past", "2026-03-10", None),
    ]


RULES = st.builds(
    lambda freq, interval, more, ending: ";".join(filter(None, [f"FREQ={freq}", interval, more, ending])),
    st.sampled_from(["DAILY", "WEEKLY", "MONTHLY", "YEARLY"]),
    st.sampled_from(["", "INTERVAL=1", "INTERVAL=2", "INTERVAL=3", "INTERVAL=5"]),
    st.sampled_from(["", "", "BYDAY=MO,WE", "BYMONTHDAY=31", "BYMONTHDAY=-1,15", "BYMONTH=2,7", "BYDAY=SA;WKST=SU"]),
    st.sampled_from(["", "", "COUNT=1", "COUNT=4", "COUNT=30", "UNTIL=20270301", "UNTIL=20261025T003000Z"]),
)
STARTS = st.integers(instant("2025-01-01T00:00:00Z") // HOUR, instant("2027-01-01T00:00:00Z") // HOUR)


@st.composite
def recurring(draw: st.DrawFn) -> tuple[str, str, str | None, str]:
    """(zone, anchor, end, rule), the anchor often not an occurrence."""
    begins = draw(STARTS) * HOUR
    length = draw(st.sampled_from([None, 0, 1, 3, 9, 40]))
    zone, rule = draw(zones), draw(RULES)
    if draw(st.booleans()):
        day = to_datetime(begins).date()
        return zone, day.isoformat(), None if length is None else (day + timedelta(length)).isoformat(), rule
    return zone, format_instant(begins), None if length is None else format_instant(begins + length * NIGHT // 3), rule


def read_slowly(zone: str, anchor: str, end: str | None, rule: str, now: int) -> tuple[str, str, str | None]:
    """Every occurrence looked at, one by one: the last that has begun and not ended, else the next, else the last."""
    local = ZoneInfo(zone)
    begins = (
        datetime.fromisoformat(anchor)
        if is_date(anchor)
        else to_datetime(parse_instant(anchor)).astimezone(local).replace(tzinfo=None)
    )
    head, _, until = rule.partition("UNTIL=")
    if until.endswith("Z"):
        moment = datetime.fromisoformat(until).astimezone(local)
        until = f"{moment:%Y%m%dT%H%M%S}"
    elif until:
        until += "T235959"
    spans: list[tuple[int, int, str, str | None]] = []
    for wall in rrulestr(head + (f"UNTIL={until}" if until else ""), dtstart=begins):
        if wall.year > 2034:
            break
        span: Anchored
        if is_date(anchor):
            length = (date.fromisoformat(end) - date.fromisoformat(anchor)).days if end else 0
            last = wall.date() + timedelta(length)
            ends, span = first_instant_of(last + timedelta(1), zone), (wall.date().isoformat(), last.isoformat())
            starts_at = first_instant_of(wall.date(), zone)
        else:
            starts_at = from_datetime(wall.replace(tzinfo=local).astimezone(UTC))
            ends = starts_at + (parse_instant(end) - parse_instant(anchor) if end else NIGHT)
            span = (format_instant(starts_at), format_instant(ends))
        spans.append((starts_at, ends, span[0], span[1] if end else None))
    if not spans:
        return asked(anchor, now, zone, end=end), anchor, end
    for state, found in (
        ("present", [one for one in reversed(spans) if one[0] <= now < one[1]]),
        ("future", [one for one in spans if one[0] > now]),
        ("past", spans[-1:]),
    ):
        if found:
            return state, found[0][2], found[0][3]
    raise AssertionError


@settings(max_examples=120)
@given(what=recurring(), now=st.integers(instant("2024-12-01T00:00:00Z"), instant("2028-01-01T00:00:00Z")))
def test_a_recurrence_is_what_a_slow_reading_says(what: tuple[str, str, str | None, str], now: int) -> None:
    """Current is the last occurrence that has begun and not ended, else the next, else the last."""
    zone, anchor, end, rule = what
    found = temporal("none", anchor, end, rule, anchor, zone=zone, now=now)
    assert (found.state, found.anchor, found.end) == read_slowly(zone, anchor, end, rule, now)


@settings(max_examples=80)
@given(
    what=recurring(),
    now=st.integers(instant("2024-12-01T00:00:00Z"), instant("2028-01-01T00:00:00Z")),
    part=st.floats(0, 1, exclude_max=True),
)
def test_shifts_at_is_when_the_state_is_next_wrong(
    what: tuple[str, str, str | None, str], now: int, part: float
) -> None:
    """State, anchor and end stay as they are up to shifts_at, and are others at it; never: as they are for years."""
    zone, anchor, end, rule = what

    def at(moment: int) -> tuple[str, str | None, str | None]:
        found = temporal("none", anchor, end, rule, anchor, zone=zone, now=moment)
        return found.state, found.anchor, found.end

    found = temporal("none", anchor, end, rule, anchor, zone=zone, now=now)
    until = found.shifts_at if found.shifts_at is not None else now + 3000 * NIGHT
    assert until > now
    assert at(now) == at(now + int((until - now) * part)) == at(until - 1)
    if found.shifts_at is not None:
        assert at(until) != at(now)


@settings(max_examples=80)
@given(
    what=recurring(),
    nights=st.lists(st.integers(instant("2024-12-01T00:00:00Z"), instant("2028-01-01T00:00:00Z")), min_size=1),
)
def test_missed_nights_change_nothing(what: tuple[str, str, str | None, str], nights: list[int]) -> None:
    """What a memory is at a moment does not depend on when it was asked before, nor on the state it then had."""
    zone, anchor, end, rule = what
    asked_now = temporal("none", anchor, end, rule, anchor, zone=zone, now=max(nights))
    row = Temporal("none", anchor, end, None, None)
    for night in sorted(nights):
        row = temporal(row.state, row.anchor, row.end, rule, anchor, zone=zone, now=night)
    assert row == asked_now


@settings(max_examples=40)
@given(what=recurring(), now=st.integers(instant("2024-12-01T00:00:00Z"), instant("2028-01-01T00:00:00Z")))
def test_protection_outlasts_the_last_occurrence_by_7_nights(what: tuple[str, str, str | None, str], now: int) -> None:
    """A memory is protected until 7 nights after the end of the last occurrence; an endless one for ever."""
    zone, anchor, end, rule = what
    found = temporal("none", anchor, end, rule, anchor, zone=zone, now=now)
    if "COUNT" not in rule and "UNTIL" not in rule:
        assert found.protected_until == ENDLESS
        return
    row, moment = found, now
    while row.shifts_at is not None:
        moment = row.shifts_at
        row = temporal(row.state, row.anchor, row.end, rule, anchor, zone=zone, now=moment)
    ends = temporal("none", row.anchor, row.end, None, None, zone=zone, now=moment).protected_until
    assert row.state == "past"
    assert found.protected_until == ends


REFUSED = [
    "", "RRULE:", "FREQ", "FREQ=", "COUNT=3", "FREQ=FORTNIGHTLY", "FREQ=DAILY;", ";FREQ=DAILY", "FREQ=DAILY;;COUNT=2",
    "FREQ=HOURLY", "FREQ=MINUTELY", "freq=secondly", "FREQ=DAILY;BYHOUR=3", "FREQ=DAILY;BYMINUTE=1",
    "FREQ=DAILY;BYSECOND=1", "FREQ=DAILY;INTERVAL=0", "FREQ=DAILY;INTERVAL=-1", "FREQ=DAILY;INTERVAL=1.5",
    "FREQ=YEARLY;INTERVAL=99999999999999999999", "FREQ=DAILY;COUNT=0", "FREQ=DAILY;COUNT=-3", "FREQ=DAILY;COUNT=٣",
    "FREQ=DAILY;COUNT=3;COUNT=5", "FREQ=DAILY;FREQ=YEARLY", "FREQ=DAILY;COUNT=3;UNTIL=20270101",
    "FREQ=DAILY;UNTIL=20260231", "FREQ=DAILY;UNTIL=tomorrow", "FREQ=DAILY;UNTIL=2026-03-01",
    "FREQ=DAILY;UNTIL=00000101", "FREQ=DAILY;UNTIL=20260301T250000Z", "FREQ=YEARLY;BYMONTH=13",
    "FREQ=YEARLY;BYMONTH=0", "FREQ=MONTHLY;BYMONTHDAY=32", "FREQ=MONTHLY;BYMONTHDAY=0", "FREQ=YEARLY;BYYEARDAY=400",
    "FREQ=YEARLY;BYWEEKNO=60", "FREQ=MONTHLY;BYDAY=60MO", "FREQ=MONTHLY;BYDAY=6MO", "FREQ=MONTHLY;BYDAY=0MO",
    "FREQ=YEARLY;BYMONTH=12;BYDAY=53MO", "FREQ=WEEKLY;BYDAY=XX", "FREQ=WEEKLY;BYDAY=", "FREQ=DAILY;BYSETPOS=0",
    "FREQ=DAILY;WKST=XX", "FREQ=YEARLY;BYEASTER=1", "FREQ=DAILY;DTSTART=20260101", "FREQ=DAILY\nCOUNT=3",
    "RRULE:FREQ=DAILY\nRRULE:FREQ=WEEKLY", "FREQ=DAILY COUNT=3", "every day", "🍂",
]  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_an_impossible_recurrence_is_refused(text: str) -> None:
    """A recurrence that is unreadable, out of bounds, or finer than daily is refused, by name."""
    with pytest.raises(ValueError, match=r"recurrence|RRULE"):
        validate_recurrence(text)


HOSTILE = [
    "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=31", "FREQ=MONTHLY;BYMONTH=2;BYMONTHDAY=31", "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=31",
    "FREQ=WEEKLY;BYMONTH=2;BYMONTHDAY=31", "FREQ=DAILY;BYSETPOS=2;BYDAY=MO", "FREQ=DAILY;INTERVAL=7;BYDAY=MO",
    "FREQ=DAILY;COUNT=100000000", "FREQ=DAILY;COUNT=40000", "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=29;COUNT=2000",
    "FREQ=DAILY;UNTIL=19000101", "FREQ=DAILY;UNTIL=00010101T000000Z", "FREQ=DAILY;UNTIL=99991231T235959Z",
    "FREQ=DAILY;UNTIL=99991231", "FREQ=DAILY;INTERVAL=999999999", "FREQ=YEARLY;INTERVAL=999999999",
    "FREQ=YEARLY;BYDAY=53MO", "FREQ=YEARLY;BYDAY=-53MO", "FREQ=YEARLY;BYYEARDAY=366,-366", "FREQ=YEARLY;BYWEEKNO=53",
    "FREQ=YEARLY;BYWEEKNO=53;BYDAY=MO;BYMONTH=6", "FREQ=MONTHLY;BYDAY=5MO;BYMONTHDAY=1", "rrule:freq=daily",
]  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "anchor"),
    [
        *((rule, "2026-03-03") for rule in HOSTILE),
        *((rule, "0002-01-01T00:00:00.000Z") for rule in HOSTILE[1:9:2]),
        *((rule, "9998-12-31") for rule in HOSTILE[::4]),
    ],
)
def test_no_recurrence_hangs_or_crashes(rule: str, anchor: str) -> None:
    """A recurrence that never occurs, never ends or began long ago is judged in less than a million calls."""
    validate_recurrence(rule)
    found, calls = calls_of(rule, anchor)
    assert calls < MOST_CALLS
    assert found.shifts_at is None or found.shifts_at > instant("2026-06-01T00:00:00Z")


@pytest.mark.parametrize("now", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z"])
@pytest.mark.parametrize("zone", ["Pacific/Apia", "America/New_York"])
@pytest.mark.parametrize("rule", ["FREQ=DAILY", "FREQ=WEEKLY;UNTIL=20260401", "FREQ=YEARLY;COUNT=3", None])
def test_the_ends_of_time_are_no_crash(now: str, zone: str, rule: str | None) -> None:
    """At the first and at the last moment that can be written everything is to come, or has come."""
    found = temporal("none", "2026-03-03", None, rule, "2026-03-03" if rule else None, zone=zone, now=instant(now))
    assert found.state == ("future" if now.startswith("0001") else "past")


@pytest.mark.parametrize("rule", HOSTILE[:5])
def test_what_never_recurs_is_as_its_anchor(rule: str) -> None:
    """A recurrence without an occurrence is judged by its anchor alone, and protected no longer than that."""
    for now in ("2026-03-01T00:00:00Z", "2026-03-03T12:00:00Z", "2026-06-01T00:00:00Z"):
        alone = temporal("none", "2026-03-03", None, None, None, zone="UTC", now=instant(now))
        assert temporal("none", "2026-03-03", None, rule, "2026-03-03", zone="UTC", now=instant(now)) == alone


def test_an_end_beyond_all_years_is_no_crash() -> None:
    """An end that would lie beyond the year 9999 is the last that can be written."""
    ends = temporal(
        "none", "2026-01-01T00:00:00.000Z", "9998-01-01T00:00:00.000Z", "FREQ=YEARLY", "2026-01-01T00:00:00.000Z",
        zone="UTC", now=instant("2066-01-02T00:00:00Z"),
    )  # fmt: skip
    assert (ends.state, ends.end) == ("present", "9999-12-31T23:59:59.999999Z")


@pytest.mark.parametrize(
    "rule",
    ["FREQ=DAILY;INTERVAL=3", "FREQ=WEEKLY;INTERVAL=3;BYDAY=TU,FR;WKST=SU", "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=29"],
)
def test_what_began_long_ago_keeps_its_beat(rule: str) -> None:
    """A recurrence of centuries falls on the days on which one that is counted from its start falls."""
    now = instant("2026-03-10T12:00:00Z")
    begins = datetime.fromisoformat("1803-05-03")
    written = rrulestr(rule, dtstart=begins)
    today = datetime(2026, 3, 10)  # noqa: DTZ001
    found = temporal("none", "1803-05-03", None, rule, "1803-05-03", zone="UTC", now=now)
    assert found.anchor == written.after(today, inc=True).date().isoformat()
    ended = temporal("none", "1803-05-03", None, f"{rule};UNTIL=20260301", "1803-05-03", zone="UTC", now=now)
    assert (ended.state, ended.anchor) == ("past", written.before(datetime(2026, 3, 2)).date().isoformat())  # noqa: DTZ001


@settings(max_examples=60)
@given(
    parts=st.lists(
        st.sampled_from([
            "INTERVAL=1", "INTERVAL=7", "COUNT=5", "UNTIL=20270101", "WKST=TH", "BYMONTH=1,12", "BYMONTHDAY=-31,1",
            "BYYEARDAY=-366,60", "BYWEEKNO=1,53,-53", "BYSETPOS=-1,366", "BYDAY=5SU,-5MO", "BYDAY=FR", "BYDAY=53WE",
        ]),
        max_size=5,
    ),
    freq=st.sampled_from(["YEARLY", "MONTHLY", "WEEKLY", "DAILY"]),
    zone=zones,
)  # fmt: skip
def test_what_is_not_refused_can_be_judged(parts: list[str], freq: str, zone: str) -> None:
    """Every recurrence is refused, or judged in less than a million calls."""
    rule = ";".join([f"FREQ={freq}", *parts])
    try:
        validate_recurrence(rule)
    except ValueError:
        return
    assert calls_of(rule, "2026-03-03", zone)[1] < MOST_CALLS
