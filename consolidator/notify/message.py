"""
A message: what one night says at one level, and its parts as each channel takes them.

Memory text is in it at `detailed` only, and never in `counts`, which is all that a wake-up call holds.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from consolidator.errors import BadInput
from consolidator.notify.phrase import checked
from consolidator.report import Report, as_json, render, words
from consolidator.report.document import without_texts
from consolidator.report.markdown import plain

Phrase = Callable[[dict[str, Any], str | None], str | None]
LEVELS = ("off", "errors", "summary", "detailed")


@dataclass(frozen=True, slots=True)
class Message:
    """
    name: by this a message told twice is known; of a night, the run's id. kind: what it is about. title: which night
    it is. counts: one line of numbers. document: the report as JSON, as much of it as the level may tell. run_id: what
    `consolidate show` tells more of. about: names of what it says, kept after it was delivered.
    """

    name: str
    kind: str
    title: str
    level: str
    text: str
    markdown: str
    counts: str
    document: Mapping[str, Any]
    run_id: str | None = None
    about: tuple[str, ...] = ()


def message_of(
    report: Report,
    *,
    level: str,
    error_notification: bool = True,
    quiet: bool = False,
    phrase: Phrase | None = None,
    persona: str | None = None,
) -> Message | None:
    """
    What a night says at a level; None where it says nothing.

    error_notification: false mutes a night that failed, whatever the level, and at `errors` all. quiet: a night
    without work and without trouble says nothing. phrase: puts the facts of a sound night into words for `summary`;
    where it gives None, or words that cannot be trusted, the rule's are used; what was left out or waits is said by
    rule in any case. A preview says nothing.
    """
    if level not in LEVELS:
        raise BadInput(f"{level!r} is no level of a message; there are {', '.join(LEVELS)}")
    problem, failure = words.problem(report), words.failure(report)
    if report.dry_run or (not error_notification and (failure or level == "errors")):
        return None
    if quiet and not problem and not words.work(report):
        return None
    text = render(report, level)
    if not text:
        return None
    markdown = render(report, level, "markdown")
    if level == "summary" and phrase is not None and words.work(report) and not failure:
        after = words.concern(report) or words.left(report)
        friendly = checked(phrase(facts(report), persona), facts(report), sentences=2 if after else 3)
        if friendly:
            text = " ".join(filter(None, [friendly, after]))
            markdown = plain(text)
    document = as_json(report)
    return Message(
        name=report.run_id or f"night-{report.as_of}",
        kind="night",
        title=_title(report),
        level=level,
        text=text,
        markdown=markdown,
        counts=counts_of(report),
        document=document if level == "detailed" else without_texts(document),
        run_id=report.run_id,
    )


def facts(report: Report) -> dict[str, Any]:
    """
    What a model may know of a night to speak of it: numbers that are not zero, no names, no memory text.

    No date either, whose numbers could be taken for counts.
    """
    told: dict[str, Any] = {
        "done": {words.LABELS[name]: report.totals[name] for name in words.told(report) if report.totals[name]}
    }
    if report.earlier:
        told[f"average of {words.nights_before(report)}"] = {
            words.LABELS[name]: report.average[name] for name in words.told(report)
        }
    return told


def trial(channel: str) -> Message:
    """What `notify test` sends: short, with signs that a wrong dialect would show."""
    text = f"A test of the channel {channel}: *stars*, <tags> & 会议 🙂 arrive as they are."
    return Message(
        name="test",
        kind="test",
        title="A test of consolidator's messages",
        level="summary",
        text=text,
        markdown=plain(text),
        counts="A test of consolidator's messages.",
        document={"test": True},
    )


def _title(report: Report) -> str:
    heading = words.heading(report)
    return f"{heading}: {words.how_it_failed(report)}" if words.failure(report) else heading


def counts_of(report: Report) -> str:
    """Numbers alone: nothing that was read from a store, a file or a provider is in it."""
    done = [f"{words.LABELS[name]} {report.totals[name]:,}" for name in words.told(report) if report.totals[name]]
    if not done and not words.problem(report):
        done = ["nothing was due"]
    return ": ".join(filter(None, [_title(report), ", ".join(done)])) + "."
