"""Which embedder is used, and why none."""

import pytest
from pydantic import SecretStr

from consolidator.embedding.choose import Choice, embedder_of, named, spell
from consolidator.embedding.minilm import MODEL, MiniLM
from consolidator.embedding.openai import OpenAI
from consolidator.embedding.port import Embedder
from consolidator.errors import BadInput
from consolidator.settings import Embedding
from consolidator.store.vectors import Pin
from tests.providers.provider import Provider

KEY = {"OPENAI_API_KEY": "sk-test"}
SMALL = "text-embedding-3-small"
PINNED = Pin(SMALL, 1536)
LOCAL = Pin(MODEL, 384)


def port_of(choice: Choice) -> Embedder | None:
    """As the rooms that use it see it."""
    return choice.embedder


@pytest.mark.parametrize(
    ("settings", "pin", "environ", "kind", "model", "why"),
    [
        (Embedding(), None, {}, MiniLM, MODEL, ""),
        (Embedding(), None, KEY, MiniLM, MODEL, ""),
        (Embedding(), LOCAL, {}, MiniLM, MODEL, ""),
        (Embedding(model="minilm"), LOCAL, {}, MiniLM, MODEL, ""),
        (Embedding(), PINNED, KEY, OpenAI, SMALL, ""),
        (Embedding(), PINNED, {}, None, SMALL, f"openai:{SMALL} needs a key: set OPENAI_API_KEY or embedding.api_key"),
        (Embedding(), PINNED, {"OPENAI_API_KEY": " "}, None, SMALL, "needs a key"),
        (Embedding(), PINNED, {"OPENAI_BASE_URL": "http://localhost:1/v1"}, OpenAI, SMALL, ""),
        (Embedding(base_url="http://localhost:1/v1"), PINNED, {}, OpenAI, SMALL, ""),
        (Embedding(api_key=SecretStr("sk-mine")), PINNED, {}, OpenAI, SMALL, ""),
        (Embedding(model=f"openai:{SMALL}"), None, KEY, OpenAI, SMALL, ""),
        (Embedding(model=f"openai:{SMALL}"), PINNED, {}, None, SMALL, "needs a key"),
        (Embedding(model="openai:nomic-embed-text:v1.5"), None, KEY, OpenAI, "nomic-embed-text:v1.5", ""),
        (Embedding(model="none"), None, {}, None, None, "embedding.model is none"),
        (Embedding(model="none"), PINNED, KEY, None, None, "embedding.model is none"),
    ],
)
def test_chosen(
    settings: Embedding, pin: Pin | None, environ: dict[str, str], kind: type | None, model: str | None, why: str
) -> None:
    """What is asked for, else what the store is pinned to, else minilm; one without its key is none, and why."""
    choice = embedder_of(settings, pin, environ)
    assert (type(choice.embedder) if choice.embedder else None) is kind
    assert choice.model == model
    assert why in choice.why
    assert bool(choice.why) == (kind is None)
    if port_of(choice):
        assert choice.embedder.model == model
        assert choice.embedder.local == (kind is MiniLM)


@pytest.mark.parametrize(
    ("settings", "pin", "option", "command"),
    [
        (Embedding(model="minilm"), PINNED, None, "minilm"),
        (Embedding(model="openai:other"), PINNED, None, "openai:other"),
        (Embedding(model=f"openai:{SMALL}"), LOCAL, None, f"openai:{SMALL}"),
        (Embedding(), LOCAL, "openai:other", "openai:other"),
        (Embedding(model=f"openai:{SMALL}"), PINNED, "minilm", "minilm"),
    ],
)
def test_other_than_pinned(settings: Embedding, pin: Pin, option: str | None, command: str) -> None:
    """A model other than the store's is refused with the command that embeds all anew, and let in by that."""
    with pytest.raises(BadInput) as refusal:
        embedder_of(settings, pin, KEY, option=option)
    assert str(refusal.value).endswith(f": consolidate embed --all --model {command}")
    assert ("--model is" if option else "embedding.model says") in str(refusal.value)
    assert spell(pin.model) in str(refusal.value)
    assert embedder_of(settings, pin, KEY, option=option, replaces=True).model == named(command)


@pytest.mark.parametrize(
    ("settings", "environ", "option", "words"),
    [
        (Embedding(model="minilmm"), {}, None, "embedding.model: 'minilmm' is not minilm, openai:NAME or none"),
        (Embedding(model="openai:"), {}, None, "embedding.model: 'openai:' is not"),
        (Embedding(model="openai: x"), {}, None, "embedding.model: 'openai: x' is not"),
        (Embedding(), {}, "OpenAI:x", "--model: 'OpenAI:x' is not"),
        (Embedding(), {}, "", "--model: '' is not"),
        (Embedding(), {}, "none", "--model: none embeds nothing"),
        (Embedding(model="openai:x", base_url="localhost"), {}, None, "embedding.base_url: 'localhost' is not a URL"),
        (Embedding(model="openai:x"), {"OPENAI_BASE_URL": "ftp://x"}, None, "OPENAI_BASE_URL: 'ftp://x' is not a URL"),
        (Embedding(model="openai:x", api_key=SecretStr("a b")), {}, None, "embedding.api_key: this is no key"),
        (Embedding(model="openai:x"), {"OPENAI_API_KEY": "ключ"}, None, "OPENAI_API_KEY: this is no key"),
    ],
)
def test_cannot_be_meant(settings: Embedding, environ: dict[str, str], option: str | None, words: str) -> None:
    """What no model can be made of is refused with its name, and never with a key."""
    with pytest.raises(BadInput) as refusal:
        embedder_of(settings, None, environ, option=option)
    assert words in str(refusal.value)
    assert "a b" not in str(refusal.value)


def test_settings_come_first(provider: Provider) -> None:
    """Key and address of the settings come before those of the environment."""
    settings = Embedding(model="openai:x", base_url=provider.openai_url, api_key=SecretStr("test-key"))
    environ = {"OPENAI_API_KEY": "wrong", "OPENAI_BASE_URL": "http://127.0.0.1:1"}
    choice = embedder_of(settings, None, environ)
    assert choice.embedder is not None
    choice.embedder.passages(["a"])
    choice = embedder_of(Embedding(model="openai:x"), None, provider.openai_environ)
    assert choice.embedder is not None
    choice.embedder.passages(["a"])
    assert [call.headers["authorization"] for call in provider.calls] == ["Bearer test-key"] * 2


def test_no_key_no_secret(provider: Provider) -> None:
    """A server of one's own is asked without a key, and an address with a password in it is not told on."""
    provider.key = None
    choice = embedder_of(Embedding(model="openai:x", base_url=provider.openai_url), None, {})
    assert choice.embedder is not None
    choice.embedder.passages(["a"])
    choice = embedder_of(Embedding(model="openai:x", base_url="http://ada:hush@127.0.0.1:1/v1/"), None, {})
    assert isinstance(choice.embedder, OpenAI)
    assert choice.embedder.who == "openai:x at 127.0.0.1:1/v1"


def test_spelled() -> None:
    """A model is named as it is spelled, both ways."""
    for spelled in ("minilm", "openai:text-embedding-3-small", "openai:a/b:c"):
        assert spell(named(spelled)) == spelled
