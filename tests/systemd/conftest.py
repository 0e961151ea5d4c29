"""The command line, as its own tests have it."""

from tests.cli.conftest import consolidate, own_folders, wall

__all__ = ["consolidate", "own_folders", "wall"]
