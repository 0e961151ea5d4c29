"""
What stopped happening, told: once when it begins, again after a week, and a word when it happens again.

What was told of it and is over is renamed where the outbox remembers it: if it stops once more, it is told once more.
"""

from collections.abc import Iterable, Mapping
from hashlib import sha256

from consolidator.instants import to_datetime
from consolidator.notify.brief import brief
from consolidator.notify.deliver import entries_of
from consolidator.notify.message import Message
from consolidator.schedule.watch import TOLD_AGAIN_AFTER, Finding, watch
from consolidator.settings import Settings
from consolidator.settings.duty import Duty
from consolidator.settings.jobs import JobName
from consolidator.store import outbox
from consolidator.store.engine import Store
from consolidator.store.watching import look, rename_told, told_since

_TITLE = "Something stopped happening"
_AGAIN = "It happens again"
NEVER: Mapping[str, int] = {}
_OVER = "over:"
_OVER_WORDS = {"idle": "the nights decide again", "outbox": "messages are sent again"}


def found_in(store: Store, duties: Mapping[JobName, Duty], settings: Settings, *, now: int) -> list[Finding]:
    """What has stopped happening in a store. duties: the jobs that are on there."""
    with store.read() as conn:
        seen = look(conn, nights=settings.watch.nights, now=now)
    return watch(seen, duties, settings.watch, now=now)


def tell_stopped(store: Store, duties: Mapping[JobName, Duty], settings: Settings, *, now: int) -> None:
    """Put in the outbox what stopped happening and was not told within a week, for the people of the jobs it is of."""
    since = now - TOLD_AGAIN_AFTER
    with store.read() as conn:
        told = told_since(conn, since)
    found = found_in(store, duties, settings, now=now)
    names = {finding.name for finding in found}
    over = {name for name in told if not name.startswith(_OVER) and name not in names and _job_of(name) in duties}
    entries = []
    for duty in duties.values():
        new = [finding for finding in found if finding.job == duty.name and finding.name not in told]
        again = {name: told[name] for name in over if _job_of(name) == duty.name}
        before = {finding.name: told.get(_OVER + finding.name, 0) for finding in new}
        messages = [stopped_message(new, before, now=now) if new else None, again_message(again, duty, now=now)]
        if duty.level != "off" and settings.error_notification:
            entries += [each for message in messages if message for each in entries_of(message, duty.channels)]
    if entries or over:
        with store.write() as conn:
            rename_told(conn, {name: _OVER + name for name in over}, since)
            outbox.put(conn, entries, run_key=None, now=now)


def stopped_message(findings: Iterable[Finding], before: Mapping[str, int] = NEVER, *, now: int) -> Message:
    """What has stopped happening, at the level of errors. before: the message that told of it when it had before."""
    findings = list(findings)
    names = tuple(finding.name for finding in findings)
    sentences = [f"{finding.sentence[0].upper()}{finding.sentence[1:]}." for finding in findings]
    lines = [f"{_TITLE}: {sentences[0]}"] if len(findings) == 1 else [f"{_TITLE}:", *sentences]
    return brief(
        name=_name("stopped", (f"{name} {before[name]}" if before.get(name) else name for name in names), now),
        kind="stopped",
        title=_TITLE,
        level="errors",
        lines=lines,
        counts=f"{_TITLE}: {', '.join(finding.what for finding in findings)}.",
        about=names,
    )


def again_message(names: Mapping[str, int], duty: Duty, *, now: int) -> Message | None:
    """That what had stopped happens again, by the message that told of it, for those who hear more than errors."""
    if not names or duty.level == "errors":
        return None
    said = sorted({_word_of(name, duty.called) for name in names})
    return brief(
        name=_name("again", (f"{name} {told}" for name, told in names.items()), now),
        kind="stopped",
        title=_AGAIN,
        level=duty.level,
        lines=[f"{_AGAIN}: {', '.join(said)}."],
    )


def _name(kind: str, names: Iterable[str], now: int) -> str:
    """The same for two processes that look at the same time."""
    return f"{kind}:{to_datetime(now):%Y-%m-%d}:{sha256(' '.join(sorted(names)).encode()).hexdigest()[:12]}"


def _job_of(name: str) -> str:
    kind, _, rest = name.partition(":")
    return rest.partition(":")[0] if kind == "unfinished" else "consolidate"


def _word_of(name: str, called: str) -> str:
    kind, _, rest = name.partition(":")
    what = rest.partition(":")[0]
    return _OVER_WORDS.get(kind) or (
        f"the {called} is done" if kind == "unfinished" else f"{what} is no longer held back"
    )
