"""Plain data as YAML that any reader, old or new, reads alike."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

# Longer or odder texts go into quotes, and so do words that older readers of YAML take for something else.
_PLAIN = re.compile(r"[A-Za-z/~][\w./~+@-]*(?:[ =:/?&][\w./~+@*-]+)*", re.ASCII)
_TAKEN = {"null", "true", "false", "yes", "no", "on", "y", "n", "~"}


def flow(value: Any) -> str:
    """A value in one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{scalar(name)}: {flow(each)}" for name, each in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(flow(each) for each in value) + "]"
    return scalar(value)


def block(data: Mapping[str, Any], indent: str = "") -> Iterator[str]:
    """A mapping in lines."""
    for name, value in data.items():
        if isinstance(value, Mapping) and value:
            yield f"{indent}{scalar(name)}:"
            yield from block(value, f"{indent}  ")
        else:
            yield f"{indent}{scalar(name)}: {flow(value)}"


def scalar(value: Any) -> str:
    """A text, number, true, false or null."""
    if isinstance(value, str):
        plain = _PLAIN.fullmatch(value) and value.casefold() not in _TAKEN and ": " not in value
        return value if plain else f'"{"".join(map(_escaped, value))}"'
    return json.dumps(value)


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    return character if character.isprintable() else f"\\U{ord(character):08x}"
