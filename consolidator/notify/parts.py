"""
A message as the parts that wait in the outbox, and a part as what is sent.

A part is kept in the report's own text or Markdown, cut to what its channel takes; the channel's markup is put on when
it is sent, so a channel that was set anew meanwhile gets its own. Nothing of a channel's address is in it.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from consolidator.errors import BadInput
from consolidator.notify.channels import Channel, OpenClawChannel, WebhookChannel
from consolidator.notify.dialects import MARKDOWN, PLAIN
from consolidator.notify.markup import Line, Lines, Span, read_markdown, read_text, says_title, without_title
from consolidator.notify.message import Message
from consolidator.notify.send import way_of
from consolidator.notify.split import split
from consolidator.notify.way import UNKNOWN, Parcel, Way

MOST_PARTS = 10
_ROOM = 120  # for a part's number, or the title of a message that comes late
_LEAST_ROOM = 12
_SMALL = 400  # from here on there is room for more than a number


def parts_of(message: Message, channel: Channel) -> list[dict[str, Any]]:
    """The parts of a message for a channel, in order. One that cannot be used as it is set gets Markdown."""
    try:
        way = way_of(channel)
    except BadInput:
        way = UNKNOWN
    head: dict[str, Any] = {
        "kind": message.kind,
        "run_id": message.run_id,
        "level": message.level,
        "title": message.title,
    }
    if message.about:
        head["about"] = list(message.about)
    if isinstance(channel, OpenClawChannel) and channel.via == "wake":
        return [head | {"form": "text", "body": message.counts, "part": 1, "parts": 1}]
    form = way.dialect.form
    lines = read_text(message.text) if form == "text" else read_markdown(message.markdown)
    room = _ROOM if way.limit >= _SMALL else _LEAST_ROOM
    cut = [part for part in map(_trimmed, split(lines, way.limit - room, _size_in(way))) if part]
    kept = PLAIN if form == "text" else MARKDOWN
    parts = []
    for number, part in enumerate(cut[:MOST_PARTS], 1):
        rest = message.run_id if number == MOST_PARTS < len(cut) and way.limit >= _SMALL else None
        body = kept.write([*part, *_numbered(number, len(cut), rest)])
        parts.append(head | {"form": form, "body": body, "part": number, "parts": min(len(cut), MOST_PARTS)})
    if isinstance(channel, WebhookChannel):
        parts[0] |= {"markdown": message.markdown, "document": message.document}
    return parts


def parcels_of(payload: Mapping[str, Any], channel: Channel, *, key: str, now: int, late: bool) -> Iterator[Parcel]:
    """
    What is sent of a part: one parcel, or some where the channel now takes less than when the part was cut.

    Where a title goes beside it, it does not begin with that too. late: it comes so long after its night that it says
    which night it means. BadInput as `way_of`.
    """
    way = way_of(channel)
    body, title = str(payload["body"]), str(payload["title"])
    lines: Lines = read_markdown(body) if payload["form"] == "markdown" else read_text(body)
    if way.titled:
        lines = without_title(lines, title) if payload.get("part") == 1 else lines
    elif late and not says_title(lines, title):
        dated = (Line(spans=(Span(f"{title} (told late)", "bold"),)), Line(), *lines)
        lines = dated if _size_in(way)(dated) <= way.limit else lines
    for number, piece in enumerate(split(lines, way.limit, _size_in(way))):
        own_key = f"{key}.{number + 1}" if number else key
        yield Parcel(own_key, title, way.dialect.write(piece), payload, now)


def _size_in(way: Way) -> Any:
    return lambda lines: way.measure(way.dialect.write(lines))


def _trimmed(part: Lines) -> Lines:
    """A part without empty lines at its ends."""
    start, end = 0, len(part)
    while start < end and part[start].empty:
        start += 1
    while end > start and part[end - 1].empty:
        end -= 1
    return part[start:end]


def _numbered(number: int, count: int, rest: str | None) -> Iterator[Line]:
    """The line that says which part this is, and where the rest is told that is not sent."""
    if count > 1:
        more = (Span(" The rest: "), Span(f"consolidate show {rest}", "code")) if rest else ()
        yield Line()
        yield Line(spans=(Span(f"({number}/{count})"), *more))
