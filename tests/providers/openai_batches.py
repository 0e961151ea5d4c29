"""OpenAI's files and batches."""

import json
from typing import TYPE_CHECKING, Any

from tests.providers.batches import Batch, File, Item
from tests.providers.valid import check_parameters
from tests.providers.wire import DAY_SECONDS, Call, Refused, Reply, json_reply

if TYPE_CHECKING:
    from tests.providers.provider import Provider

ENDPOINT = "/v1/chat/completions"
PURPOSES = {"assistants", "batch", "fine-tune", "vision", "user_data", "evals"}
MOST_REQUESTS = 50_000


def upload(provider: "Provider", call: Call) -> Reply:
    form = call.body if isinstance(call.body, dict) else {}
    if form.get("purpose") not in PURPOSES:
        raise Refused(400, f"'{form.get('purpose')}' is not one of {sorted(PURPOSES)} - 'purpose'")
    if not isinstance(form.get("file"), tuple):
        raise Refused(400, "'file' is a required property")
    name, content = form["file"]
    if form["purpose"] == "batch" and not name.endswith(".jsonl"):
        raise Refused(400, f"Invalid file format for Batch API: {name!r}. Must be .jsonl")
    return json_reply(file_of(provider.batches.keep_file(name, form["purpose"], content)))


def list_files(provider: "Provider", call: Call) -> Reply:
    purpose = call.query.get("purpose")
    known = [file for file in reversed(provider.batches.files.values()) if purpose in (None, file.purpose)]
    return json_reply(listed([file_of(file) for file in known], False))


def get_file(provider: "Provider", call: Call) -> Reply:
    return json_reply(file_of(named_file(provider, call)))


def get_content(provider: "Provider", call: Call) -> Reply:
    return Reply(200, named_file(provider, call).content, "application/octet-stream")


def delete_file(provider: "Provider", call: Call) -> Reply:
    file = named_file(provider, call)
    provider.batches.delete_file(file.id)
    return json_reply({"id": file.id, "object": "file", "deleted": True})


def named_file(provider: "Provider", call: Call) -> File:
    name = call.path.split("/")[3]
    file = provider.batches.files.get(name)
    if file is None:
        raise Refused(404, f"No such File object: {name}", complaint=False)
    return file


def file_of(file: File) -> dict[str, Any]:
    return {
        "id": file.id,
        "object": "file",
        "bytes": len(file.content),
        "created_at": file.made_at,
        "expires_at": file.made_at + 30 * DAY_SECONDS if file.purpose.startswith("batch") else None,
        "filename": file.name,
        "purpose": file.purpose,
        "status": "processed",
        "status_details": None,
    }


def create(provider: "Provider", call: Call) -> Reply:
    check_parameters("batches", call.body)
    if call.body["endpoint"] != ENDPOINT:
        raise Refused(400, f"This server does batches of {ENDPOINT} only.")
    metadata = call.body.get("metadata") or {}
    if len(metadata) > 16 or any(len(name) > 64 or len(value) > 512 for name, value in metadata.items()):
        raise Refused(400, "Invalid 'metadata': at most 16 pairs, names of 64 and values of 512 characters.")
    file = provider.batches.files.get(call.body["input_file_id"])
    if file is None or file.purpose != "batch":
        raise Refused(400, f"Invalid 'input_file_id': no file of purpose 'batch' is {call.body['input_file_id']!r}.")
    items, failed = items_of(file.content)
    for problem in failed:
        provider.complain(f"batch input line {problem['line']}: {problem['message']}")
    batch = provider.batches.add(
        "openai",
        call,
        items,
        metadata=call.body.get("metadata"),
        input_file_id=file.id,
        failed=failed,
        state="failed" if failed else "under way",
    )
    reply = json_reply({**batch_of(batch), "status": "validating", "errors": None, "failed_at": None})
    provider.batches.made_now(batch)
    return reply


def items_of(content: bytes) -> tuple[list[Item], list[dict[str, Any]]]:
    """The items of an input file, and what is wrong with its lines."""
    items: list[Item] = []
    failed: list[dict[str, Any]] = []
    lines = content.decode("utf-8", "replace").split("\n")
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        code, message = problem_of(line, {item.custom_id for item in items}, {item.body["model"] for item in items})
        if code:
            failed.append({"code": code, "line": number, "message": message, "param": None})
        else:
            request = json.loads(line)
            items.append(Item(request["custom_id"], request["body"]))
    if not failed and not 1 <= len(items) <= MOST_REQUESTS:
        failed.append({"code": "empty_file", "line": None, "message": "The batch has no requests.", "param": None})
    return items, failed


