"""Numbers and times as others write them."""

import math
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from consolidator.exchange.fields import Unfit, spell
from consolidator.instants import SECOND, format_instant, from_datetime, parse_instant
from consolidator.sources.mapped.mapping import FieldMapping

_OF_A_DAY = ("%H", "%I", "%X", "%c", "%s")  # what of a pattern tells more than the day


def number_of(value: Any, key: str) -> float | None:
    """A number, also one that is written as a text; None for one that is not there ("nan")."""
    try:
        amount = math.nan if isinstance(value, bool | list | dict) else float(value)
    except (ValueError, OverflowError):
        raise Unfit(f"{spell(value)} is not a number", key) from None
    if isinstance(value, bool | list | dict) or math.isinf(amount):
        raise Unfit(f"{spell(value)} is not a number", key)
    return None if math.isnan(amount) else amount


def instant_of(value: Any, mapping: FieldMapping, *, ends: bool) -> int:
    """A time, as the mapping says that times are written. ends: a day means until its end. ValueError says why not."""
    if mapping.times.startswith("epoch"):
        amount = number_of(value, "")
        if amount is None:
            raise ValueError(f"{spell(value)} is not a time")
        return _possible(round(amount * (SECOND if mapping.times == "epoch_s" else 1000)), value)
    if not isinstance(value, str):
        raise ValueError(f"{spell(value)} is not a text that tells a time; see `times` in the mapping")
    text = value.strip()
    zone = ZoneInfo(mapping.time_zone) if mapping.time_zone else None
    if mapping.times != "rfc3339":
        try:
            moment = datetime.strptime(text, mapping.times)  # noqa: DTZ007 - its zone comes with the next line
        except ValueError:
            raise ValueError(f"{text!r} is not a time as {mapping.times!r} writes it") from None
        is_day = not any(part in mapping.times for part in _OF_A_DAY)
        return _zoned(moment + timedelta(days=1) if ends and is_day else moment, zone, text)
    try:
        return parse_instant(text)
    except ValueError as error:
        if zone is None:
            raise ValueError(f"{error}; or name its time_zone in the mapping") from None
    try:
        day = date.fromisoformat(text)
        return _zoned(datetime.combine(day + timedelta(days=1) if ends else day, datetime.min.time()), zone, text)
    except (ValueError, OverflowError):
        pass
    try:
        return _zoned(datetime.fromisoformat(text), zone, text)
    except ValueError:
        raise ValueError(f"{text!r} is not a time (e.g. 2026-05-30T03:30:00)") from None


def _zoned(moment: datetime, zone: ZoneInfo | None, text: str) -> int:
    try:
        aware = moment if moment.tzinfo or zone is None else moment.replace(tzinfo=zone)
        return from_datetime(aware.astimezone(UTC))
    except OverflowError:
        raise ValueError(f"{text!r} is not a possible time") from None


def _possible(instant: int, value: Any) -> int:
    try:
        format_instant(instant)
    except OverflowError:
        raise ValueError(f"{spell(value)} is not a possible time; see `times` in the mapping") from None
    return instant
