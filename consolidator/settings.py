"""
Settings: every number has a name, bounds and a home; a bad one is refused with its path.

A file is YAML 1.2, so `no` stays a word. Unknown keys are refused and the nearest known one is named.
"""

from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from consolidator.errors import BadInput
from consolidator.notify.channels import CHANNELS, Channel

FILE_NAME = "schedules.yaml"
Level = Literal["off", "errors", "summary", "detailed"]
LEVELS: tuple[str, ...] = get_args(Level)
ChannelName = Annotated[str, Field(pattern=r"^[\w.-]{1,64}$")]


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Rates(_Section):
    """What is left of a strength after a night of 86,400 s."""

    working: float = Field(0.906, gt=0, le=1, allow_inf_nan=False)
    consolidated: float = Field(0.977, gt=0, le=1, allow_inf_nan=False)
    association: float = Field(0.9, gt=0, le=1, allow_inf_nan=False)


class Embedding(_Section):
    """
    How memories get their vectors.

    model: `minilm` (local, without a key), `none` (words alone), `openai:NAME` or, with base_url, `openai:NAME` of any
    server that speaks OpenAI's embeddings API; None: the model that the store is pinned to, else minilm.
    """

    model: str | None = Field(None, min_length=1)
    base_url: str | None = Field(None, min_length=1)
    api_key: SecretStr | None = None
    timeout_seconds: float = Field(30, gt=0, le=3600)


class Budget(_Section):
    """What asking a language model may cost at most; None: no limit of this kind."""

    calls: int | None = Field(None, ge=0)
    input_tokens: int | None = Field(None, ge=0)
    output_tokens: int | None = Field(None, ge=0)
    usd: float | None = Field(None, ge=0, allow_inf_nan=False)


class Price(_Section):
    """US dollars for a million tokens."""

    input: float = Field(ge=0, allow_inf_nan=False)
    output: float = Field(ge=0, allow_inf_nan=False)


class Merge(_Section):
    """
    How memories that say the same are written once.

    model: `auto` (the provider whose key is set, Anthropic first, else none), `none`, `anthropic`, `openai`, or
    `PROVIDER:NAME`. mode: `live` asks in the night; `batch` hands in and collects later, for half the price.
    budget: for a run; budget_per_scope: for each of its scopes. prices: by the name of the model.
    """

    model: str = Field("auto", min_length=1)
    mode: Literal["live", "batch"] = "live"
    base_url: str | None = Field(None, min_length=1)
    api_key: SecretStr | None = None
    timeout_seconds: float = Field(120, gt=0, le=3600)
    retries: int = Field(5, ge=0, le=20)
    concurrency: int = Field(4, ge=1, le=64)
    budget: Budget = Budget(calls=20)
    budget_per_scope: Budget = Budget()
    prices: dict[str, Price] = {}


class Settings(_Section):
    """
    Everything that can be set.

    store: a SQLite path (relative to the file it is written in) or a URL; None: the store in the user's data folder.
    report: how much `run` prints. channels: where messages go, by names of your own.
    """

    store: str | None = Field(None, min_length=1)
    rates: Rates = Rates()
    embedding: Embedding = Embedding()
    merge: Merge = Merge()
    report: Level = "detailed"
    channels: dict[ChannelName, Channel] = {}


def load_settings(path: Path) -> Settings:
    """The settings of a file; what it leaves out has its default. BadInput names the first thing that is wrong."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{path}: the settings cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BadInput(f"{path}: not UTF-8 text; save it as UTF-8") from None
    return parse_settings(text, str(path))


def parse_settings(text: str, name: str) -> Settings:
    """The settings of a YAML text; `name` is what errors call it."""
    document = _read_yaml(text, name)
    if document is None:
        return Settings()
    if not isinstance(document, Mapping):
        raise BadInput(f"{name}: not a mapping of settings; write e.g. `report: summary`")
    try:
        return Settings.model_validate({name: value for name, value in document.items() if value is not None})
    except ValidationError as error:
        raise BadInput(f"{name}: {_explain(error.errors(include_url=False)[0])}") from None


def _read_yaml(text: str, name: str) -> Any:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        return YAML(typ="safe", pure=True).load(text)
    except MarkedYAMLError as error:
        line = f" line {error.problem_mark.line + 1}:" if error.problem_mark else ""
        problem = " ".join(str(error.problem or error.context or "unreadable").split())
        raise BadInput(f"{name}:{line} not readable as YAML: {problem}") from None
    except (YAMLError, ValueError) as error:
        raise BadInput(f"{name}: not readable as YAML: {' '.join(str(error).split())}") from None


def _explain(error: Any) -> str:
    value, kind, limits = error["input"], error["type"], error.get("ctx", {})
    if error["loc"][0] == "channels":
        return _explain_channel(error)
    path = ".".join(map(str, error["loc"]))
    if kind == "extra_forbidden":
        return f"{path}: unknown; {_nearest(error['loc'])}"
    if kind in ("greater_than", "less_than_equal", "finite_number"):
        return f"{path}: {value} is not between 0 and 1"
    if kind == "float_type":
        return f"{path}: {value!r} is not a number"
    if kind == "literal_error":
        return f"{path}: {value!r} is not one of {', '.join(LEVELS)}"
    if kind in ("string_type", "string_too_short"):
        return f"{path}: {value!r} is not a path or URL"
    if kind in ("model_type", "model_attributes_type", "dict_type"):
        return f"{path}: {value!r} is not a group of settings; indent its names below it"
    return f"{path}: {error['msg']}{f' {limits}' if limits else ''}"


def _explain_channel(error: Any) -> str:
    """What is wrong with a channel. Its values are not repeated: an address in the wrong place is still a secret."""
    (_, *where), kind = error["loc"], error["type"]
    name, inner = where[:1], where[2:]  # between them: its type
    path = ".".join(map(str, ["channels", *name, *inner]))
    if kind in ("union_tag_not_found", "union_tag_invalid"):
        return f"{path}.type: must be one of {', '.join(CHANNELS)}"
    if kind in ("dict_type", "model_attributes_type", "model_type"):
        return f"{path}: not a group of settings; indent `type:` and the rest below a name"
    if kind == "extra_forbidden":
        known = list(CHANNELS[str(where[1])].model_fields)
        near = get_close_matches(str(inner[-1]), known, n=1)
        hint = f"did you mean {near[0]}?" if near else f"known here: {', '.join(known)}"
        return f"{path}: unknown; {hint}"
    if kind == "missing":
        return f"{path}: is missing"
    if kind == "string_pattern_mismatch" and not inner:
        return f"channels: {name[0]!r} is no name for a channel; use letters, digits, dots and dashes"
    return f"{path}: {error['msg'].removeprefix('Value error, ')}"


def _nearest(location: tuple[Any, ...]) -> str:
    model: type[BaseModel] = Settings
    for part in location[:-1]:
        model = model.model_fields[part].annotation  # type: ignore[assignment]
    known = list(model.model_fields)
    parent = "".join(f"{part}." for part in location[:-1])
    everywhere = {name: parent + name for name in known} | {
        inner: f"{outer}.{inner}"
        for outer, field in Settings.model_fields.items()
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)
        for inner in field.annotation.model_fields
    }
    near = get_close_matches(str(location[-1]), everywhere, n=1)
    if near:
        return f"did you mean {everywhere[near[0]]}?"
    return f"known here: {', '.join(known)}"
