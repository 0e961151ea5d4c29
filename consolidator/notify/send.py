"""Sending one parcel to one channel, whatever its kind. It never raises for what the other side does."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from consolidator.errors import BadInput
from consolidator.notify import local, openclaw, webhook
from consolidator.notify.channels import (
    AppriseChannel,
    Channel,
    FileChannel,
    OpenClawChannel,
    StdoutChannel,
    WebhookChannel,
    hide,
)
from consolidator.notify.outcome import DELIVERED, Outcome, failed
from consolidator.notify.overhear import overhearing
from consolidator.notify.patience import within
from consolidator.notify.way import LINES, TITLED, Parcel, Way
from consolidator.report.tame import one_line

Emit = Callable[[str], None]

_REASON_LENGTH = 240
_PATIENCE = 4  # a send may take some requests, each with its time-out


def way_of(channel: Channel) -> Way:
    """How a channel takes messages. BadInput where it cannot be used as it is set."""
    match channel:
        case AppriseChannel():
            from consolidator.notify.services import way_of_service

            return way_of_service(channel)
        case WebhookChannel() | FileChannel():
            return TITLED
        case OpenClawChannel():
            return openclaw.way_of(channel)
        case _:
            return LINES


def unusable(channels: Mapping[str, Channel]) -> Iterator[str]:
    """What is wrong with channels that no message can ever be sent to, in the words of `notify test`."""
    for name, channel in channels.items():
        try:
            way_of(channel)
        except BadInput as error:
            yield f"channels.{name}: {error}"


def send(channel: Channel, parcel: Parcel, *, emit: Emit) -> Outcome:
    """What became of one try. emit: prints, for a channel that is standard output."""
    match channel:
        case FileChannel():
            outcome = local.append(channel, parcel)
        case StdoutChannel():
            outcome = local.print_out(parcel, emit)
        case _:
            outcome = within(_PATIENCE * channel.timeout_seconds, lambda: _send_away(channel, parcel))
    return replace(outcome, reason=one_line(hide(outcome.reason, channel), _REASON_LENGTH))


def _send_away(channel: AppriseChannel | WebhookChannel | OpenClawChannel, parcel: Parcel) -> Outcome:
    match channel:
        case AppriseChannel():
            return _send_by_apprise(channel, parcel)
        case WebhookChannel():
            return webhook.send(channel, parcel)
        case OpenClawChannel():
            return openclaw.send(channel, parcel)


def _send_by_apprise(channel: AppriseChannel, parcel: Parcel) -> Outcome:
    from consolidator.notify.services import plugin_of, send_as_it_is

    with overhearing() as heard:
        try:
            plugin, way, form = plugin_of(channel)
        except BadInput as error:
            return failed(str(error), for_good=True)
        try:
            taken = send_as_it_is(plugin, form, parcel.text, parcel.title if way.titled else "")
        except Exception:  # noqa: BLE001 - 179 plugins by others: none of them ends a night
            return failed("Apprise's plugin for it failed; try another version of Apprise")
    return DELIVERED if taken else heard.outcome(seconds=channel.timeout_seconds, now=parcel.now)
