"""Replies held against the SDKs' own models: nothing required is missing, nothing is there that they do not know."""

from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, TypeAdapter


def problems(model: Any, body: bytes) -> list[str]:
    """What the model does not know of the body. ValidationError where the body is not what it says."""
    return list(unknown(TypeAdapter(model).validate_json(body, strict=True)))


def unknown(value: Any, where: str = "") -> Iterator[str]:
    """The fields within that no model names."""
    if isinstance(value, BaseModel):
        yield from (f"{where}.{name}" for name in value.model_extra or {})
        for name in value.model_fields_set:
            yield from unknown(getattr(value, name), f"{where}.{name}")
    elif isinstance(value, list):
        for at, item in enumerate(value):
            yield from unknown(item, f"{where}.{at}")
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from unknown(item, f"{where}.{name}")
