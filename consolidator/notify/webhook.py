"""
A message as a JSON document, signed so that the receiver knows whom it is from and that it is fresh.

    webhook-id: the same for every try of a message; Idempotency-Key repeats it
    webhook-timestamp: seconds since 1970, of this try
    webhook-signature: v1,BASE64 of HMAC-SHA256 over `webhook-id.webhook-timestamp.body`, where a secret is set

A receiver computes the same over the bytes that it got, compares in constant time, refuses a timestamp more than five
minutes away, and remembers the ids that it has seen.
"""

import base64
import binascii
import hashlib
import hmac
import json
from typing import Any

from consolidator.instants import SECOND
from consolidator.notify.channels import WebhookChannel
from consolidator.notify.dialects import MARKDOWN
from consolidator.notify.http import post
from consolidator.notify.markup import read_markdown, without_title
from consolidator.notify.outcome import Outcome
from consolidator.notify.way import Parcel

_PREFIX = "whsec_"


def send(channel: WebhookChannel, parcel: Parcel) -> Outcome:
    """Post the message."""
    body = json.dumps(document_of(parcel), ensure_ascii=False).encode()
    stamp = str(parcel.now // SECOND)
    headers = {"webhook-id": parcel.key, "webhook-timestamp": stamp, "Idempotency-Key": parcel.key}
    if channel.secret is not None:
        headers["webhook-signature"] = signature(channel.secret.get_secret_value(), parcel.key, stamp, body)
    return post(channel.url, body, headers, seconds=channel.timeout_seconds, now=parcel.now)


def signature(secret: str, name: str, stamp: str, body: bytes) -> str:
    """What the receiver has to find in `webhook-signature`."""
    signed = b".".join([name.encode(), stamp.encode(), body])
    return "v1," + base64.b64encode(hmac.new(_key(secret), signed, hashlib.sha256).digest()).decode()


def document_of(parcel: Parcel) -> dict[str, Any]:
    """The message as a receiver gets it. report: as `run --json`, below `detailed` without memory text."""
    payload = parcel.payload
    return {
        "id": parcel.key,
        "type": payload.get("kind"),
        "run_id": payload.get("run_id"),
        "level": payload.get("level"),
        "title": parcel.title,
        "text": parcel.text,
        "markdown": _untitled(payload.get("markdown"), parcel.title),
        "report": payload.get("document"),
    }


def _untitled(markdown: str | None, title: str) -> str | None:
    return markdown and MARKDOWN.write(without_title(read_markdown(markdown), title))


def _key(secret: str) -> bytes:
    if secret.startswith(_PREFIX):
        try:
            return base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
        except binascii.Error:
            pass
    return secret.encode()
