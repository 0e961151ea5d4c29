"""OpenAI's protocol: chat completions, embeddings and models. Local servers speak it too."""

import base64
from typing import TYPE_CHECKING, Any

from tests.providers.answers import Said
from tests.providers.behaviours import Behaviour
from tests.providers.sources import prompt_of
from tests.providers.valid import check_openai_schema, check_parameters
from tests.providers.wire import NOW, Call, Refused, Reply, json_reply, tokens_of

if TYPE_CHECKING:
    from tests.providers.batches import Item
    from tests.providers.provider import Provider

ERRORS = {400: ("invalid_request_error", None), 401: ("invalid_request_error", "invalid_api_key")}
ERRORS |= {402: ("insufficient_quota", "insufficient_quota"), 404: ("invalid_request_error", "model_not_found")}
ERRORS |= {429: ("requests", "rate_limit_exceeded"), 503: ("server_error", "server_is_overloaded")}
STOPS = {"end": "stop", "cut off": "length", "refusal": "stop", "filtered": "content_filter"}
REQUEST_ID_HEADER = "x-request-id"
MODELS = ("gpt-6-astra", "gpt-5.4-mini", "text-embedding-3-small", "text-embedding-3-large", "text-embedding-ada-002")
WHY_NOT = {
    "expired": ("batch_expired", "This request could not be executed before the completion window expired."),
    "canceled": ("batch_cancelled", "This request was not executed because the batch was cancelled."),
}
MOST_INPUTS = 2048
MOST_TOKENS_OF_ONE = 8192
MOST_TOKENS = 300_000


def check_headers(call: Call, key: str | None) -> None:
    given = call.headers.get("authorization", "").removeprefix("Bearer ")
    if not given or key not in (None, given):
        why = f"Incorrect API key provided: {given}." if given else "You didn't provide an API key."
        raise Refused(401, why, code="invalid_api_key", complaint=not given)


def error_of(status: int, message: str, code: str | None = None) -> dict[str, Any]:
    kind, usual_code = ERRORS.get(status, ("server_error", None))
    return {"error": {"message": message, "type": kind, "param": None, "code": code or usual_code}}


def failure(behaviour: Behaviour, call: Call) -> Reply:
    status = behaviour.status or 500
    body = error_of(status, behaviour.message)
    return json_reply(body, 429 if status == 402 else status, **behaviour.headers)


def refusal(refused: Refused, call: Call) -> Reply:
    return json_reply(error_of(refused.status, refused.message, refused.code), refused.status)


def request_id(call: Call) -> str:
    return f"req_{call.number:032x}"


def create_completion(provider: "Provider", call: Call) -> Reply:
    check_completion(call.body)
    return json_reply(answered(provider, call, call.body))


def check_completion(body: dict[str, Any]) -> None:
    """Refused where the parameters of a completion are not acceptable."""
    check_parameters("chat", body)
    if not body["messages"]:
        raise Refused(400, "Invalid 'messages': empty array. Expected an array with minimum length 1.")
    if body.get("max_tokens") is not None and body.get("max_completion_tokens") is not None:
        raise Refused(400, "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.")
    if (limit_of(body) or 1) < 1:
        raise Refused(400, "Invalid 'max_completion_tokens': integer below minimum value.")
    if body.get("n") not in (None, 1):
        raise Refused(400, "'n': this server says one thing at a time.")
    form = body.get("response_format") or {}
    if form.get("type") == "json_schema":
        check_openai_schema(form["json_schema"])
    if form.get("type") == "json_object" and "json" not in prompt_of(body).casefold():
        raise Refused(
            400,
            "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.",
        )


def limit_of(body: dict[str, Any]) -> int | None:
    return body.get("max_completion_tokens") or body.get("max_tokens")


def answered(provider: "Provider", call: Call, body: dict[str, Any], custom_id: str | None = None) -> dict[str, Any]:
    """The completion that answers a body, paid from now on."""
    said, used = provider.ask(call, "openai", body, limit_of(body), custom_id)
    completion = completion_of(said, body, used.input_tokens, used.output_tokens)
    return {"id": f"chatcmpl-{used.number:08}", "created": provider.seconds, **completion}


