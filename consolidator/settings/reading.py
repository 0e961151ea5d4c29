"""Reading settings: every problem at once, or settings that hold."""

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path as FilePath
from typing import Any, NamedTuple

from pydantic import ValidationError

from consolidator.errors import BadInput, BadSettings
from consolidator.scopes import canonical, parse_scope
from consolidator.settings.document import LARGEST_BYTES, Document, Unreadable, decode, read_document, reread
from consolidator.settings.explain import explain
from consolidator.settings.model import Settings
from consolidator.settings.problems import Path, Problem
from consolidator.settings.references import Elsewhere, Resolved, resolve, say_if_open
from consolidator.settings.shape import of_model

MOST_PROBLEMS = 50
_OF_A_WRONG_TYPE = {"int_type", "float_type", "bool_type"}


class Reading(NamedTuple):
    """
    Settings, and where they are from.

    lines: of what the file gives. sources: of what stands elsewhere. notes: what is no problem, and should not stay so.
    """

    settings: Settings
    lines: Mapping[Path, int]
    sources: Mapping[Path, Elsewhere]
    notes: tuple[str, ...]


def load_settings(path: FilePath, environ: Mapping[str, str] | None = None) -> Settings:
    """The settings of a file; what it leaves out has its default. BadSettings names all that is wrong."""
    return read_settings(path, environ).settings


def read_settings(path: FilePath, environ: Mapping[str, str] | None = None) -> Reading:
    """The settings of a file, and where they are from. BadSettings names all that is wrong."""
    try:
        if path.exists() and not path.is_file():
            raise OSError(0, "not a file")
        with path.open("rb") as file:
            text = decode(file.read(LARGEST_BYTES + 1))
        reading = _read(text, str(path), environ, path.absolute().parent, placed=True)
        note = say_if_open(path, str(path), ": holds secrets and") if _has_secrets(reading) else None
    except OSError as error:
        raise BadInput(f"{path}: the settings cannot be read: {error.strerror}") from None
    except ValueError as error:  # a NUL in the path
        raise BadInput(f"{str(path)!r}: the settings cannot be read: {error}") from None
    except Unreadable as error:
        raise BadSettings([f"{path}: {error}"]) from None
    return reading._replace(notes=(*reading.notes, *filter(None, [note])))


def parse_settings(text: str, name: str, *, environ: Mapping[str, str] | None = None) -> Settings:
    """
    The settings of a text; `name` is what errors call it.

    Paths in them stay as they are written; files with secrets are looked for from the folder in which we are.
    """
    try:
        return _read(text, name, environ, FilePath(), placed=False).settings
    except Unreadable as error:
        raise BadSettings([f"{name}: {error}"]) from None


def _read(text: str, name: str, environ: Mapping[str, str] | None, folder: FilePath, *, placed: bool) -> Reading:
    document = read_document(text)
    resolved = resolve(document, of_model(Settings), environ=os.environ if environ is None else environ, folder=folder)
    context = _names(resolved.data) | ({"folder": folder} if placed else {})
    settings, errors = _validate(resolved, context)
    problems = [*document.problems, *resolved.problems, *_explained(document, resolved, errors)]
    if settings is None or problems:
        raise BadSettings([f"{name}: {line}" for line in _told(problems)])
    return Reading(settings, document.lines, resolved.sources, resolved.notes)


def _validate(resolved: Resolved, context: Mapping[str, Any]) -> tuple[Settings | None, list[Any]]:
    """The settings, or pydantic's errors. What a variable gives is a number where one is wanted."""
    try:
        return Settings.model_validate(resolved.data, context=context), []
    except ValidationError as first:
        errors = first.errors(include_url=False)
    numbers = [
        error["loc"] for error in errors if error["type"] in _OF_A_WRONG_TYPE and error["loc"] in resolved.sources
    ]
    if not numbers:
        return None, errors
    for *parents, last in numbers:
        group: Any = resolved.data
        for part in parents:
            group = group[part]
        group[last] = reread(group[last])
    try:
        return Settings.model_validate(resolved.data, context=context), []
    except ValidationError as second:
        return None, second.errors(include_url=False)


def _explained(document: Document, resolved: Resolved, errors: list[Any]) -> Iterator[Problem]:
    """Pydantic's errors in words, but for those of values that are known to be missing."""
    known = {problem.path for problem in document.problems} | resolved.unknown
    for problem in explain(Settings, errors, resolved.data, resolved.sources):
        starts = [problem.path[:end] for end in range(len(problem.path), -1, -1)]
        if known.isdisjoint(starts[:-1]):
            yield problem._replace(
                line=next((document.lines[start] for start in starts if start in document.lines), None)
            )


def _names(data: Mapping[str, Any]) -> dict[str, Any]:
    """What jobs may name: channels, stores, sources, and the scopes, where not all are meant."""
    context: dict[str, Any] = {
        what: list(named) if isinstance(named := data.get(what) or {}, Mapping) else None
        for what in ("channels", "stores", "sources")
    }
    scopes = data.get("scopes")
    if isinstance(scopes, list):
        context["scopes"] = []
        for scope in scopes:
            with suppress(ValueError, AttributeError):  # said where it is wrong
                context["scopes"].append(canonical(parse_scope(scope)))
    return context


def _told(problems: list[Problem]) -> Iterator[str]:
    """Problems as lines, in the order of the file; of very many the first."""
    lines = dict.fromkeys(str(each) for each in sorted(problems, key=lambda each: each.line or 0))
    yield from islice(lines, MOST_PROBLEMS)
    if len(lines) > MOST_PROBLEMS:
        yield f"and {len(lines) - MOST_PROBLEMS} more problems"


def _has_secrets(reading: Reading) -> bool:
    """Whether the file itself holds a secret."""
    from consolidator.settings.shown import secrets_of

    return any(path in reading.lines and path not in reading.sources for path in secrets_of(reading.settings))
