"""The memories that a prompt holds, whatever is written around them."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

DECODER = json.JSONDecoder()


def text_of(content: Any) -> str:
    """The text of a message's content: a string, or the text blocks of a list."""
    if isinstance(content, str):
        return content
    return "\n".join(block.get("text", "") for block in content or () if isinstance(block, Mapping))


def prompt_of(body: Mapping[str, Any]) -> str:
    """All that the model is shown, the system prompt first."""
    return "\n".join(text_of(part) for part in (body.get("system"), *contents(body)) if part)


def contents(body: Mapping[str, Any]) -> Iterator[Any]:
    for message in body.get("messages", ()):
        yield message.get("content")


def sources_of(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """
    The memories of the last message that has some: the first JSON array in it of objects with a `content`.

    A memory that holds JSON itself is a string within the array, so it is never taken for it.
    """
    for content in reversed(list(contents(body))):
        for array in arrays_in(text_of(content)):
            if array and all(isinstance(item, dict) and isinstance(item.get("content"), str) for item in array):
                return array
    return []


def arrays_in(text: str) -> Iterator[list[Any]]:
    """The JSON arrays in a text from the left, none inside another that was not passed over."""
    at = text.find("[")
    while at >= 0:
        try:
            value, end = DECODER.raw_decode(text, at)
        except ValueError:
            end = at + 1
        else:
            yield value
        at = text.find("[", end)
