"""Instants: whole microseconds since 1970-01-01 UTC inside, RFC 3339 text with an offset outside."""

import re
from datetime import UTC, date, datetime, timedelta, tzinfo

MICROSECOND = 1
SECOND = 1_000_000
NIGHT = 86_400 * SECOND

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_INSTANT = re.compile(r"(\d{4}-\d{2}-\d{2})[Tt ](\d{2}:\d{2}:\d{2})(?:\.(\d{1,9}))?([Zz]|[+-]\d{2}:\d{2})", re.ASCII)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


def parse_instant(text: str) -> int:
    """Microseconds since 1970 of an RFC 3339 instant; finer digits are cut. ValueError says what is wrong."""
    match = _INSTANT.fullmatch(text)
    if not match:
        if _DATE.fullmatch(text):
            raise ValueError(f"{text!r} is a date, not an instant (write e.g. 2026-05-30T03:30:00Z)")
        if re.fullmatch(r"\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?", text, re.ASCII):
            raise ValueError(f"{text!r} has no offset (write Z or e.g. +02:00)")
        raise ValueError(f"{text!r} is not a time (write e.g. 2026-05-30T03:30:00Z)")
    day, clock, fraction, offset = match.groups()
    offset = "+00:00" if offset in "Zz" else offset
    try:
        moment = datetime.fromisoformat(f"{day}T{clock}{offset}").astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError(f"{text!r} is not a possible time") from None
    return from_datetime(moment) + int((fraction or "0").ljust(6, "0")[:6])


def from_datetime(moment: datetime) -> int:
    """Microseconds since 1970 of an aware datetime."""
    return (moment - _EPOCH) // timedelta(microseconds=1)


def to_datetime(instant: int) -> datetime:
    """The aware UTC datetime of an instant."""
    return _EPOCH + timedelta(microseconds=instant)


def format_instant(instant: int) -> str:
    """RFC 3339 in UTC with Z; milliseconds, or microseconds where there are any."""
    moment = to_datetime(instant)
    precision = "milliseconds" if instant % 1000 == 0 else "microseconds"
    return moment.replace(tzinfo=None).isoformat(timespec=precision) + "Z"


def when(instant: int, zone: tzinfo, form: str = "%Y-%m-%d %H:%M %Z") -> str:
    """A time as it is there, e.g. 2026-12-01 03:30 EET."""
    return to_datetime(instant).astimezone(zone).strftime(form)


def is_date(text: str) -> bool:
    """Whether a temporal text is a calendar date rather than an instant."""
    return _DATE.fullmatch(text) is not None


def parse_date(text: str) -> date:
    """A calendar date. ValueError says what is wrong."""
    if not is_date(text):
        raise ValueError(f"{text!r} is not a date (write e.g. 2026-05-30)")
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a possible date") from None


def canonical_temporal(text: str) -> str:
    """A temporal text as it is stored: a date stays a date, an instant becomes UTC with Z."""
    if is_date(text):
        return parse_date(text).isoformat()
    return format_instant(parse_instant(text))
