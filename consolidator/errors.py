"""Errors that a person can answer: each says what, where and what next, in one line, and ends with its exit code."""

from collections.abc import Iterable

TRACEBACK_VARIABLE = "CONSOLIDATOR_TRACEBACK"  # set: a fault of the program is told with its place


class ConsolidatorError(Exception):
    """A failure with a message for a person. `exit_code` 1: failed on the way."""

    exit_code = 1


class BadInput(ConsolidatorError):
    """Settings, arguments, files or stores that cannot be used. Nothing was written. Exit code 2."""

    exit_code = 2


class BadSettings(BadInput):
    """Settings in which something is wrong: all of it, a line each. Exit code 2."""

    def __init__(self, lines: Iterable[str]) -> None:
        self.lines = tuple(lines)
        super().__init__("\n".join(self.lines))


class StoreUnusable(BadInput):
    """The store cannot be opened, reached, understood or written. Exit code 2."""


class StoreUnreachable(StoreUnusable):
    """What is wrong lies around the store, and may pass: a server that is down. Exit code 2."""


class ScopeHeld(ConsolidatorError):
    """Another night holds the scope. Exit code 11."""

    exit_code = 11


class Terminated(BaseException):
    """This process was told to end (SIGTERM): it ends as at Ctrl-C."""
