"""
Files that another program appends to and writes whole, in place and at any moment: read when they are at rest, and
replaced only as they were read.
"""

import os
import stat
from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import mkstemp
from threading import Event

from consolidator.disk import sync
from consolidator.errors import BadInput, ConsolidatorError

REST_SECONDS = 0.02  # writing a file whole takes its agent far less
TRIES = 25


def at_rest(paths: Callable[[], Iterable[Path]], fits: Callable[[Path, bytes], bool]) -> dict[Path, bytes]:
    """
    What these files hold, none of them half written and none of them older than another by a change.

    Read, waited for a moment, and looked at again until nothing has changed meanwhile. fits: whether what a file holds
    is whole, and not what its writer has got to. BadInput where one cannot be read, is not whole, or never comes to
    rest.
    """
    held: dict[Path, tuple[object, bytes]] = {}
    unfit = None
    for _ in range(TRIES):
        names = sorted(paths())
        changed = held.keys() != set(names)
        held = {path: held[path] for path in names if path in held}
        for path in names:
            if path not in held or held[path][0] != _signature(path):
                changed = True
                read = _read(path)
                if read is None:
                    held.pop(path, None)
                else:
                    held[path] = read
        unfit = next((path for path, (_, raw) in held.items() if not fits(path, raw)), None)
        if not changed and unfit is None:
            return {path: raw for path, (_, raw) in held.items()}
        Event().wait(REST_SECONDS)
    if unfit is not None:
        raise BadInput(
            f"{unfit}: its last line is cut off; mend it or take it out, or try again if it is being written"
        )
    raise BadInput(f"{names[0].parent if names else 'the folder'}: is written to without a pause; try again later")


def replace(path: Path, before: bytes | None, after: bytes | None) -> bool:
    """
    Write a file whole, or remove it (None), if it still is what was read: `before`, or None for no such file.

    False, and nothing done, where it is not. The new one has the permissions and the owner of the old one, and is on
    the disk when this returns. BadInput where this user may not write it, ConsolidatorError where nobody can.
    """
    try:
        if after is None:
            if held(path) != before:
                return False
            path.unlink()
        else:
            new = _beside(path, after)
            try:
                if held(path) != before:
                    return False
                os.replace(new, path)
            finally:
                new.unlink(missing_ok=True)
        sync(path.parent)
    except PermissionError as error:
        raise BadInput(
            f"{path}: may not be written by this user ({error.strerror}), so it is as it was; push as whoever owns it"
        ) from None
    except OSError as error:
        raise ConsolidatorError(f"{path}: cannot be written ({error.strerror}); it is as it was") from None
    return True


def held(path: Path) -> bytes | None:
    """What a file holds; None where there is none."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def is_there(path: Path) -> bool:
    """Whether there is something of that name, a link that leads nowhere too."""
    return os.path.lexists(path)


def make_ready(folders: Iterable[Path]) -> None:
    """Make these folders where they are not. BadInput where one of them takes no new file."""
    for folder in folders:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            writable = os.access(folder, os.W_OK | os.X_OK)
        except OSError:
            writable = False
        if not writable:
            raise BadInput(f"{folder}: cannot be written to, so nothing was; make it writable for this user")


def _beside(path: Path, content: bytes) -> Path:
    """A new file of that content in the same folder, of a name that its agent does not read."""
    handle, name = mkstemp(dir=path.parent, prefix=f".{path.name[:80]}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            if path.exists():
                old, new = path.stat(), os.fstat(file.fileno())
                os.fchmod(file.fileno(), stat.S_IMODE(old.st_mode))
                if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
                    os.fchown(file.fileno(), old.st_uid, old.st_gid)
            else:
                os.fchmod(file.fileno(), stat.S_IMODE(path.parent.stat().st_mode) & 0o666)
            os.fsync(file.fileno())
    except BaseException:
        os.unlink(name)
        raise
    return Path(name)


def _signature(path: Path) -> object:
    try:
        about = path.stat(follow_symlinks=False)
    except OSError:
        return None
    return about.st_ino, about.st_mtime_ns, about.st_size


def _read(path: Path) -> tuple[object, bytes] | None:
    """Its signature and content; None where it is no more."""
    signature = _signature(path)
    try:
        kind = path.stat(follow_symlinks=False).st_mode
        if stat.S_ISLNK(kind):
            raise BadInput(f"{path}: is a symbolic link, which writing would break; put the file itself there")
        if not stat.S_ISREG(kind):
            raise BadInput(f"{path}: is no file")
        return signature, path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror})") from None
