"""The example, the schema and the reference page are made of the model, and say no more and no less."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from jsonschema import Draft202012Validator
from ruamel.yaml import YAML

from consolidator.settings import Settings, parse_settings
from consolidator.settings.example import example
from consolidator.settings.reference import reference
from consolidator.settings.schema import json_schema
from consolidator.settings.shape import Shape, fields, may_be_in_a_file, of_model

ROOT = Path(__file__).parents[2]
SCHEMA = Draft202012Validator(json_schema())

BESIDE = {
    "stores": {"team": "t.db"},
    "channels": {"chat": {"type": "stdout"}},
    "sources": {"claw": {"url": "claw-memory-ultra"}},
}  # fmt: skip


def leaves(shape: Shape, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Shape]]:
    """Every setting that is no group, with its path; in a mapping under the name `x`."""
    for group in shape.groups:
        for name, inner in fields(group):
            kind = get_args(group.model_fields["type"].annotation) if "type" in group.model_fields else ()
            tagged = (*path, *kind)
            if name != "type":
                below = inner.inner("")
                if inner.groups:
                    yield from leaves(inner, (*tagged, name))
                elif below is not None and below.groups:
                    yield from leaves(below, (*tagged, name, "x"))
                else:
                    yield (*tagged, name), inner


LEAVES = [(path, shape) for path, shape in leaves(of_model(Settings), ()) if path[0] != "channels"]
EXAMPLES = [(path, value) for path, shape in LEAVES if shape.field for value in shape.field.examples or ()]


def test_the_pages_are_as_the_model_says() -> None:
    """`consolidate settings example` and `reference` write them again."""
    assert (ROOT / "schedules.yaml").read_text(encoding="utf-8") == example()
    assert (ROOT / "docs" / "settings.md").read_text(encoding="utf-8") == reference()


def test_the_example_is_the_defaults_and_names_every_setting() -> None:
    """What a job has as every other is shown once."""
    assert parse_settings(example(), "schedules.yaml") == Settings()
    for path, _ in LEAVES:
        name = f"{path[-1]}:"
        assert f"\n{'  ' * (len(path) - 1)}{name}" in example() or f"# {name}" in example() or "x" in path
    assert max(map(len, example().splitlines())) <= 120


def test_the_channels_of_the_example_are_possible() -> None:
    """As they are where their comment signs are taken away."""
    lines = example().splitlines()
    start = lines.index("# channels:")
    end = lines.index("", start)
    text = "\n".join(line.removeprefix("# ") for line in lines[start:end])
    found = parse_settings(text, "s", environ={}).channels
    assert list(found) == ["chat", "program", "claw", "log", "here"]


@pytest.mark.parametrize(
    ("path", "value"), EXAMPLES, ids=lambda given: ".".join(given) if isinstance(given, tuple) else ""
)
def test_every_example_of_a_value_is_possible(path: tuple[str, ...], value: Any) -> None:
    """By itself, beside what it names; and the schema takes it."""
    document: Any = value
    for name in reversed(path):
        document = {name: document}
    if "prices" in path:
        document["merge"]["prices"]["x"] = {"input": 1, "output": 1} | document["merge"]["prices"]["x"]
    if path[0] == "sources":
        kind = {"mapping": "csv", "token": "memory-smart"}.get(path[-1], "claw-memory-ultra")
        document["sources"]["x"] = {"url": kind} | document["sources"]["x"]
    if path[0] == "agents":
        document["agents"]["x"] = {"scopes": [""]} | document["agents"]["x"]
    document = BESIDE | document
    text: list[str] = []
    YAML(typ="safe", pure=True).dump(document, type("Out", (), {"write": lambda _, part: text.append(part.decode())})())
    environ = dict.fromkeys(
        ("EMBEDDING_KEY", "MERGE_KEY", "DATABASE_PASSWORD", "MCP_TOKEN", "SOURCE_TOKEN", "NURSE_TOKEN"), "x" * 16
    )
    parse_settings("".join(text), "s", environ=environ)
    SCHEMA.validate(document)


def test_the_reference_page_has_every_setting() -> None:
    """With a star where a file may hold it."""
    for path, shape in LEAVES:
        assert f"| `{path[-1]}`{' *' if may_be_in_a_file(shape) else ''} |" in reference()


def test_the_schema_is_one_and_takes_the_example() -> None:
    """Also with its groups that are all comments, which YAML reads as null."""
    Draft202012Validator.check_schema(json_schema())
    SCHEMA.validate(YAML(typ="safe", pure=True).load(example()))


@pytest.mark.parametrize(
    ("document", "fits"),
    [
        ({"rates": {"working": 1.2}}, False),
        ({"rates": {"working": "${RATE}"}}, True),
        ({"report": "all"}, False),
        ({"stroe": "x"}, False),
        ({"jobs": {"nightly": {}}}, False),
        ({"jobs": {"shift": {"at": "03:30", "channels": ["a"]}}}, True),
        ({"merge": {"api_key_file": "key"}}, True),
        ({"channels": {"a": {"type": "webhook"}}}, False),
        ({"channels": {"a": {"type": "webhook", "url_file": "url"}}}, True),
        ({"channels": {"a": {"type": "apprise", "url": "${URL}"}}}, True),
        ({"channels": {"a b": {"type": "stdout"}}}, False),
    ],
)
def test_the_schema_refuses_what_reading_refuses(document: dict[str, Any], fits: bool) -> None:
    """As far as a schema can: names that stand elsewhere it does not know."""
    assert SCHEMA.is_valid(document) is fits
