"""Channels: where messages go. Their addresses and tokens are secrets, which no log, error or listing repeats."""

import re
from collections.abc import Iterator
from typing import Annotated, Literal
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator

from consolidator.places import PathBeside

HIDDEN = "***"
_SHORTEST_SECRET = 6  # shorter parts of an address are names that others have too


class _Channel(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)


class AppriseChannel(_Channel):
    """
    A service that Apprise knows, by its URL: slack://, discord://, tgram://, mailto://, matrix://, ntfy:// and more.

    url: as Apprise's documentation writes it. One target in a URL: where one of two fails, both are told again.
    """

    type: Literal["apprise"]
    url: SecretStr = Field(
        min_length=1, description="as Apprise's documentation writes it", examples=["tgram://BOT_TOKEN/CHAT"]
    )
    timeout_seconds: float = Field(15, gt=0, le=120, description="how long one try may take")


class WebhookChannel(_Channel):
    """
    A JSON document by POST.

    secret: signs it, as Standard Webhooks do: `webhook-signature: v1,` and the base64 of HMAC-SHA256 over
    `webhook-id.webhook-timestamp.body`. A secret that begins with `whsec_` is the base64 of the key.
    """

    type: Literal["webhook"]
    url: SecretStr = Field(description="where the document goes", examples=["https://example.org/hook"])
    secret: SecretStr | None = Field(
        None, min_length=1, description="signs it, as Standard Webhooks do", examples=["whsec_c2VjcmV0"]
    )
    timeout_seconds: float = Field(15, gt=0, le=120, description="how long one try may take")

    _address = field_validator("url")(lambda url: http_address(url))


class OpenClawChannel(_Channel):
    """
    An OpenClaw gateway.

    via: `message` runs its `message send` command, which delivers the text as it is; `agent` posts it to
    /hooks/agent, which costs a turn of the agent's model; `wake` posts counts, and nothing but counts, to /hooks/wake.
    channel, to: where, for `message` and `agent`, e.g. telegram and a chat's number. token: hooks.token, for `agent`
    and `wake`. command: how `message` starts OpenClaw.
    """

    type: Literal["openclaw"]
    via: Literal["message", "agent", "wake"] = Field(
        "message",
        description="message runs its command `message send`, agent and wake post to its hooks, which need a token",
    )
    channel: str | None = Field(
        None,
        pattern=r"^[a-z][a-z0-9_-]*$",
        description="for message and agent: the chat service",
        examples=["telegram"],
    )
    to: str | None = Field(
        None,
        pattern=r"^[^\s-]\S*$|^-\d+\S*$",
        description="for message and agent: the number or name of the chat",
        examples=["123456789"],
    )
    account: str | None = Field(
        None, pattern=r"^[^\s-]\S*$", description="which of its accounts sends", examples=["work"]
    )
    thread: str | None = Field(None, pattern=r"^[^\s-]\S*$", description="a thread of that chat", examples=["7"])
    silent: bool = Field(False, description="without a sound")
    command: list[str] = Field(["openclaw"], min_length=1, description="how message starts OpenClaw")
    url: SecretStr = Field(SecretStr("http://127.0.0.1:18789"), description="where the gateway is")
    token: SecretStr | None = Field(
        None, min_length=1, description="the gateway's hooks.token", examples=["${OPENCLAW_TOKEN}"]
    )
    agent: str | None = Field(None, min_length=1, description="which agent", examples=["main"])
    when: Literal["now", "next-heartbeat"] = Field("now", description="for wake: when it looks")
    timeout_seconds: float = Field(30, gt=0, le=120, description="how long one try may take")

    _address = field_validator("url")(lambda url: http_address(url))
    _number = field_validator("to", "thread", mode="before")(lambda given: str(given) if _is_whole(given) else given)

    @model_validator(mode="after")
    def _whole(self) -> "OpenClawChannel":
        if self.via != "wake" and (self.channel is None or self.to is None):
            raise ValueError(f"via: {self.via} needs channel and to, e.g. channel: telegram and to: '123456789'")
        if self.via != "message" and self.token is None:
            raise ValueError(f"via: {self.via} needs token, the gateway's hooks.token")
        return self


