"""Which queries need no memory: greetings, thanks, "ok", emoji, commands, and what is too short to ask for anything."""

import re

from consolidator.talk.talk import empty_talk, forces_recall, is_unspaced, letters_of, plain

SHORTEST = 3  # letters of a query; one of a script without spaces says more with each
SHORTEST_UNSPACED = 2
_COMMAND = re.compile(r"/[a-z][\w:-]*(?:\s|\Z)")


def no_need(query: str) -> str | None:
    """Why a query needs no memory, in words; None where it may need some."""
    asked = plain(query).strip()
    if not asked:
        return "the query is empty"
    if forces_recall(asked):
        return None
    if _COMMAND.match(asked):
        return "a command"
    letters = letters_of(asked)
    needless = empty_talk(query)
    if needless is not None:
        return needless
    if len(letters) < (SHORTEST_UNSPACED if is_unspaced(letters) else SHORTEST):
        return "too short to ask for anything"
    return None
