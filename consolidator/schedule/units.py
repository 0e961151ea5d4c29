"""The units of systemd for the jobs of the settings: a timer and a service each, or one service that runs them all."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from zoneinfo import ZoneInfo

from consolidator.schedule.child import SPARE_MINUTES
from consolidator.schedule.oncalendar import on_calendar
from consolidator.settings import Settings
from consolidator.settings.duty import Duty, duties
from consolidator.settings.jobs import JobName

MARK = "# Written by `consolidate systemd install`, which writes it anew."
ACCOUNT = "consolidator"
STATE_FOLDER = Path("/var/lib") / ACCOUNT
FAILURE, SCHEDULER = "consolidate-failure@.service", "consolidate-scheduler.service"
# What `consolidate job` says itself, through the channels of the job, before it ends with one of these.
TOLD_BY_THE_JOB = (1, 2)
_PARTLY, _HELD, _REFUSED = 3, 11, 2
_WHAT = {
    "consolidate": "The night shift of an agent's memory",
    "shift": "Agents' memories: the future becomes the present, and the present the past",
    "collect": "Agents' memories: what a language model answered in batches",
    "report": "Agents' memories: a digest of the last nights",
    "purge": "Agents' memories: what is old and has done its work is deleted",
    "backup": "Agents' memories: a copy of the store",
}


class Host(NamedTuple):
    """
    What units hold of a machine.

    command: the program and its options. own: units of a person's own manager, not of the system. account: who those
    of the system run as; None: an account of their own, with no other files than its state folder. writes: what they
    write besides. in_homes: whether they need files in people's homes. credentials: names and files of secrets.
    environment: a file of variables, which need not be there. programs: the PATH by which channels find programs that
    they start; None: they start none. folders: the XDG variables of a person's own units, where they are set.
    """

    command: tuple[str, ...]
    own: bool = False
    account: str | None = None
    writes: tuple[str, ...] = ()
    in_homes: bool = False
    credentials: tuple[tuple[str, str], ...] = ()
    environment: str | None = None
    programs: str | None = None
    folders: tuple[tuple[str, str], ...] = ()


def units(settings: Settings, host: Host, *, local: ZoneInfo, now: int, daemon: bool) -> dict[str, str]:
    """The text of each unit, by its name. daemon: the service that runs all jobs, instead of their timers."""
    found = {FAILURE: _text(_failure(host))}
    if daemon:
        return {SCHEDULER: _text(_scheduler(host)), **found}
    for name, duty in duties(settings, local).items():
        named = bool(duty.job.time_zone or settings.time_zone)
        found[f"{unit_of(name)}.service"] = _text(_job(duty, host))
        found[f"{unit_of(name)}.timer"] = _text(_timer(duty, now=now, named=named))
    return dict(sorted(found.items()))


def unit_of(job: JobName) -> str:
    """The name of a job's units, without what follows the dot."""
    return "consolidate" if job == "consolidate" else f"consolidate-{job}"


def _job(duty: Duty, host: Host) -> Iterator[str]:
    yield from _unit(_WHAT[duty.name], host)
    yield "OnFailure=consolidate-failure@%n.service"
    yield "\n[Service]\nType=oneshot"
    yield f"ExecStart={_command(host, 'job', duty.name)}"
    yield f"# Done in part, the next time goes on ({_PARTLY}); another one is at work on these memories ({_HELD})."
    yield f"SuccessExitStatus={_PARTLY} {_HELD}"
    yield f"# By itself it stops after {duty.job.deadline_minutes} minutes."
    yield f"TimeoutStartSec={duty.job.deadline_minutes + SPARE_MINUTES}min"
    yield f"TimeoutStopSec={SPARE_MINUTES}min"
    yield from _sandbox(host)


def _timer(duty: Duty, *, now: int, named: bool) -> Iterator[str]:
    times = on_calendar(duty.cron, duty.zone, now=now, named=named)
    yield f"[Unit]\nDescription={_WHAT[duty.name]}\n\n[Timer]"
    yield from (f"OnCalendar={time}" for time in times)
    if duty.job.jitter_seconds:
        yield f"RandomizedDelaySec={duty.job.jitter_seconds}s"
    yield "# What the machine slept through is made up once. Whatever starts it, a job is done once for its date."
    yield "Persistent=true"
    yield "\n[Install]\nWantedBy=timers.target"


