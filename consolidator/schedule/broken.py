"""Broken: a unit that failed in a way of which its program could tell nobody, because it was ended or never began."""

import re
import subprocess
from collections.abc import Mapping

from consolidator.notify.brief import brief
from consolidator.notify.channels import Channel
from consolidator.notify.message import Message
from consolidator.schedule.units import TOLD_BY_THE_JOB, unit_of
from consolidator.settings import Settings
from consolidator.settings.duty import Duty
from consolidator.settings.jobs import JobName

_ASKED = ("Result", "ExecMainCode", "ExecMainStatus", "InvocationID")
_PATIENCE_SECONDS = 30
_EXITED = "1"  # CLD_EXITED: of ExecMainStatus, that it is an exit code and no signal
_WHY = {
    "timeout": "it took too long and was ended",
    "watchdog": "it gave no sign of life any more and was ended",
    "oom-kill": "the machine had no memory left for it",
    "signal": "it was killed",
    "core-dump": "it crashed",
    "start-limit-hit": "it failed again and again and is not started any more",
    "resources": "the system could not start it",
    "protocol": "it ended before it said that it was ready",
}
_NAME = re.compile(r"[\w:.@\\-]{1,255}", re.ASCII)


def is_name_of_a_unit(text: str) -> bool:
    """Whether systemd could mean it."""
    return bool(_NAME.fullmatch(text)) and not text.startswith("-")


def state_of(unit: str, *, own: bool) -> dict[str, str]:
    """How a unit ended, as systemd has it: nothing of what it printed. Empty where systemd cannot be asked."""
    ask = ["systemctl", *(["--user"] if own else []), "show", f"--property={','.join(_ASKED)}", "--", unit]
    try:
        told = subprocess.run(ask, capture_output=True, text=True, check=True, timeout=_PATIENCE_SECONDS)
    except (OSError, subprocess.SubprocessError):
        return {}
    return dict(line.split("=", 1) for line in told.stdout.splitlines() if "=" in line)


def message_of_failure(
    unit: str, state: Mapping[str, str], settings: Settings, due: Mapping[JobName, Duty], *, own: bool, now: int
) -> tuple[Message | None, Mapping[str, Channel]]:
    """
    What is told and to whom: those of the job, else all. None: they heard of it from the job, or want to hear nothing.

    The name of the unit and how it ended, and nothing that it wrote: that may hold memories.
    """
    duty = next((each for name, each in due.items() if f"{unit_of(name)}.service" == unit), None)
    channels = duty.channels if duty else settings.channels
    exited = state.get("ExecMainCode") == _EXITED and state.get("Result") == "exit-code"
    code = int(state["ExecMainStatus"]) if exited and state.get("ExecMainStatus", "").isdecimal() else None
    if not settings.error_notification or (duty and (duty.level == "off" or code in TOLD_BY_THE_JOB)):
        return None, channels
    result = state.get("Result", "")
    why = f"exit code {code}" if code is not None else _WHY.get(result, result or "systemd does not say how")
    logs = f"journalctl {'--user ' if own else ''}-u {unit}"
    message = brief(
        name=f"failure:{unit}:{state.get('InvocationID') or now}",
        kind="failure",
        title=f"{unit} failed",
        level=duty.level if duty else "errors",
        lines=[f"{unit} failed: {why}.", f"What it said: {logs}"],
        document={"unit": unit, "result": result or None, "exit_code": code},
    )
    return message, channels