def problem_of(line: str, custom_ids: set[str], models: set[str]) -> tuple[str, str]:
    """A code and why; empty where the line is good."""
    try:
        request = json.loads(line)
    except ValueError:
        return "invalid_json_line", "This line is not parseable as valid JSON."
    if not isinstance(request, dict) or set(request) != {"custom_id", "method", "url", "body"}:
        return "missing_required_parameter", "custom_id, method, url and body are expected."
    if not isinstance(request["custom_id"], str) or not isinstance(request["body"], dict):
        return "invalid_request", "custom_id is expected to be a string, body an object."
    if request["custom_id"] in custom_ids:
        return "duplicate_custom_id", "The custom_id for this request is a duplicate of another request."
    if request["method"] != "POST":
        return "invalid_method", "The HTTP method must be POST."
    if request["url"] != ENDPOINT:
        return "invalid_url", "The URL provided for this request does not match the batch endpoint."
    if models - {request["body"].get("model")} or not request["body"].get("model"):
        return "mismatched_model", "All requests of a batch must name the same model."
    return "", ""


def listing(provider: "Provider", call: Call) -> Reply:
    limit = call.query.get("limit")
    if limit and not 1 <= int(limit) <= 100:
        raise Refused(400, "Invalid 'limit': expected from 1 to 100.")
    page, more = provider.batches.page("openai", limit, call.query.get("after"))
    return json_reply(listed([batch_of(batch) for batch in page], more))


def get(provider: "Provider", call: Call) -> Reply:
    return json_reply(batch_of(named(provider, call)))


def cancel(provider: "Provider", call: Call) -> Reply:
    batch = named(provider, call)
    if batch.state != "under way":
        raise Refused(409, f"Cannot cancel a batch with status '{status_of(batch)}'.", complaint=False)
    provider.batches.cancel(batch)
    return json_reply(batch_of(batch))


def named(provider: "Provider", call: Call) -> Batch:
    name = call.path.split("/")[3]
    batch = provider.batches.find("openai", name)
    if batch is None:
        raise Refused(404, f"No batch found with id '{name}'.", complaint=False)
    return batch


def listed(data: list[dict[str, Any]], more: bool) -> dict[str, Any]:
    ends = {"first_id": data[0]["id"], "last_id": data[-1]["id"]} if data else {"first_id": None, "last_id": None}
    return {"object": "list", "data": data, "has_more": more, **ends}


def status_of(batch: Batch) -> str:
    if batch.state == "ended":
        return "expired" if batch.having("expired") else "cancelled" if batch.having("canceled") else "completed"
    return {"under way": "in_progress", "canceling": "cancelling", "failed": "failed"}[batch.state]


def batch_of(batch: Batch) -> dict[str, Any]:
    status = status_of(batch)
    began = batch.made_at
    ended_at = began if status == "failed" else batch.ended_at
    ended = {name: ended_at if status == name else None for name in ("completed", "expired", "cancelled", "failed")}
    done = batch.having("succeeded")
    answered = [item.reply["usage"] for item in done if item.reply]
    spent = [sum(usage[name] for usage in answered) for name in ("prompt_tokens", "completion_tokens", "total_tokens")]
    usage = {
        "input_tokens": spent[0],
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": spent[1],
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": spent[2],
    }
    return {
        "id": batch.id,
        "object": "batch",
        "endpoint": ENDPOINT,
        "model": batch.items[0].body["model"] if batch.items else None,
        "errors": {"object": "list", "data": batch.failed} if batch.failed else None,
        "input_file_id": batch.input_file_id,
        "completion_window": "24h",
        "status": status,
        "output_file_id": batch.output_file_id,
        "error_file_id": batch.error_file_id,
        "created_at": began,
        "in_progress_at": None if status == "failed" else began,
        "expires_at": began + DAY_SECONDS,
        "finalizing_at": batch.ended_at,
        "cancelling_at": batch.cancelled_at,
        **{f"{name}_at": at for name, at in ended.items()},
        "request_counts": {
            "total": len(batch.items),
            "completed": len(done),
            "failed": len(batch.having("errored")) + len(batch.having("missing")),
        },
        "usage": usage if batch.state == "ended" else None,
        "metadata": batch.metadata,
    }


ROUTES = (
    ("POST", r"/v1/files", upload),
    ("GET", r"/v1/files", list_files),
    ("GET", r"/v1/files/[^/]+", get_file),
    ("DELETE", r"/v1/files/[^/]+", delete_file),
    ("GET", r"/v1/files/[^/]+/content", get_content),
    ("POST", r"/v1/batches", create),
    ("GET", r"/v1/batches", listing),
    ("GET", r"/v1/batches/[^/]+", get),
    ("POST", r"/v1/batches/[^/]+/cancel", cancel),
)
