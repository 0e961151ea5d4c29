"""Questions as a client asks them, in both protocols."""

import json
from typing import Any, Literal

import anthropic
import openai
from pydantic import BaseModel

CLAUDE, GPT = "claude-sonnet-5-5", "gpt-5.4-mini"


class Dropped(BaseModel):
    fact: str
    because: str


class Verdict(BaseModel):
    verdict: Literal["merge", "update", "distinct"]
    text: str
    kept: list[str]
    dropped: list[Dropped]


def prompt(*contents: str) -> str:
    memories = [{"number": at, "content": content} for at, content in enumerate(contents, 1)]
    return (
        f"Some [prose], then data:\n<memories>\n{json.dumps(memories, ensure_ascii=False, indent=1)}\n</memories>\nEnd."
    )


def for_claude(*contents: str, **more: Any) -> dict[str, Any]:
    return {
        "model": CLAUDE,
        "max_tokens": 2000,
        "system": "You merge memories.",
        "messages": [{"role": "user", "content": prompt(*contents)}],
        "output_config": {"format": {"type": "json_schema", "schema": anthropic.transform_schema(Verdict)}},
        **more,
    }


def for_gpt(*contents: str, **more: Any) -> dict[str, Any]:
    schema = openai.pydantic_function_tool(Verdict)["function"]["parameters"]
    return {
        "model": GPT,
        "max_completion_tokens": 2000,
        "messages": [{"role": "system", "content": "You merge."}, {"role": "user", "content": prompt(*contents)}],
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "verdict", "strict": True, "schema": schema},
        },
        **more,
    }
