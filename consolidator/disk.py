"""What is written is on the disk."""

import os
from pathlib import Path


def sync(path: Path) -> None:
    """A file's bytes, or a folder's names, are on the disk when this returns. OSError where they cannot be brought."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
