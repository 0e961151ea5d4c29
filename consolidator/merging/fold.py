"""One Unicode form for every text: what only looks different becomes equal, what means something else stays apart."""

import re
import unicodedata

_DROPPED = dict.fromkeys(
    (
        *(0xA1, 0xBF, 0xAD, 0x061C, 0x0640, 0x2122, 0xAE, 0xFEFF, 0x2060, 0x200B, 0x200C, 0x200E, 0x200F),
        *(0xFE0E, 0xFE0F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)),
    )
)
_PLAIN = {
    ord(odd): plain
    for plain, odds in {
        "'": "\u2018\u2019\u201a\u201b\u02bc\u02b9\u066c\u00b4\uff07",
        '"': "\u201c\u201d\u201e\u201f\u00ab\u00bb\u2039\u203a\u300c\u300d\u300e\u300f\u300a\u300b\uff02",
        "-": "\u2010\u2011\u2012\u2212\ufe63\uff0d",
        ",": "\u060c\uff0c",
        ";": "\u061b",
        "?": "\u061f",
        "%": "\u066a",
        ".": "\u0964\u06d4\uff61",
        "#": "\u2116",
        "/": "\u2044",
        "\n": "\u2028\u2029\x0b\x0c\x85",
    }.items()
    for odd in odds
}
_PLAIN[0x066B] = "."
_TABLE = _PLAIN | _DROPPED
# Thin and unbreakable spaces inside a number are its thousands separators; a plain one may part two numbers.
_THOUSANDS = re.compile("(?<=[0-9])[\u00a0\u202f\u2009](?=[0-9]{3}(?![0-9]))")
_DASH_IN_NUMBER = re.compile("([0-9] ?)[\u2013\u2014](?= ?[0-9])|(?<![^\\s(])\u2013(?=[0-9])")


def fold(text: str) -> str:
    """
    The text in one Unicode form: NFKC, ASCII digits, plain quotes, hyphens and question marks, nothing invisible.

    Case, spaces and emoji stay. What NFKC would glue to a number is kept apart: 5½ is not 51/2, 10² is not 102.
    Folding twice equals folding once.
    """
    if text.isascii():
        return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
    text = _THOUSANDS.sub("'", text.replace("\r\n", "\n"))
    text = "".join(_apart(text)).translate(_TABLE)
    text = unicodedata.normalize("NFKC", text).translate(_TABLE)
    return _DASH_IN_NUMBER.sub(lambda match: f"{match[1] or ''}-", text)


def _apart(text: str) -> list[str]:
    """Every character as it is to be composed: digits of any script in ASCII, numerals that are signs kept apart."""
    parts: list[str] = []
    previous = ""
    for letter in text:
        if letter < "\x80":
            parts.append(letter)
        elif (digit := unicodedata.decimal(letter, None)) is not None:
            parts.append(str(digit))
        elif unicodedata.category(letter) == "No" and (previous.isdigit() or previous.isnumeric()):
            plain = unicodedata.normalize("NFKC", letter)
            raised = unicodedata.decomposition(letter).startswith("<super>")
            parts.append(("^" if raised else " ") + plain)
        else:
            parts.append(letter)
        previous = letter
    return parts
