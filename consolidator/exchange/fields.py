"""What may stand in a field: each check returns the value as it is kept, or says in a ValueError why it cannot be."""

import math
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np

from consolidator import scopes
from consolidator.exchange.records import RETRIEVAL_MODES
from consolidator.instants import canonical_temporal, format_instant, is_date, parse_instant
from consolidator.laws.pace import LAWS, OFF
from consolidator.laws.recurrence import validate_recurrence

Check = Callable[[Any], Any]

MOST_NAME_BYTES = 1000  # of a text that an index holds: Postgres takes 2,704 bytes a row
MOST_SCOPE_BYTES = 2000
DEEPEST = 100
MOST_COUNT = 1_000_000
FIRST_YEAR, LAST_YEAR = 2, 9998  # of an anchor: its zone and its end have to fit beside it

_HEX = frozenset("0123456789abcdef")


class Unfit(ValueError):
    """A value that cannot be taken. `below`: the place inside the field, where the field has parts."""

    def __init__(self, reason: str, below: str = "") -> None:
        super().__init__(reason)
        self.below = below


def spell(value: Any) -> str:
    """A value in a message, shortened."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def text(value: Any) -> str:
    """Any text but an empty one."""
    if not isinstance(value, str):
        raise Unfit(f"{spell(value)} is not a text")
    if not value.strip():
        raise Unfit("is empty")
    return value


def name(value: Any) -> str:
    """A text that is looked up: not too long for an index."""
    if len(text(value)) * 4 > MOST_NAME_BYTES and len(value.encode()) > MOST_NAME_BYTES:
        raise Unfit(f"is longer than {MOST_NAME_BYTES} bytes")
    return str(value)


def memory_id(value: Any) -> str:
    """The SHA-256 of a content, as 64 hex digits."""
    if not isinstance(value, str) or len(value) != 64 or not _HEX.issuperset(value):
        raise Unfit(f"{spell(value)} is not a memory's id (64 hex digits, lower case)")
    return value


def memory_ids(value: Any) -> tuple[str, ...]:
    """At least two ids, sorted."""
    if not isinstance(value, list) or len({*map(memory_id, value)}) < 2:
        raise Unfit("is not a list of two ids or more")
    return tuple(sorted({*value}))


def one_of(*allowed: str) -> Check:
    """One of a few words."""

    def check(value: Any) -> str:
        if not isinstance(value, str) or value not in allowed:
            raise Unfit(f"{spell(value)} is none of {', '.join(allowed)}")
        return value

    return check


def flag(value: Any) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise Unfit(f"{spell(value)} is neither true nor false")
    return value


def number(value: Any) -> float:
    """A finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Unfit(f"{spell(value)} is not a number")
    if isinstance(value, float) and not math.isfinite(value):
        raise Unfit("is too large a number")
    try:
        return float(value)
    except OverflowError:
        raise Unfit("is too large a number") from None


def between(low: float, high: float) -> Check:
    """A number of a range, ends included."""

    def check(value: Any) -> float:
        if not low <= number(value) <= high:
            raise Unfit(f"{spell(value)} is not between {low:g} and {high:g}")
        return float(value)

    return check


def at_least_zero(value: Any) -> float:
    """A number that is not negative."""
    if number(value) < 0:
        raise Unfit(f"{spell(value)} is negative")
    return float(value)


def instant(value: Any) -> int:
    """An instant with an offset."""
    if not isinstance(value, str) or len(value) > 64:
        raise Unfit(f"{spell(value)} is not a time (write e.g. 2026-05-30T03:30:00Z)")
    return parse_instant(value)


def temporal_text(value: Any) -> str:
    """An instant with an offset, or a date, which stays one."""
    if not isinstance(value, str) or len(value) > 64:
        raise Unfit(f"{spell(value)} is neither a time nor a date")
    canonical = canonical_temporal(value)
    if not FIRST_YEAR <= int(canonical[:4]) <= LAST_YEAR:
        raise Unfit(f"{spell(value)} is not between the years {FIRST_YEAR} and {LAST_YEAR}")
    return canonical


@lru_cache(maxsize=1000)
def _recurrence(value: str) -> str:
    validate_recurrence(value)
    return value


def recurrence(value: Any) -> str:
    """An RRULE, daily or coarser."""
    return _recurrence(name(value))


@lru_cache(maxsize=1000)
def _time_zone(value: str) -> str:
    try:
        return ZoneInfo(value).key
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise Unfit(f"{spell(value)} is not a time zone (write e.g. Europe/Helsinki)") from None


def time_zone(value: Any) -> str:
    """The name of a time zone that this machine knows."""
    return _time_zone(name(value))


@lru_cache(maxsize=1000)
def _scope(pairs: frozenset[tuple[str, str]]) -> str:
    canonical = scopes.canonical(dict(pairs))
    if len(canonical.encode()) > MOST_SCOPE_BYTES:
        raise Unfit(f"is longer than {MOST_SCOPE_BYTES} bytes")
    return canonical


