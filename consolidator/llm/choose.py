"""Which model is asked: what the settings say, else the provider whose key is at hand, else none, and why."""

import re
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

from consolidator.errors import BadInput
from consolidator.llm.anthropic import Anthropic
from consolidator.llm.client import Access
from consolidator.llm.openai import OpenAI
from consolidator.llm.prices import DEFAULT_MODELS, price_of
from consolidator.settings import Merge, Price

_SPELLINGS = "auto, none, anthropic, openai, anthropic:NAME or openai:NAME"
_KEYS = {"anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"), "openai": ("OPENAI_API_KEY",)}
# With one of these Anthropic's SDK finds credentials by itself.
_ELSEWHERE = ("ANTHROPIC_PROFILE", "ANTHROPIC_IDENTITY_TOKEN", "ANTHROPIC_IDENTITY_TOKEN_FILE")
_KEY_OF_ANTHROPIC = "sk-ant-"
_NO_KEY = "none"  # what a server that asks for no key is sent


class Choice(NamedTuple):
    """The model, or why there is none. price: of a live request; None where it is not known."""

    model: Anthropic | OpenAI | None
    why: str
    price: Price | None = None


def model_of(settings: Merge, environ: Mapping[str, str]) -> Choice:
    """
    The model that `merge` in the settings and the environment choose. Nothing is imported and nobody is asked.

    BadInput where the settings cannot be meant.
    """
    if settings.model == "none":
        return Choice(None, "merge.model is none")
    if settings.model == "auto":
        return _automatic(settings, environ)
    provider, _, name = settings.model.partition(":")
    if provider not in DEFAULT_MODELS or settings.model.endswith(":"):
        hint = "; for a server of your own write openai:NAME and merge.base_url" if ":" in settings.model else ""
        raise BadInput(f"merge.model: {settings.model!r} is not {_SPELLINGS}{hint}")
    return _chosen(settings, environ, provider, name or DEFAULT_MODELS[provider])


def _automatic(settings: Merge, environ: Mapping[str, str]) -> Choice:
    if settings.base_url:
        raise BadInput("merge.base_url: say which model is there, e.g. merge.model: openai:NAME")
    if settings.api_key:
        provider = "anthropic" if settings.api_key.get_secret_value().startswith(_KEY_OF_ANTHROPIC) else "openai"
        return _chosen(settings, environ, provider, DEFAULT_MODELS[provider])
    for provider, names in _KEYS.items():
        if any(environ.get(name) for name in names):
            return _chosen(settings, environ, provider, DEFAULT_MODELS[provider])
    return Choice(
        None, f"no key in the settings (merge.api_key), in {' or in '.join(_KEYS[each][0] for each in _KEYS)}"
    )


def _chosen(settings: Merge, environ: Mapping[str, str], provider: str, name: str) -> Choice:
    access = _access(settings, environ, provider)
    if access is None:
        return Choice(None, f"merge.model is {settings.model}, but there is no key: set {_KEYS[provider][0]}")
    model = Anthropic(name, access) if provider == "anthropic" else OpenAI(name, access)
    return Choice(model, "", price_of(provider, name, model.place, settings.prices))


def _access(settings: Merge, environ: Mapping[str, str], provider: str) -> Access | None:
    """With the key of the settings, else of the environment; a base URL needs none."""
    base_url = settings.base_url or environ.get(f"{provider.upper()}_BASE_URL") or None
    if base_url is not None:
        _insist_on_url(base_url, "merge.base_url" if settings.base_url else f"{provider.upper()}_BASE_URL")
    names = _KEYS[provider]
    given = settings.api_key.get_secret_value() if settings.api_key else ""
    key = _clean(given, "merge.api_key") or _clean(environ.get(names[0]), names[0])
    token = None if key else next(filter(None, (_clean(environ.get(name), name) for name in names[1:])), None)
    if not key and not token:
        elsewhere = provider == "anthropic" and any(environ.get(name) for name in _ELSEWHERE)
        if base_url is None and not elsewhere:
            return None
        key = None if elsewhere else _NO_KEY
    return Access(base_url, key, token, settings.timeout_seconds, settings.retries)


def _clean(key: str | None, name: str) -> str | None:
    """A key without what files and shells leave around it."""
    key = (key or "").strip()
    if not re.fullmatch(r"[!-~]*", key):
        raise BadInput(f"{name}: this is no key: it holds spaces or letters that none has")
    return key or None


def _insist_on_url(url: str, name: str) -> None:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise BadInput(f"{name}: {url!r} is not a URL; write e.g. http://localhost:11434/v1")
