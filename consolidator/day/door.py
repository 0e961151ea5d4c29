"""The door: what is not let in, and what is let in with a flag. Pure."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from consolidator.day.values import Refused
from consolidator.merging.secrets import find_secrets
from consolidator.settings import Day
from consolidator.talk.talk import empty_talk, is_instruction, plain

NOISE, INSTRUCTIONS, SECRET = "noise", "instructions", "secret"
_SETTING = {SECRET: "secrets", NOISE: "noise", INSTRUCTIONS: "instructions"}
_SAID = {
    SECRET: ("holds a secret", "leave it out, or set day.secrets to flag"),
    NOISE: ("says nothing to remember", "say what is to be known"),
    INSTRUCTIONS: ("reads like orders to the agent", "say it as a fact, or set day.instructions to flag"),
}
_BARE_COMMAND = re.compile(r"/[a-z][\w:-]*")


def judge(text: str, settings: Day) -> tuple[str, ...]:
    """
    The flags with which a text is let in, in order. Refused where it is not.

    Empty and too long is never let in. Of the rest the settings say what is refused, flagged or not looked for.
    """
    if not isinstance(text, str):
        raise Refused("empty", f"text: {text!r} is not a text")
    if not text.strip():
        raise Refused("empty", "text: is empty; there is nothing to remember")
    if len(text) > settings.longest_text:
        raise Refused(
            "too_long",
            f"text: has {len(text):,} characters, and a memory at most {settings.longest_text:,} "
            "(day.longest_text); say it in several",
        )
    return _flags("text", text, settings, (SECRET, NOISE, INSTRUCTIONS))


def judge_beside(said: Mapping[str, Any], settings: Day) -> tuple[str, ...]:
    """The flags for what is said beside a text, by its field: no way round the door. Refused as there."""
    flags: list[str] = []
    for field, value in said.items():
        if value:
            told = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            flags += _flags(field, told, settings, (SECRET, INSTRUCTIONS))
    return tuple(dict.fromkeys(flags))


def _flags(field: str, text: str, settings: Day, kinds: Iterable[str]) -> tuple[str, ...]:
    flags = []
    for kind in kinds:
        wanted = getattr(settings, _SETTING[kind])
        found = None if wanted == "ignore" else _LOOK[kind](text)
        if found is None:
            continue
        if wanted == "refuse":
            what, then = _SAID[kind]
            raise Refused(kind, f"{field}: {what}{f' ({found})' if found else ''}; {then}")
        flags.append(kind)
    return tuple(flags)


def _secrets(text: str) -> str | None:
    return ", ".join(find_secrets(text)) or None


def _noise(text: str) -> str | None:
    return "a command" if _BARE_COMMAND.fullmatch(plain(text).strip()) else empty_talk(text)


def _instructions(text: str) -> str | None:
    return "" if is_instruction(text) else None


_LOOK = {SECRET: _secrets, NOISE: _noise, INSTRUCTIONS: _instructions}
