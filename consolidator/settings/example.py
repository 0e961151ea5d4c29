"""The annotated example of every setting, as it stands in schedules.yaml."""

import inspect
from collections.abc import Iterator
from textwrap import wrap
from typing import Any, NamedTuple

from pydantic import BaseModel, SecretStr

from consolidator.settings.jobs import ConsolidateJob, Job
from consolidator.settings.model import Settings
from consolidator.settings.shape import Shape, fields
from consolidator.settings.yaml import block, flow

_WIDTH = 118
_FARTHEST_REMARK = 42
_TOP = (
    "Every setting of consolidator, with its default. Leave out what you do not want to change.",
    (
        "Read from --settings FILE, else from schedules.yaml in your configuration folder. `consolidate settings "
        "check` shows what it comes to, and all that is wrong with it. Relative paths lead from this file's folder."
    ),
    (
        "No secret has to stand here: ${NAME} is the variable NAME of the environment, ${NAME:-text} has a default, "
        "and $$ is a dollar. A key for a secret has a twin for a file that holds it: api_key_file, url_file and so on."
    ),
    "This page is what `consolidate settings example` writes; docs/settings.md has the same as tables.",
)
NAMES_OF_CHANNELS = {"apprise": "chat", "webhook": "program", "openclaw": "claw", "file": "log", "stdout": "here"}


class _Line(NamedTuple):
    text: str
    remark: str = ""


def example() -> str:
    """The text of the example."""
    parts = [[_Line(line) for text in _TOP for line in ("#", *_comment(text, ""))][1:]]
    for name, shape in fields(Settings):
        about = _comment(_about(shape), "")
        parts.append([*map(_Line, about), *_lines(name, shape, getattr(Settings(), name), "")])
    return "\n\n".join("\n".join(_aligned(part)) for part in parts) + "\n"


def _lines(name: str, shape: Shape, value: Any, indent: str) -> Iterator[_Line]:
    """A setting: a group and what is in it, a value, or, where there is none, what could be there as a comment."""
    if isinstance(value, BaseModel):
        yield _Line(f"{indent}{name}:")
        yield from _group(value, f"{indent}  ")
    elif value == {} and (inner := shape.inner("")) and len(inner.groups) > 1:
        yield _Line(f"{indent}# {name}:")
        for group in inner.groups:
            yield from (line._replace(text=f"{indent}# {line.text}") for line in _channel(group, "  "))
    elif value in (None, {}):
        yield from (_Line(f"{indent}# {text}") for text in block({name: _example(shape)}))
    else:
        yield _Line(f"{indent}{name}: {flow(value)}")


def _group(group: BaseModel, indent: str) -> Iterator[_Line]:
    """The settings of a group, those of each job but once. Groups in which there are only groups are set apart."""
    own = [(name, shape, getattr(group, name)) for name, shape in fields(type(group)) if _is_shown(type(group), name)]
    apart = all(isinstance(value, BaseModel) for _, _, value in own)
    for position, (name, shape, value) in enumerate(own):
        if apart and position:
            yield _Line("")
        yield from _with_remark(list(_lines(name, shape, value, indent)), _about(shape), indent)


def _is_shown(group: type[BaseModel], name: str) -> bool:
    """Whether it is not a setting of every job that is as it was shown with the first."""
    if not issubclass(group, Job) or group is ConsolidateJob or name not in Job.model_fields:
        return True
    default = group.model_fields[name].default
    return default is not None and (default != Job.model_fields[name].default or name == "at")


def _channel(group: type[BaseModel], indent: str) -> Iterator[_Line]:
    """A channel of a kind: what it needs, and as a comment what it can have."""
    kind = group.model_fields["type"].annotation.__args__[0]  # type: ignore[union-attr]
    yield from map(_Line, _comment((inspect.getdoc(group) or "").splitlines()[0], indent))
    yield _Line(f"{indent}{NAMES_OF_CHANNELS[kind]}:")
    indent += "  "
    yield _Line(f"{indent}type: {kind}")
    for name, shape in fields(group):
        if name != "type" and shape.field:
            required = shape.field.is_required()
            default = shape.field.default
            default = default.get_secret_value() if isinstance(default, SecretStr) else default
            value = _example(shape) if required or default is None else default
            sign = "" if required or name in ("channel", "to") else "# "
            yield from _with_remark([_Line(f"{indent}{sign}{name}: {flow(value)}")], _about(shape), indent)


def _with_remark(lines: list[_Line], remark: str, indent: str) -> Iterator[_Line]:
    """What a setting is for: at its side, or above where it has several lines or no room is."""
    if len(lines) == 1 and max(len(lines[0].text) + 3, _FARTHEST_REMARK) + len(remark) <= _WIDTH:
        yield lines[0]._replace(remark=remark)
        return
    yield from map(_Line, _comment(remark, indent))
    yield from lines


def _about(shape: Shape) -> str:
    """What a setting is for: what is said at its name, else of its group."""
    return " ".join(((shape.field and shape.field.description) or inspect.getdoc(shape.core) or "").split())


def _example(shape: Shape) -> Any:
    return shape.field.examples[0] if shape.field and shape.field.examples else None


def _comment(text: str, indent: str) -> list[str]:
    return [f"{indent}# {line}" for line in wrap(text, _WIDTH - len(indent) - 2, break_on_hyphens=False)]


def _aligned(lines: list[_Line]) -> Iterator[str]:
    """Lines with their remarks under each other, where they are not too long for that."""
    lengths = [len(line.text) for line in lines if line.remark]
    column = max((length for length in lengths if length <= _FARTHEST_REMARK), default=0) + 2
    for line in lines:
        yield f"{line.text.ljust(column)}  # {line.remark}" if line.remark else line.text
