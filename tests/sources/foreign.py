"""What the contract of sources asks of a store of another system that was made for a test."""

from contextlib import AbstractContextManager
from typing import Any, Protocol

from consolidator.sources.choose import open_source
from consolidator.sources.port import Options, Source


class Foreign(Protocol):
    """
    A store of another system, with what that system itself does to it: none of it goes through our source.

    To be subclassed. url, options: what the command line is given. A foreign that `add` cannot add to (an export) has
    its records from the start and is one of `foreigns.READ`: only what is only read is tried with it.
    """

    url: str
    options: Options

    def source(self) -> AbstractContextManager[Source]:
        """It, as our program opens it."""
        return open_source(self.url, self.options)

    def add(self, text: str, **about: Any) -> str:
        """A record as that system itself writes it; returns its id, as `Item.id` tells it."""
        ...

    def edit(self, id: str, text: str) -> None:  # noqa: A002 - it is theirs
        """A person or another program changes the text of a record."""
        ...

    def use(self, id: str) -> None:  # noqa: A002
        """The system's own counting that a record was used; nothing, where it counts none."""
        ...

    def remove(self, id: str) -> None:  # noqa: A002
        """The system removes a record, as its own way of doing that is."""
        ...

    def texts(self) -> dict[str, str]:
        """By id, the text of what its agent would still recall, read as that system itself reads."""
        ...

    def rest(self) -> object:
        """All that we do not own, to be compared before and after."""
        ...
