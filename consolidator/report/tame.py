"""Text that others wrote, made fit for one line of a report."""

import re
import unicodedata

NAME_LENGTH = 64  # characters of an id, a step or a verb
TEXT_LENGTH = 120  # characters of a memory
LINE_LENGTH = 400  # characters of a reason, a note or an error

# What moves a cursor, changes colours, turns neighbouring text around, or cannot be encoded.
HARMFUL = "\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufff9-\ufffb\ufffe\uffff\ud800-\udfff"
_HARMFUL = re.compile(f"[{HARMFUL}]")
_TURNS = re.compile("[\u202a-\u202e\u2066-\u2069]")
_JOINS = "\u200d\ufe0e\ufe0f"


def one_line(text: str, length: int = LINE_LENGTH) -> str:
    """
    The text as one line of at most `length` characters that is harmless on a terminal.

    Control characters become visible pictures (an escape is ␛), so that nothing is hidden; directional
    overrides go. Taming twice equals taming once. Costs what is kept, not what is given.
    """
    text = text.strip()
    head = text[: 8 * length]
    line = " ".join(_HARMFUL.sub(_picture, _TURNS.sub("", " ".join(head.split()))).split())
    if len(line) <= length and len(head) == len(text):
        return line
    return line[: _cut(line, length - 1)].rstrip() + "…"


def short(text: str | None, length: int = LINE_LENGTH) -> str | None:
    """`one_line` of what may be missing."""
    return None if text is None else one_line(text, length)


def _picture(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else "\ufffd"


def _cut(line: str, length: int) -> int:
    """Where to cut: before a word or a joined character that would be torn, unless that costs too much."""
    if len(line) <= length:
        return len(line)
    space = line.rfind(" ", length * 5 // 6, length + 1)
    if space > 0:
        return space
    cut = length
    while cut > length * 5 // 6 and (
        unicodedata.combining(line[cut]) or line[cut] in _JOINS or line[cut - 1] == "\u200d"
    ):
        cut -= 1
    return cut
