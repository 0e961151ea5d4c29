"""The reference page of all settings, docs/settings.md."""

import inspect
import json
from collections.abc import Iterator
from typing import Any

from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel, SecretStr

from consolidator.settings.jobs import Job
from consolidator.settings.model import Settings
from consolidator.settings.shape import Shape, fields, may_be_in_a_file
from consolidator.settings.yaml import flow

_TOP = """\
# Settings

All settings stand in one file, `schedules.yaml`. It is read from `--settings FILE`, else from `schedules.yaml` in your
configuration folder (on Linux `~/.config/consolidator/`). Without it every setting has its default. The
[example](../schedules.yaml) shows them all; `consolidate settings example -o FILE` writes it.

`consolidate settings check` reads the file, lists everything that is wrong with it, each with its path and line, and
otherwise shows what is in force and when each job is due next; secrets are hidden. Where something is wrong, every
command ends with exit code 2 before it has done anything. `consolidate settings schema` prints a JSON Schema, by which
editors help to write the file.

- The file is YAML 1.2: `off`, `no` and `3:30` are words. Keys given twice, tags and unknown keys are refused.
- A relative path leads from the folder of the file, and `~` is your home.
- `${NAME}` in a value is the variable NAME of the environment, `${NAME:-text}` has a default for where it is not set or
  empty, and `$$` is a dollar.
- A key marked with a star holds a secret. Beside each such `key` there is `key_file`: a file that holds it, read when
  the settings are; spaces and line ends around it are dropped. Give one of the two.
- What is left out has its default; so has what is given as null, unless null means something of its own.

This page is written by `consolidate settings reference`."""


def reference() -> str:
    """The text of the page."""
    singles = [(name, shape) for name, shape in fields(Settings) if _is_plain(shape)]
    parts = [_TOP, "## At the top", _table(singles, Settings())]
    for name, shape in fields(Settings):
        if not _is_plain(shape):
            parts += _section(name, shape, getattr(Settings(), name), "##")
    return "\n\n".join(parts) + "\n"


def _section(path: str, shape: Shape, value: Any, heading: str) -> Iterator[str]:
    """A group with its table, and the groups in it."""
    inner = shape.inner("")
    if inner is not None and len(inner.groups) > 1:
        yield from (f"{heading} `{path}`", _about(shape))
        for group in inner.groups:
            kind = group.model_fields["type"].annotation.__args__[0]  # type: ignore[union-attr]
            own = [each for each in fields(group) if each[0] != "type"]
            yield from (f"{heading}# `type: {kind}`", _document(group), *([_table(own, None)] if own else []))
        return
    if inner is not None and inner.groups:
        yield from (f"{heading} `{path}.NAME`", _about(shape), _table(list(fields(inner.groups[0])), None))
        return
    (group,) = shape.groups
    yield from (f"{heading} `{path}`", _about(shape) or _document(group))
    own = [(name, below) for name, below in fields(group) if _is_plain(below)]
    if own:
        yield _table(own, value)
    elif all(issubclass(each, Job) for _, below in fields(group) for each in below.groups):
        yield "Every job has these; a default that differs is told at the job."
        yield _table(list(fields(Job)), Job())
    for name, below in fields(group):
        if not _is_plain(below):
            yield from _section(f"{path}.{name}", below, getattr(value, name), f"{heading}#")


def _table(settings: list[tuple[str, Shape]], values: BaseModel | None) -> str:
    rows = ["| key | default | what |", "|---|---|---|"]
    for name, shape in settings:
        if isinstance(values, Job) and type(values) is not Job and _is_common(type(values), name):
            continue
        rows.append(
            f"| `{name}`{' *' if may_be_in_a_file(shape) else ''} | {_default(name, shape, values)} | {_what(shape)} |"
        )
    return "\n".join(rows)


def _is_common(job: type[Job], name: str) -> bool:
    return name in Job.model_fields and job.model_fields[name].default == Job.model_fields[name].default


def _default(name: str, shape: Shape, values: BaseModel | None) -> str:
    assert shape.field is not None
    if values is None and shape.field.is_required():
        return "needed"
    value = getattr(values, name) if values is not None else shape.field.default
    value = value.get_secret_value() if isinstance(value, SecretStr) else value
    return "" if value is None or value == {} else f"`{flow(value)}`"


def _what(shape: Shape) -> str:
    assert shape.field is not None
    examples = shape.field.examples
    example = f" E.g. `{flow(examples[0])}`" if examples and not shape.groups else ""
    text = (shape.field.description or "").rstrip(".")
    return f"{text}{_bounds(shape)}.{example}".replace("|", "\\|")


def _bounds(shape: Shape) -> str:
    said = [
        f"{word} {json.dumps(getattr(mark, sign))}"
        for kind, sign, word in ((Gt, "gt", "above"), (Ge, "ge", "from"), (Lt, "lt", "below"), (Le, "le", "up to"))
        for mark in shape.marks
        if isinstance(mark, kind)
    ]
    return f"; {' '.join(said)}" if said else ""


def _about(shape: Shape) -> str:
    return (shape.field and shape.field.description) or ""


def _document(group: type[BaseModel]) -> str:
    return inspect.getdoc(group) or ""


def _is_plain(shape: Shape) -> bool:
    """Whether it is a line of a table, and no section of its own."""
    inner = shape.inner("")
    return not shape.groups and (inner is None or not inner.groups)
