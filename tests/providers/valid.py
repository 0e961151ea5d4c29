"""
Whether a request is one that the real provider would take: its body against the SDK's own parameter types, its schema
against the rules for structured output.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError

from tests.providers.wire import Refused

# Parameters of the SDKs' methods that travel as headers.
IN_HEADERS = {"workspace_id", "user_profile_id"}
COMMON_KEYWORDS = {"$defs", "$ref", "type", "properties", "required", "additionalProperties", "items", "enum", "const"}
COMMON_KEYWORDS |= {"anyOf", "title", "description"}
FORMATS = {"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"}
ANTHROPIC_KEYWORDS = COMMON_KEYWORDS | {"allOf", "default", "format", "minItems", "pattern", "definitions"}
OPENAI_KEYWORDS = COMMON_KEYWORDS | {"format", "pattern", "minItems", "maxItems", "multipleOf", "minimum", "maximum"}
OPENAI_KEYWORDS |= {"exclusiveMinimum", "exclusiveMaximum"}
DEEPEST = 10
OF_FORMAT = "output_config.format.schema"
SCHEMA_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


@cache
def parameters(name: str) -> TypeAdapter[Any]:
    """The SDK's type of a body. Imported when first needed: the SDKs take seconds."""
    if name == "messages":
        from anthropic.types.message_create_params import MessageCreateParamsNonStreaming as Parameters
    elif name == "message batches":
        from anthropic.types.messages.batch_create_params import BatchCreateParams as Parameters
    elif name == "chat":
        from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming as Parameters
    elif name == "embeddings":
        from openai.types import EmbeddingCreateParams as Parameters
    elif name == "batches":
        from openai.types import BatchCreateParams as Parameters
    else:
        raise KeyError(name)
    return TypeAdapter(Parameters)


def check_parameters(name: str, body: Any) -> None:
    """Refused where a parameter is missing, unknown or of the wrong type."""
    try:
        taken = exhausted(parameters(name).validate_python(body))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise Refused(400, f"{dotted(first['loc'])}: {first['msg']}") from None
    for where, problem in differences(body, taken):
        raise Refused(400, f"{dotted(where)}: {problem}")


def exhausted(value: Any) -> Any:
    """With all that is validated only when it is looked at."""
    if isinstance(value, BaseModel):
        value = value.model_dump(exclude_unset=True)
    if isinstance(value, dict):
        return {key: exhausted(item) for key, item in value.items()}
    if isinstance(value, str | bytes) or not hasattr(value, "__iter__"):
        return value
    return [exhausted(item) for item in value]


def differences(sent: Any, taken: Any, where: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], str]]:
    """Where the types know less than what was sent, or made something else of it."""
    if isinstance(sent, dict) and isinstance(taken, dict):
        for key, value in sent.items():
            if key not in taken or (not where and key in IN_HEADERS):
                yield (*where, key), "Extra inputs are not permitted"
            else:
                yield from differences(value, taken[key], (*where, key))
    elif isinstance(sent, list) and isinstance(taken, list):
        for at, pair in enumerate(zip(sent, taken, strict=True)):
            yield from differences(*pair, (*where, at))
    elif sent != taken or isinstance(sent, bool) != isinstance(taken, bool):
        yield where, f"Input should be {taken!r}"


def dotted(where: tuple[Any, ...]) -> str:
    return ".".join(str(part) for part in where) or "body"


def check_anthropic_schema(schema: dict[str, Any]) -> None:
    """Refused where Anthropic's structured output does not take it."""
    for where, part in parts(schema):
        unknown = sorted(set(part) - ANTHROPIC_KEYWORDS)
        if unknown:
            kind = part.get("type", "any")
            raise Refused(400, f"{OF_FORMAT}: For '{kind}' type, property '{unknown[0]}' is not supported")
        if part.get("type") == "object" and part.get("additionalProperties") is not False:
            raise Refused(
                400, f"{OF_FORMAT}: For 'object' type, 'additionalProperties' must be explicitly set to false"
            )
        if part.get("minItems", 0) not in (0, 1):
            raise Refused(
                400,
                f"{OF_FORMAT}: For 'array' type, 'minItems' values other than 0 or 1 are not supported",
            )
        if part.get("format", "date") not in FORMATS:
            raise Refused(400, f"{OF_FORMAT}: String format {part['format']!r} is not supported")
        if not {"type", "enum", "const", "anyOf", "allOf", "$ref"} & set(part):
            raise Refused(400, f"{OF_FORMAT}{where}: a type is missing")
    check_references(schema, OF_FORMAT)


def check_openai_schema(given: dict[str, Any]) -> None:
    """Refused where OpenAI's strict structured output does not take it. given: the `json_schema` of the request."""
    name = given.get("name", "")
    if not SCHEMA_NAME.fullmatch(name):
        raise Refused(400, f"Invalid 'response_format.json_schema.name': {name!r} does not match '^[a-zA-Z0-9_-]+$'.")
    schema = given.get("schema")
    if not given.get("strict") or schema is None:
        return

    def refuse(where: str, why: str) -> Refused:
        return Refused(400, f"Invalid schema for response_format '{name}': In context=({where}), {why}.")

    if schema.get("type") != "object" or "anyOf" in schema:
        raise refuse("", f"schema must be a JSON Schema of 'type: \"object\"', got 'type: {schema.get('type')!r}'")
    for where, part in parts(schema):
        unknown = sorted(set(part) - OPENAI_KEYWORDS)
        if unknown:
            raise refuse(where, f"'{unknown[0]}' is not permitted")
        if "$ref" in part and len(part) > 1:
            raise refuse(where, "$ref cannot have keywords beside it")
        if "$ref" not in part and not {"type", "enum", "const", "anyOf"} & set(part):
            raise refuse(where, "schema must have a 'type' key")
        if part.get("type") == "object":
            if part.get("additionalProperties") is not False:
                raise refuse(where, "'additionalProperties' is required to be supplied and to be false")
            if set(part.get("required", ())) != set(part.get("properties", {})):
                raise refuse(
                    where,
                    "'required' is required to be supplied and to be an array including every key in properties",
                )
        if part.get("type") == "array" and "items" not in part:
            raise refuse(where, "array schema missing items")
        if where.count("properties") > DEEPEST:
            raise refuse(where, f"schema exceeds the maximum nesting depth of {DEEPEST}")
    check_references(schema, "response_format.json_schema.schema")


def parts(schema: dict[str, Any], where: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """The schema and all schemas within it, with where they are."""
    yield where, schema
    for group in ("properties", "$defs", "definitions"):
        for name, part in schema.get(group, {}).items():
            yield from parts(part, f"{where}.{group}.{name}")
    for group in ("anyOf", "allOf"):
        for at, part in enumerate(schema.get(group, ())):
            yield from parts(part, f"{where}.{group}.{at}")
    if isinstance(schema.get("items"), dict):
        yield from parts(schema["items"], f"{where}.items")


def check_references(schema: dict[str, Any], name: str) -> None:
    """Every `$ref` names a definition of the schema itself."""
    for _, part in parts(schema):
        reference = part.get("$ref", "")
        group, _, key = reference.removeprefix("#/").partition("/")
        if reference and key not in schema.get(group, {}):
            raise Refused(400, f"{name}: the reference {reference!r} cannot be resolved")