def _scheduler(host: Host) -> Iterator[str]:
    yield from _unit("The night shift of an agent's memory: all its jobs at their times", host)
    yield "OnFailure=consolidate-failure@%n.service"
    yield "StartLimitIntervalSec=1h\nStartLimitBurst=5"
    yield "\n[Service]\nType=notify"
    yield f"ExecStart={_command(host, 'serve')}"
    yield "ExecReload=kill -HUP $MAINPID"
    yield "WatchdogSec=5min"
    yield f"Restart=on-failure\nRestartSec=30s\nRestartPreventExitStatus={_REFUSED}"
    yield "# It ends its jobs itself, each after the step under way."
    yield f"KillMode=mixed\nTimeoutStopSec={SPARE_MINUTES}min"
    yield from _sandbox(host)
    yield f"\n[Install]\nWantedBy={'default' if host.own else 'multi-user'}.target"


def _failure(host: Host) -> Iterator[str]:
    yield from _unit("Tell that %i failed", host)
    yield "StartLimitIntervalSec=1d\nStartLimitBurst=6"
    yield "\n[Service]\nType=oneshot"
    yield f"ExecStart={_command(host, 'notify', 'failure', *(['--user'] if host.own else []), '%i')}"
    yield f"# Some were told ({_PARTLY}); where nobody could be, it is tried again."
    yield f"SuccessExitStatus={_PARTLY}\nRestart=on-failure\nRestartSec=10min\nRestartPreventExitStatus={_REFUSED}"
    yield "TimeoutStartSec=10min"
    yield from _sandbox(host)


def _unit(what: str, host: Host) -> Iterator[str]:
    yield f"[Unit]\nDescription={what}"
    if not host.own:  # a person's manager knows neither
        yield "Wants=network-online.target\nAfter=network-online.target postgresql.service"


def _sandbox(host: Host) -> Iterator[str]:
    """Who it is, what it can reach, and that agents come first."""
    yield "\n# Agents come first."
    yield "Nice=10\nCPUWeight=20\nIOWeight=20\nIOSchedulingClass=idle"
    if host.environment:
        yield f"\nEnvironmentFile=-{_escaped(host.environment)}"
    for name, folder in host.folders:
        yield f"Environment={_quoted(f'{name}={folder}')}"
    if not host.own:
        yield from _system(host)
    yield "\nNoNewPrivileges=yes\nLockPersonality=yes"
    if host.programs is None:
        yield "MemoryDenyWriteExecute=yes"
    else:
        yield f"Environment={_quoted(f'PATH={host.programs}')}"
    yield "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6\nRestrictNamespaces=yes"
    yield "RestrictRealtime=yes\nRestrictSUIDSGID=yes\nSystemCallArchitectures=native"
    yield "SystemCallFilter=@system-service\nSystemCallFilter=~@privileged\nSystemCallErrorNumber=EPERM"
    yield "UMask=0077"


def _system(host: Host) -> Iterator[str]:
    """What only the system's manager can do."""
    yield from (f"LoadCredential={name}:{_escaped(file)}" for name, file in host.credentials)
    yield f"\nUser={host.account or ACCOUNT}"
    if host.account is None:
        yield "DynamicUser=yes"
        yield "Environment=XDG_CONFIG_HOME=/etc XDG_DATA_HOME=/var/lib XDG_STATE_HOME=/var/lib"
    else:
        yield "Environment=XDG_STATE_HOME=/var/lib"
    yield f"StateDirectory={ACCOUNT}\nStateDirectoryMode=0700"
    yield "ProtectSystem=strict"
    if host.writes:
        yield f"ReadWritePaths={' '.join(_quoted(f'-{path}') for path in host.writes)}"
    yield f"ProtectHome={'read-only' if host.in_homes else 'yes'}"
    yield "PrivateTmp=yes\nPrivateDevices=yes\nKeyringMode=private\nCapabilityBoundingSet="
    yield "ProtectClock=yes\nProtectControlGroups=yes\nProtectHostname=yes"
    yield "ProtectKernelLogs=yes\nProtectKernelModules=yes\nProtectKernelTunables=yes"
    yield "# No ProtectProc: whether the night that holds a store still lives is seen among all processes."


def _command(host: Host, *arguments: str) -> str:
    program, *options = map(_quoted, host.command)  # a dollar in the program's own name is one
    return " ".join([program, *(word.replace("$", "$$") for word in options), *arguments])


def _quoted(word: str) -> str:
    """A word of a line, as it is, whatever is in it."""
    escaped = _escaped(word).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"' if set(escaped) & set(" \t\"'\\;") else escaped


def _escaped(text: str) -> str:
    return text.replace("%", "%%")


def _text(lines: Iterator[str]) -> str:
    return "\n".join([MARK, "", *lines]) + "\n"
