"""The door: what is refused, and what is let in with a flag. Pure."""

from consolidator.day.values import Refused
from consolidator.merging.secrets import find_secrets
from consolidator.recall.need import no_need
from consolidator.settings import Settings

LONGEST_TEXT = 10_000


def judge(text: str, settings: Settings) -> tuple[str, ...]:
    """What a text is let in with: flags, in order. Refused where it is not."""
    if not isinstance(text, str):
        raise Refused("empty", f"text: {text!r} is not a text")
    if not text.strip():
        raise Refused("empty", "text: is empty; there is nothing to remember")
    if len(text) > LONGEST_TEXT:
        raise Refused("too_long", f"text: {len(text):,} characters, at most {LONGEST_TEXT:,} are kept; split it")
    secrets = find_secrets(text)
    if secrets:
        raise Refused("secret", f"text: holds a secret ({', '.join(secrets)}); leave it out")
    needless = no_need(text)
    if needless is not None:
        raise Refused("noise", f"text: says nothing to remember ({needless})")
    return ()
