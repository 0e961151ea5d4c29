"""
The watch: what should happen and has stopped happening. Pure: it judges what was seen, and reads nothing.

A job is watched from the first time that something began it by itself, in each scope from when it first came there,
and not while it is under way or is to be tried again for the only date for which it failed; whoever runs the night by
hand alone is not told that nothing else does.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, tzinfo
from hashlib import sha256
from typing import Any, NamedTuple

from consolidator.instants import NIGHT, SECOND, format_instant, when
from consolidator.plan import TOTALS
from consolidator.report import words
from consolidator.report.report import NO_WORK
from consolidator.schedule.calendar import due_after
from consolidator.schedule.owed import WHOLE, end_of
from consolidator.scopes import canonical, parse_scope
from consolidator.settings.duty import Duty
from consolidator.settings.jobs import JobName
from consolidator.settings.model import Watch
from consolidator.store.watching import Outbox, Seen, Success

OUTBOX_SECONDS = 86_400  # that a message may wait
TOLD_AGAIN_AFTER = 7 * NIGHT  # what still lasts
_BUDGET = "the budget is spent: "
_CHOSEN = ("merge.model is none", "no key in the settings", "in a batch")  # as a person wants it, or for hours
_HOW_ENDED = "; mend that, or set merge.model to none where no model is to be asked"
_GATED = re.compile("what came in |not reached: ")


class Finding(NamedTuple):
    """
    One thing that has stopped happening. name: the same for as long as it lasts. job: whose people are to hear of it.

    what: in a word. sentence: what, since when, and what next; it names scopes and quotes no memory.
    """

    name: str
    job: str
    what: str
    sentence: str


def watch(seen: Seen, duties: Mapping[JobName, Duty], settings: Watch, *, now: int) -> list[Finding]:
    """All that has stopped happening. duties: the jobs that are on, of this store."""
    zone = next((duty.zone for duty in (duties.get("consolidate"), *duties.values()) if duty), UTC)
    unfinished = (_unfinished(seen, duty, settings, now) for duty in duties.values() if duty.name in seen.begun)
    found = [*filter(None, unfinished), *_outbox(seen.outbox, zone, now)]
    nights = seen.nights[: settings.nights]
    if "consolidate" in duties and len(nights) == settings.nights:
        found += [*_idle(seen, nights), *_gated(nights)]
    return found


def _unfinished(seen: Seen, duty: Duty, settings: Watch, now: int) -> Finding | None:
    """A job whose next time after its last success lies longer back than the grace, in the scopes where that is so."""
    grace = settings.grace_minutes * 60 * SECOND
    done = {scope: success for (job, scope), success in seen.done.items() if job == duty.name}
    there = {scope: since for scope, since in seen.scopes.items() if duty.scopes is None or scope in duty.scopes}
    if duty.name in WHOLE:
        there = {"": min(seen.scopes.values())} if seen.scopes else {}
    begun = seen.begun[duty.name]
    overdue: dict[str, int] = {}
    for place, since in there.items():
        success, undone = done.get(place), seen.undone.get((duty.name, place))
        if undone and undone.dates == 1 and undone.next_at is not None and now < undone.next_at + grace:
            continue
        known = max(begun.first, seen.known.get((duty.name, place), begun.last))
        dues = due_after(duty.cron, duty.zone, max(success.at if success else since, end_of(known, duty.zone)))
        due = next((due for due in dues if not _counted(due.day.isoformat(), success)), None)
        if due and due.at + grace <= now:
            overdue[place] = due.at
    if not overdue:
        return None
    first = min(overdue.values())
    where = f" in {words.some(sorted(map(_spelled, overdue)))}" if len(overdue) < len(there) else ""
    return Finding(
        f"unfinished:{duty.name}:{first}",
        duty.name,
        f"the {duty.called} is not done",
        f"the {duty.called} was due at {when(first, duty.zone)} and is not done since{where}; "
        f"`consolidate job {duty.name}` does it now and says what hinders it",
    )


def _counted(day: str, success: Success | None) -> bool:
    """Whether a date was done before its time came, by hand."""
    return success is not None and len(success.day) == len(day) and day <= success.day


def _idle(seen: Seen, nights: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    """Scopes in which nothing was decided night after night, though there was something to decide on."""
    for scope in sorted(_scopes_of(nights)):
        parts = [_part(night, scope) for night in nights]
        since = seen.waiting.get(scope)
        if all(part is not None and _decided_nothing(part) for part in parts) and all(
            _had_events(part, since, night) for part, night in zip(parts, nights, strict=True)
        ):
            yield Finding(
                f"idle:{_short(scope)}",
                "consolidate",
                "nights decide nothing",
                f"{len(nights)} nights in a row decided nothing in {_spelled(scope)}, though memories were shown or "
                "rated there; look whether the events name memories that are here",
            )


def _gated(nights: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    """Steps that were held back for the same reason in every one of the nights."""
    in_all = set.intersection(*(set(_gates(night)) for night in nights))
    for step, reason in sorted(in_all):
        if reason.startswith(_BUDGET):
            what, sentence = "the budget is always spent", f"the budget was spent {len(nights)} nights in a row: "
            sentence += f"{reason.removeprefix(_BUDGET)}; raise it, or what waits for a language model goes on waiting"
        else:
            what, sentence = f"{step} is held back", f"{step} was held back {len(nights)} nights in a row: {reason}"
            sentence += _HOW_ENDED if step == "merge" and not _GATED.match(reason) else ""
        yield Finding(f"gated:{step}:{_short(reason)}", "consolidate", what, sentence)


def _outbox(seen: Outbox, zone: tzinfo, now: int) -> Iterator[Finding]:
    if seen.oldest_at is not None and now - seen.oldest_at > OUTBOX_SECONDS * SECOND:
        count = words.counted(seen.waiting, "part of a message waits", "parts of messages wait")
        yield Finding(
            "outbox",
            "consolidate",
            "the outbox does not drain",
            f"{count} to be sent, the oldest since {when(seen.oldest_at, zone)}; `consolidate notify outbox` says why",
        )


def _gates(night: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(step, reason) of whatever held a step back in some scope."""
    for scope in night["scopes"]:
        for step, part in scope["steps"].items():
            asked = part.get("asked") or {}
            reasons = [*asked.get("waiting", ()), *asked.get("failures", ())]
            if part.get("because_nothing") and _GATED.match(part["because_nothing"]):
                reasons.append(part["because_nothing"])
            yield from ((step, reason) for reason in reasons if not any(each in reason for each in _CHOSEN))


def _scopes_of(nights: Sequence[Mapping[str, Any]]) -> set[str]:
    return set.intersection(*({canonical(part["scope"]) for part in night["scopes"]} for night in nights))


def _part(night: Mapping[str, Any], scope: str) -> Mapping[str, Any] | None:
    return next((part for part in night["scopes"] if canonical(part["scope"]) == scope), None)


def _decided_nothing(part: Mapping[str, Any]) -> bool:
    """A clock that went on is no decision."""
    counts = (pair for step in part["steps"].values() for pair in step["counts"].items())
    return not any(count for verb, count in counts if verb in TOTALS and verb not in NO_WORK)


def _had_events(part: Mapping[str, Any] | None, oldest: int | None, night: Mapping[str, Any]) -> bool:
    """Whether a night read events without effect, or left some that were there."""
    seen = part is not None and any(step.get("seen") for step in part["steps"].values())
    return seen or (oldest is not None and format_instant(oldest) <= night["as_of"])


def _spelled(scope: str) -> str:
    return words.scope_name(parse_scope(scope))


def _short(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:12]
