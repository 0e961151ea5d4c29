"""
The salience profile: what a person wants remembered, in their own words, in a file that is read anew at each use.

It is guidance for what an agent stores, and nothing that the program obeys.
"""

import stat
from dataclasses import dataclass
from pathlib import Path

FILE_NAME = "salience.md"
LONGEST = 4_000  # characters; what is longer is cut
_MOST_BYTES = 4 * LONGEST + 4


@dataclass(frozen=True, slots=True)
class Salience:
    """A profile. text: at most 4,000 characters. problem: why it is not, or not whole, what stands in the file."""

    text: str = ""
    problem: str | None = None


def salience_file(named: str | None, *, settings: Path | None, store: Path | None) -> Path | None:
    """
    Where the profile is: the file that is named, else `salience.md` beside the settings file or, where there is none,
    beside the store. None where neither is there.

    settings, store: files, where there are such.
    """
    if named is not None:
        return Path(named)
    beside = (file.absolute().parent / FILE_NAME for file in (settings, store) if file is not None)
    return next((path for path in beside if path.is_file()), None)


def read_salience(path: Path | None) -> Salience:
    """The profile in a file. One that is gone, or cannot be read, is an empty one and says why."""
    if path is None:
        return Salience()
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return Salience(problem=f"{path}: is no file")
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES)
    except (OSError, ValueError) as error:
        return Salience(problem=f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})")
    more = len(content) == _MOST_BYTES
    try:
        text = content.decode("utf-8-sig", errors="ignore" if more else "strict").strip()
    except UnicodeDecodeError:
        return Salience(problem=f"{path}: is not UTF-8 text")
    if more or len(text) > LONGEST:
        return Salience(text[:LONGEST], f"{path}: only its first {LONGEST:,} characters are used; shorten it")
    return Salience(text)
