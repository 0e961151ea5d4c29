"""Commands about systemd: systemd print, systemd install."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from consolidator.cli.output import emit, note
from consolidator.cli.session import Session, clock
from consolidator.home import STORE_VARIABLE, default_store

UserOption = Annotated[bool, typer.Option("--user", help="For your own manager, not the system's.")]
DaemonOption = Annotated[
    bool, typer.Option("--daemon", help="One service that runs all jobs, instead of a timer for each.")
]


def print_units(ctx: typer.Context, user: UserOption = False, daemon: DaemonOption = False) -> None:
    """
    Print the units that do the jobs of the settings on this machine, and write nothing.

    \b
    Example:
        consolidate systemd print --user
    """
    for name, text in _units(ctx.obj, own=user, daemon=daemon).items():
        emit(f"# {_folder(own=user) / name}\n{text}")


def install(ctx: typer.Context, user: UserOption = False, daemon: DaemonOption = False) -> None:
    """
    Write the units that do the jobs of the settings on this machine, and say what to type next.

    A file of the same name that is not one of them stays, and then none is written. When the settings change, write
    them again.

    \b
    Example:
        consolidate systemd install --user
    """
    from consolidator.schedule.install import left_over, write

    units, folder = _units(ctx.obj, own=user, daemon=daemon), _folder(own=user)
    written = write(units, folder)
    emit(f"{folder}: wrote {', '.join(written)}." if written else f"{folder}: all units are as they should be.")
    systemctl = "systemctl --user" if user else "systemctl"
    emit("Type next:")
    for name in left_over(units, folder):
        if name.endswith((".timer", "scheduler.service")):
            emit(f"  {systemctl} disable --now {name}")
        emit(f"  rm {folder / name}")
    emit(f"  {systemctl} daemon-reload")
    emit(f"  {systemctl} enable --now {' '.join(name for name, text in units.items() if '[Install]' in text)}")
    if user:
        emit("  loginctl enable-linger    # so that they run while you are logged out, too")


def _units(session: Session, *, own: bool, daemon: bool) -> Mapping[str, str]:
    """The units; what a person should know about them is said on the way."""
    from consolidator.schedule.host import SYSTEM_FOLDER, Call, host_of
    from consolidator.schedule.units import units
    from consolidator.settings import FILE_NAME, Reading, Settings, read_settings
    from consolidator.settings.duty import duties, local_zone

    file, theirs = session.settings_file, SYSTEM_FOLDER / FILE_NAME
    if file is None and not own and theirs.exists():  # the units would read it, whoever installs them
        file = theirs
    reading = read_settings(file) if file else Reading(Settings(), {}, {}, ())
    named = session.store or os.environ.get(STORE_VARIABLE) or None
    local = local_zone()
    due = duties(reading.settings, local)
    usual = not (named or reading.settings.store or any(duty.store for duty in due.values()))
    if usual and (own or default_store().exists()):
        named = str(default_store())  # which follows from the environment of this command
    host, notes = host_of(Call(named, file, own, os.environ), reading, due)
    for text in (*reading.notes, *notes):
        note(f"consolidate: {text}")
    return units(reading.settings, host, local=local, now=clock(), daemon=daemon)


def _folder(*, own: bool) -> Path:
    """Where such units lie."""
    import platformdirs

    return platformdirs.user_config_path() / "systemd" / "user" if own else Path("/etc/systemd/system")
