"""The kinds of values that settings are made of: what each may be, and what it is called where it is not."""

import re
from difflib import get_close_matches
from typing import Annotated, Any, Literal, NamedTuple, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidationInfo,
    model_validator,
)
from pydantic_core import PydanticCustomError

from consolidator.errors import StoreUnusable
from consolidator.places import PathBeside, StoreBeside, beside
from consolidator.scopes import canonical, parse_scope, spell
from consolidator.settings.problems import is_plain

Level = Literal["off", "errors", "summary", "detailed"]
ALL_SCOPES = "*"
LEVELS: tuple[str, ...] = get_args(Level)
Step = Literal["reinforce", "decay", "associate", "shift", "prune", "merge"]


class Is(NamedTuple):
    """What a value is, for the sentence that refuses one: `'' is not a path or URL`."""

    what: str


class FileToo(NamedTuple):
    """A text that may be a secret: beside the key `x` there is `x_file`, a file that holds it."""


class Section(BaseModel):
    """A group of settings. What is given as null has its default, unless null means something there."""

    # Built when first used, and what stands in another group only with that: a third of the time to start.
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)

    @model_validator(mode="before")
    @classmethod
    def _left_out(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        return {name: value for name, value in given.items() if value is not None or cls._may_be_null(name)}

    @classmethod
    def _may_be_null(cls, name: str) -> bool:
        field = cls.model_fields.get(name)
        return field is not None and type(None) in get_args(field.annotation)


def group(about: str | None = None, /, **given: Any) -> Any:
    """A group within a group, by default as given. about: what it is for there, where its own words do not say it."""
    return Field(given, validate_default=True, description=about)


def spelled_as(pattern: str, what: str) -> Any:
    """A validator: how a model may be named in a file. Values that the program makes are not asked."""

    def check(text: str, info: ValidationInfo) -> str:
        if info.context is not None and not re.fullmatch(pattern, text):
            raise ValueError(f"{text!r} is not {what}")
        return text

    return AfterValidator(check)


def near(word: str, known: Any) -> str | None:
    """The known word that was probably meant."""
    folded = {each.casefold(): each for each in known}
    found = get_close_matches(word.casefold(), folded, n=1)
    return folded[found[0]] if found else None


def _time_of_day(text: str) -> str:
    match = re.fullmatch(r"(\d{1,2}):(\d{2})", text, re.ASCII)
    if not match or int(match[1]) > 23 or int(match[2]) > 59:
        raise ValueError(f"{text!r} is not a time of day, from 00:00 to 23:59; write e.g. 03:30")
    return f"{int(match[1]):02}:{match[2]}"


def _cron(text: str) -> str:
    from consolidator.schedule.calendar import validate_cron

    validate_cron(text)
    return " ".join(text.split())


def _zone(text: str) -> str:
    from zoneinfo import ZoneInfo, available_timezones

    try:
        return ZoneInfo(text).key
    except (KeyError, ValueError, OSError):
        likely = near(text, available_timezones())
        hint = f"did you mean {likely}?" if likely else "write e.g. Europe/Helsinki or UTC"
        raise ValueError(f"{text!r} is not a time zone; {hint}") from None


def _scope(text: str) -> str:
    return canonical(parse_scope(text))


def _scope_or_all(text: str) -> str:
    try:
        return text if text == ALL_SCOPES else _scope(text)
    except ValueError:
        raise ValueError('not a scope; write e.g. user=ada,project=atlas, "" or "*"') from None


def once(given: tuple[str, ...]) -> tuple[str, ...]:
    """A list in which nothing is named twice."""
    for value in given:
        if given.count(value) > 1:
            said = spell(value) if value.startswith("{") else value
            raise ValueError(f"{said if is_plain(said) else 'something'} is named twice")
    return given


def _known(what: str) -> Any:
    """A validator: that a name is one of those that the validation's context lists under `what`."""

    def check(name: str, info: ValidationInfo) -> str:
        names = (info.context or {}).get(what)
        if names is None or name in names:
            return name
        likely = near(name, names)
        plain = ", ".join(filter(is_plain, names))
        listed = f"there are {plain}" if plain else f"the settings have none, name it under `{what}:`"
        raise ValueError(
            f"there is no {what.removesuffix('s')} {name!r}; {f'did you mean {likely}?' if likely else listed}"
        )

    return AfterValidator(check)


def _included(scope: str, info: ValidationInfo) -> str:
    scopes = (info.context or {}).get("scopes")
    if scopes is None or scope in scopes:
        return scope
    above = "; ".join(filter(is_plain, map(spell, scopes)))
    raise ValueError(f"{spell(scope)} is not one of the scopes above{f': {above}' if above else ''}")


def _store_url(given: Any) -> Any:
    """What names a store, where it can be one. It is not opened."""
    if isinstance(given, str) and "://" in given:
        from consolidator.store.urls import parse_url

        try:
            parse_url(given)
        except StoreUnusable as error:
            raise PydanticCustomError("no_store", "{why}", {"why": str(error)}) from None
    return given


def _source_url(text: str, info: ValidationInfo) -> str:
    """What names a source, where its kind is known; a relative path in it leads from the folder of the file."""
    from consolidator.sources.choose import KINDS

    name, _, place = text.partition(":")
    kind = KINDS.get(name)
    if kind is None:
        likely = near(name, KINDS)
        hint = f"did you mean {likely}?" if likely else "`consolidate sources` lists them"
        raise ValueError(f"{name if is_plain(name) else 'what is given'} is no kind of source; {hint}")
    folder = (info.context or {}).get("folder")
    if folder is None or not place or not kind.is_path or "://" in place:
        return text
    return f"{name}:{beside(folder, place)}"


Nights = Annotated[int, Field(ge=1, le=36_500), Is("a whole number of nights")]
TOKEN = r"[!-~]{16,1000}"
WHAT_A_TOKEN_IS = (
    "it has 16 or more ASCII letters, digits and signs, and no spaces; make one with `openssl rand -hex 32`"
)


def _sendable(token: SecretStr) -> SecretStr:
    if not re.fullmatch(TOKEN, token.get_secret_value()):
        raise ValueError(f"not a token; {WHAT_A_TOKEN_IS}")
    return token


Token = Annotated[SecretStr, AfterValidator(_sendable)]
Name = Annotated[str, Field(pattern=r"^[\w.-]{1,64}$"), Is("a name of letters, digits, dots and dashes")]
ChannelName = Name
TimeOfDay = Annotated[str, AfterValidator(_time_of_day), Is("a time of day; write e.g. 03:30")]
Cron = Annotated[str, AfterValidator(_cron), Is('a cron expression; write e.g. "30 3 * * *"')]
Zone = Annotated[str, AfterValidator(_zone), Is("a time zone; write e.g. Europe/Helsinki or UTC")]
Scope = Annotated[str, AfterValidator(_scope), Is("a scope; write e.g. user=ada,project=atlas")]
ScopeOrAll = Annotated[str, AfterValidator(_scope_or_all)]
Scopes = Annotated[tuple[Scope, ...], Field(strict=False), AfterValidator(once)]
StoreUrl = Annotated[StoreBeside, BeforeValidator(_store_url), Is("a path or URL")]
EmbeddingModel = Annotated[
    str,
    Field(min_length=1),
    spelled_as(r"minilm|none|openai:\S(.*\S)?", "minilm, openai:NAME or none"),
    Is("the name of a model"),
]
SourceUrl = Annotated[str, Field(min_length=1), AfterValidator(_source_url), Is("KIND or KIND:PLACE")]
FilePath = Annotated[PathBeside, Is("a path")]

# Names of what stands elsewhere in the settings.
NameOfChannel = Annotated[str, _known("channels"), Is("the name of a channel, as `channels` gives it")]
NamesOfChannels = Annotated[tuple[NameOfChannel, ...], Field(strict=False), AfterValidator(once)]
NameOfStore = Annotated[str, _known("stores"), Is("the name of a store, as `stores` gives it")]
NamesOfSources = Annotated[
    tuple[Annotated[str, _known("sources"), Is("the name of a source, as `sources` gives it")], ...],
    Field(strict=False),
    AfterValidator(once),
]
ScopesOfThose = Annotated[
    tuple[Annotated[Scope, AfterValidator(_included)], ...], Field(strict=False), AfterValidator(once)
]
Steps = Annotated[tuple[Step, ...], Field(strict=False, min_length=1), AfterValidator(once)]