def completion_of(said: Said, body: dict[str, Any], prompt_tokens: int, completion_tokens: int) -> dict[str, Any]:
    message = {
        "role": "assistant",
        "content": None if said.refusal else said.text,
        "refusal": said.refusal,
        "annotations": [],
    }
    details = {"reasoning_tokens": tokens_of(said.thinking), "audio_tokens": 0, "accepted_prediction_tokens": 0}
    return {
        "object": "chat.completion",
        "model": body["model"],
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": STOPS[said.stop or "end"]}],
        "usage": {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": completion_tokens,
            "total_tokens": prompt_tokens + completion_tokens,
            "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
            "completion_tokens_details": {**details, "rejected_prediction_tokens": 0},
        },
        "service_tier": "default",
        "system_fingerprint": "fp_test",
    }


def create_embeddings(provider: "Provider", call: Call) -> Reply:
    body = call.body
    check_parameters("embeddings", body)
    texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
    check_inputs(texts)
    model, dimensions = body["model"], body.get("dimensions")
    whole = len(provider.vector_of("dimension", model, None))
    if dimensions is not None and (model == "text-embedding-ada-002" or not 1 <= dimensions <= whole):
        raise Refused(400, f"This model does not support specifying dimensions of {dimensions}.")
    tokens = sum(map(tokens_of, texts))
    provider.note_embedding([(text, tokens_of(text)) for text in texts])
    data = []
    for at, text in enumerate(texts):
        vector = provider.vector_of(text, model, dimensions)
        as_text = base64.b64encode(vector.astype("<f4").tobytes()).decode()
        sent = as_text if body.get("encoding_format") == "base64" else [float(number) for number in vector]
        data.append({"object": "embedding", "index": at, "embedding": sent})
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return json_reply({"object": "list", "data": data, "model": model, "usage": usage})


def check_inputs(texts: list[Any]) -> None:
    if not texts or len(texts) > MOST_INPUTS:
        raise Refused(400, f"Invalid 'input': an array of 1 to {MOST_INPUTS} is expected, not of {len(texts)}.")
    if not all(isinstance(text, str) for text in texts):
        raise Refused(400, "Invalid 'input': this server embeds texts only.")
    if not all(texts):
        raise Refused(400, "Invalid 'input': input cannot be an empty string.")
    longest = max(map(tokens_of, texts))
    if longest > MOST_TOKENS_OF_ONE:
        raise Refused(400, f"Invalid 'input': maximum input length is {MOST_TOKENS_OF_ONE} tokens, not {longest}.")
    if sum(map(tokens_of, texts)) > MOST_TOKENS:
        raise Refused(400, f"Requested too many tokens; max {MOST_TOKENS} tokens per request.")


def list_models(provider: "Provider", call: Call) -> Reply:
    return json_reply({"object": "list", "data": [model_of(name) for name in MODELS]})


def get_model(provider: "Provider", call: Call) -> Reply:
    name = call.path.rpartition("/")[2]
    if name not in MODELS:
        raise Refused(404, f"The model '{name}' does not exist", complaint=False)
    return json_reply(model_of(name))


def model_of(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": int(NOW.timestamp()), "owned_by": "openai"}


def line_of(item: "Item") -> dict[str, Any]:
    """The line of a batch's output or error file."""
    name = f"batch_req_{item.custom_id}"
    error = response = None
    if item.outcome in WHY_NOT:
        error = dict(zip(("code", "message"), WHY_NOT[item.outcome], strict=True))
    else:
        good = item.outcome == "succeeded"
        body = item.reply if good else error_of(item.status, item.message)
        response = {"status_code": 200 if good else item.status, "request_id": f"req_{item.custom_id}", "body": body}
    return {"id": name, "custom_id": item.custom_id, "response": response, "error": error}


ROUTES = (
    ("POST", r"/v1/chat/completions", create_completion),
    ("POST", r"/v1/embeddings", create_embeddings),
    ("GET", r"/v1/models", list_models),
    ("GET", r"/v1/models/[^/]+", get_model),
)