def scope(value: Any) -> str:
    """An object of strings, as its canonical text."""
    if not isinstance(value, dict):
        raise Unfit(f"{spell(value)} is not an object of strings")
    for key, item in value.items():
        if not isinstance(item, str):
            raise Unfit(f"{spell(item)} is not a string", f".{key}")
    return _scope(frozenset(value.items()))


def segments(value: Any) -> tuple[Mapping[str, Any], ...]:
    """The stretches of a clock, in order of time, each with its slopes in half-lives a night and its law, if any."""
    if not isinstance(value, list):
        raise Unfit("is not a list")
    rows = []
    latest = None
    for index, row in enumerate(value):
        try:
            if not isinstance(row, dict) or row.keys() - {"law"} != {"from", "working", "consolidated", "association"}:
                raise Unfit("is not {from, working, consolidated, association}, with or without law")
            since = instant(row["from"])
            if latest is not None and since <= latest:
                raise Unfit(f"{spell(row['from'])} is not later than the one before", ".from")
            latest = since
            slopes = {key: at_least_zero(row[key]) for key in ("working", "consolidated", "association")}
            law = {"law": one_of(OFF, *LAWS)(row["law"])} if "law" in row else {}
        except ValueError as error:
            raise Unfit(str(error), f"[{index}]{getattr(error, 'below', '')}") from None
        rows.append({"from": format_instant(since), **slopes, **law})
    return tuple(rows)


def lives(value: Any) -> list[list[Any]]:
    """The bases that a memory had before it took others in, each with its time, its clock and its importance then."""
    if not isinstance(value, list):
        raise Unfit("is not a list")
    rows = []
    for index, row in enumerate(value):
        try:
            if not isinstance(row, dict) or row.keys() - {"importance"} != {"strength", "at", "consolidated"}:
                raise Unfit("is not {strength, at, consolidated}, with or without importance")
            life = [between(0, 1)(row["strength"]), instant(row["at"]), flag(row["consolidated"])]
            if "importance" in row:
                life.append(None if row["importance"] is None else between(0, 1)(row["importance"]))
            rows.append(life)
        except ValueError as error:
            raise Unfit(str(error), f"[{index}]{getattr(error, 'below', '')}") from None
    return rows


def found(value: Any) -> dict[str, list[str]]:
    """Ids of memories by the way in which they were found."""
    if not isinstance(value, dict) or not value.keys() <= {*RETRIEVAL_MODES}:
        raise Unfit(f"is not an object of {' and '.join(RETRIEVAL_MODES)}")
    by_mode = {}
    for mode, ids in value.items():
        if not isinstance(ids, list):
            raise Unfit("is not a list of ids", f".{mode}")
        try:
            by_mode[mode] = sorted({*map(memory_id, ids)})
        except ValueError as error:
            raise Unfit(str(error), f".{mode}") from None
    return by_mode


def count(value: Any) -> int:
    """How many."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST_COUNT:
        raise Unfit(f"{spell(value)} is not a number of times")
    return value


def topics(value: Any) -> list[str]:
    """A list of texts."""
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise Unfit("is not a list of texts")
    return value


def anything(value: Any) -> Any:
    """What JSON can hold and both stores can keep, however deep it lies."""
    examine(value)
    return value


def metadata(value: Any) -> dict[str, Any]:
    """An object."""
    if not isinstance(value, dict):
        raise Unfit("is not an object")
    examine(value)
    return value


def embedding(value: Any) -> tuple[str, bytes]:
    """The model's name and its vector as float32, little-endian."""
    if not isinstance(value, dict) or value.keys() != {"model", "vector"}:
        raise Unfit("is not {model, vector}")
    try:
        model = name(value["model"])
    except ValueError as error:
        raise Unfit(str(error), ".model") from None
    vector = value["vector"]
    if not isinstance(vector, list) or not vector or not {*map(type, vector)} <= {int, float}:
        raise Unfit("is not a list of numbers", ".vector")
    try:
        with np.errstate(over="ignore"):
            floats = np.array(vector, np.float64).astype("<f4")
    except OverflowError:
        raise Unfit("holds too large a number", ".vector") from None
    if not np.isfinite(floats).all():
        raise Unfit("holds too large a number", ".vector")
    return model, floats.tobytes()


def examine(value: Any, path: str = "", depth: int = 0) -> None:
    """Refuse, anywhere inside, a NUL, half a surrogate pair, a number past all bounds, and nesting without end."""
    if depth > DEEPEST:
        raise Unfit(f"is nested more than {DEEPEST} deep")
    if isinstance(value, str):
        if "\0" in value:
            raise Unfit("holds a NUL", path)
        try:
            value.encode()
        except UnicodeEncodeError:
            raise Unfit("holds half a surrogate pair", path) from None
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise Unfit("is too large a number", path)
    elif isinstance(value, dict):
        for key, item in value.items():
            examine(key, path, depth + 1)
            examine(item, f"{path}.{key}", depth + 1)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            examine(item, f"{path}[{index}]", depth + 1)


def same_kind(fields: Mapping[str, str | None], names: Iterable[str], anchor: str) -> None:
    """Refuse a date beside an instant."""
    for each in names:
        value = fields.get(each)
        if value is not None and is_date(value) != is_date(anchor):
            raise Unfit("is a date where the anchor is an instant, or the other way round", each)
