"""How a channel takes a message: its markup, its limit, and how that is counted."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from consolidator.notify.dialects import MARKDOWN, PLAIN, Dialect, Measure, characters

NO_LIMIT = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Way:
    """titled: whether a title goes beside the text, as the subject of a mail or a field of a document."""

    dialect: Dialect
    limit: int = NO_LIMIT
    measure: Measure = characters
    titled: bool = False


@dataclass(frozen=True, slots=True)
class Parcel:
    """
    What is sent at once. key: the same for every try, so that the other side can know it again. now: of this try.

    text: in the channel's markup. payload: the row it comes from, for channels that send a document.
    """

    key: str
    title: str
    text: str
    payload: Mapping[str, Any]
    now: int


LINES = Way(PLAIN)  # standard output
TITLED = Way(PLAIN, titled=True)  # files, and webhooks: one JSON document, however long
UNKNOWN = Way(MARKDOWN, 2_000)  # a channel that cannot be used as it is set now
