"""What every command starts from: the store it was told of, the settings, the time, and what options mean."""

import os
from collections.abc import Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple, TypeVar

import typer

from consolidator.conditions import HELP
from consolidator.errors import BadInput
from consolidator.home import FOLDER, default_store, make_room, store_of, usual_settings
from consolidator.instants import format_instant, from_datetime, parse_instant
from consolidator.scopes import canonical, parse_scope

if TYPE_CHECKING:
    from consolidator.laws.clock import Rates
    from consolidator.means import Means
    from consolidator.settings import Settings
    from consolidator.store.engine import Store

Name = TypeVar("Name", bound=str)

_EARLIEST, _LATEST = parse_instant("1000-01-01T00:00:00Z"), parse_instant("9998-12-31T23:59:59Z")

ScopeOption = Annotated[
    str | None,
    typer.Option("--scope", metavar="K=V,...", help="This scope exactly; '' is the empty one.", show_default=False),
]
AsOfOption = Annotated[
    str | None,
    typer.Option("--as-of", metavar="T", help="An RFC 3339 time instead of the clock's.", show_default=False),
]
AgentOption = Annotated[
    str | None,
    typer.Option("--agent", metavar="NAME", help="As this agent: in its scopes alone.", show_default=False),
]
WhereOption = Annotated[
    list[str] | None,
    typer.Option("--where", metavar="CONDITION", help=f"Those alone for which it holds: {HELP}", show_default=False),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document instead.")]
OutputOption = Annotated[
    Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write to a file instead.", show_default=False)
]
IdsArgument = Annotated[list[str], typer.Argument(metavar="ID...", help="Ids, or their first 8 or more characters.")]
IdArgument = Annotated[str, typer.Argument(metavar="ID", help="An id, or its first 8 or more characters.")]


class Options(NamedTuple):
    """The options before the command, as given."""

    store: str | None
    settings_file: Path | None


@dataclass(frozen=True, slots=True)
class Session:
    """The options before the command. store: a URL or a path, as given; settings_file: the one in use, if any."""

    store: str | None
    settings: "Settings"
    settings_file: Path | None

    @property
    def url(self) -> str:
        """The store: --store, else the variable, else the settings, else a file in the user's data folder."""
        return store_of(self.settings, self.store)

    @property
    def is_default_store(self) -> bool:
        """Whether nobody named a store."""
        return self.url == str(default_store())

    @property
    def salience_file(self) -> Path | None:
        """Where it stands what the user wants remembered, if anywhere."""
        from consolidator.salience import salience_file
        from consolidator.store.urls import is_file, parse_url, path_of

        url = parse_url(self.url)
        return salience_file(
            self.settings.salience, settings=self.settings_file, store=path_of(url) if is_file(url) else None
        )

    @property
    def rates(self) -> "Rates":
        """The rates in force."""
        from consolidator.laws.clock import Rates

        return Rates(**self.settings.rates.model_dump())

    def scope_of(self, agent: str | None, asked: str | None) -> str:
        """The canonical scope that is used. asked: by --scope. BadInput where the agent may not use that."""
        from consolidator.settings.agents import scope_of

        return scope_of(self.settings.agents, agent, asked)

    def means(self) -> "AbstractContextManager[Means]":
        """What a night of these settings merges with."""
        from consolidator.means import Means

        return closing(Means(self.settings.merge, self.settings.embedding, os.environ))

    def open(self, mode: Literal["read", "write", "create"]) -> "Store":
        """The open store. StoreUnusable says why not, and what next."""
        from consolidator.store.engine import open_store

        if mode == "create":
            make_room(self.url)
        return open_store(self.url, mode=mode)


def start(store: str | None, settings_file: Path | None) -> Session:
    """The session of a command. BadSettings where the settings cannot be used."""
    from consolidator.settings import Settings, load_settings

    found = settings_in_use(settings_file)
    return Session(store, load_settings(found) if found else Settings(), found)


def settings_in_use(named: Path | None) -> Path | None:
    """The settings file: the one that is named, else the one in the configuration folder, where it is there."""
    if named is not None:
        return named
    usual = usual_settings()
    return usual if usual.exists() else None


def state_folder() -> Path:
    """Where it is remembered what a store that is gone cannot hold: what systemd gives, else the user's."""
    import platformdirs

    given = os.environ.get("STATE_DIRECTORY", "").partition(":")[0]
    return Path(given) if given else platformdirs.user_state_path(FOLDER)


def clock() -> int:
    """The time, by the clock on the wall."""
    return from_datetime(datetime.now(UTC))


def moment(text: str | None, *, ahead: bool, wall: int | None = None) -> int:
    """The `now` of a command: --as-of, else the clock's. BadInput where it is no time, or lies ahead and may not."""
    wall = clock() if wall is None else wall
    if text is None:
        return wall
    try:
        instant = parse_instant(text)
    except ValueError as error:
        raise BadInput(f"--as-of: {error}") from None
    if not _EARLIEST <= instant <= _LATEST:
        raise BadInput(f"--as-of: {text} is out of reach; write a year from 1000 to 9998")
    if instant > wall and not ahead:
        raise BadInput(
            f"--as-of: {format_instant(instant)} lies in the future; `run --dry-run` and `export` may look ahead"
        )
    return instant


def scope_text(option: str | None) -> str | None:
    """The canonical text of --scope; None where it was not given. BadInput where it is no scope."""
    if option is None:
        return None
    try:
        return canonical(parse_scope(option))
    except ValueError as error:
        raise BadInput(f"--scope: {error}") from None


def one_of(name: str, value: str, known: Sequence[Name]) -> Name:
    """The value of an option, where it is a known one. BadInput names the nearest."""
    for each in known:
        if value == each:
            return each
    from difflib import get_close_matches

    near = get_close_matches(value, known, n=1)
    hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
    raise BadInput(f"{name}: {value!r} is unknown; {hint}")


def many_of(name: str, value: str, known: Sequence[str]) -> tuple[str, ...]:
    """The values of an option, separated by commas, in the order in which they are known."""
    chosen = {one_of(name, part.strip(), known) for part in value.split(",")}
    return tuple(each for each in known if each in chosen)
