"""
A scope is an exact set of key/value pairs. Inside and in files it is one canonical JSON text with sorted keys;
on the command line it is `user=ada,project=atlas`, and nothing at all for the empty scope.
"""

import json
from collections.abc import Mapping

EMPTY = "{}"


def canonical(scope: Mapping[str, str]) -> str:
    """The one text of a scope: JSON with sorted keys and no spaces. ValueError where it is no scope."""
    for key, value in scope.items():
        if not isinstance(key, str) or not isinstance(value, str):
            raise ValueError(f"a scope is made of strings, and {key!r}: {value!r} is not")
        for text in (key, value):
            if "\0" in text:
                raise ValueError(f"{text!r} in a scope holds a NUL")
            if any("\ud800" <= character <= "\udfff" for character in text):
                raise ValueError(f"{text!r} in a scope is not valid Unicode")
    return json.dumps(dict(scope), ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def parse_scope(text: str) -> dict[str, str]:
    """
    The scope that a person wrote: `key=value,key=value`, a JSON object where a value holds a comma, or nothing.

    ValueError says what is wrong.
    """
    if text.lstrip().startswith("{"):
        return _parse_json(text)
    scope: dict[str, str] = {}
    for part in text.split(",") if text.strip() else ():
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not key:
            raise ValueError(f"{text!r} is not a scope (write e.g. user=ada,project=atlas)")
        if key in scope:
            raise ValueError(f"{text!r} names {key!r} twice")
        scope[key] = value
    canonical(scope)
    return scope


def spell(scope: str) -> str:
    """A canonical scope as a person writes it."""
    pairs = json.loads(scope)
    if not pairs:
        return EMPTY
    spelled = ",".join(f"{key}={value}" for key, value in pairs.items())
    try:
        return spelled if parse_scope(spelled) == pairs else scope
    except ValueError:
        return scope


def _parse_json(text: str) -> dict[str, str]:
    try:
        pairs = json.loads(text, object_pairs_hook=lambda pairs: pairs)
    except ValueError:
        raise ValueError(f"{text!r} is not a scope (write e.g. user=ada,project=atlas)") from None
    if not isinstance(pairs, list) or not all(isinstance(pair, tuple) for pair in pairs):
        raise ValueError(f"{text!r} is not a scope (write e.g. user=ada,project=atlas)")
    scope = dict(pairs)
    if len(scope) < len(pairs):
        raise ValueError(f"{text!r} names a key twice")
    canonical(scope)
    return scope
