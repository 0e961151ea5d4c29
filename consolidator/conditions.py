"""Conditions: which memories a person means by `--where`, each `FIELD=VALUE` or the like; all of them have to hold."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches

from consolidator.errors import BadInput
from consolidator.instants import from_datetime, is_date, parse_date, parse_instant, to_datetime

WORDS = ("type", "status", "source", "topic")
TIMES = ("before", "since")
NUMBERS = ("strength", "importance")
STATUSES = ("active", "archived", "superseded")
HELP = (
    "type=, status=, source= or topic= WORD[,WORD...], text~WORDS, before=DATE, since=DATE, strength<N, strength>N, "
    "importance<N, importance>N, pinned=yes|no. Given again, all have to hold."
)
_FIELDS = (*WORDS, "text", *TIMES, *NUMBERS, "pinned")
_FORM = re.compile(r"\s*([A-Za-z_]+)\s*([=<>~])(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Conditions:
    """
    words: of type, status, source and topic, those that will do. text: parts of the content, casefolded. before, since:
    of creation, in microseconds; since is the first that counts, before the first that no longer does. above, below:
    of strength and importance, themselves left out.
    """

    words: tuple[tuple[str, frozenset[str]], ...] = ()
    text: tuple[str, ...] = ()
    before: int | None = None
    since: int | None = None
    above: tuple[tuple[str, float], ...] = ()
    below: tuple[tuple[str, float], ...] = ()
    pinned: bool | None = None


def parse_conditions(texts: Iterable[str]) -> Conditions:
    """What a person wrote, one condition each. BadInput says which cannot be meant, and what can."""
    words: list[tuple[str, frozenset[str]]] = []
    parts: list[str] = []
    times: dict[str, list[int]] = {name: [] for name in TIMES}
    above: list[tuple[str, float]] = []
    below: list[tuple[str, float]] = []
    pinned: set[bool] = set()
    for text in texts:
        field, sign, value = _split(text)
        if field in WORDS:
            words.append((field, _words(text, field, value)))
        elif field == "text":
            parts.append(value.casefold())
        elif field in TIMES:
            times[field].append(_time(text, value))
        elif field in NUMBERS:
            (above if sign == ">" else below).append((field, _number(text, value)))
        else:
            pinned.add(_yes(text, value))
    if len(pinned) > 1:
        raise BadInput("--where: pinned=yes and pinned=no hold of no memory together")
    return Conditions(
        tuple(words),
        tuple(parts),
        min(times["before"], default=None),
        max(times["since"], default=None),
        tuple(above),
        tuple(below),
        next(iter(pinned), None),
    )


def _split(text: str) -> tuple[str, str, str]:
    """Field, sign and value, where the field is known and takes the sign."""
    match = _FORM.fullmatch(text)
    if not match:
        raise BadInput(f"--where {text}: is no condition; write {HELP}")
    field, sign, value = match[1].lower(), match[2], match[3].strip()
    if field not in _FIELDS:
        near = get_close_matches(field, _FIELDS, n=1)
        raise BadInput(
            f"--where {text}: there is no {field}; {f'did you mean {near[0]}?' if near else f'write {HELP}'}"
        )
    signs = "<>" if field in NUMBERS else "~" if field == "text" else "="
    if sign not in signs:
        raise BadInput(f"--where {text}: write {' or '.join(f'{field}{each}{value}' for each in signs)}")
    if not value:
        raise BadInput(f"--where {text}: says no value")
    return field, sign, value


def _words(text: str, field: str, value: str) -> frozenset[str]:
    found = frozenset(word.strip() for word in value.split(",") if word.strip())
    for word in sorted(found - {*STATUSES}) if field == "status" else ():
        raise BadInput(f"--where {text}: {word} is no status; there are {', '.join(STATUSES)}")
    if not found:
        raise BadInput(f"--where {text}: says no value")
    return found


def _time(text: str, value: str) -> int:
    try:
        if is_date(value):
            day = parse_date(value)
            return from_datetime(to_datetime(0).replace(year=day.year, month=day.month, day=day.day))
        return parse_instant(value)
    except ValueError as error:
        raise BadInput(f"--where {text}: {error}") from None


def _number(text: str, value: str) -> float:
    if not re.fullmatch(r"\d*\.?\d+", value, re.ASCII) or not 0 <= float(value) <= 1:
        raise BadInput(f"--where {text}: {value} is not between 0 and 1")
    return float(value)


def _yes(text: str, value: str) -> bool:
    if value not in ("yes", "no"):
        raise BadInput(f"--where {text}: write pinned=yes or pinned=no")
    return value == "yes"
