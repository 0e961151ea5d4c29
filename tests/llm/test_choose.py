"""Which model is asked, where, with which key, and at what price."""

import subprocess
import sys
from typing import Any

import pytest

from consolidator.errors import BadInput
from consolidator.llm.choose import model_of
from consolidator.llm.port import request_hash
from consolidator.settings import Merge, Price
from tests.llm.models import cats

CLAUDE = {"ANTHROPIC_API_KEY": "key-a"}
GPT = {"OPENAI_API_KEY": "key-o"}
LOCAL = "http://localhost:11434/v1"


@pytest.mark.parametrize(
    ("settings", "environ", "who", "key"),
    [
        ({}, CLAUDE | GPT, "anthropic:claude-haiku-5-5", "key-a"),
        ({}, {"ANTHROPIC_API_KEY": ""} | GPT, "openai:gpt-6-luna", "key-o"),
        ({}, {"ANTHROPIC_AUTH_TOKEN": "token"}, "anthropic:claude-haiku-5-5", None),
        ({"api_key": "sk-ant-1"}, GPT, "anthropic:claude-haiku-5-5", "sk-ant-1"),
        ({"api_key": "sk-1"}, CLAUDE, "openai:gpt-6-luna", "sk-1"),
        ({"model": "openai"}, CLAUDE | GPT, "openai:gpt-6-luna", "key-o"),
        ({"model": "openai", "api_key": "mine"}, GPT, "openai:gpt-6-luna", "mine"),
        ({"model": "anthropic:m"}, {"ANTHROPIC_API_KEY": " key-a\n"}, "anthropic:m", "key-a"),
        ({"model": "openai:qwen3:4b", "base_url": LOCAL}, {}, "openai:qwen3:4b at localhost:11434/v1", "none"),
        ({"model": "openai:m", "base_url": LOCAL}, GPT, "openai:m at localhost:11434/v1", "key-o"),
        ({"model": "openai:m"}, {"OPENAI_BASE_URL": LOCAL}, "openai:m at localhost:11434/v1", "none"),
        ({"model": "anthropic:m", "base_url": "http://[::1]:1"}, {}, "anthropic:m at [::1]:1", "none"),
        ({"model": "anthropic"}, {"ANTHROPIC_PROFILE": "work"}, "anthropic:claude-haiku-5-5", None),
    ],
)  # fmt: skip
def test_chosen(settings: dict[str, Any], environ: dict[str, str], who: str, key: str | None) -> None:
    """The settings come first, then the keys in the environment, Anthropic's before OpenAI's; a base URL needs none."""
    model = model_of(Merge(**settings), environ).model
    assert model is not None
    assert (model.who, model.access.key) == (who, key)


@pytest.mark.parametrize(
    ("settings", "environ", "why"),
    [
        ({}, {}, "ANTHROPIC_API_KEY or in OPENAI_API_KEY"),
        ({}, {"OPENAI_BASE_URL": LOCAL}, "no key"),
        ({"model": "none"}, CLAUDE, "merge.model is none"),
        ({"model": "anthropic"}, GPT, "set ANTHROPIC_API_KEY"),
        ({"model": "openai:gpt-6-sol"}, CLAUDE, "merge.model is openai:gpt-6-sol, but there is no key"),
    ],
)
def test_none(settings: dict[str, Any], environ: dict[str, str], why: str) -> None:
    """Where there is no model the reason is said."""
    choice = model_of(Merge(**settings), environ)
    assert choice.model is None
    assert why in choice.why


@pytest.mark.parametrize(
    ("settings", "environ", "said"),
    [
        ({"model": "gpt-6-luna"}, GPT, "'gpt-6-luna' is not auto, none, anthropic, openai, anthropic:NAME"),
        ({"model": "ollama:qwen3"}, {}, "write openai:NAME and merge.base_url"),
        ({"model": "openai:"}, GPT, "'openai:' is not"),
        ({"model": "Anthropic"}, CLAUDE, "'Anthropic' is not"),
        ({"base_url": LOCAL}, CLAUDE, "merge.model: openai:NAME"),
        ({"model": "openai:m", "base_url": "localhost:11434"}, {}, "merge.base_url: 'localhost:11434' is not a URL"),
        ({"model": "openai:m"}, {"OPENAI_BASE_URL": "ftp://here"}, "OPENAI_BASE_URL: 'ftp://here' is not a URL"),
        ({"model": "openai"}, {"OPENAI_API_KEY": "two words"}, "OPENAI_API_KEY: this is no key"),
        ({"model": "openai", "api_key": "kéy"}, {}, "merge.api_key: this is no key"),
    ],
)
def test_refused(settings: dict[str, Any], environ: dict[str, str], said: str) -> None:
    """What cannot be meant is refused, with what to write; no key is ever repeated."""
    with pytest.raises(BadInput) as refused:
        model_of(Merge(**settings), environ)
    assert said in str(refused.value)
    assert "two words" not in str(refused.value)


