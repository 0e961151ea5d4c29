"""Anthropic's Message Batches."""

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from tests.providers.anthropic_api import error_of
from tests.providers.batches import Batch, Item
from tests.providers.wire import DAY_SECONDS, Call, Refused, Reply, json_lines, json_reply

if TYPE_CHECKING:
    from tests.providers.provider import Provider

CUSTOM_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
MOST_REQUESTS = 100_000


def create(provider: "Provider", call: Call) -> Reply:
    check_requests(call.body)
    items = [Item(request["custom_id"], request["params"]) for request in call.body["requests"]]
    batch = provider.batches.add("anthropic", call, items)
    reply = json_reply(batch_of(provider, batch))
    provider.batches.made_now(batch)
    return reply


def check_requests(body: dict[str, Any]) -> None:
    """Refused where the batch is not acceptable. Parameters of its items are looked at when they are worked on."""
    requests = body.get("requests") if isinstance(body, dict) else None
    if not isinstance(requests, list) or set(body) != {"requests"} or not 1 <= len(requests) <= MOST_REQUESTS:
        raise Refused(400, f"requests: a list of 1 to {MOST_REQUESTS} is expected")
    for at, request in enumerate(requests):
        if not isinstance(request, dict) or set(request) != {"custom_id", "params"}:
            raise Refused(400, f"requests.{at}: custom_id and params are expected")
        if not isinstance(request["params"], dict):
            raise Refused(400, f"requests.{at}.params: Input should be a valid dictionary")
        if not isinstance(request["custom_id"], str) or not CUSTOM_ID.fullmatch(request["custom_id"]):
            raise Refused(400, f"requests.{at}.custom_id: String should match pattern '^[a-zA-Z0-9_-]{{1,64}}$'")
    if len({request["custom_id"] for request in requests}) < len(requests):
        raise Refused(400, "requests: custom_id must be unique")


def listing(provider: "Provider", call: Call) -> Reply:
    limit = call.query.get("limit")
    if limit and not 1 <= int(limit) <= 1000:
        raise Refused(400, "limit: Input should be from 1 to 1000")
    page, more = provider.batches.page("anthropic", limit, call.query.get("after_id"), call.query.get("before_id"))
    return json_reply(
        {
            "data": [batch_of(provider, batch) for batch in page],
            "has_more": more,
            "first_id": page[0].id if page else None,
            "last_id": page[-1].id if page else None,
        }
    )


def get(provider: "Provider", call: Call) -> Reply:
    return json_reply(batch_of(provider, named(provider, call)))


def cancel(provider: "Provider", call: Call) -> Reply:
    batch = named(provider, call)
    if batch.state == "ended":
        raise Refused(400, f"Batch {batch.id} cannot be canceled because it has already ended", complaint=False)
    provider.batches.cancel(batch)
    return json_reply(batch_of(provider, batch))


def delete(provider: "Provider", call: Call) -> Reply:
    batch = named(provider, call)
    if batch.state != "ended":
        raise Refused(400, f"Batch {batch.id} cannot be deleted while it is under way")
    provider.batches.lose(batch)
    return json_reply({"id": batch.id, "type": "message_batch_deleted"})


def results(provider: "Provider", call: Call) -> Reply:
    batch = named(provider, call)
    if batch.state != "ended" or batch.archived_at is not None:
        raise Refused(404, f"Batch {batch.id} has no results", complaint=batch.archived_at is None)
    lines = [{"custom_id": item.custom_id, "result": result_of(item, call)} for item in batch.out_of_order]
    return Reply(200, json_lines(lines), "application/x-jsonl")


def named(provider: "Provider", call: Call) -> Batch:
    name = call.path.split("/")[4]
    batch = provider.batches.find("anthropic", name)
    if batch is None:
        raise Refused(404, f"Message Batch {name} not found", complaint=False)
    return batch


def batch_of(provider: "Provider", batch: Batch) -> dict[str, Any]:
    there = batch.state == "ended" and batch.archived_at is None
    counts = {name: len(batch.having(name)) for name in ("succeeded", "errored", "canceled", "expired")}
    counts["errored"] += len(batch.having("missing"))
    return {
        "id": batch.id,
        "type": "message_batch",
        "processing_status": "in_progress" if batch.state == "under way" else batch.state,
        "request_counts": {"processing": len(batch.having("processing")), **counts},
        "created_at": moment(batch.made_at),
        "expires_at": moment(batch.made_at + DAY_SECONDS),
        "ended_at": moment(batch.ended_at),
        "cancel_initiated_at": moment(batch.cancelled_at),
        "archived_at": moment(batch.archived_at),
        "results_url": f"{provider.address}/v1/messages/batches/{batch.id}/results" if there else None,
    }


def result_of(item: Item, call: Call) -> dict[str, Any]:
    if item.outcome == "succeeded":
        return {"type": "succeeded", "message": item.reply}
    if item.outcome == "errored":
        return {"type": "errored", "error": error_of(item.status, item.message, call)}
    return {"type": item.outcome}


def moment(seconds: int | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


ROUTES = (
    ("POST", r"/v1/messages/batches", create),
    ("GET", r"/v1/messages/batches", listing),
    ("GET", r"/v1/messages/batches/[^/]+", get),
    ("DELETE", r"/v1/messages/batches/[^/]+", delete),
    ("POST", r"/v1/messages/batches/[^/]+/cancel", cancel),
    ("GET", r"/v1/messages/batches/[^/]+/results", results),
)
