"""What each tool takes: its bounds, its default, and what an agent is told of it."""

from typing import Annotated, Any, Literal, TypeVar

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator

from consolidator.errors import BadInput
from consolidator.report.tame import one_line
from consolidator.settings.model import LONGEST_TEXT

Given = TypeVar("Given", bound="Arguments")
_SHOWN = 60


def _text(value: Any) -> Any:
    """A text in which the halves of pairs that a client has cut are replaced."""
    if not isinstance(value, str):
        return value
    if "\0" in value:
        raise ValueError("holds a NUL, which no text has")
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


class Arguments(BaseModel):
    """The arguments of a tool. Numbers may come as text, as models write them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @field_validator("*", mode="before")
    @classmethod
    def _sound(cls, value: Any, info: ValidationInfo) -> Any:
        if isinstance(value, bool) and cls.model_fields[info.field_name or ""].annotation is not bool:
            raise ValueError("true and false are not meant here")
        return [_text(each) for each in value] if isinstance(value, list) else _text(value)


Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Id = Annotated[
    str,
    Field(
        min_length=8,
        max_length=64,
        validation_alias=AliasChoices("id", "memory_id"),
        description="The id of a memory, as results give it, or its first 8 or more characters.",
    ),
]
Turn = Annotated[
    str | None,
    Field(
        min_length=1,
        max_length=200,
        description="The turn of the conversation this belongs to, where you know one: any name, the same for all "
        "calls of a turn; or the `turn` that a search gave. Leave it out if in doubt.",
    ),
]
Content = Annotated[str, Field(min_length=1, max_length=LONGEST_TEXT)]
Kind = Annotated[
    str,
    Field(
        min_length=1, max_length=64, description="fact, preference, decision, plan, observation, or a word of yours."
    ),
]
Types = Annotated[list[Kind] | None, Field(min_length=1, max_length=20, description="Only memories of these types.")]
Time = Annotated[str, Field(min_length=1, max_length=64)]
Since = Annotated[
    Time | None,
    Field(description="Only what was observed from this time on: a date, or RFC 3339 with an offset."),
]
Until = Annotated[Time | None, Field(description="Only what was observed up to this time.")]
Anchor = Annotated[
    Time | None,
    Field(
        description="When what it tells of happens: a date (2026-12-24) or an instant with an offset "
        "(2026-12-24T18:00:00+02:00). Give it for appointments, deadlines and birthdays: the memory then knows by "
        "itself whether it lies ahead or is past."
    ),
]


class About(Arguments):
    """What may be said of a memory besides its text."""

    anchor: Anchor = None
    end: Annotated[Time | None, Field(description="When that ends; a date is included.")] = None
    recurrence: Annotated[
        str | None, Field(max_length=500, description="How `anchor` comes again: an RRULE, such as FREQ=YEARLY.")
    ] = None
    importance: Annotated[Share | None, Field(description="From 0 to 1, where you know it.")] = None
    topics: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=100)]] | None,
        Field(max_length=20, description="Words by which it may be grouped."),
    ] = None
    expires_at: Annotated[
        Time | None, Field(description="When it stops being worth anything and is put away, RFC 3339 or a date.")
    ] = None
    observed_at: Annotated[
        Time | None, Field(description="When it was said or seen, if that was not now, RFC 3339 or a date.")
    ] = None


class Store(About):
    content: Annotated[
        Content,
        Field(
            description="One thing in a whole sentence or a few, understandable years later and without this "
            'conversation: names instead of "he", dates instead of "tomorrow".'
        ),
    ]
    type: Kind = "fact"
    turn: Turn = None


class Search(Arguments):
    query: Annotated[
        str,
        Field(
            min_length=1,
            max_length=2_000,
            description="What you want to know, as a question or in the words the answer may have.",
        ),
    ]
    limit: Annotated[int, Field(ge=1, le=50, description="At most so many memories.")] = 10
    tokens: Annotated[
        int | None, Field(ge=20, le=100_000, description="At most about so many tokens of text altogether.")
    ] = None
    types: Types = None
    since: Since = None
    until: Until = None
    deep: Annotated[
        bool, Field(description="Also what has faded or was replaced, marked so: for what usual recall does not find.")
    ] = False
    upcoming_first: Annotated[
        bool, Field(description="What lies ahead or goes on goes first, the nearest first: for plans and appointments.")
    ] = False
    recency: Annotated[Share, Field(description="How much it counts that something is recent.")] = 0.0
    importance: Annotated[Share, Field(description="How much it counts that something is important.")] = 0.0
    explain: Annotated[bool, Field(description="Also what each score is made of.")] = False
    turn: Turn = None


class Get(Arguments):
    id: Id
    turn: Turn = None


class Feedback(Arguments):
    id: Id
    rating: Annotated[
        int,
        Field(
            ge=1,
            le=5,
            description="1: wrong or misleading; 2: not helpful; 3: neither; 4: helped; 5: exactly what was needed.",
        ),
    ]
    turn: Turn = None


class Browse(Arguments):
    order: Annotated[
        Literal["strength", "newest", "oldest", "upcoming"],
        Field(description="strength: what has proved useful first; upcoming: what lies ahead, the nearest first."),
    ] = "strength"
    types: Types = None
    since: Since = None
    until: Until = None
    limit: Annotated[int, Field(ge=1, le=100, description="At most so many memories.")] = 20
    after: Annotated[
        str | None, Field(min_length=1, max_length=500, description="`next` of the page before, to go on.")
    ] = None


class List(Browse):
    order: Annotated[
        Literal["strength", "newest", "oldest", "upcoming"], Field(description="The order of the list.")
    ] = "newest"
    status: Annotated[
        Literal["active", "superseded", "archived", "all"],
        Field(description="active, superseded (replaced by a newer text), archived (faded, or put away), or all."),
    ] = "active"
    limit: Annotated[int, Field(ge=1, le=200, description="At most so many memories.")] = 50


class Update(About):
    id: Id
    content: Annotated[Content, Field(description="The whole new text; it takes the place of the old one.")]
    type: Annotated[Kind | None, Field(description="Its type, where that changes too.")] = None


class Forget(Arguments):
    id: Id


class Stats(Arguments):
    pass


def read(kind: type[Given], tool: str, given: dict[str, Any] | None) -> Given:
    """The arguments of a call. BadInput says all that is wrong with them, in one line."""
    try:
        return kind.model_validate(given or {})
    except ValidationError as error:
        raise BadInput(f"{tool}: {'; '.join(_told(kind, each) for each in error.errors(include_url=False))}") from None


def _told(kind: type[Arguments], error: Any) -> str:
    where = ".".join(map(str, error["loc"])) or "arguments"
    if error["type"] == "missing":
        return f"{where}: is missing"
    if error["type"] == "extra_forbidden":
        known = ", ".join(kind.model_fields)
        return f"{one_line(where, _SHOWN)}: unknown; {f'there are {known}' if known else 'this takes no arguments'}"
    what = error["msg"].removeprefix("Value error, ").removeprefix("Input ").removeprefix("String ")
    value = error["input"]
    said = f" (it has {len(value):,} characters)" if isinstance(value, str) and len(value) > _SHOWN else ""
    if not said and not isinstance(value, dict | list):
        said = f" (it is {one_line(repr(value), _SHOWN)})"
    return f"{where}: {what[:1].lower()}{what[1:]}{said}"
