"""Settings as a person may see them: what is in force, where it is from, and no secret."""

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from pydantic import BaseModel, SecretStr

from consolidator.scopes import spell
from consolidator.settings.problems import Path, is_made_of_words
from consolidator.settings.references import Elsewhere
from consolidator.settings.yaml import flow

HIDDEN = "***"
_SECRET_NAME = re.compile(r"pass|pw|key|token|secret|auth|credential|sig|dsn", re.IGNORECASE)


def masked(settings: BaseModel, sources: Mapping[Path, Elsewhere]) -> dict[str, Any]:
    """All settings as plain data without secrets. A text with the value of a secret variable in it stays as written."""
    return {name: _masked(getattr(settings, name), (name,), sources) for name in type(settings).model_fields}


def secrets_of(settings: BaseModel) -> Iterator[Path]:
    """The paths of what is kept secret."""
    for path, value in _leaves(settings, ()):
        if isinstance(value, SecretStr):
            if hidden_url(value.get_secret_value()) != value.get_secret_value():
                yield path
        elif isinstance(value, str) and without_password(value) != value:
            yield path


def hidden_url(text: str) -> str:
    """A secret: of a URL the beginning may be seen, of anything else nothing."""
    scheme, separator, rest = text.partition("://")
    if not separator or not re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]{0,19}", scheme):
        return HIDDEN
    if scheme not in ("http", "https"):
        return f"{scheme}://{HIDDEN}"
    try:
        parts = urlsplit(text)
        place = f"{parts.hostname or ''}{f':{parts.port}' if parts.port else ''}"
    except ValueError:
        return f"{scheme}://{HIDDEN}"
    return text if rest.rstrip("/") == place else f"{scheme}://{place}/{HIDDEN}"


def without_password(text: str) -> str:
    """A store or an address without the passwords and keys in it."""
    if "://" not in text:
        return text
    text = re.sub(r"(://[^:/?#@]*):.*@", rf"\1:{HIDDEN}@", text, flags=re.DOTALL)
    text = re.sub(r"^(https?://)[^:/?#@]+@", rf"\1{HIDDEN}@", text)
    return re.sub(
        r"([?&]([^=&#]*)=)[^&#]*",
        lambda match: f"{match[1]}{HIDDEN}" if _SECRET_NAME.search(match[2]) else match[0],
        text,
    )


def lines_of(data: Mapping[str, Any], origins: Mapping[Path, str], path: Path = ()) -> Iterator[str]:
    """Plain data as YAML, with a remark on where each value is from."""
    for name, value in data.items():
        inner, indent = (*path, name), "  " * len(path)
        if isinstance(value, Mapping) and value:
            yield f"{indent}{name}:"
            yield from lines_of(value, origins, inner)
        else:
            remark = origins.get(inner)
            yield f"{indent}{name}: {flow(value)}{f'  # {remark}' if remark else ''}"


def origins(lines: Mapping[Path, int], sources: Mapping[Path, Elsewhere]) -> dict[Path, str]:
    """Where each value that is no default is from."""
    said = {path: f"line {line}" for path, line in lines.items()}
    for path, source in sources.items():
        if source.file is not None:
            said[path] += f", from {source.file}"
        elif path in said:
            said[path] += f", from {', '.join(f'${name}' for name in dict.fromkeys(source.names))}"
    return said


def _masked(value: Any, path: Path, sources: Mapping[Path, Elsewhere]) -> Any:
    if isinstance(value, BaseModel):
        return {name: _masked(getattr(value, name), (*path, name), sources) for name in type(value).model_fields}
    if isinstance(value, Mapping):
        return {
            _seen(spell(name) if name.startswith("{") else name, ()): _masked(each, (*path, name), sources)
            for name, each in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [_masked(each, (*path, index), sources) for index, each in enumerate(value)]
    if isinstance(value, SecretStr):
        return hidden_url(value.get_secret_value())
    source = sources.get(path)
    if source and source.file is None and any(_SECRET_NAME.search(name) for name in source.names):
        return re.sub(r":-[^}]*", f":-{HIDDEN}", without_password(source.written))
    if (path[-2:-1] == ("scopes",) and isinstance(path[-1], int)) or (value and path[-1:] == ("scope",)):
        return _seen(spell(value), path)
    return _seen(value, path) if isinstance(value, str) else value


def _seen(text: str, path: Path) -> str:
    """A text that is no secret by its place, without the secret that it may hold nevertheless."""
    if path[-2:-1] == ("command",):  # of a program's arguments any may be a token
        return text if path[-1] == 0 and is_made_of_words(text) else HIDDEN
    if path[:1] in (("store",), ("stores",), ("sources",)) or path[-1:] == ("base_url",):
        return without_password(text)
    return hidden_url(text) if "://" in text else text


def _leaves(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from _leaves(getattr(value, name), (*path, name))
    elif isinstance(value, Mapping):
        for name, each in value.items():
            yield from _leaves(each, (*path, name))
    elif isinstance(value, (list, tuple)):
        for index, each in enumerate(value):
            yield from _leaves(each, (*path, index))
    else:
        yield path, value
