"""
A mapping: what the fields of somebody's records mean.

It is a YAML file, read as settings are: unknown keys are refused and the nearest known one is named, every problem is
a line that names the file, the key and the reason. Where a field is wanted, several may be listed, and the first that
a record has is taken. A field inside another is written with dots (`metadata.source`, `namespace.0`); `{a}/{b}` is a
text made of fields.
"""

import codecs
import re
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, model_validator

from consolidator.errors import BadInput, BadSettings
from consolidator.settings.document import LARGEST_BYTES, Unreadable, decode, read_document
from consolidator.settings.explain import explain
from consolidator.settings.kinds import Is, Section, Zone

REST = "rest"
_PLACE = re.compile(r"\{([^{}]+)\}")


def _several(given: Any) -> Any:
    return (given,) if isinstance(given, str) else given


def _times(text: str) -> str:
    if text not in ("rfc3339", "epoch_s", "epoch_ms") and "%" not in text:
        raise ValueError(f"{text!r} is no way to write times; write rfc3339, epoch_s, epoch_ms or e.g. %d.%m.%Y %H:%M")
    return text


def _encoding(text: str) -> str:
    try:
        codecs.lookup(text)
    except LookupError:
        raise ValueError(f"{text!r} is no encoding; write e.g. utf-8 or cp1252") from None
    return text


Fields = Annotated[
    tuple[Annotated[str, Field(min_length=1)], ...],
    Field(strict=False),
    BeforeValidator(_several),
    Is("the name of a field, or a list of them"),
]
Times = Annotated[str, AfterValidator(_times), Is("a way to write times; write rfc3339, epoch_s or epoch_ms")]
Encoding = Annotated[str, AfterValidator(_encoding), Is("an encoding; write e.g. utf-8")]


class FieldMapping(Section):
    """
    Where the records are, and which field of them is what.

    format: None, as is usual for the kind. records: of a JSON document, the lists of records in it: `results`,
    `agents.*.memories`, `.` for the document itself; `*` at the end is every value of an object. types: what their
    types are called here. deleted: a record in which this is true is no more. metadata: what is kept beside; `rest`
    is all that means nothing else, but what `without` lists.
    """

    format: Literal["json", "jsonl", "csv"] | None = None
    records: Fields = (".",)
    encoding: Encoding = "utf-8"
    delimiter: Annotated[str, Field(pattern=r'^[^"\r\n]$'), Is("one character between two values")] = ","

    text: Fields
    id: Fields = ()
    type: Fields = ()
    types: dict[str, str] = Field({})
    default_type: Annotated[str, Field(min_length=1)] = "fact"
    created_at: Fields = ()
    expires_at: Fields = ()
    times: Times = "rfc3339"
    time_zone: Zone | None = None
    importance: Fields = ()
    importance_range: Annotated[tuple[float, ...], Field(strict=False, min_length=2, max_length=2)] = (0.0, 1.0)
    topics: Fields = ()
    topics_separator: Annotated[str, Field(min_length=1)] = ","
    uses: Fields = ()
    used_at: Fields = ()
    deleted: Fields = ()
    scope: dict[str, str] = Field({})
    metadata: Fields = (REST,)
    without: Fields = ()

    @model_validator(mode="after")
    def _fits(self) -> Self:
        low, high = self.importance_range
        if not low < high:
            raise ValueError("importance_range: has to go from the least to the most; write e.g. [0, 10]")
        if not self.text:
            raise ValueError("text: is empty; name the field that holds what is remembered")
        if "%" in self.times and "%z" not in self.times and self.time_zone is None:
            raise ValueError("time_zone: is missing; times without an offset need one, write e.g. Europe/Helsinki")
        return self

    def named(self) -> dict[str, list[tuple[str, ...]]]:
        """By key, the alternatives it gives: each the fields that have to be there for it."""
        keys = ("text", "id", "type", "created_at", "expires_at", "importance", "topics", "uses", "used_at", "deleted")
        found = {key: [places(each) for each in getattr(self, key)] for key in keys}
        found |= {f"scope.{key}": [places(template, always=True)] for key, template in self.scope.items()}
        found["metadata"] = [places(each) for each in self.metadata if each != REST]
        return found


def places(field: str, *, always: bool = False) -> tuple[str, ...]:
    """The fields that a text made of fields names; a field itself, unless it is `always` such a text."""
    return tuple(_PLACE.findall(field)) if always or "{" in field else (field,)


def fill(template: str, values: dict[str, str]) -> str:
    """The text that a template is with these values."""
    return _PLACE.sub(lambda place: values[place[1]], template)


def read_mapping(path: Path) -> FieldMapping:
    """The mapping of a file. BadInput names all that is wrong, a line each."""
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_BYTES + 1)
    except (OSError, ValueError) as error:
        raise BadInput(f"{path}: the mapping cannot be read: {getattr(error, 'strerror', None) or error}") from None
    return parse_mapping(content, str(path))


def built_in(kind: str) -> FieldMapping:
    """The mapping of a system whose exports are known."""
    return parse_mapping(files(__package__).joinpath(f"{kind}.yaml").read_bytes(), f"{kind}.yaml")


def parse_mapping(content: bytes, name: str) -> FieldMapping:
    """The mapping that a file's content is; `name` is what errors call it."""
    try:
        document = read_document(decode(content))
    except Unreadable as error:
        raise BadSettings([f"{name}: {error}"]) from None
    problems = list(document.problems)
    try:
        mapping = FieldMapping.model_validate(document.data)
    except ValidationError as errors:
        for problem in explain(FieldMapping, errors.errors(include_url=False), document.data, {}):
            problems.append(problem._replace(line=document.lines.get(problem.path)))
    if problems:
        raise BadSettings(f"{name}: {problem}" for problem in problems)
    return mapping
