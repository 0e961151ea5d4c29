"""Anthropic's protocol: messages and models. What it is told and says is in its own shapes."""

from typing import TYPE_CHECKING, Any

from tests.providers.answers import Said
from tests.providers.behaviours import Behaviour
from tests.providers.sources import prompt_of
from tests.providers.valid import check_anthropic_schema, check_parameters
from tests.providers.wire import Call, Refused, Reply, json_reply

if TYPE_CHECKING:
    from tests.providers.provider import Provider

VERSIONS = {"2023-06-01", "2026-10-21"}
ERRORS = {400: "invalid_request_error", 401: "authentication_error", 402: "billing_error", 403: "permission_error"}
ERRORS |= {404: "not_found_error", 413: "invalid_request_error", 429: "rate_limit_error", 504: "timeout_error"}
ERRORS |= {529: "overloaded_error"}
STOPS = {"end": "end_turn", "cut off": "max_tokens", "refusal": "refusal", "filtered": "refusal"}
REQUEST_ID_HEADER = "request-id"
MODELS = ("claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5")


def check_headers(call: Call, key: str | None) -> None:
    given = call.headers.get("x-api-key") or call.headers.get("authorization", "").removeprefix("Bearer ")
    if not given or key not in (None, given):
        raise Refused(401, "invalid x-api-key" if given else "x-api-key header is required", complaint=not given)
    if call.headers.get("anthropic-version") not in VERSIONS:
        raise Refused(400, "anthropic-version: header is required")


def error_of(status: int, message: str, call: Call) -> dict[str, Any]:
    kind = ERRORS.get(status, "api_error")
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": request_id(call)}


def failure(behaviour: Behaviour, call: Call) -> Reply:
    status = behaviour.status or 500
    return json_reply(error_of(status, behaviour.message, call), status, **behaviour.headers)


def refusal(refused: Refused, call: Call) -> Reply:
    return json_reply(error_of(refused.status, refused.message, call), refused.status)


def request_id(call: Call) -> str:
    return f"req_{call.number:08}"


def create_message(provider: "Provider", call: Call) -> Reply:
    check_message(call.body)
    return json_reply(answered(provider, call, call.body))


def check_message(body: dict[str, Any]) -> None:
    """Refused where the parameters of a message are not acceptable."""
    check_parameters("messages", body)
    if not body["messages"]:
        raise Refused(400, "messages: at least one message is required")
    if body["max_tokens"] < 1:
        raise Refused(400, "max_tokens: must be greater than or equal to 1")
    if not prompt_of(body).strip():
        raise Refused(400, "messages: text content blocks must be non-empty")
    form = body.get("output_config", {}).get("format")
    if form:
        check_anthropic_schema(form["schema"])
        if body["messages"][-1]["role"] == "assistant":
            raise Refused(400, "output_config.format: a prefilled answer is not supported with structured output")


def answered(provider: "Provider", call: Call, body: dict[str, Any], custom_id: str | None = None) -> dict[str, Any]:
    """The message that answers a body, paid from now on."""
    said, used = provider.ask(call, "anthropic", body, body["max_tokens"], custom_id)
    return message_of(said, body, f"msg_{used.number:08}", used.input_tokens, used.output_tokens, bool(custom_id))


def message_of(
    said: Said, body: dict[str, Any], name: str, input_tokens: int, output_tokens: int, batch: bool
) -> dict[str, Any]:
    thought = {"type": "thinking", "thinking": said.thinking, "signature": "c2lnbmVk"}
    spoken = {"type": "text", "text": said.text}
    details = {"type": "refusal", "category": None, "explanation": said.refusal}
    return {
        "id": name,
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": [*([thought] if said.thinking else []), *([spoken] if said.text else [])],
        "stop_reason": STOPS[said.stop or "end"],
        "stop_sequence": None,
        "stop_details": details if said.stop in ("refusal", "filtered") else None,
        "container": None,
        "usage": {
            "input_tokens": input_tokens,
            "output_tokens": output_tokens,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "cache_creation": {"ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": 0},
            "server_tool_use": None,
            "service_tier": "batch" if batch else "standard",
        },
    }


def list_models(provider: "Provider", call: Call) -> Reply:
    data = [model_of(name) for name in MODELS]
    return json_reply({"data": data, "has_more": False, "first_id": MODELS[0], "last_id": MODELS[-1]})


def get_model(provider: "Provider", call: Call) -> Reply:
    name = call.path.rpartition("/")[2]
    if name not in MODELS:
        raise Refused(404, f"model: {name}", complaint=False)
    return json_reply(model_of(name))


def model_of(name: str) -> dict[str, Any]:
    return {
        "id": name,
        "type": "model",
        "display_name": name.replace("-", " ").title(),
        "created_at": "2025-11-01T00:00:00Z",
        "lifecycle": "active",
        "max_input_tokens": 200_000,
        "max_tokens": 64_000,
    }


ROUTES = (
    ("POST", r"/v1/messages", create_message),
    ("GET", r"/v1/models", list_models),
    ("GET", r"/v1/models/[^/]+", get_model),
)
