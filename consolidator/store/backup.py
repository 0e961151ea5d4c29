"""
Copies of a store, made while agents go on writing.

A copy appears under its name whole or not at all: it is written beside it, checked, put on the disk, then renamed. It
can be read by its owner alone. Copies of before go after that, the oldest first.
"""

import os
import re
import sqlite3
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from consolidator.disk import sync
from consolidator.errors import BadInput, ConsolidatorError
from consolidator.instants import to_datetime
from consolidator.store import postgres_dump, sqlite
from consolidator.store.handle import Store
from consolidator.store.urls import is_file, path_of

_TIME = "%Y%m%dT%H%M%SZ"
_TIMES = r"\d{8}T\d{6}Z"


@dataclass(frozen=True, slots=True)
class BackedUp:
    """A new copy, how many bytes it has, what made it where that was another program, and the older ones that went."""

    path: Path
    size: int
    by: str = ""
    removed: tuple[Path, ...] = ()

    @property
    def words(self) -> str:
        """Where the copy is, in a sentence."""
        gone = f"; {len(self.removed)} older removed" if self.removed else ""
        by = f" by {self.by}" if self.by else ""
        return f"Copied to {self.path}{by}, {self.size / 1e6:,.1f} MB{gone}."


def back_up(store: Store, folder: str | Path, *, keep: int, now: int) -> BackedUp:
    """
    Copy a store into a folder, as a SQLite file or by `pg_dump`; afterwards the newest `keep` copies of it are there.

    A copy's name says which store it is of and when it was made. BadInput where the folder cannot be written to, or
    there is no pg_dump; ConsolidatorError where the copy fails on the way, and then nothing is left of it.
    """
    place = Path(folder)
    if not place.is_dir():
        raise BadInput(f"{place}: there is no such folder for copies; make it first")
    if not os.access(place, os.W_OK | os.X_OK):
        raise BadInput(f"{place}: copies cannot be written there; make the folder writable for this user")
    stem, suffix = _named_after(store)
    path = place / f"{stem}{to_datetime(now):{_TIME}}{suffix}"
    try:
        size, by = _write(store, path)
    except (OSError, sqlite3.Error) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ConsolidatorError(f"{path}: no copy was made ({why}); the older ones stay as they are") from error
    return BackedUp(path, size, by, _remove_older(path, stem, suffix, keep=keep))


def _named_after(store: Store) -> tuple[str, str]:
    """How the names of a store's copies begin and end: those of another one of the same name begin otherwise."""
    if is_file(store.url):
        name, suffix = path_of(store.url).stem, ".db"
    else:
        name, suffix = re.sub(r"[^\w.-]", "_", store.url.database or "store"), ".dump"
    return f"{name}-{store.store_id[:8]}-", suffix


def _write(store: Store, path: Path) -> tuple[int, str]:
    partial = path.with_name(f"{path.name}.partial")
    _remove(partial)
    os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    by = ""
    try:
        if is_file(store.url):
            _copy_file(path_of(store.url), partial)
        else:
            by = postgres_dump.dump(store, partial)
        with partial.open("rb+") as written:
            os.fsync(written.fileno())
        size = partial.stat().st_size
        os.replace(partial, path)
        with suppress(OSError):  # some file systems cannot
            sync(path.parent)
    finally:
        _remove(partial)
    return size, by


def _copy_file(source: Path, target: Path) -> None:
    """The pages of a file as last committed. Who held a scope of it then holds nothing of the copy."""
    sqlite.copy_pages(source, target)
    with closing(sqlite3.connect(target)) as copy:
        copy.execute("PRAGMA journal_mode = DELETE")  # nothing beside the copy
        with copy:
            copy.execute("DELETE FROM locks")
        damage = copy.execute("PRAGMA quick_check(1)").fetchone()
    if damage != ("ok",):
        raise ConsolidatorError(f"{source}: no copy was made, for it is damaged ({damage[0]}); restore an older one")


def _remove(partial: Path) -> None:
    for file in (partial, partial.with_name(f"{partial.name}-journal")):
        file.unlink(missing_ok=True)


def _remove_older(new: Path, stem: str, suffix: str, *, keep: int) -> tuple[Path, ...]:
    """Remove the oldest copies of the store beyond `keep`, of which the new one is one; and what a kill has left."""
    ours = re.compile(re.escape(stem) + _TIMES + re.escape(suffix))
    left = re.compile(ours.pattern + re.escape(".partial") + "(-journal)?")
    names = sorted(file.name for file in new.parent.iterdir() if not file.is_symlink() and file.is_file())
    copies = [name for name in names if ours.fullmatch(name) and name != new.name]
    going = copies[: max(0, len(copies) + 1 - keep)]
    try:
        for name in [*going, *(name for name in names if left.fullmatch(name))]:
            (new.parent / name).unlink(missing_ok=True)
    except OSError as error:
        raise ConsolidatorError(
            f"{new}: copied, but {error.filename} could not be removed ({error.strerror}); remove it by hand"
        ) from error
    return tuple(new.parent / name for name in going)
