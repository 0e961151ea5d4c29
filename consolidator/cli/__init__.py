"""The command line. The only room, beside the scheduler, that reads a clock."""

from consolidator.cli.main import main

__all__ = ["main"]
