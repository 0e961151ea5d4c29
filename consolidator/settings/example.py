"""The annotated example of every setting, as it stands in schedules.yaml."""

import inspect
from collections.abc import Iterator
from textwrap import wrap
from typing import Any, NamedTuple

from pydantic import BaseModel, SecretStr

from consolidator.notify.channels import CHANNELS
from consolidator.settings.jobs import Job
from consolidator.settings.model import Settings
from consolidator.settings.shape import Shape, fields
from consolidator.settings.yaml import block, flow

_WIDTH = 118
_FARTHEST_REMARK = 36
_TOP = """\
Every setting of consolidator, with its default. Leave out what you do not want to change.

Read from --settings FILE, else from schedules.yaml in your configuration folder. `consolidate settings check` shows
what it comes to, and all that is wrong with it. Relative paths lead from the folder of this file.

No secret has to stand here: ${NAME} is the variable NAME of the environment, ${NAME:-text} has a default, and $$ is a
dollar. A key for a secret has another one for a file that holds it: api_key_file, url_file, token_file, and so on.

This page is written by `consolidate settings example`. docs/settings.md has the same as tables."""
_NAMES_OF_CHANNELS = {"apprise": "chat", "webhook": "program", "openclaw": "claw", "file": "log", "stdout": "here"}


class _Line(NamedTuple):
    text: str
    remark: str = ""


def example() -> str:
    """The text of the example."""
    parts = [_commented(_TOP.splitlines(), "")]
    for name, shape in fields(Settings):
        parts.append([*_commented(_about(shape), ""), *_lines(name, shape, getattr(Settings(), name), "")])
    return "\n\n".join("\n".join(_aligned(part)) for part in parts) + "\n"


def _lines(name: str, shape: Shape, value: Any, indent: str) -> Iterator[_Line]:
    """A setting: a group and what is in it, a value, or, where there is none, what could be there, as a comment."""
    inner = f"{indent}  "
    if name == "channels":
        yield _Line(f"{indent}# {name}:")
        for kind, group in CHANNELS.items():
            yield _Line(f"{indent}#   {_NAMES_OF_CHANNELS[kind]}:")
            for line in _channel(kind, group):
                yield line._replace(text=f"{indent}#     {line.text}")
    elif isinstance(value, BaseModel):
        yield _Line(f"{indent}{name}:")
        for key, of_key in fields(type(value)):
            if not _is_as_in_every_job(type(value), key):
                yield from _with_remark(key, of_key, getattr(value, key), inner)
    elif value in (None, {}):
        for text in block({name: _examples(shape)[0]}):
            yield _Line(f"{indent}# {text}")
    else:
        yield _Line(f"{indent}{name}: {flow(list(value) if isinstance(value, tuple) else value)}")


def _with_remark(name: str, shape: Shape, value: Any, indent: str) -> Iterator[_Line]:
    """A setting of a group, with what it is for: at its side, or above where it is a group itself or no room is."""
    lines = list(_lines(name, shape, value, indent))
    remark = " ".join(_about(shape))
    if len(lines) == 1 and max(len(lines[0].text) + 3, _FARTHEST_REMARK) + len(remark) <= _WIDTH:
        yield lines[0]._replace(remark=remark)
        return
    yield from (_Line(text) for text in _comment(remark, indent))
    yield from lines


def _channel(kind: str, group: type[BaseModel]) -> Iterator[_Line]:
    yield _Line(f"type: {kind}", (inspect.getdoc(group) or "").splitlines()[0])
    for name, shape in fields(group):
        if name == "type":
            continue
        field = shape.field
        assert field is not None
        needed = field.is_required() or name in ("channel", "to")
        default = field.default
        default = default.get_secret_value() if isinstance(default, SecretStr) else default
        shown = _examples(shape)[0] if field.is_required() or default is None else default
        yield _Line(f"{'' if needed else '# '}{name}: {flow(shown)}", field.description or "")


def _is_as_in_every_job(group: type[BaseModel], name: str) -> bool:
    """Whether it is a setting of every job and was shown with the first."""
    if not issubclass(group, Job) or group is type(Settings().jobs.consolidate) or name not in Job.model_fields:
        return False
    mine, common = group.model_fields[name], Job.model_fields[name]
    return (mine.default == common.default and name not in ("at", "cron")) or mine.default is None


def _about(shape: Shape) -> list[str]:
    """What a setting is for: what is said at its name, else of its group."""
    assert shape.field is not None
    text = shape.field.description or inspect.getdoc(shape.core) or ""
    return text.splitlines()


def _examples(shape: Shape) -> list[Any]:
    assert shape.field is not None
    return shape.field.examples or []


def _commented(paragraphs: list[str], indent: str) -> list[_Line]:
    return [_Line(line) for text in paragraphs for line in (_comment(text, indent) if text else [f"{indent}#"])]


def _comment(text: str, indent: str) -> list[str]:
    return [f"{indent}# {line}" for line in wrap(text, _WIDTH - len(indent) - 2)]


def _aligned(lines: list[_Line]) -> Iterator[str]:
    """Lines with their remarks under each other."""
    lengths = [len(line.text) for line in lines if line.remark and len(line.text) < _FARTHEST_REMARK]
    column = max(lengths, default=0) + 3
    for line in lines:
        yield f"{line.text:<{column - 1}} # {line.remark}" if line.remark else line.text
