"""What the model refuses, in a person's words. Values that may be secrets are never repeated."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, get_args

from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel, SecretStr

from consolidator.settings.jobs import Job
from consolidator.settings.kinds import near
from consolidator.settings.problems import Path, Problem, as_written, is_plain, spelled
from consolidator.settings.references import Elsewhere
from consolidator.settings.shape import FILE_SUFFIX, Shape, fields, keys, may_be_in_a_file, of_model

_NOUNS = {float: "a number", int: "a whole number", bool: "true or false", str: "a text", SecretStr: "a text"}
_OTHER_WORDS = {"dollars": "usd", "cost": "usd"}
_SERVICES = {"telegram": "tgram", "email": "mailto", "mail": "mailto", "smtp": "mailto", "teams": "workflows"} | {
    name: name for name in ("slack", "discord", "tgram", "mailto", "matrix", "ntfy", "signal", "whatsapp")
}
_OFTEN_MEANT = {"yes": "true", "on": "true", "no": "false", "off": "false"}


class Where(NamedTuple):
    """
    Where an error is.

    shape: what may stand there; None where nothing is known. group: the group it is a key of. hidden: its value may
    be a secret. is_name: it is the key that is wrong, not what stands under it.
    """

    path: Path
    shape: Shape | None
    group: type[BaseModel] | None
    hidden: bool
    is_name: bool


def explain(
    model: type[BaseModel], errors: list[Any], data: Any, sources: Mapping[Path, Elsewhere]
) -> Iterator[Problem]:
    """The problem that each of pydantic's errors is; without lines."""
    for error in errors:
        if error["type"] == "too_short" and any(error["loc"] == each["loc"][:-1] for each in errors):
            continue  # only because what is in it is wrong
        where = _locate(model, error["loc"], data)
        path, what = _sentence(model, error, where, sources.get(where.path))
        yield Problem(path, what)


def _locate(model: type[BaseModel], location: tuple[str | int, ...], data: Any) -> Where:
    shape: Shape | None = of_model(model)
    path: Path = ()
    group = None
    hidden = location[:1] == ("channels",)
    for part in location:
        if part == "[key]":
            return Where(path, shape, group, hidden, is_name=True)
        if shape is None:
            break
        if len(shape.groups) > 1:  # the location names the type here, which is no key
            shape = shape._replace(core=shape.group(data) or shape.core)
            if len(shape.groups) == 1:
                continue
        group, shape = shape.group(data), shape.inner(part, data)
        path = (*path, part)
        try:
            data = data[part]
        except (LookupError, TypeError):
            data = None
        hidden = hidden or (shape is not None and shape.is_secret)
    return Where(path, shape, group, hidden, is_name=False)


def _sentence(model: type[BaseModel], error: Any, where: Where, source: Elsewhere | None) -> tuple[Path, str]:
    value, kind, limits = error["input"], error["type"], error.get("ctx", {})
    path, shape = where.path, where.shape
    hidden = where.hidden or (source is not None and source.file is not None)
    written = source.written if source and is_plain(source.written) else None
    shown = None if hidden else written if source else as_written(value)
    subject = "" if shown is None else f"{shown} is "
    if where.is_name:
        kind_of = spelled(path[:-1]).removesuffix("s")
        wrong = as_written(path[-1]) or "what is given"
        if kind == "value_error":
            return path[:-1], f"{wrong} is {error['msg'].removeprefix('Value error, ')}"
        return path[:-1], f"{wrong} is no name for a {kind_of}; use letters, digits, dots and dashes"
    if kind == "extra_forbidden":
        return path, f"unknown; {_nearest(model, where, value)}"
    if kind in ("union_tag_not_found", "union_tag_invalid") and shape:
        types = [get_args(each.model_fields["type"].annotation)[0] for each in shape.groups]
        return (*path, "type"), f"must be one of {', '.join(types)}{_service(value)}"
    if kind == "missing":
        return path, f"is missing{_example(where)}"
    if kind in ("model_type", "model_attributes_type", "dict_type"):
        return path, f"{subject}not a group of settings; {_below(where)}"
    if kind in ("tuple_type", "list_type"):
        return path, f"{subject}not a list{'' if shown is None else f'; write [{shown}]'}"
    if kind == "literal_error":
        known = get_args(shape.core) if shape else ()
        likely = near(value, known) if isinstance(value, str) and not where.hidden else None
        return path, f"{subject}not one of {', '.join(known)}{f'; did you mean {likely}?' if likely else ''}"
    if kind in ("greater_than", "greater_than_equal", "less_than", "less_than_equal", "finite_number"):
        return path, f"{subject}{_bounds(shape)}"
    if kind in ("string_too_short", "too_short") and shape:
        return path, f"{subject}not {shape.noun}" if shape.noun else "is empty; leave it out, or write something"
    if kind == "string_too_long":
        return path, f"is longer than {limits['max_length']} characters"
    if kind.endswith("_type") and shape:
        return path, f"{subject}not {shape.noun or _NOUNS.get(shape.core, 'possible here')}{_hint(shape, value)}"
    if kind == "string_pattern_mismatch" and shape:
        return path, f"{subject}not {shape.noun or f'possible here{_example(where)}'}"
    if kind == "value_error" and isinstance(value, str) and (shown is None or source) and not hidden:
        return path, f"{subject}not {shape.noun if shape and shape.noun else 'what belongs here'}"  # its words quote it
    return path, error["msg"].removeprefix("Value error, ")