@pytest.mark.parametrize(
    ("settings", "environ", "price"),
    [
        ({}, CLAUDE, (0.1, 0.5)),
        ({}, GPT, (0.1, 0.5)),
        ({"model": "anthropic:claude-haiku-4-5-20251001"}, CLAUDE, (1, 5)),
        ({"model": "openai:gpt-7"}, GPT, None),
        ({"model": "openai:gpt-7", "prices": {"gpt-7": {"input": 3.0, "output": 9.0}}}, GPT, (3, 9)),
        ({"prices": {"gpt-6-luna": {"input": 3.0, "output": 9.0}}}, GPT, (3, 9)),
        ({"model": "openai:m", "base_url": LOCAL}, {}, (0, 0)),
        ({"model": "openai:m", "base_url": "http://127.0.0.2:80/v1"}, {}, (0, 0)),
        ({"model": "openai:m", "base_url": LOCAL, "prices": {"m": {"input": 3.0, "output": 9.0}}}, {}, (3, 9)),
        ({"model": "openai:gpt-6-luna", "base_url": "https://gateway.example/v1"}, GPT, None),
        ({"model": "openai", "base_url": "https://eu.api.openai.com/v1"}, GPT, (0.1, 0.5)),
        ({"model": "openai", "base_url": "https://api.openai.com.example/v1"}, GPT, None),
        ({"model": "openai:m", "base_url": "https://localhost.example/v1"}, GPT, None),
    ],
)
def test_price(settings: dict[str, Any], environ: dict[str, str], price: tuple[float, float] | None) -> None:
    """A set price comes first; list prices hold at the provider's own address; this machine is free; else unknown."""
    expected = price and Price(input=price[0], output=price[1])
    assert model_of(Merge(**settings), environ).price == expected


def test_request_hash() -> None:
    """A request is named by what may change its answer: provider, place, model and words; not by the key."""
    same = [
        ({"model": "openai:m", "base_url": "https://API.openai.com/v1/"}, GPT),
        ({"model": "openai:m"}, {"OPENAI_API_KEY": "another"}),
        ({"model": "openai:m", "timeout_seconds": 5.0, "retries": 0}, GPT),
    ]
    others = [
        ({"model": "openai:n"}, GPT),
        ({"model": "anthropic:m"}, CLAUDE),
        ({"model": "openai:m", "base_url": LOCAL}, GPT),
        ({"model": "openai:m", "base_url": "http://localhost:11435/v1"}, GPT),
    ]

    def named(settings: dict[str, Any], environ: dict[str, str], question: Any = None) -> str:
        model = model_of(Merge(**settings), environ).model
        assert model is not None
        return request_hash(model, question or cats())

    names = [named(*each) for each in (*same, *others)]
    assert len(set(names[:3])) == 1
    assert len(set(names)) == 5
    changed = [cats()._replace(system="x"), cats()._replace(prompt="x"), cats()._replace(max_tokens=1)]
    assert len({named(*same[0], question) for question in (cats(), *changed)}) == 4


def test_no_sdk_without_need() -> None:
    """Choosing a model, or finding that there is none, imports neither SDK."""
    program = (
        "import sys\n"
        "from consolidator.llm.choose import model_of\n"
        "from consolidator.settings import Merge\n"
        "assert model_of(Merge(), {}).model is None\n"
        "assert model_of(Merge(), {'ANTHROPIC_API_KEY': 'k'}).model is not None\n"
        "assert {'anthropic', 'openai', 'httpx2'}.isdisjoint(sys.modules), sorted(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
