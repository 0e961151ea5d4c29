"""The settings as a JSON Schema, by which editors help to write them."""

from typing import Any

from pydantic import BaseModel

from consolidator.settings.kinds import Section
from consolidator.settings.model import Settings
from consolidator.settings.shape import FILE_SUFFIX, Shape, fields, may_be_in_a_file, of_model

_REFERENCE = {"type": "string", "pattern": r"\$\{[A-Za-z_][A-Za-z0-9_]*(:-[^}]*)?\}"}


def json_schema() -> dict[str, Any]:
    """The schema of a settings file, with what reading adds to the model: variables, files of secrets, null."""
    schema = Settings.model_json_schema()
    groups = {group.__name__: group for group in _groups(of_model(Settings))}
    for name, definition in [("Settings", schema), *schema["$defs"].items()]:
        group = groups[name]
        definition["properties"] = dict(_properties(group, definition))
        needed = definition.pop("required", [])
        shapes = dict(fields(group))
        plain = [each for each in needed if not may_be_in_a_file(shapes[each])]
        either = [
            {"anyOf": [{"required": [each]}, {"required": [each + FILE_SUFFIX]}]}
            for each in needed
            if each not in plain
        ]
        definition.update({"required": plain} if plain else {}, **({"allOf": either} if either else {}))
    title = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Settings of consolidator"}
    return title | {key: value for key, value in schema.items() if key != "title"}


def _properties(group: type[BaseModel], definition: dict[str, Any]) -> Any:
    """What a group may hold: each setting, or a variable, and beside a secret the file that holds it."""
    for name, shape in fields(group):
        given = definition["properties"][name]
        about = {key: given.pop(key) for key in ("description", "default", "examples") if key in given}
        given.pop("title", None)
        given.update({"additionalProperties": False} if "patternProperties" in given else {})
        wider = given if name == "type" else _or_reference(given)
        if issubclass(group, Section) and shape.field and not shape.field.is_required():
            wider = _or(wider, {"type": "null"})
        yield name, about | wider
        if may_be_in_a_file(shape):
            yield name + FILE_SUFFIX, {"type": ["string", "null"], "description": f"a file that holds {name}"}


def _or_reference(schema: dict[str, Any]) -> dict[str, Any]:
    """The same, or a variable where plain text would not do."""
    if "anyOf" in schema:
        return schema | {"anyOf": [_or_reference(each) for each in schema["anyOf"]]}
    if "items" in schema:
        return schema | {"items": _or_reference(schema["items"])}
    strict = schema.get("type") in ("integer", "number", "boolean") or "enum" in schema or "pattern" in schema
    return _or(schema, _REFERENCE) if strict else schema


def _or(schema: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    options = schema["anyOf"] if set(schema) == {"anyOf"} else [schema]
    return {"anyOf": options if other in options else [*options, other]}


def _groups(shape: Shape) -> Any:
    """Every group of settings there is."""
    for group in shape.groups:
        yield group
        for _, inner in fields(group):
            yield from _groups(inner)
    if not shape.groups and (below := shape.inner("")) is not None:
        yield from _groups(below)
