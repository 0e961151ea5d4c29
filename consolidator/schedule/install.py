"""Units in a folder of systemd: all are written or none, and no file that is not one of them is touched."""

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from consolidator.errors import BadInput, BadSettings
from consolidator.schedule.units import MARK


def write(units: Mapping[str, str], folder: Path) -> list[str]:
    """Write what is not so already. The names of what was written. BadSettings where a file is someone else's."""
    changed = {name: text for name, text in units.items() if _held(folder / name) != text}
    foreign = [folder / name for name in changed if _is_foreign(folder / name)]
    if foreign:
        raise BadSettings(
            f"{path}: was not written by `systemd install`; move it away, then install" for path in foreign
        )
    parts = {folder / name: folder / f".{name}.{os.getpid()}.part" for name in changed}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, part in parts.items():
            part.write_text(changed[path.name], encoding="utf-8")
            part.chmod(0o644)
        for path, part in parts.items():
            part.replace(path)
    except OSError as error:
        hint = "; say --user, or be root" if isinstance(error, PermissionError) else ""
        raise BadInput(f"{folder}: cannot be written: {error.strerror}{hint}") from None
    finally:
        for part in parts.values():
            with suppress(OSError):
                part.unlink()
    return list(changed)


def left_over(units: Iterable[str], folder: Path) -> list[str]:
    """The units of an earlier time that are not among these any more: timers first."""
    found = (path for path in folder.glob("consolidate*") if path.suffix in (".service", ".timer"))
    names = [path.name for path in found if path.name not in units and not _is_foreign(path)]
    return sorted(names, key=lambda name: (not name.endswith(".timer"), name))


def _held(path: Path) -> str | None:
    """The text of a file; None where there is none to read."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def _is_foreign(path: Path) -> bool:
    """Whether something is there that is not one of the units."""
    return os.path.lexists(path) and not (_held(path) or "").startswith(MARK)
