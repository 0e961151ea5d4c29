"""The door: what is not let in, and what is let in with a flag. Pure."""

import re

from consolidator.day.values import Refused
from consolidator.merging.secrets import find_secrets
from consolidator.settings import Day
from consolidator.talk.talk import empty_talk, is_instruction, plain

NOISE, INSTRUCTIONS, SECRET = "noise", "instructions", "secret"
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
    flags = []
    for kind, wanted, look, what, then in (
        (SECRET, settings.secrets, _secrets, "holds a secret", "leave it out, or set day.secrets to flag"),
        (NOISE, settings.noise, _noise, "says nothing to remember", "say what is to be known"),
        (
            INSTRUCTIONS,
            settings.instructions,
            _instructions,
            "reads like orders to the agent",
            "say it as a fact, or set day.instructions to flag",
        ),
    ):
        if wanted == "ignore":
            continue
        found = look(text)
        if found is None:
            continue
        if wanted == "refuse":
            raise Refused(kind, f"text: {what}{f' ({found})' if found else ''}; {then}")
        flags.append(kind)
    return tuple(flags)


def _secrets(text: str) -> str | None:
    return ", ".join(find_secrets(text)) or None


def _noise(text: str) -> str | None:
    return "a command" if _BARE_COMMAND.fullmatch(plain(text).strip()) else empty_talk(text)


def _instructions(text: str) -> str | None:
    return "" if is_instruction(text) else None
