"""Which embedder is used: what is asked for, else the model that the store is pinned to, else the default; or none."""

import re
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

from consolidator.embedding import minilm
from consolidator.embedding.openai import RETRIES, OpenAI
from consolidator.embedding.port import Embedder
from consolidator.errors import BadInput
from consolidator.llm.client import Access
from consolidator.settings import Embedding
from consolidator.store.vectors import Pin

SETTING = "embedding.model"
_SPELLINGS = "minilm, openai:NAME or none"
_MINILM, _OPENAI, _NONE = "minilm", "openai:", "none"
_KEY, _BASE_URL = "OPENAI_API_KEY", "OPENAI_BASE_URL"
_NO_KEY = "none"  # what a server that asks for no key is sent


class Choice(NamedTuple):
    """
    embedder: None where there is none, and `why`, in one line. model: whose stored vectors count, with an embedder or
    without; None where words alone are wanted.
    """

    embedder: Embedder | None
    model: str | None
    why: str = ""


def embedder_of(
    settings: Embedding,
    pin: Pin | None,
    environ: Mapping[str, str],
    *,
    option: str | None = None,
    replaces: bool = False,
    retries: int = RETRIES,
) -> Choice:
    """
    The embedder for a store. Nothing is imported or loaded and nobody is asked.

    option: a model asked for by name, which comes before the settings. replaces: it may be another than the store's,
    for all is embedded anew. retries: how often a request that failed is tried again. BadInput where it may not, or
    cannot be meant.
    """
    spelled, where = (settings.model, SETTING) if option is None else (option, "--model")
    if spelled == _NONE:
        if option is not None:
            raise BadInput(f"--model: {_NONE} embeds nothing; write minilm or openai:NAME")
        return Choice(None, None, f"{SETTING} is {_NONE}")
    model = (pin.model if pin else minilm.MODEL) if spelled is None else named(spelled, where)
    if pin and pin.model != model and not replaces:
        says = f"{where} {'says' if option is None else 'is'} {spelled}"
        raise BadInput(
            f"the store's vectors are of {spell(pin.model)} and {says}; "
            f"to embed all anew: consolidate embed --all --model {spelled}"
        )
    if model == minilm.MODEL:
        return Choice(minilm.MiniLM(), model)
    access = _access(settings, environ, retries)
    if access is None:
        return Choice(None, model, f"{spell(model)} needs a key: set {_KEY} or embedding.api_key")
    return Choice(OpenAI(model, access), model)


def named(spelled: str, where: str = SETTING) -> str:
    """The model that a person names: by which its vectors are kept. BadInput where it is none."""
    if spelled == _MINILM:
        return minilm.MODEL
    name = spelled.removeprefix(_OPENAI)
    if name == spelled or not name.strip() or name != name.strip():
        raise BadInput(f"{where}: {spelled!r} is not {_SPELLINGS}")
    return name


def kept_as(model: str) -> str:
    """By which name vectors of a model are kept, whether it is spelled as a person names it or as it is kept."""
    return minilm.MODEL if model == _MINILM else model.removeprefix(_OPENAI)


def spell(model: str) -> str:
    """A model as a person names it."""
    return _MINILM if model == minilm.MODEL else f"{_OPENAI}{model}"


def _access(settings: Embedding, environ: Mapping[str, str], retries: int) -> Access | None:
    """With the key of the settings, else of the environment; a base URL needs none."""
    base_url = settings.base_url or (environ.get(_BASE_URL) or "").strip() or None
    if base_url is not None:
        parts = urlsplit(base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            name = "embedding.base_url" if settings.base_url else _BASE_URL
            raise BadInput(f"{name}: {base_url!r} is not a URL; write e.g. http://localhost:11434/v1")
    given = settings.api_key.get_secret_value().strip() if settings.api_key else ""
    key = given or (environ.get(_KEY) or "").strip()
    if not re.fullmatch(r"[!-~]*", key):
        raise BadInput(
            f"{'embedding.api_key' if given else _KEY}: this is no key: it holds spaces or letters that none has"
        )
    if not key and base_url is None:
        return None
    return Access(base_url, key or _NO_KEY, timeout_seconds=settings.timeout_seconds, retries=retries)
