"""Files of text that others write too: read whole, and replaced only if they are still what was read."""

import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkstemp
from threading import Event

from consolidator.disk import sync
from consolidator.errors import BadInput

LARGEST = 4 * 2**20  # far beyond any page that an agent can read
TRIES = 10
REST_SECONDS = 0.02  # who empties a file and writes it anew takes far less
LOOKS = 25


@dataclass(frozen=True, slots=True)
class Read:
    """
    A file as it was read. bad: why it cannot be understood; it is there all the same. state: what tells that it was
    written to since.
    """

    raw: bytes = b""
    text: str = ""
    changed_at: int = 0
    bad: str | None = None
    state: object = None


def read_file(path: Path) -> Read | None:
    """What a file holds, to the byte; None where there is none. changed_at: microseconds since 1970."""
    try:
        with open(path, "rb", opener=_at_once) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                return Read(bad="is no file")
            raw = file.read(LARGEST + 1)
    except FileNotFoundError:
        return Read(bad="is a link to nothing") if path.is_symlink() else None
    except OSError as error:
        return Read(bad=f"cannot be read ({error.strerror})")
    changed_at = status.st_mtime_ns // 1000
    if len(raw) > LARGEST:
        return Read(raw, "", changed_at, f"is larger than {LARGEST // 2**20} MiB")
    state = _state(status, len(raw))
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        return Read(raw, "", changed_at, f"is not valid UTF-8 (byte {error.start + 1})", state)
    return Read(raw, "", changed_at, "holds a NUL", state) if "\0" in text else Read(raw, text, changed_at, None, state)


def at_rest(found: Mapping[Path, Read]) -> dict[Path, Read]:
    """
    These files, each read again if somebody is just writing it: he empties it first, and what it held is not gone.

    BadInput where one never comes to rest.
    """
    held = dict(found)
    for _ in range(LOOKS):
        Event().wait(REST_SECONDS)
        changed = [path for path, read in held.items() if read.state is not None and read.state != _state_of(path)]
        if not changed:
            return held
        for path in changed:
            again = read_file(path)
            if again is None:
                del held[path]
            else:
                held[path] = again
    raise BadInput(f"{changed[0]}: is written to without a pause; try again later")


def _state_of(path: Path) -> object:
    try:
        status = path.stat()
    except OSError:
        return None
    return _state(status, status.st_size)


def _state(status: os.stat_result, size: int) -> object:
    return status.st_ino, status.st_mtime_ns, size


def _at_once(path: str, flags: int) -> int:
    """Nobody may ever write to a pipe that lies there; opening it would wait for one who does."""
    return os.open(path, flags | os.O_NONBLOCK)


def is_protected(path: Path) -> bool:
    """Whether somebody has said that the file is not to be written: also to root, who could."""
    try:
        return not os.access(path, os.W_OK) or not path.stat().st_mode & 0o222
    except FileNotFoundError:
        return False


def insist_on_writing(path: Path) -> None:
    """BadInput where the folder that a file's successor is written in may not be written."""
    folder = Path(os.path.realpath(path)).parent
    if not os.access(folder, os.W_OK | os.X_OK) or not folder.stat().st_mode & 0o222:
        raise BadInput(f"{folder}: may only be read; make it writable, or pull alone from this source")


def replace_file(path: Path, raw: bytes, new: bytes) -> bool:
    """
    Write a file anew if it still holds `raw`; False, and nothing done, where it does not.

    Whole or not at all, on the disk when this returns; a link goes on leading to it, and its mode and owner stay.
    BadInput where it cannot be written.
    """
    real = Path(os.path.realpath(path))
    name = None
    try:
        status = real.stat()
        handle, name = mkstemp(dir=real.parent, prefix=f".{real.name[:40]}.", suffix=".new")
        with os.fdopen(handle, "wb") as file:
            os.fchmod(file.fileno(), status.st_mode & 0o7777)
            with suppress(OSError):  # only root may give a file away
                os.fchown(file.fileno(), status.st_uid, status.st_gid)
            file.write(new)
            file.flush()
            os.fsync(file.fileno())
        if real.read_bytes() != raw:
            return False
        os.replace(name, real)
        name = None
        sync(real.parent)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise BadInput(f"{path}: cannot be written ({error.strerror})") from None
    finally:
        if name is not None:
            Path(name).unlink(missing_ok=True)
    return True
