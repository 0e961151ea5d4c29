"""What of systemd a machine has."""

import shutil

from tests.conftest import unavailable


def needs(program: str) -> None:
    """Go on only where the program is there."""
    if not shutil.which(program):
        unavailable(f"no {program}")
