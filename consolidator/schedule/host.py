"""What of this machine, these settings and this call goes into units."""

import os
import pwd
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from consolidator.errors import BadInput, BadSettings
from consolidator.notify.channels import Channel, FileChannel, OpenClawChannel
from consolidator.schedule.owed import sources_of
from consolidator.schedule.units import ACCOUNT, STATE_FOLDER, Host
from consolidator.settings import FILE_NAME, Reading, Settings
from consolidator.settings.duty import Duty
from consolidator.settings.jobs import JobName
from consolidator.sources.choose import KINDS, Kind
from consolidator.store.urls import is_file, parse_url, path_of

_FOLDERS = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")
_CREDENTIALS = "CREDENTIALS_DIRECTORY"
_OF_PROVIDERS = (
    "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "OPENAI_API_KEY", "OPENAI_BASE_URL"
)  # fmt: skip
SYSTEM_FOLDER = Path("/etc") / ACCOUNT  # where the units of the system look for settings
_DYNAMIC = range(61_184, 65_520)  # accounts that systemd makes for a service
_HOMES = (Path("/home"), Path("/root"), Path("/run/user"))
_PRIVATE = (Path("/tmp"), Path("/var/tmp"))


class Call(NamedTuple):
    """How the program was called. store: as given, or in the variable; settings_file: the one in use."""

    store: str | None
    settings_file: Path | None
    own: bool
    environ: Mapping[str, str]


def host_of(call: Call, reading: Reading, due: Mapping[JobName, Duty]) -> tuple[Host, list[str]]:
    """What goes into the units, and what a person should know about it. BadSettings says why they could not work."""
    settings = reading.settings
    command = (*_program(), *_options(call))
    stores = _stores(call, reading, due)
    read, written = _sources(settings, due)
    folders = {*(file.parent for file in stores), *_outputs(reading, due), *written}
    writes = sorted(str(folder) for folder in folders if not _is_within(folder, (STATE_FOLDER,)))
    account = None if call.own else _account(stores)
    if not call.own and (lost := [path for path in writes if _is_within(Path(path), _PRIVATE)]):
        raise BadSettings(
            f"{path}: services of the system have a /tmp of their own; name another folder" for path in lost
        )
    reads = [Path(command[0]), Path(sys.base_prefix), *([call.settings_file] if call.settings_file else []), *read]
    folder = _folder(call)
    host = Host(
        command=command,
        own=call.own,
        account=account,
        writes=tuple(writes),
        in_homes=any(_is_within(path, _HOMES) for path in (*reads, *map(Path, writes))),
        credentials=() if call.own else tuple(sorted(_credentials(reading, folder))),
        environment=str(folder / "environment"),
        programs=_programs(settings.channels.values(), call.environ),
        folders=tuple((name, call.environ[name]) for name in _FOLDERS if call.own and call.environ.get(name)),
    )
    return host, [
        *_missing(call, stores, folder),
        *_unplaced(call, settings, due),
        *_unreachable(host, reads),
        *_variables(reading, call.environ, folder / "environment"),
    ]


def _missing(call: Call, stores: list[Path], folder: Path) -> Iterator[str]:
    """What the units would look for and is not there yet."""
    if not call.settings_file:
        yield f"there is no settings file, so every setting has its default; {folder / FILE_NAME} would be read"
        yield "write the units anew when it is there: they hold when jobs are due"
    for store in stores:
        if not os.path.exists(store):
            yield f"{store}: there is no store yet; `consolidate init` comes first"


def _program() -> tuple[str, ...]:
    """The program as it is installed: the command beside the interpreter, else the interpreter and the module."""
    beside = Path(sys.executable).with_name("consolidate")
    return (str(beside),) if beside.is_file() else (sys.executable, "-m", "consolidator")


def _options(call: Call) -> Iterator[str]:
    if call.settings_file:
        yield from ("--settings", str(call.settings_file.absolute()))
    if call.store:
        url = parse_url(call.store)
        if url.password:
            raise BadInput("the store's URL has a password, which would stand in the units; put it in the settings")
        yield from ("--store", str(path_of(url)) if is_file(url) else call.store)


def _folder(call: Call) -> Path:
    """Where the settings are, or would be."""
    if call.settings_file:
        return call.settings_file.absolute().parent
    import platformdirs

    return platformdirs.user_config_path(ACCOUNT) if call.own else SYSTEM_FOLDER


def _stores(call: Call, reading: Reading, due: Mapping[JobName, Duty]) -> list[Path]:
    """The files of the stores that are named, links followed."""
    main = call.store or reading.settings.store
    named = {main} if call.store else {duty.store or main for duty in due.values()}
    urls = [parse_url(store) for store in named if store]
    return sorted({path_of(url) for url in urls if is_file(url)})


def _outputs(reading: Reading, due: Mapping[JobName, Duty]) -> Iterator[Path]:
    """The folders of what else is written."""
    for channel in reading.settings.channels.values():
        if isinstance(channel, FileChannel):
            yield Path(channel.path).parent
    if "backup" in due and reading.settings.jobs.backup.folder:
        yield Path(reading.settings.jobs.backup.folder)
    if reading.settings.metrics.textfile:
        yield Path(reading.settings.metrics.textfile).parent