class FileChannel(_Channel):
    """Text appended to a file, which is made for its owner alone."""

    type: Literal["file"]
    path: PathBeside = Field(description="the file", examples=["messages.txt"])


class StdoutChannel(_Channel):
    """Text on standard output: for a service manager's journal, or a scheduler that sends on what it prints."""

    type: Literal["stdout"]


Channel = Annotated[
    AppriseChannel | WebhookChannel | OpenClawChannel | FileChannel | StdoutChannel, Field(discriminator="type")
]

CHANNELS: dict[str, type[_Channel]] = {
    "apprise": AppriseChannel,
    "webhook": WebhookChannel,
    "openclaw": OpenClawChannel,
    "file": FileChannel,
    "stdout": StdoutChannel,
}


def shown(channel: Channel) -> str:
    """A channel as a person may see it: what it is and, where that is no secret, where it leads."""
    match channel:
        case AppriseChannel():
            scheme = channel.url.get_secret_value().partition("://")[0].lower()
            return f"apprise {scheme}" if re.fullmatch(r"[a-z0-9]{1,20}", scheme) else "apprise"
        case WebhookChannel():
            return f"webhook {_host(channel.url)}"
        case OpenClawChannel(via="message"):
            return f"openclaw message {channel.channel}"
        case OpenClawChannel():
            return f"openclaw {channel.via} {_host(channel.url)}"
        case FileChannel():
            return f"file {channel.path}"
        case StdoutChannel():
            return "stdout"


def hide(text: str, channel: Channel) -> str:
    """A text in which no secret of the channel can be read."""
    for secret in sorted(set(_secrets(channel)), key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return text


def _secrets(channel: Channel) -> Iterator[str]:
    """Every stretch of text that would give a secret away, as it is written and as URLs write it."""
    match channel:
        case AppriseChannel():
            yield from _parts(channel.url.get_secret_value(), host=True)
        case WebhookChannel():
            yield from _parts(channel.url.get_secret_value(), host=False)
            if channel.secret:
                yield channel.secret.get_secret_value()
        case OpenClawChannel():
            yield from _parts(channel.url.get_secret_value(), host=False)
            if channel.token:
                yield channel.token.get_secret_value()
        case _:
            return


def _parts(url: str, *, host: bool) -> Iterator[str]:
    """
    The URL and each part of it that may be a secret. host: in Apprise's URLs it may be a token too.

    A host with a dot in it is a server's name, and no secret.
    """
    yield url
    address, _, query = url.partition("?")
    authority, _, path = address.partition("://")[2].partition("/")
    user, _, name = authority.rpartition("@")
    pieces = [user, *re.split("[:]", user), *path.split("/"), path]
    if host and "." not in name:
        pieces += [name, name.partition(":")[0]]
    pieces += [value for _, value in parse_qsl(query)] + [value.partition("=")[2] for value in query.split("&")]
    for piece in pieces:
        if len(piece) >= _SHORTEST_SECRET or (len(piece) > 2 and piece in user.split(":")[1:]):
            yield from filter(None, {piece, unquote(piece), quote(unquote(piece), safe="")})


def _host(url: SecretStr) -> str:
    parts = urlsplit(url.get_secret_value())
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{parts.hostname}{port}"


def _is_whole(given: object) -> bool:
    """Whether YAML read a chat's number as a number."""
    return isinstance(given, int) and not isinstance(given, bool)


def http_address(url: SecretStr) -> SecretStr:
    """The address of a page or an interface. ValueError where it is none; it is not repeated."""
    if not is_http(url.get_secret_value()):
        raise ValueError("not an address of the form https://host/path")
    return url


def is_http(text: str) -> bool:
    """Whether a text is the address of something that speaks HTTP."""
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
