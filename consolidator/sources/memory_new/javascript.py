"""JSON as the programs of memory-new write it: `JSON.stringify`, and what was not touched as it was spelled."""

import json
from typing import Any, NoReturn

_DEEPEST_INDENT = 16


class _Spelled(float):
    """A number with a point or an exponent, as it was spelled."""

    spelling: str

    def __new__(cls, spelling: str) -> "_Spelled":
        number = super().__new__(cls, spelling)
        number.spelling = spelling
        return number


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


_DECODER = json.JSONDecoder(parse_float=_Spelled, parse_constant=_refuse)


def parse(text: str) -> Any:
    """The value of a JSON text, ready to be written again. ValueError where it is none."""
    try:
        return _DECODER.decode(text)
    except RecursionError:
        raise ValueError("is nested too deep") from None


def stringify(value: Any) -> str:
    """A value on one line, without spaces, every letter as it is."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{_quote(key)}:{stringify(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(stringify, value)) + "]"
    return _scalar(value)


def stringify_indented(value: Any, indent: str, level: int = 0) -> str:
    """A value over several lines, as `JSON.stringify(value, null, indent)` writes it."""
    if not isinstance(value, dict | list) or not value:
        return stringify(value)
    inner = "\n" + indent * (level + 1)
    if isinstance(value, dict):
        parts = [f"{_quote(key)}: {stringify_indented(item, indent, level + 1)}" for key, item in value.items()]
    else:
        parts = [stringify_indented(item, indent, level + 1) for item in value]
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return opening + inner + f",{inner}".join(parts) + "\n" + indent * level + closing


def indent_of(text: str) -> str:
    """How a JSON text is indented; nothing where it stands on one line."""
    for line in text.splitlines()[1:]:
        if line.strip():
            return line[: len(line) - len(line.lstrip())][:_DEEPEST_INDENT]
    return ""


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return _quote(value)
    if isinstance(value, _Spelled):
        return value.spelling
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return json.dumps(value, allow_nan=False)


def _quote(text: str) -> str:
    """A lone half of a surrogate pair is the one letter that is written as an escape."""
    quoted = json.dumps(text, ensure_ascii=False)
    if not any("\ud800" <= letter <= "\udfff" for letter in text):
        return quoted
    return "".join(f"\\u{ord(letter):04x}" if "\ud800" <= letter <= "\udfff" else letter for letter in quoted)