def _service(channel: Any) -> str:
    """How a service is written that somebody took for a type of channels."""
    given = channel.get("type") if isinstance(channel, Mapping) else None
    scheme = _SERVICES.get(given.casefold()) if isinstance(given, str) else None
    return f"; write type: apprise and url: {scheme}://..." if scheme else ""


def _bounds(shape: Shape | None) -> str:
    marks = shape.marks if shape else ()
    low = next((mark.ge if isinstance(mark, Ge) else mark.gt for mark in marks if isinstance(mark, (Ge, Gt))), None)
    high = next((mark.le if isinstance(mark, Le) else mark.lt for mark in marks if isinstance(mark, (Le, Lt))), None)
    if low is not None and high is not None:
        return f"not between {low} and {high}"
    if low is not None:
        return f"not a number from {low} up"
    return "not a number" if high is None else f"not a number up to {high}"


def _hint(shape: Shape, value: Any) -> str:
    """What was probably meant, where a value is of another type."""
    if shape.core is bool and isinstance(value, str) and value.casefold() in _OFTEN_MEANT:
        return f"; write {_OFTEN_MEANT[value.casefold()]}"
    if shape.core in (int, float) and isinstance(value, str):
        percent = re.fullmatch(r"(\d{1,3}(?:\.\d{1,6})?) ?%", value)
        if percent and shape.core is float:
            return f"; write {float(percent[1]) / 100:g}"
        if re.fullmatch(r"[+-]?\d+(\.\d+)?", value):
            return "; write it without quotes"
    if shape.core in (str, SecretStr) and shape.noun is None and isinstance(value, (int, float)):
        return "; put it in quotes"
    return ""


def _example(where: Where) -> str:
    field = where.shape and where.shape.field
    if not field or not field.examples:
        return ""
    name = where.path[-1]
    other = f", or {name}{FILE_SUFFIX}" if where.shape and may_be_in_a_file(where.shape) else ""
    return f"; write e.g. {name}: {field.examples[0]}{other}"


def _below(where: Where) -> str:
    groups = where.shape.groups if where.shape else ()
    if len(groups) > 1:
        return "indent `type:` and the rest below a name"
    if groups and issubclass(groups[0], Job):
        return "to turn a job off write `enabled: false` below its name"
    return "indent its names below it"


def _nearest(model: type[BaseModel], where: Where, value: Any) -> str:
    """The key that was probably meant: of this group, else of another; else those that are known here."""
    *parent, wrong = where.path
    here = keys(where.group) if where.group else []
    everywhere: dict[str, Path] = {}
    for path, shape in paths_of(model):
        if isinstance(value, Mapping) == bool(shape.groups):
            everywhere.setdefault(str(path[-1]), path)
    owner = everywhere.get(str(wrong), ())[:-1]
    if owner[:1] == ("jobs",) and where.group is not None and issubclass(where.group, Job):
        return f"it belongs to {spelled(owner)}"
    likely = near(str(wrong), here) or _meant(str(wrong), here)
    if likely:
        return f"did you mean {likely if where.hidden else spelled((*parent, likely))}?"
    likely = None if where.hidden else near(str(wrong), everywhere)
    return f"did you mean {spelled(everywhere[likely])}?" if likely else f"known here: {', '.join(here)}"


def _meant(word: str, here: list[str]) -> str | None:
    """A known key of which the word is a part, or another word."""
    meant = _OTHER_WORDS.get(word.casefold(), word.casefold())
    return next((key for key in here if meant in (key, *key.split("_"))), None)


def paths_of(group: type[BaseModel], path: Path = ()) -> Iterator[tuple[Path, Shape]]:
    """Every setting of a group and of those in it, each with what may stand there."""
    for name, shape in fields(group):
        yield (*path, name), shape
        if len(shape.groups) == 1:
            yield from paths_of(shape.groups[0], (*path, name))
