"""Paths and stores as a settings file names them: a relative one lies beside the file."""

import os
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field, ValidationInfo


def beside(folder: Path, text: str) -> str:
    """A path, `~` and all, from the folder of the file in which it is written."""
    return os.path.normpath(folder.absolute() / Path(text).expanduser())


def store_beside(folder: Path, text: str) -> str:
    """A store: the path of a SQLite file, bare or as sqlite:///PATH, from that folder; another URL as it is."""
    scheme, separator, rest = text.partition("://")
    if separator and not (scheme.startswith("sqlite") and rest.startswith("/") and not rest.startswith("//")):
        return text
    return beside(folder, rest[1:] if separator else text)


def _folder(info: ValidationInfo) -> Path | None:
    context: dict[str, Any] = info.context or {}
    return context.get("folder")


def _path(text: str, info: ValidationInfo) -> str:
    folder = _folder(info)
    return text if folder is None else beside(folder, text)


def _store(text: str, info: ValidationInfo) -> str:
    folder = _folder(info)
    return text if folder is None else store_beside(folder, text)


# Of a validation's context: folder, where the settings file lies.
PathBeside = Annotated[str, Field(min_length=1), AfterValidator(_path)]
StoreBeside = Annotated[str, Field(min_length=1), AfterValidator(_store)]