def _sources(settings: Settings, due: Mapping[JobName, Duty]) -> tuple[list[Path], list[Path]]:
    """What of other systems' stores the night reads, and the folders in which it writes."""
    read: list[Path] = []
    written: list[Path] = []
    for kind, place in _places(settings, due).values():
        if place and kind.is_path and "://" not in place:
            path = Path(place).expanduser()
            if kind.ways == "read":
                read.append(path)
            else:
                written.append(path.parent if path.is_file() else path)
    return read, written


def _places(settings: Settings, due: Mapping[JobName, Duty]) -> dict[str, tuple[Kind, str]]:
    """The sources of the night, by name: of which kind, and where."""
    names = sources_of(due["consolidate"]) if "consolidate" in due else ()
    urls = {name: settings.sources[name].url.partition(":") for name in names}
    return {name: (KINDS[kind], place) for name, (kind, _, place) in urls.items()}


def _unplaced(call: Call, settings: Settings, due: Mapping[JobName, Duty]) -> Iterator[str]:
    """Sources at their usual places, which are those of whoever calls, and not of the units' account."""
    for name, (kind, place) in _places(settings, due).items() if not call.own else ():
        if not place and kind.is_path:
            yield f"sources.{name}.url: names no place, and units write only in those that are named; {kind.name}:PLACE"


def _account(files: list[Path]) -> str | None:
    """Whose the stores are; None for those in the state folder, which becomes the units' own."""
    owners = {file: next(path for path in (file, *file.parents) if path.exists()).stat().st_uid for file in files}
    owners = {
        file: owner
        for file, owner in owners.items()
        if not (_is_within(file, (STATE_FOLDER,)) and (owner == 0 or owner in _DYNAMIC))
    }
    if 0 in owners.values():
        file = next(file for file, owner in owners.items() if owner == 0)
        raise BadInput(
            f"{file}: the store is root's, whom no unit should run as; give it to someone (chown), have it in "
            f"{STATE_FOLDER}, or install with --user"
        )
    if len(set(owners.values())) > 1:
        raise BadInput(f"the stores are of several people: {', '.join(map(str, owners))}; install for each with --user")
    try:
        return pwd.getpwuid(owners.popitem()[1]).pw_name if owners else None
    except KeyError:
        raise BadInput(
            f"{files[0]}: the store's owner has no name on this machine; give it to someone (chown)"
        ) from None


def _credentials(reading: Reading, folder: Path) -> Iterator[tuple[str, str]]:
    """The files of secrets that the settings look for among a unit's credentials."""
    for path, source in reading.sources.items():
        if _CREDENTIALS in source.names and (held := reading.sources.get((*path[:-1], str(path[-1])[: -len("_file")]))):
            file = folder / Path(held.file or "").expanduser()
            yield file.name, str(file)


def _programs(channels: Iterable[Channel], environ: Mapping[str, str]) -> str | None:
    starts = any(isinstance(each, OpenClawChannel) and each.via == "message" for each in channels)
    return environ.get("PATH", os.defpath) if starts else None


def _variables(reading: Reading, environ: Mapping[str, str], file: Path) -> Iterator[str]:
    """Which variables of this shell the units would miss."""
    used = {name for source in reading.sources.values() for name in source.names if name != _CREDENTIALS}
    wanted = sorted(name for name in used.union(_OF_PROVIDERS) if environ.get(name))
    try:
        held = {line.partition("=")[0].strip() for line in file.read_text(encoding="utf-8").splitlines()}
    except (OSError, UnicodeDecodeError):
        held = set()
    if missing := [name for name in wanted if name not in held]:
        lines = ", ".join(f"{name}=..." for name in missing)
        yield f"units do not see your shell: write {lines} into {file} (chmod 600)"


def _unreachable(host: Host, reads: list[Path]) -> Iterator[str]:
    """What the units' account cannot read or write, as far as modes tell."""
    if host.own:
        return
    known = pwd.getpwnam(host.account) if host.account else None
    who = (known.pw_uid, set(os.getgrouplist(known.pw_name, known.pw_gid))) if known else (-1, set())
    name = host.account or f"{ACCOUNT}, an account of the units alone,"
    for path in reads:
        if not _may(path, who, stat.S_IROTH):
            yield f"{path}: {name} cannot read it; change its mode and those of its folders, or install with --user"
    for path in map(Path, host.writes):
        if not _may(path, who, stat.S_IWOTH):
            yield f"{path}: {name} cannot write there; change its owner or mode, or name another folder"


def _may(path: Path, who: tuple[int, set[int]], right: int) -> bool:
    """Whether someone has a right on a path, and may pass through its folders. right: as of all others."""
    try:
        real = path.resolve(strict=True)
    except OSError:
        return False
    return all(
        os.stat(each).st_mode & (wanted << _shift(each, who))
        for each, wanted in ((real, right), *((folder, stat.S_IXOTH) for folder in real.parents))
    )


def _shift(path: Path, who: tuple[int, set[int]]) -> int:
    """How far the bits of whoever it is stand from those of all others."""
    found = path.stat()
    return 6 if found.st_uid == who[0] else 3 if found.st_gid in who[1] else 0


def _is_within(path: Path, folders: tuple[Path, ...]) -> bool:
    return any(each.is_relative_to(folder) for each in (path.absolute(), path.resolve()) for folder in folders)
