"""Messages about what is no night: a digest, a purge, a backup, a failure without a store, what stopped happening."""

from collections.abc import Mapping, Sequence
from typing import Any

from consolidator.notify.message import Message, Phrase
from consolidator.notify.phrase import checked
from consolidator.report import digest_words, words
from consolidator.report.digest import Digest
from consolidator.report.markdown import plain
from consolidator.report.tame import one_line


def brief(
    *,
    name: str,
    kind: str,
    title: str,
    level: str,
    lines: Sequence[str],
    counts: str = "",
    document: Mapping[str, Any] | None = None,
    about: tuple[str, ...] = (),
) -> Message:
    """A message of a few lines, the first of which says it all. counts: what a wake-up call says; else the title."""
    said = [one_line(line) for line in lines]
    return Message(
        name=name,
        kind=kind,
        title=one_line(title),
        level=level,
        text="\n".join(said),
        markdown="\n".join([plain(said[0]), *([""] if said[1:] else []), *(f"- {plain(line)}" for line in said[1:])]),
        counts=counts or f"{one_line(title)}.",
        document=document or {},
        about=about,
    )


def digest_message(
    digest: Digest,
    *,
    name: str,
    level: str,
    error_notification: bool = True,
    quiet: bool = False,
    phrase: Phrase | None = None,
    persona: str | None = None,
) -> Message | None:
    """
    What a digest says at a level; None where it says nothing, as `message_of` has it.

    phrase: puts the numbers of a span with some work into words; how it compares and what was missed is said by rule.
    """
    if quiet and not digest_words.work(digest) and not digest_words.problem(digest):
        return None
    text = digest_words.text(digest, level)
    if not text or (level == "errors" and not error_notification):
        return None
    markdown = digest_words.markdown(digest, level)
    if level == "summary" and phrase is not None and digest_words.work(digest):
        facts = facts_of(digest)
        after = digest_words.after(digest)
        friendly = checked(phrase(facts, persona), facts, sentences=2 if after else 3)
        if friendly:
            text = " ".join(filter(None, [f"{digest_words.heading(digest)}.", friendly, after]))
            markdown = plain(text)
    return Message(
        name=name,
        kind="digest",
        title=digest_words.heading(digest),
        level=level,
        text=text,
        markdown=markdown,
        counts=digest_words.counts(digest),
        document=digest_words.as_document(digest),
    )


def facts_of(digest: Digest) -> dict[str, Any]:
    """What a model may know of it: numbers that are not zero, no names, no dates."""
    totals = digest.added.totals
    done = {words.LABELS[name]: totals[name] for name in words.LABELS if totals[name]}
    return {"nights": digest.nights, "done in these nights": done}
