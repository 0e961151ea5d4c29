"""A channel of every kind, with secrets that must never show."""

from consolidator.notify.channels import AppriseChannel, OpenClawChannel, WebhookChannel

SECRET = "s3cr3ttokenS3CR3TTOKENs3cr"
HOOK = "T1JJ3T3L2/A1BRTD4JD/" + SECRET[:24]
APPRISE = {
    "slack": f"slack://{HOOK}",
    "discord": f"discord://4174216298/{SECRET}",
    "telegram": f"tgram://123456789:{SECRET}/-100123",
    "teams": f"workflows://prod.example/{SECRET}a1/{SECRET}b2/",
    "mattermost": f"mmost://chat.example/{SECRET}",
    "matrix": f"matrix://ada:{SECRET}@home.example/#room",
    "ntfy": f"ntfy://ada:{SECRET}@push.example/night",
    "mail": f"mailto://ada:{SECRET}@mail.example/?to=ada@mail.example",
}


def apprise(url: str, **options: object) -> AppriseChannel:
    """A channel of Apprise's."""
    return AppriseChannel.model_validate({"type": "apprise", "url": url, **options})


def webhook(url: str, **options: object) -> WebhookChannel:
    """A webhook."""
    return WebhookChannel.model_validate({"type": "webhook", "url": url, **options})


def openclaw(**options: object) -> OpenClawChannel:
    """An OpenClaw gateway."""
    return OpenClawChannel.model_validate({"type": "openclaw", **options})
